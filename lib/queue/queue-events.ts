/** Types of the queue's events (print queue, 4). */
export type QueueEventType =
  | 'item.queued'
  | 'item.approval'
  | 'item.cancelled'
  | 'item.finished'
  | 'item.failed'
  | 'item.reopened'
  | 'item.blocked'
  | 'item.unblocked'
  | 'item.overdue'
  | 'order.finished'
  | 'print.dispatched'
  | 'print.started'
  | 'print.finished'
  | 'print.rejected'
  | 'print.failed'
  | 'print.aborted'
  | 'print.recalled'
  | 'print.unknown'
  | 'print.extra'
  | 'plate.awaiting'
  | 'plate.cleared'
  | 'queue.idle';

/** A saved event. `item` and `print` are filled in when it is delivered. */
export interface QueueEventDraft {
  /** Made of the observed fact: two runtimes that report the same fact use the same id. */
  id: string;
  type: QueueEventType;
  /** ms since 1970. */
  at: number;
  /** Copy and attempt of the print; null for other events. */
  print: { copy: number; attempt: number } | null;
  clusterId: string | null;
  clusterName: string | null;
  value: unknown;
}
