import type { FileFacts, Require } from './requirement';
import type { QueueEventDraft, QueueEventType } from './queue-events';

/** Saved record of an item, under the key `['queue-item', ...scope, queueId, itemId]`. Times in ms since 1970. */
export interface ItemRecord {
  version: 1;
  /** Derived from the queue and its queue key, or random without one. */
  itemId: string;
  queueKey: string | null;
  orderId: string | null;
  owner: string | null;
  costCode: string | null;
  name: string | null;
  /** The file and its alternatives; the first one is the item's own. */
  files: readonly ItemFile[];
  require: Require | null;
  priority: number;
  /** Order among items of the same priority: compared as text (rank.ts). */
  rank: string;
  createdAt: number;
  /** When it was added, or a person last released or retried it: from then on its copies wait. */
  waitsSince: number;
  notBefore: number | null;
  deadline: number | null;
  isHeld: boolean;
  awaitsApproval: boolean;
  /** Whether a person removed it: jobs that have not begun are recalled, and copies that do not end well are cancelled. */
  isRemoved: boolean;
  /** Owed copies, from 1. */
  copies: number;
  /** Copies whose state differs from waiting, by number. */
  touched: Readonly<Record<number, CopyState>>;
  /** Copies owed again after a rejection: they go first, in this order. */
  front: readonly number[];
  prints: readonly Attempt[];
  /** Number of times that the item has ended: part of the ids of `item.finished` and of the other ends. */
  ends: number;
  /** Null while it has not ended. */
  endedAt: number | null;
  isOverdue: boolean;
  /** Whether `item.blocked` is reported and `item.unblocked` not yet, and the number of `item.blocked` so far. */
  blocked: { is: boolean; count: number };
  /** Events that no node has received yet, oldest first. */
  outbox: readonly QueueEventDraft[];
}

export interface ItemFile {
  /** Null while the file is not stored. */
  jobId: string | null;
  filename: string | null;
  size: number | null;
  /** Null: not read yet. */
  facts: FileFacts | null;
  /** Whether the service no longer has it. */
  isGone: boolean;
}

/** `waiting` copies have no entry. */
export type CopyState = 'active' | 'good' | 'failed' | 'held' | 'unknown' | 'cancelled';

/** One try to print a copy on one printer. */
export interface Attempt {
  copy: number;
  /** From 1, within the copy. */
  attempt: number;
  /** Index in `files`. */
  file: number;
  clusterId: string;
  clusterName: string | null;
  printerId: string | null;
  clusterJobId: string | null;
  state: AttemptState;
  assignedAt: number;
  dispatchedAt: number | null;
  startedAt: number | null;
  endedAt: number | null;
  /** Time that it printed, s. */
  seconds: number | null;
  cost: number | null;
  /** Types of its events so far: each happens once per attempt. */
  told: readonly QueueEventType[];
  /** Whether it counts against the retries. */
  counts: boolean;
  /** Why its job is to be removed from the printer, or was; null: it is not. */
  recall: Recall | null;
  /** A person's verdict on its unknown outcome; null: none. */
  settledAs: 'printed' | 'not-printed' | null;
}

/** Removal of a dispatched job that has not begun. */
export interface Recall {
  /**
   * `late`: it did not begin in time. `changes`: the service asked for changes. `overtaken`: a foreign print began on
   * the printer first. `removed`: a person removed the item.
   */
  why: 'late' | 'changes' | 'overtaken' | 'removed';
  since: number;
  /** Whether the service refused the removal, so that only a person can help. */
  isStuck: boolean;
  /** For `changes`: the printer's configuration (`configurationOf`) at that moment. */
  configuration: string | null;
}

export type AttemptState =
  | 'assigned'
  | 'dispatched'
  | 'printing'
  | 'finished'
  | 'rejected'
  | 'failed'
  | 'aborted'
  | 'recalled'
  | 'unknown';

/** Print key of an attempt: `queue/item/copy/attempt`. */
export const attemptKey = (
  queueId: string,
  itemId: string,
  { copy, attempt }: Pick<Attempt, 'copy' | 'attempt'>,
): string => `${queueId}/${itemId}/${copy}/${attempt}`;

/** Id of an attempt's print at its printer: the service's, or the print key while that is unknown. */
export const printingId = (
  queueId: string,
  itemId: string,
  attempt: Pick<Attempt, 'copy' | 'attempt' | 'clusterJobId'>,
): string => attempt.clusterJobId ?? attemptKey(queueId, itemId, attempt);
