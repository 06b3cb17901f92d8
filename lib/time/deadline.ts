import { PrintingError } from '../service/errors';
import type { Clock } from './clock';

/** A limit on a piece of work: aborts with TIMEOUT, or with the reason of `parent` if that ends first. */
export interface Deadline {
  signal: AbortSignal;
  /** Monotonic time of the limit. */
  until: number;
  /** Ends the limit; the signal then follows `parent` alone no more. Call it when the work is over. */
  clear(): void;
}

/** `cure`: what a user can do about it. */
export function deadline(
  clock: Clock,
  seconds: number,
  parent?: AbortSignal,
  cure = "try again or raise the node's timeout",
): Deadline {
  const controller = new AbortController();
  const cancel = clock.after(seconds * 1000, () => {
    // A request broken off by it may have been carried out.
    const reason = `The work was not done within ${seconds} s: ${cure}.`;
    controller.abort(new PrintingError('TIMEOUT', reason, { outcome: 'unknown' }));
  });
  const follow = () => controller.abort(parent?.reason);
  if (parent?.aborted) follow();
  parent?.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    until: clock.monotonic() + seconds * 1000,
    clear: () => {
      cancel();
      parent?.removeEventListener('abort', follow);
    },
  };
}

/** The reason with which work is ended when its node or runtime closes. */
export const closed = (): PrintingError =>
  new PrintingError('TIMEOUT', 'The node was closed before the work was done: send the message again.', {
    outcome: 'unknown',
  });
