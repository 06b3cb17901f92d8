import { PrintingError } from '../service/errors';
import { type Clock, sleep } from '../time/clock';
import { phrase } from '../words/sentence';

/** Longest time for which a command waits for a runtime that does it, and interval at which its owner is checked, ms. */
const WAIT = 60_000;
const CHECK = 1_000;

/**
 * Decides which of several runtimes does a command, as each one receives it. The runtime that polls the printer does it, and
 * empties the command's topic first. The others wait for that, as the printer may be passing to one of them.
 */
export class CommandTurns {
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  /** Commands that no runtime has taken yet, by topic, the oldest first. */
  readonly #untaken = new Map<string, AbortController[]>();

  constructor(clock: Clock, closing: AbortSignal) {
    this.#clock = clock;
    this.#closing = closing;
  }

  /** Records that a runtime has emptied the topic: it does the oldest command of that topic. */
  taken(topic: string): void {
    this.#untaken.get(topic)?.shift()?.abort();
  }

  /**
   * Resolves with the cluster of a command once this runtime polls it, null if there is none, and undefined once another
   * runtime does the command. Throws TIMEOUT when no runtime does it, and the errors of `find`.
   */
  async wait(
    topic: string,
    find: () => Promise<string | null>,
    isOurs: (clusterId: string) => boolean,
  ): Promise<string | null | undefined> {
    // At once, since the empty message may come while `find` is under way.
    const taken = new AbortController();
    this.#untaken.set(topic, [...(this.#untaken.get(topic) ?? []), taken]);
    const isOver = AbortSignal.any([taken.signal, this.#closing]);
    try {
      const clusterId = await find();
      if (clusterId === null) return null;
      for (let waited = 0; waited < WAIT; waited += CHECK) {
        if (taken.signal.aborted) return undefined;
        if (isOurs(clusterId)) return clusterId;
        await sleep(this.#clock, CHECK, isOver).catch(() => undefined);
        this.#closing.throwIfAborted();
      }
      throw new PrintingError('TIMEOUT', phrase`No Node-RED polls the printer at present: try again later.`);
    } finally {
      const left = this.#untaken.get(topic)?.filter((one) => one !== taken) ?? [];
      if (left.length > 0) this.#untaken.set(topic, left);
      else this.#untaken.delete(topic);
    }
  }
}
