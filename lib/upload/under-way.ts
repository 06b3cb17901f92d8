import type { Deadline } from '../time/deadline';

interface Send {
  /** Null where the bytes can't be read twice. */
  hash: (() => Promise<string>) | null;
  over: Promise<unknown>;
}

/** What is being sent, so that of several sends of the same bytes at the same time only the first needs to be one. */
export class UnderWay {
  readonly #sends = new Map<string, Set<Send>>();

  /**
   * Does `work` when no earlier send of the same bytes is under way any more. `kind` is what they share with others in any
   * case, their size above all: only where it is the same are bytes compared. A send is over when `work` and the `rest`
   * that it gives are. What can't be compared goes its own way.
   */
  async run<T extends { rest?: Promise<unknown> }>(
    kind: string,
    hash: Send['hash'],
    deadline: Deadline,
    work: () => Promise<T>,
  ): Promise<T> {
    const sends = this.#sends.get(kind) ?? new Set();
    this.#sends.set(kind, sends);
    const earlier = [...sends];
    const worked = Promise.all(earlier.map((other) => waitIfSame(other, hash, deadline))).then(work);
    const send = { hash, over: worked.then(({ rest }) => rest).catch(() => undefined) };
    sends.add(send);
    void send.over.then(() => {
      sends.delete(send);
      if (sends.size === 0) this.#sends.delete(kind);
    });
    return worked;
  }
}

async function waitIfSame(other: Send, hash: Send['hash'], deadline: Deadline): Promise<void> {
  if (!hash || !other.hash) return;
  const own = await deadline.wait(hash());
  // A file that is gone meanwhile is no longer sent either.
  const theirs = await deadline.wait(other.hash().catch(() => null));
  if (own === theirs) await deadline.wait(other.over);
}
