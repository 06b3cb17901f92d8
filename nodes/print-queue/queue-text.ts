import type { QueueFigures } from '../../lib/queue/model/types';
import { failureText, IDLE, type StatusText } from '../shared/status';

/** Reasons of blocked items that have a text of their own: `status.blockedBy.<code>`. */
export const BLOCKED_BY = { OUTCOME_UNKNOWN: true, UPLOAD: true, NO_PRINTER: true, MODEL_UNKNOWN: true } as const;

const hasText = (code: string | undefined): code is keyof typeof BLOCKED_BY =>
  code !== undefined && Object.hasOwn(BLOCKED_BY, code);

/** Describes a queue, what needs a person first. */
export function queueText({ waiting, active, blocked, firstReason, isPaused, error }: QueueFigures): StatusText {
  const code = firstReason?.code;
  if (code === 'NO_STORE') return { fill: 'red', shape: 'ring', key: 'noStore' };
  if (error) return error.code === 'NOT_SIGNED_IN' ? { fill: 'red', shape: 'ring', key: 'signIn' } : failureText(error);
  if (blocked > 0) {
    const key = hasText(code) ? `blockedBy.${code}` : 'blocked';
    return { fill: 'red', shape: 'dot', key, values: { count: String(blocked) } };
  }
  const counts = { count: String(active), total: String(waiting) };
  const queued = { count: String(waiting) };
  if (isPaused) return { fill: 'yellow', shape: 'ring', key: 'queuePaused', values: queued };
  if (active > 0) return { fill: 'blue', shape: 'dot', key: 'itemsPrinting', values: counts };
  if (waiting > 0) return { fill: 'blue', shape: 'ring', key: 'itemsWaiting', values: queued };
  return IDLE;
}
