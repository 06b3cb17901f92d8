import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';
import { settledAs, withCopy } from './attempt-changes';
import { copiesIn, hasEnded, isBeingSent, isOpen, isStuck, openAttempts, waitingCopies } from './copies';
import { concluded, withItemEvent, type ChangeContext } from './item-events';
import type { ItemChanges, Settlement } from './queue-api';
import type { Attempt, CopyState, ItemFile, ItemRecord } from './queue-item';
import type { QueueRules } from './queue-rules';
import type { FileFacts } from './requirement';

/** People's changes of an item. Each returns the same record if nothing changes. All throw QUEUE_ITEM_BUSY. */

export interface NewItem {
  itemId: string;
  queueKey: string | null;
  name: string | null;
  files: readonly ItemFile[];
  rank: string;
  changes: ItemChanges;
  awaitsApproval: boolean;
}

export function newItem({ changes, rank, ...given }: NewItem, context: ChangeContext): ItemRecord {
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
export type ItemUpdate = Omit<ItemChanges, 'alternatives'> & { alternatives?: readonly ItemFile[] | undefined };

/** `rank`: place behind the items of a new priority. */
export function updated(record: ItemRecord, changes: ItemUpdate, rank: string, context: ChangeContext): ItemRecord {
  const { copies, require, priority, alternatives } = changes;
  if (isBeingSent(record) && (copies !== undefined || require !== undefined)) throw busy();
  // An attempt names its file by its place.
  if (alternatives && openAttempts(record).some(({ state, file }) => state === 'assigned' || file > 0)) throw busy();
  const least = Math.max(0, ...copiesIn(record, 'active', 'good', 'failed', 'held', 'unknown', 'cancelled'));
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

export const heldBack = (record: ItemRecord): ItemRecord =>
  record.isHeld || hasEnded(record) ? record : { ...record, isHeld: true };

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

/** Records whether only a person can help. */
export function withBlocked(record: ItemRecord, is: boolean, value: unknown, context: ChangeContext): ItemRecord {
  if (record.blocked.is === is) return record;
  const count = record.blocked.count + (is ? 1 : 0);
  const after: ItemRecord = { ...record, blocked: { is, count } };
  const type = is ? 'item.blocked' : 'item.unblocked';
  return withItemEvent(after, context, type, { occurrence: count, value });
}

/** Whether an item has a deadline, and is not known to miss it. */
export const mayBeLate = ({ deadline, endedAt, isOverdue }: ItemRecord): boolean =>
  deadline !== null && endedAt === null && !isOverdue;

/** Records that the deadline passed, or can't be met. */
export const overdue = (record: ItemRecord, context: ChangeContext): ItemRecord =>
  record.isOverdue
    ? record
    : withItemEvent({ ...record, isOverdue: true }, context, 'item.overdue', { occurrence: record.deadline ?? 0 });

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

const withCopies = (record: ItemRecord, copies: readonly number[], state: CopyState | null): ItemRecord =>
  copies.reduce((after, copy) => withCopy(after, copy, state), record);

const defined = <T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

const busy = (): PrintingError =>
  new PrintingError('QUEUE_ITEM_BUSY', phrase`A copy of the item is being sent to a printer: try again in a moment.`);
