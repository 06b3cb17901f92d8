/** Wire facts 9: an action in one of these states goes on. */
const OPEN = ['pending', 'sent'];
/** And in these it has ended otherwise than in `success`. */
const FAILED = ['failed', 'unknown'];

/**
 * What a status of an action means: `new` is a word that the facts don't know. It may be one for work in progress, so it
 * is waited for; at the limit it counts as a failure (wire facts, trap 40).
 */
export function meaning(status: string | null): 'open' | 'success' | 'failed' | 'new' {
  const word = status?.toLowerCase();
  if (word === undefined || OPEN.includes(word)) return 'open';
  if (word === 'success') return 'success';
  return FAILED.includes(word) ? 'failed' : 'new';
}
