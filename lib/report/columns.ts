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
  return names.map((name, index) => {
    const wanted = isBlank(name) ? nameless(index) : name;
    const isFree = isBlank(name) ? !taken.has(wanted) : !seen.has(wanted);
    const key = isFree ? wanted : free(wanted, taken);
    seen.add(key);
    taken.add(key);
    return key;
  });
}

const isBlank = (name: string): boolean => name.trim() === '';

/** Key of a cell for which the header has no name. */
export const keyBeyond = (index: number, keys: readonly string[]): string => {
  const name = nameless(index);
  return keys.includes(name) ? free(name, new Set(keys)) : name;
};

const nameless = (index: number): string => `column_${index + 1}`;

function free(name: string, taken: ReadonlySet<string>): string {
  for (let number = 2; ; number++) {
    const key = `${name}_${number}`;
    if (!taken.has(key)) return key;
  }
}
