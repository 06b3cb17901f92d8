import type { Deadline } from '../time/deadline';

interface Send {
  /** Null if the bytes can't be read twice. */
  hash: (() => Promise<string>) | null;
  ended: Promise<unknown>;
}

/** Uploads in flight, so that only the first of several uploads of the same bytes sends them. */
export class UnderWay {
  readonly #sends = new Map<string, Set<Send>>();

  /**
   * Runs `work` once no earlier upload of the same bytes is in flight. `kind` holds the properties that equal uploads
   * share, above all their size: bytes are compared only within a kind. An upload has ended when `work` and the `rest`
   * that it returns have settled. Content that can't be compared doesn't wait.
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
    const send = { hash, ended: worked.then(({ rest }) => rest).catch(() => undefined) };
    sends.add(send);
    void send.ended.then(() => {
      sends.delete(send);
      if (sends.size === 0) this.#sends.delete(kind);
    });
    return worked;
  }
}

async function waitIfSame(other: Send, hash: Send['hash'], deadline: Deadline): Promise<void> {
  if (!hash || !other.hash) return;
  const own = await deadline.wait(hash());
  // A file that has disappeared meanwhile isn't sent either.
  const theirs = await deadline.wait(other.hash().catch(() => null));
  if (own === theirs) await deadline.wait(other.ended);
}
