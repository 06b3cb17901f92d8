const SEPARATORS = [',', ';', '\t'] as const;
export type Separator = (typeof SEPARATORS)[number];

/** How a table is written. */
export interface Shape {
  separator: Separator;
  /** What ends its lines. */
  newlines: string[];
}

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;
const BY_LF = ['\r\n', '\n'];

/**
 * Cells are kept apart by whichever of the three separators the header line holds most of, outside quotes; lines end as
 * that one does. Null while the header line and what follows its end aren't there.
 */
export function shapeOf(start: Buffer): Shape | null {
  const counts = SEPARATORS.map((separator) => ({ separator, code: separator.charCodeAt(0), count: 0 }));
  let quoted = false;
  for (const [at, byte] of start.entries()) {
    if (byte === QUOTE) quoted = !quoted;
    else if (!quoted && byte === LF) return { separator: most(counts), newlines: BY_LF };
    else if (!quoted && byte === CR) {
      if (at + 1 === start.length) return null;
      return { separator: most(counts), newlines: start[at + 1] === LF ? BY_LF : ['\r'] };
    } else if (!quoted) for (const entry of counts) if (entry.code === byte) entry.count++;
  }
  return null;
}

const most = (counts: { separator: Separator; count: number }[]): Separator =>
  counts.reduce((best, entry) => (entry.count > best.count ? entry : best), { separator: ',', count: 0 }).separator;

/** The header's names as keys (reference 3.5): a repeated one gets `_2`, `_3`, one that is blank `column_` and its number. */
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

/** Keys of cells for which the header has no name, as far as those are needed. */
export function keysBeyond(keys: readonly string[], count: number): string[] {
  const taken = new Set(keys);
  const numbers = new Map<string, number>();
  return Array.from({ length: count }, (_, at) => {
    const name = nameless(keys.length + at);
    return taken.has(name) ? free(name, taken, numbers) : name;
  });
}

const nameless = (index: number): string => `column_${index + 1}`;

/** The first free number behind a name. `numbers` has those that were tried, so that none is tried again. */
function free(name: string, taken: ReadonlySet<string>, numbers: Map<string, number>): string {
  for (let number = (numbers.get(name) ?? 1) + 1; ; number++) {
    const key = `${name}_${number}`;
    if (taken.has(key)) continue;
    numbers.set(name, number);
    return key;
  }
}
