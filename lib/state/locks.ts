import type { Deadline } from '../time/deadline';
import type { Lock } from './membership';

/** A lock that can't be lost, because only this process uses it. */
export const UNLOSABLE_LOCK: Lock = { secure: () => Promise.resolve(() => undefined) };

/** Locks within this process: one holder per name, in the order of asking. */
export class Locks {
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Waits for the lock and runs `work` under it. `deadline` limits only the wait, with the outcome `not-sent`; work that
   * has begun must enforce it itself.
   */
  async waitFor<T>(name: string, work: () => Promise<T>, deadline?: Deadline): Promise<T> {
    deadline?.throwIfOver();
    let waits = true;
    let givenUp = false;
    const before = this.#last.get(name) ?? Promise.resolve();
    const turn = before.then(() => {
      if (givenUp) return undefined as T;
      waits = false;
      return work();
    });
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(name, settled);
    void settled.then(() => {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    });
    if (!deadline) return turn;
    // Abandon only the wait; work that has begun runs to its end.
    await deadline.wait(before).catch((reason: unknown) => {
      if (!waits) return;
      givenUp = true;
      throw reason;
    });
    return turn;
  }
}
