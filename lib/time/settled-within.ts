import type { Clock } from './clock';

/**
 * Waits for `work` during a grace period of `ms`. After that the work continues on its own. Never rejects: the work
 * reports its own failures.
 */
export function settledWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, resolve);
    const settled = () => {
      cancel();
      resolve();
    };
    work.then(settled, settled);
  });
}
