import { PrintingError } from '../../service/errors';
import type { FileFacts } from '../../toolpath/facts';
import type { JobEnd } from '../../watch/views/job-end-waiter';
import { phrase, type Sentence } from '../../words/sentence';
import {
  type ChangeContext,
  concluded,
  copiesIn,
  hasEnded,
  isBeingSent,
  isOpen,
  isStuck,
  lastAttempt,
  type LivedContext,
  mayStart,
  openAttempts,
  waitingCopies,
  withItemEvent,
  withPrintEvent,
} from './item';
import type { QueueRules } from './rules';
import type { Attempt, CopyState, ItemChanges, ItemFile, ItemRecord, Recall, Settlement } from './types';

// Changes of an item. Each returns the same record if nothing changes; those of people throw QUEUE_ITEM_BUSY.

interface NewItem {
  itemId: string;
  queueKey: string | null;
  name: string | null;
  files: readonly ItemFile[];
  rank: string;
  changes: ItemChanges;
  awaitsApproval: boolean;
}

export function newItem({ changes, rank, ...given }: NewItem, context: LivedContext): ItemRecord {
  const { awaitsApproval } = given;
  const record: ItemRecord = {
    version: 1,
    ...given,
    orderId: changes.orderId ?? null,
    owner: changes.owner ?? null,
    costCode: changes.costCode ?? null,
    require: changes.require ?? null,
    priority: changes.priority ?? 0,
    rank,
    createdAt: context.now,
    createdLived: context.lived,
    waitsSince: context.now,
    notBefore: changes.notBefore ?? null,
    deadline: changes.deadlineAt ?? null,
    isHeld: changes.held ?? false,
    isRemoved: false,
    copies: changes.copies ?? 1,
    touched: {},
    front: [],
    prints: [],
    ends: 0,
    endedAt: null,
    isOverdue: false,
    blocked: { is: false, count: 0 },
    outbox: [],
  };
  const queued = withItemEvent(record, context, 'item.queued');
  return awaitsApproval ? withItemEvent(queued, context, 'item.approval') : queued;
}

/** Changes of an item, with the files of its alternatives. */
type ItemUpdate = Omit<ItemChanges, 'alternatives'> & { alternatives?: readonly ItemFile[] | undefined };

/** `rank`: place behind the items of a new priority. */
export function updated(record: ItemRecord, changes: ItemUpdate, rank: string, context: ChangeContext): ItemRecord {
  const { copies, require, priority, alternatives } = changes;
  const isLater = changes.held === true || (changes.notBefore ?? 0) > context.now;
  if (isBeingSent(record) && (copies !== undefined || require !== undefined || isLater)) throw busy();
  // An attempt names its file by its place.
  if (alternatives && openAttempts(record).some(({ state, file }) => state === 'assigned' || file > 0)) throw busy();
  const least = Math.max(0, ...Object.keys(record.touched).map(Number));
  if (copies !== undefined && copies < least) {
    const sentence = phrase`The item can't have fewer than ${least} copies, as that many were begun: remove the item instead.`;
    throw new PrintingError('QUEUE_ITEM_BUSY', sentence);
  }
  const isMoved = priority !== undefined && priority !== record.priority;
  const changed: ItemRecord = {
    ...record,
    ...defined({
      ...{ orderId: changes.orderId, owner: changes.owner, costCode: changes.costCode, require, copies, priority },
      ...{ notBefore: changes.notBefore, deadline: changes.deadlineAt, isHeld: changes.held },
    }),
    ...(isMoved && { rank }),
    ...(alternatives && {
      files: [...record.files.slice(0, 1), ...alternatives],
      prints: record.prints.map((attempt) => ({ ...attempt, file: isOpen(attempt) ? attempt.file : 0 })),
    }),
    ...(record.isHeld && changes.held === false && { waitsSince: context.now }),
    ...(changes.deadlineAt !== undefined && changes.deadlineAt !== record.deadline && { isOverdue: false }),
  };
  return concluded(JSON.stringify(changed) === JSON.stringify(record) ? record : changed, context);
}

export function heldBack(record: ItemRecord): ItemRecord {
  if (record.isHeld || hasEnded(record)) return record;
  if (isBeingSent(record)) throw busy();
  return { ...record, isHeld: true };
}

/** Releases whatever holds the item: the hold, the approval, its aborted copies. */
export function released(record: ItemRecord, { now }: Pick<ChangeContext, 'now'>): ItemRecord {
  const held = copiesIn(record, 'held');
  if (!record.isHeld && !record.awaitsApproval && held.length === 0) return record;
  return withCopies({ ...record, waitsSince: now, isHeld: false, awaitsApproval: false }, held, null);
}

/**
 * Revives the failed copies; their earlier failures no longer count. Forgets the refusals of the service, and requests
 * the removal of a stuck job again.
 */
export function retried(record: ItemRecord, context: ChangeContext): ItemRecord {
  const failed = copiesIn(record, 'failed');
  const prints = record.prints.map((attempt) => {
    const { recall } = attempt;
    if (recall?.why === 'changes' && attempt.state === 'recalled') return { ...attempt, recall: null };
    if (recall && isStuck(attempt)) return { ...attempt, recall: { ...recall, isStuck: false } };
    return failed.includes(attempt.copy) && attempt.counts ? { ...attempt, counts: false } : attempt;
  });
  const files = record.files.map((file) => (file.isGone ? { ...file, isGone: false } : file));
  const isChanged = prints.some((attempt, at) => attempt !== record.prints[at]) || record.files.some((f) => f.isGone);
  if (failed.length === 0 && !isChanged) return record;
  return concluded(withCopies({ ...record, waitsSince: context.now, files, prints }, failed, null), context);
}

/** Cancels the copies that have not begun. A print under way goes on; a job that waits in a printer is recalled. */
export function removed(record: ItemRecord, context: ChangeContext): ItemRecord {
  if (record.endedAt !== null) return record;
  if (isBeingSent(record)) throw busy();
  const others = [...waitingCopies(record), ...copiesIn(record, 'held', 'failed')];
  const cancelled = withCopies({ ...record, isRemoved: true }, others, 'cancelled');
  return concluded(cancelled, context);
}

/** The attempts of unknown outcome that a person settles. */
export const inDoubt = ({ prints }: ItemRecord, { copy }: Pick<Settlement, 'copy'>): Attempt[] =>
  prints.filter((one) => one.state === 'unknown' && (copy === null || one.copy === copy));

/** Records a person's verdict on the copies of unknown outcome. Throws NOT_ACCEPTED if there is none. */
export function settled(
  record: ItemRecord,
  verdict: Settlement,
  context: ChangeContext & { rules: Pick<QueueRules, 'retries' | 'gate'> },
): ItemRecord {
  const open = inDoubt(record, verdict);
  if (open.length === 0)
    throw new PrintingError(
      'NOT_ACCEPTED',
      phrase`No copy of the item has an unknown outcome, so there is nothing to settle.`,
    );
  return open.reduce((after, attempt) => settledAs(after, attempt, verdict.outcome, context), record);
}

/** Identifies an attempt in its item. One that is taken back leaves its number to the next one. */
export type AttemptOf = Pick<Attempt, 'copy' | 'attempt' | 'clusterId' | 'assignedAt'>;

type EndContext = ChangeContext & { rules: Pick<QueueRules, 'retries' | 'gate'> };

/** A copy that is to be printed on a printer. */
interface AssignedPrint {
  copy: number;
  file: number;
  clusterId: string;
  clusterName: string | null;
  printerId: string | null;
}

/** An end of an attempt, and its figures. */
interface AttemptEnd {
  outcome: Exclude<JobEnd['outcome'], 'ended'>;
  /** ms since 1970. */
  at: number;
  seconds: number | null;
  cost: number | null;
  /** Why it did not end well; null if the service does not say it. */
  reason: Sentence | null;
}

export const findAttempt = (record: ItemRecord, of: AttemptOf): Attempt | undefined =>
  record.prints.find(
    ({ copy, attempt, clusterId, assignedAt }) =>
      copy === of.copy && attempt === of.attempt && clusterId === of.clusterId && assignedAt === of.assignedAt,
  );

/** Assigns a waiting copy; the record itself if the copy does not wait. */
export function assigned(record: ItemRecord, print: AssignedPrint, { now }: ChangeContext): ItemRecord {
  const { copy } = print;
  if (record.touched[copy] !== undefined || copy > record.copies) return record;
  const attempt: Attempt = {
    ...print,
    attempt: (lastAttempt(record, copy)?.attempt ?? 0) + 1,
    clusterJobId: null,
    state: 'assigned',
    assignedAt: now,
    hasLeft: false,
    dispatchedAt: null,
    startedAt: null,
    endedAt: null,
    seconds: null,
    cost: null,
    told: [],
    counts: false,
    recall: null,
    settledAs: null,
  };
  return withCopy({ ...record, prints: [...record.prints, attempt] }, copy, 'active');
}

/** Records that the call of an attempt leaves; the record itself if the attempt was taken back, or its item must wait. */
export function leaving(record: ItemRecord, of: AttemptOf, { now }: ChangeContext): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'assigned' || found.hasLeft || !mayStart(record, now)) return record;
  return withAttempt(record, found, { hasLeft: true });
}

/** Deletes an attempt of which nothing was sent: the copy waits again. */
export function unassigned(record: ItemRecord, of: AttemptOf, context: ChangeContext): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'assigned') return record;
  const prints = record.prints.filter((other) => other !== found);
  return owedAgain({ ...record, prints }, of.copy, context);
}

/** Records that the service has the print. */
export function dispatched(
  record: ItemRecord,
  of: AttemptOf,
  clusterJobId: string | null,
  context: LivedContext,
): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found) || found.state === 'printing') return record;
  const isKnown = found.state === 'dispatched' && found.clusterJobId === (clusterJobId ?? found.clusterJobId);
  if (isKnown) return record;
  const after = withAttempt(record, found, {
    clusterJobId: clusterJobId ?? found.clusterJobId,
    ...dispatchTimes(found, context),
    state: 'dispatched',
  });
  return withPrintEvent(withCopy(after, of.copy, 'active'), context, 'print.dispatched', found);
}

/** When an attempt was dispatched: the first record of it decides. */
const dispatchTimes = ({ dispatchedAt, dispatchedLived }: Attempt, { now, lived }: LivedContext) =>
  dispatchedAt === null ? { dispatchedAt: now, dispatchedLived: lived } : { dispatchedAt, dispatchedLived };

/** Records that it is unknown whether the print exists, or whether it began. */
export function unknown(
  record: ItemRecord,
  of: AttemptOf,
  context: ChangeContext & { begunIn: (clusterId: string) => Readonly<Record<string, number>> },
): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found) || found.state === 'unknown') return record;
  const begun = context.begunIn(found.clusterId);
  const after = withCopy(withAttempt(record, found, { state: 'unknown', begun }), of.copy, 'unknown');
  return withPrintEvent(after, context, 'print.unknown', found);
}

/** Records that the print has begun on its printer. */
export function started(
  record: ItemRecord,
  of: AttemptOf,
  { clusterJobId, printerId }: Pick<Attempt, 'clusterJobId' | 'printerId'>,
  context: LivedContext,
): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found) || found.state === 'printing') return record;
  const known = dispatched(record, of, clusterJobId, context);
  const now = findAttempt(known, of) as Attempt;
  const times = { startedAt: now.startedAt ?? context.now, startedLived: now.startedLived ?? context.lived };
  const changed = { printerId: printerId ?? now.printerId, ...times, recall: null };
  const after = withAttempt(known, now, { ...changed, state: 'printing' });
  return withPrintEvent(withCopy(after, of.copy, 'active'), context, 'print.started', now);
}

/** Records the end of a print, and its consequence for the copy. */
export function ended(record: ItemRecord, of: AttemptOf, end: AttemptEnd, context: EndContext): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found)) return record;
  const { outcome, at, ...figures } = end;
  const counts = outcome === 'failed';
  const changed = withAttempt(record, found, { state: outcome, endedAt: at, ...figures, counts, recall: null });
  const after = withPrintEvent(changed, context, `print.${outcome}`, found, at);
  return concluded(withCopyAfter(after, found.copy, outcome, context), context);
}

/** Records that a job was removed from its printer before it began. */
export function recalled(record: ItemRecord, of: AttemptOf, context: ChangeContext): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found)) return record;
  const changed = withAttempt(record, found, { state: 'recalled', endedAt: context.now });
  const after = withPrintEvent(changed, context, 'print.recalled', found);
  return owedAgain(after, of.copy, context);
}

/** Records why a dispatched job is to be removed, or that it can't be. */
export function recallWanted(record: ItemRecord, of: AttemptOf, recall: Recall | null): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'dispatched' || JSON.stringify(found.recall) === JSON.stringify(recall)) return record;
  return withAttempt(record, found, { recall });
}

/** Records a person's verdict on an attempt of unknown outcome. */
function settledAs(
  record: ItemRecord,
  of: AttemptOf,
  outcome: 'printed' | 'not-printed',
  context: EndContext,
): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'unknown') return record;
  const marked = withAttempt(record, found, { settledAs: outcome });
  if (outcome === 'not-printed') return recalled(marked, of, context);
  return ended(marked, of, { outcome: 'finished', at: context.now, seconds: null, cost: null, reason: null }, context);
}

/**
 * Records that the print of an attempt showed up although it counted as not printed: it becomes the copy's print if the
 * copy still waits, and is an extra one otherwise.
 */
export function showedUp(record: ItemRecord, of: AttemptOf, clusterJobId: string, context: LivedContext): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'recalled') return record;
  const isWaiting = record.touched[of.copy] === undefined && of.copy <= record.copies;
  const known = withAttempt(record, found, { clusterJobId });
  if (!isWaiting) return withPrintEvent(known, context, 'print.extra', found);
  const revived = withAttempt(known, found, {
    ...{ clusterJobId, state: 'dispatched', endedAt: null, settledAs: null },
    // The time for its start begins with its sight, where no answer has dated its dispatch.
    ...dispatchTimes(found, context),
  });
  return concluded(withCopy(revived, of.copy, 'active'), context);
}

/** Records whether the part of a finished print is good. Only a copy that awaits it, or a good one, can be rejected. */
export function judged(record: ItemRecord, of: AttemptOf, good: boolean, context: ChangeContext): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'finished') return record;
  const copyState = record.touched[of.copy];
  if (good) return copyState === 'active' ? concluded(withCopy(record, of.copy, 'good'), context) : record;
  const changed = withAttempt(record, found, { state: 'rejected' });
  const after = withPrintEvent(changed, context, 'print.rejected', found);
  const isOwed = copyState === 'active' || copyState === 'good';
  if (!isOwed) return after;
  const front = [...after.front.filter((copy) => copy !== of.copy), of.copy];
  return owedAgain({ ...after, front }, of.copy, context);
}

/** Records whether only a person can help. */
export function withBlocked(record: ItemRecord, is: boolean, context: ChangeContext): ItemRecord {
  if (record.blocked.is === is) return record;
  const count = record.blocked.count + (is ? 1 : 0);
  const after: ItemRecord = { ...record, blocked: { is, count } };
  const type = is ? 'item.blocked' : 'item.unblocked';
  return withItemEvent(after, context, type, count);
}

/** Whether an item has a deadline, and is not known to miss it. */
export const mayBeLate = ({ deadline, endedAt, isOverdue }: ItemRecord): boolean =>
  deadline !== null && endedAt === null && !isOverdue;

/** Records that the deadline passed, or can't be met. */
export const overdue = (record: ItemRecord, context: ChangeContext): ItemRecord =>
  record.isOverdue
    ? record
    : withItemEvent({ ...record, isOverdue: true }, context, 'item.overdue', record.deadline ?? 0);

/** Records that the service no longer has a file of the item. */
export const withoutFile = (record: ItemRecord, file: number): ItemRecord => ({
  ...record,
  files: record.files.map((one, at) => (at === file ? { ...one, isGone: true } : one)),
});

/** Records the service's facts about a file. */
export const withFacts = (record: ItemRecord, jobId: string, facts: FileFacts): ItemRecord => ({
  ...record,
  files: record.files.map((file) => (file.jobId === jobId ? { ...file, facts } : file)),
});

/** The copy waits again, or is cancelled with its item. */
const owedAgain = (record: ItemRecord, copy: number, context: ChangeContext): ItemRecord =>
  concluded(withCopy(record, copy, record.isRemoved && record.endedAt === null ? 'cancelled' : null), context);

function withCopyAfter(
  record: ItemRecord,
  copy: number,
  outcome: AttemptEnd['outcome'],
  { rules }: EndContext,
): ItemRecord {
  // With the mode `confirm` its plate decides.
  if (outcome === 'finished') return withCopy(record, copy, rules.gate === 'confirm' ? 'active' : 'good');
  if (record.isRemoved) return withCopy(record, copy, 'cancelled');
  if (outcome === 'aborted') return withCopy(record, copy, 'held');
  const tries = record.prints.filter((attempt) => attempt.copy === copy && attempt.counts).length;
  return withCopy(record, copy, tries > rules.retries ? 'failed' : null);
}

/** The record with the state of a copy; null: it waits. */
function withCopy(record: ItemRecord, copy: number, state: CopyState | null): ItemRecord {
  const { [copy]: _before, ...others } = record.touched;
  const front = state === 'good' ? record.front.filter((other) => other !== copy) : record.front;
  return { ...record, front, touched: state === null ? others : { ...others, [copy]: state } };
}

function withAttempt(record: ItemRecord, found: Attempt, changed: Partial<Attempt>): ItemRecord {
  const prints = record.prints.map((attempt) =>
    attempt.copy === found.copy && attempt.attempt === found.attempt ? { ...attempt, ...changed } : attempt,
  );
  return { ...record, prints };
}

const withCopies = (record: ItemRecord, copies: readonly number[], state: CopyState | null): ItemRecord =>
  copies.reduce((after, copy) => withCopy(after, copy, state), record);

const defined = <T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

const busy = (): PrintingError =>
  new PrintingError('QUEUE_ITEM_BUSY', phrase`A copy of the item is being sent to a printer: try again in a moment.`);
