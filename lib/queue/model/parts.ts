import { waitingCopies } from './item';
import type { Attempt, CopyState, ItemRecord } from './types';

// An item of parts owes parts, of which one print makes several. How many prints that takes is decided here alone: the copies
// that wait are made as many after each change of the record, so that everything else works with copies.

/** Numbers of parts of an item (print queue, 9). */
export interface PartCounts {
  good: number;
  /** Parts of judged prints that are not good. */
  rejected: number;
  /** Parts that neither good parts nor prints under way cover. */
  owed: number;
  /** The rest of them, for prints that may be planned: copies that failed, are held or are in doubt cover their parts. */
  left: number;
}

/** Number of parts that a print of a file makes. */
export const perPrintOf = ({ parts, files }: Pick<ItemRecord, 'parts' | 'files'>, file: number): number =>
  files[file]?.perPrint ?? parts?.perPrint ?? 1;

/** Number of good parts of a print; null: nobody has judged it. */
export function goodPartsOf({ touched }: ItemRecord, { state, copy, goodParts, perPrint = 1 }: Attempt): number | null {
  if (state === 'recalled') return null;
  if (goodParts !== undefined) return goodParts;
  if (state === 'rejected') return 0;
  return state === 'finished' && touched[copy] === 'good' ? perPrint : null;
}

/** Copies in these states make parts, or would if a person revived them. */
const COVERING: readonly CopyState[] = ['active', 'unknown', 'held', 'failed'];

/** Counts of records, which never change. */
const counted = new WeakMap<ItemRecord, PartCounts>();

/** Numbers of parts; null: the item owes copies. */
export function countParts(record: ItemRecord): PartCounts | null {
  if (!record.parts) return null;
  const known = counted.get(record);
  if (known) return known;
  const counts = countOf(record, record.parts);
  counted.set(record, counts);
  return counts;
}

function countOf(
  record: ItemRecord,
  { wanted, perPrint: usual, cancelled = 0 }: NonNullable<ItemRecord['parts']>,
): PartCounts {
  const makes = new Map<number, number>();
  let [good, rejected] = [0, 0];
  for (const attempt of record.prints) {
    const { copy, perPrint = 1, state } = attempt;
    makes.set(copy, perPrint);
    const judged = goodPartsOf(record, attempt);
    good += judged ?? 0;
    if (judged !== null && (state === 'finished' || state === 'rejected')) rejected += perPrint - judged;
  }
  let [active, covered] = [0, 0];
  for (const [copy, state] of Object.entries(record.touched)) {
    if (!COVERING.includes(state)) continue;
    const made = makes.get(Number(copy)) ?? usual;
    covered += made;
    if (state === 'active') active += made;
  }
  const missing = (by: number) => Math.max(0, wanted - cancelled - good - by);
  return { good, rejected, owed: missing(active), left: missing(covered) };
}

/** Whether enough parts are good, and no print is under way that could change that. */
const isDone = (record: ItemRecord, { good }: PartCounts): boolean =>
  good >= (record.parts?.wanted ?? Infinity) &&
  !Object.values(record.touched).some((state) => state === 'active' || state === 'unknown');

/**
 * The record with as many waiting copies as its parts need: more get the next numbers, superfluous ones go, the last first.
 * Once enough parts are good, copies that failed or are held are dropped. An item of copies stays as it is.
 */
export function owing(record: ItemRecord): ItemRecord {
  const counts = countParts(record);
  if (!counts || !record.parts) return record;
  // Of an item that was removed, nothing more is printed.
  if (counts.left > 0 && record.isRemoved && record.endedAt === null)
    return owing(withParts(record, { cancelled: (record.parts.cancelled ?? 0) + counts.left }));
  const needed = Math.ceil(counts.left / record.parts.perPrint);
  const waiting = waitingCopies(record);
  const fewer = withdrawn(record, waiting.slice(needed));
  if (isDone(record, counts)) return dropped(fewer);
  const copies = fewer.copies + Math.max(0, needed - waiting.length);
  return copies === fewer.copies ? fewer : { ...fewer, copies };
}

const withParts = (record: ItemRecord, changed: Partial<ItemRecord['parts']>): ItemRecord =>
  record.parts ? { ...record, parts: { ...record.parts, ...changed } } : record;

/** The record in which the copies that a verdict owes go first. */
export function owingInFront(record: ItemRecord): ItemRecord {
  const after = owing(record);
  if (after.copies <= record.copies) return after;
  return { ...after, front: [...after.front, ...numbers(record.copies + 1, after.copies)] };
}

/** The record without copies that wait, of which there may be thousands. */
function withdrawn(record: ItemRecord, waiting: readonly number[]): ItemRecord {
  if (waiting.length === 0) return record;
  /** Copies with a print, and whether one has finished. */
  const begun = new Map<number, boolean>();
  for (const { copy, state } of record.prints) begun.set(copy, state === 'finished' || begun.get(copy) === true);
  const gone = new Set(waiting);
  const touched = { ...record.touched };
  let { copies } = record;
  for (const copy of waiting.toReversed()) {
    if (copy === copies && !begun.has(copy)) copies--;
    else touched[copy] = begun.get(copy) ? 'good' : 'dropped';
  }
  return { ...record, front: record.front.filter((copy) => !gone.has(copy)), copies, touched };
}

/** Drops the copies that nobody wants any more; the parts that a removal cancelled are there after all. */
function dropped(record: ItemRecord): ItemRecord {
  const states = Object.entries(record.touched);
  const isLeft = (state: CopyState) => state !== 'good' && state !== 'dropped';
  const { cancelled = 0, ...parts } = record.parts ?? { wanted: 0, perPrint: 1 };
  if (cancelled === 0 && !states.some(([, state]) => isLeft(state))) return record;
  const touched = Object.fromEntries(states.map(([copy, state]) => [copy, isLeft(state) ? 'dropped' : state] as const));
  return { ...record, parts, touched };
}

/**
 * Whether the print of an assigned attempt is still needed at the moment when it leaves. Of several that are not sent yet, the
 * first ones go.
 */
export function isNeeded(record: ItemRecord, attempt: Attempt): boolean {
  const { parts, prints, touched } = record;
  if (!parts) return true;
  const isLater = (one: Attempt) => one.state === 'assigned' && one.hasLeft === false;
  const later = prints.slice(prints.indexOf(attempt)).filter(isLater);
  const copies = new Set(later.map(({ copy }) => copy));
  const without = Object.fromEntries(Object.entries(touched).filter(([copy]) => !copies.has(Number(copy))));
  return (countParts({ ...record, touched: without })?.left ?? 0) > 0;
}

/** The attempts with another number of parts, where they are not sent yet. */
export const withPerPrint = (record: ItemRecord): ItemRecord => ({
  ...record,
  prints: record.prints.map((attempt) =>
    attempt.state === 'assigned' && attempt.hasLeft === false
      ? { ...attempt, perPrint: perPrintOf(record, attempt.file) }
      : attempt,
  ),
});

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);
