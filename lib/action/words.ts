/** Statuses of an action in progress (wire facts 9). */
const OPEN = ['pending', 'sent'];
/** Statuses of a failed action. */
const FAILED = ['failed', 'unknown'];

/**
 * Meaning of an action's status. `new` is an unknown status, which may mean work in progress: it is polled further, and
 * counts as a failure at the deadline (wire facts, trap 40).
 */
export function meaning(status: string | null): 'open' | 'success' | 'failed' | 'new' {
  const word = status?.toLowerCase();
  if (word === undefined || OPEN.includes(word)) return 'open';
  if (word === 'success') return 'success';
  return FAILED.includes(word) ? 'failed' : 'new';
}
