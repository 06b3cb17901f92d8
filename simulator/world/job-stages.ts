import type { PrintJob } from './state';

/** How far a job has come. */
export type Stage =
  /** In the queue of the service. */
  | 'waiting'
  /** At its printer, which has not started to work on it. */
  | 'sent'
  | 'printing'
  /** Nothing more is printed, but the end is not decided, or not shown. */
  | 'ending'
  /** Ended, but it still occupies its printer or its plate. */
  | 'ended'
  /** In the history. */
  | 'over';

/** The words of a job (wire facts 12.2), in the order in which a job passes through them. */
const STAGES: Record<PrintJob['status'], Stage> = {
  queued: 'waiting',
  wait_approval: 'waiting',
  error: 'waiting',
  sent_to_printer: 'sent',
  wait_user_action: 'sent',
  pre_print: 'printing',
  printing: 'printing',
  pausing: 'printing',
  paused: 'printing',
  resuming: 'printing',
  aborting: 'ending',
  post_print: 'ending',
  wait_cleanup: 'ended',
  aborted_post_print: 'ended',
  aborted_wait_user_action: 'ended',
  aborted_wait_cleanup: 'ended',
  failed_post_print: 'ended',
  failed_wait_user_action: 'ended',
  failed_wait_cleanup: 'ended',
  finished: 'over',
  aborted: 'over',
  failed: 'over',
};

/** Whether a job is at one of these stages. */
export const isAt = ({ status }: Pick<PrintJob, 'status'>, ...stages: Stage[]): boolean =>
  stages.includes(STAGES[status]);

/** The words of these stages. */
export const wordsAt = (...stages: Stage[]): string[] =>
  Object.entries(STAGES).flatMap(([word, stage]) => (stages.includes(stage) ? word : []));
