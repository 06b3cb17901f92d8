import { isPlateWaiting, occupiesPrinter } from '../../service/job-words';
import type { PrintJob } from '../../service/print-job';
import type {
  Attempt,
  AttemptState,
  CopyCounts,
  ItemRecord,
  ItemState,
  QueueEventDraft,
  QueueEventType,
} from './types';

const OPEN: readonly AttemptState[] = ['assigned', 'dispatched', 'printing', 'unknown'];

/** Whether an attempt occupies its printer. */
export const isOpen = ({ state }: Attempt): boolean => OPEN.includes(state);

/** Whether the service may have given the print of an attempt to some member of a group, and nothing names which. */
export const isUnplaced = (attempt: Attempt): boolean =>
  isOpen(attempt) && attempt.printerId === null && (attempt.state !== 'assigned' || attempt.hasLeft !== false);

/** Whether a person has settled an attempt as printed, and nothing has named its print yet. */
export const isUnnamed = ({ settledAs, clusterJobId }: Attempt): boolean =>
  settledAs === 'printed' && clusterJobId === null;

export const openAttempts = ({ prints }: ItemRecord): Attempt[] => prints.filter(isOpen);

/** The attempt that decides about a copy: the latest one, or an earlier one whose print has shown up since. */
export const lastAttempt = ({ prints }: ItemRecord, copy: number): Attempt | undefined =>
  prints.findLast((attempt) => attempt.copy === copy);

/** Copies that wait, in the order in which they are printed. */
export function waitingCopies(record: ItemRecord): number[] {
  const { copies, touched, front } = record;
  const first = front.filter((copy) => touched[copy] === undefined && copy <= copies);
  const before = new Set(first);
  const others: number[] = [];
  for (let copy = 1; copy <= copies; copy++) if (touched[copy] === undefined && !before.has(copy)) others.push(copy);
  return [...first, ...others];
}

/** Copies in a state other than waiting. */
export const copiesIn = ({ touched }: ItemRecord, ...states: ItemRecord['touched'][number][]): number[] =>
  Object.entries(touched).flatMap(([copy, state]) => (states.includes(state) ? Number(copy) : []));

/** Counts of records, which never change: each round of the planner needs those of all items. */
const counted = new WeakMap<ItemRecord, Readonly<CopyCounts>>();

export function countCopies(record: ItemRecord): Readonly<CopyCounts> {
  const known = counted.get(record);
  if (known) return known;
  const counts = countOf(record);
  counted.set(record, counts);
  return counts;
}

function countOf(record: ItemRecord): CopyCounts {
  const { copies, touched, prints } = record;
  const counts = { good: 0, failed: 0, held: 0, unknown: 0, active: 0, cancelled: 0, dropped: 0 };
  const states = Object.values(touched);
  for (const state of states) counts[state]++;
  const { cancelled: _cancelled, dropped: _dropped, ...shown } = counts;
  return {
    total: record.parts ? countBegun(record) : copies,
    ...shown,
    waiting: copies - states.length,
    rejected: prints.filter(({ state }) => state === 'rejected').length,
  };
}

/** Copies that were begun or wait: of an item of parts, numbers that were given up before their first print are none. */
function countBegun({ copies, touched, prints }: ItemRecord): number {
  const begun = new Set(prints.map(({ copy }) => copy));
  const isGivenUp = ([copy, state]: [string, string]) =>
    (state === 'dropped' || state === 'cancelled') && !begun.has(Number(copy));
  return copies - Object.entries(touched).filter(isGivenUp).length;
}

/** Whether the copy of a finished print is neither good nor rejected yet. */
export const awaitsVerdict = (
  record: ItemRecord,
  attempt: Attempt,
  last = lastAttempt(record, attempt.copy),
): boolean => attempt.state === 'finished' && record.touched[attempt.copy] === 'active' && last === attempt;

/** The prints of an item that wait for their verdicts. */
export function awaitedPrints(record: ItemRecord): Attempt[] {
  const last = new Map(record.prints.map((attempt) => [attempt.copy, attempt]));
  return record.prints.filter((attempt) => awaitsVerdict(record, attempt, last.get(attempt.copy)));
}

/** Whether a call that prints a copy of the item may be under way. */
export const isBeingSent = (record: ItemRecord): boolean =>
  record.prints.some(({ state, hasLeft }) => state === 'assigned' && hasLeft !== false);

/** Whether a copy may start by the item's own record, which a person may have changed since the plan. */
export const mayStart = ({ isHeld, awaitsApproval, isRemoved, notBefore }: ItemRecord, now: number): boolean =>
  !isHeld && !awaitsApproval && !isRemoved && (notBefore ?? 0) <= now;

/** Whether an attempt's job can neither begin nor be removed without a person. */
export const isStuck = ({ state, recall }: Attempt): boolean => state === 'dispatched' && (recall?.isStuck ?? false);

/** Whether a person holds the item, or has not approved it yet. */
export const awaitsRelease = ({ isHeld, awaitsApproval }: ItemRecord): boolean => isHeld || awaitsApproval;

/** Whether every copy has ended: good, failed or cancelled. */
export function hasEnded(record: ItemRecord): boolean {
  const { waiting, active, held, unknown } = countCopies(record);
  return waiting + active + held + unknown === 0;
}

/**
 * State of an item (print queue, 4). `canBePlanned`: a printer could take it, and its file is there; only the planner
 * knows that.
 */
export function itemStateOf(record: ItemRecord, canBePlanned = true): ItemState {
  const { waiting, held, unknown, failed } = countCopies(record);
  // Most items only wait.
  const active =
    record.prints.length > 0 &&
    copiesIn(record, 'active').some((copy) => {
      const attempt = lastAttempt(record, copy);
      return !attempt || !isStuck(attempt);
    });
  if (active) return 'active';
  const isWithheld = awaitsRelease(record);
  if (waiting > 0 && !isWithheld && canBePlanned && !record.files.every(({ isGone }) => isGone)) return 'waiting';
  const isBlocked = unknown > 0 || record.prints.some(isStuck) || (waiting > 0 && !isWithheld);
  if (isBlocked) return 'blocked';
  if (held > 0 || waiting > 0) return 'held';
  if (failed > 0) return 'failed';
  return copiesIn(record, 'cancelled').length > 0 || (record.parts?.cancelled ?? 0) > 0 ? 'cancelled' : 'finished';
}

/** The items to which a condition applies. A queue reads few of its items often, all of them rarely. */
export class ItemIndex {
  readonly #items = new Map<string, ItemRecord>();

  constructor(private readonly applies: (record: ItemRecord) => boolean) {}

  get all(): ItemRecord[] {
    return [...this.#items.values()];
  }

  get(itemId: string): ItemRecord | undefined {
    return this.#items.get(itemId);
  }

  /** Call after each change of an item; `record`: undefined for one that is gone. */
  update(itemId: string, record: ItemRecord | undefined): void {
    if (record && this.applies(record)) this.#items.set(itemId, record);
    else this.#items.delete(itemId);
  }
}

/**
 * Waits of the copies whose print has begun with a change, ms. A copy waits from the latest of these: the time when its
 * item was added, was last released or retried, or may start at the earliest, and the end of the copy's last print.
 */
export function waitsOver(before: ItemRecord, after: ItemRecord): number[] {
  const begun = new Set(before.prints.filter(hasStarted).map(nameOf));
  const fresh = after.prints.filter((attempt) => hasStarted(attempt) && !begun.has(nameOf(attempt)));
  return fresh.map((attempt) => (attempt.startedAt ?? 0) - waitsSince(after, attempt));
}

function waitsSince({ prints, waitsSince, notBefore }: ItemRecord, of: Attempt): number {
  const ends = prints
    .filter((other) => other.copy === of.copy && other !== of && hasStarted(other))
    .map(({ endedAt }) => endedAt ?? 0);
  return Math.max(waitsSince, notBefore ?? 0, ...ends);
}

/** Whether an attempt is recorded as begun; `hasBegun` is what the service shows of its job. */
const hasStarted = ({ startedAt }: Attempt): boolean => startedAt !== null;
const nameOf = ({ copy, attempt }: Attempt): string => `${copy}/${attempt}`;

/** The queue and the time of a change. */
export interface ChangeContext {
  queueId: string;
  /** ms since 1970. */
  now: number;
}

/** The same with the queue's lived time (`LivedTime`), ms. */
export type LivedContext = ChangeContext & { lived: number };

/** Id of an event: two runtimes that report the same fact use the same id. */
export const eventId = (queueId: string, type: QueueEventType, ...subject: (string | number | null)[]): string =>
  [queueId, type, ...subject].join('/');

/**
 * Number from which a new record counts occurrences for the ids of their events: the present time in seconds, so that a record in
 * the place of a lost one repeats no id.
 */
export const firstNumber = (now: number): number => Math.max(0, Math.floor(now / 1000));

/** Adds an event of the item. `occurrence` distinguishes events of one type; missing: it happens once per item. */
export function withItemEvent(
  record: ItemRecord,
  { queueId, now }: ChangeContext,
  type: QueueEventType,
  occurrence?: number,
): ItemRecord {
  const id = eventId(queueId, type, record.itemId, ...(occurrence === undefined ? [] : [occurrence]));
  return queued(record, { id, type, at: now, print: null, clusterId: null, clusterName: null, value: null });
}

/** Adds an event of an attempt, unless it has caused one of that type. `at`: when it happened, if that is known. */
export function withPrintEvent(
  record: ItemRecord,
  { queueId, now }: ChangeContext,
  type: QueueEventType,
  of: Pick<Attempt, 'copy' | 'attempt'>,
  at: number = now,
): ItemRecord {
  const found = record.prints.find(({ copy, attempt }) => copy === of.copy && attempt === of.attempt);
  if (!found || found.told.includes(type)) return record;
  const { copy, attempt, clusterId, clusterName } = found;
  const prints = record.prints.map((other) => (other === found ? { ...found, told: [...found.told, type] } : other));
  const id = eventId(queueId, type, record.itemId, copy, attempt);
  return queued({ ...record, prints }, { id, type, at, print: { copy, attempt }, clusterId, clusterName, value: null });
}

/** The record without delivered events. */
export function withoutEvents(record: ItemRecord, ids: ReadonlySet<string>): ItemRecord {
  const outbox = record.outbox.filter(({ id }) => !ids.has(id));
  return outbox.length === record.outbox.length ? record : { ...record, outbox };
}

const queued = (record: ItemRecord, draft: QueueEventDraft): ItemRecord => ({
  ...record,
  outbox: [...record.outbox, draft],
});

/**
 * Whether the service shows that a job has begun on its printer: the printer heats, prints, or waits for a clear plate.
 * An attempt records that as its `startedAt`.
 */
export const hasBegun = (job: PrintJob): boolean =>
  occupiesPrinter(job) || isPlateWaiting(job) || job.started === true || (job.timeElapsed ?? 0) > 0;

/** Order of the requests that added items, compared as text: no clock of a runtime counts. */
export const addedOf = ({ added, rank }: Pick<ItemRecord, 'added' | 'rank'>): string => added ?? rank;

/** The item at another place among those of its priority. */
export const withRank = (record: ItemRecord, rank: string): ItemRecord =>
  rank === record.rank ? record : { ...record, rank, added: addedOf(record) };

/** The highest of the ranks at which items stand or were added, and of `high`. */
export const highestRank = (items: readonly ItemRecord[], high: string | null = null): string | null => {
  let highest = high;
  for (const item of items)
    for (const rank of [item.rank, addedOf(item)]) if (highest === null || rank > highest) highest = rank;
  return highest;
};
