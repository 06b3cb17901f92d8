import { TABLE, TEXT } from '../rules/limits';

const SEPARATORS = [',', ';', '\t'] as const;
export type Separator = (typeof SEPARATORS)[number];

/** Format of a table. */
export interface Shape {
  separator: Separator;
  /** Its line endings. */
  newlines: string[];
}

const BOM = Buffer.from('\uFEFF');
const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;
const BY_LF = ['\r\n', '\n'];
const CODES = SEPARATORS.map((separator) => separator.charCodeAt(0));

/**
 * Detects a table's format: the separator that occurs most often outside quotes in the header line, which is the first
 * that is not blank, and that line's ending. Null while the header line or the byte after its end is missing, and for a header longer than any line.
 */
export function shapeOf(start: Buffer): Shape | null {
  const counts = SEPARATORS.map(() => 0);
  const length = Math.min(start.length, TABLE.line);
  let quoted = false;
  let line = start.indexOf(BOM) === 0 ? BOM.length : 0;
  let cell = line;
  for (let at = line; at < length; at++) {
    const byte = start[at] as number;
    const next = start[at + 1];
    // A quote inside a cell without quotes is an ordinary character, as in `size (")`.
    if (byte === QUOTE && quoted && next === QUOTE) at++;
    else if (byte === QUOTE && (quoted || at === cell)) quoted = !quoted;
    if (quoted) continue;
    if (byte === LF || byte === CR) {
      if (byte === CR && next === undefined) return null;
      const newlines = byte === CR && next !== LF ? ['\r'] : BY_LF;
      if (at > line) return { separator: most(counts), newlines };
      if (byte === CR && next === LF) at++;
      line = cell = at + 1;
      continue;
    }
    const which = CODES.indexOf(byte);
    if (which < 0) continue;
    counts[which] = (counts[which] ?? 0) + 1;
    cell = at + 1;
  }
  return null;
}

/** The most frequent separator, the first one of several. */
const most = (counts: readonly number[]): Separator => SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ',';

/**
 * The keys for the header's names (reference 3.5): a repeated name gets `_2`, `_3`, a blank one becomes `column_` and
 * its number.
 */
export function keysOf(names: readonly string[]): string[] {
  const taken = new Set(names.filter((name) => !isBlank(name)));
  const seen = new Set<string>();
  const numbers = new Map<string, number>();
  return names.map((name, index) => {
    const wanted = isBlank(name) ? nameless(index) : name;
    const isFree = isBlank(name) ? !taken.has(wanted) : !seen.has(wanted);
    const key = isFree ? wanted : free(wanted, taken, numbers);
    seen.add(key);
    taken.add(key);
    return key;
  });
}

const isBlank = (name: string): boolean => name.trim() === '';

/** Keys for cells beyond the header. */
export function keysBeyond(keys: readonly string[], count: number): string[] {
  const taken = new Set(keys);
  const numbers = new Map<string, number>();
  return Array.from({ length: count }, (_, at) => {
    const name = nameless(keys.length + at);
    return taken.has(name) ? free(name, taken, numbers) : name;
  });
}

const nameless = (index: number): string => `column_${index + 1}`;

/** The first unused key `<name>_<number>`. `numbers` holds the numbers already tried, so that none is tried again. */
function free(name: string, taken: ReadonlySet<string>, numbers: Map<string, number>): string {
  for (let number = (numbers.get(name) ?? 1) + 1; ; number++) {
    const key = `${name}_${number}`;
    if (taken.has(key)) continue;
    numbers.set(name, number);
    return key;
  }
}

/** Normalizes `Cluster Job ID` and `clusterJobId` to `cluster_job_id`. */
export const normalized = (words: string): string =>
  words
    .slice(0, TEXT.matched)
    .trim()
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z\d]+/g, '_');

/** The columns of a report by their normalized names. The service documents some names, and no spelling (wire facts 10). */
export class NamedColumns {
  readonly #keys = new Map<string, string[]>();

  constructor(keys: readonly string[]) {
    for (const key of keys) {
      const name = normalized(key);
      this.#keys.set(name, [...(this.#keys.get(name) ?? []), key]);
    }
  }

  has(name: string): boolean {
    return this.#keys.has(name);
  }

  /** The keys whose normalized names match. */
  matching(pattern: RegExp): string[] {
    return [...this.#keys].flatMap(([name, keys]) => (pattern.test(name) ? keys : []));
  }

  /** The first cell under a name that is not blank; empty if there is none. */
  cell(row: Readonly<Record<string, string>>, name: string): string {
    const keys = this.#keys.get(name) ?? [];
    for (const key of keys) if ((row[key] ?? '').trim() !== '') return row[key] as string;
    return '';
  }
}
