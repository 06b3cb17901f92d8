import type { Deadline } from '../time/deadline';
import type { Lock } from './store';

/** A lock that can't be lost: nobody outside of this process has a part in it. */
export const UNLOSABLE_LOCK: Lock = { secure: () => Promise.resolve(() => undefined) };

/** One holder at a time for each name, in the order of asking. */
export class Locks {
  readonly #last = new Map<string, Promise<unknown>>();

  /** `deadline` ends the waiting, with the outcome `not-sent`; the work, once begun, has to mind it itself. */
  async hold<T>(name: string, work: () => Promise<T>, deadline?: Deadline): Promise<T> {
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
    // Only the waiting: what was begun is waited for to its own end.
    await deadline.wait(before).catch((reason: unknown) => {
      if (!waits) return;
      givenUp = true;
      throw reason;
    });
    return turn;
  }
}
