import type { PrintingError } from '../../service/errors';
import type { PollResult, Round } from '../watch-types';

/** In a group of more, results don't wait for each other: each is some ten kilobytes. */
const MOST_HELD = 100;

interface GroupOptions {
  id: string;
  /** How many clusters it is to have, as far as is known. */
  size: () => number;
  /** Where a cluster stands in the list. */
  rankOf: (clusterId: string) => number;
  /** Monotonic, ms. */
  now: () => number;
  /** Whether figures that were added then are stale by now. */
  isOld: (addedAt: number) => boolean;
  deliver: (round: Round) => void;
}

interface Held {
  result: PollResult;
  addedAt: number;
}

/** Results of all clusters that go out together, the newest of each. The last part of a group says how many they are. */
export class ResultBatch {
  /** In no Map: what one held lives longer than need be, and thousands go through here (see `followAbort`). */
  #held: Held[] = [];
  readonly #gone = new Set<string>();
  readonly #options: GroupOptions;
  #error: PrintingError | null = null;

  constructor(options: GroupOptions) {
    this.#options = options;
  }

  add(result: PollResult): void {
    this.#error ??= result.error;
    if (!result.status || this.#gone.has(result.clusterId)) return;
    this.drop(result.clusterId);
    this.#held.push({ result, addedAt: this.#options.now() });
    if (this.#held.length <= (this.#options.size() > MOST_HELD ? 1 : MOST_HELD)) return;
    // One is kept back, to say the count.
    this.#send(this.#held.splice(0, this.#held.length - 1), null);
  }

  /** A cluster that is no more. */
  drop(clusterId: string): void {
    const at = this.#held.findIndex(({ result }) => result.clusterId === clusterId);
    if (at >= 0) this.#held.splice(at, 1);
  }

  end(error: PrintingError | null = null): PrintingError | null {
    this.#error = error ?? this.#error;
    const held = this.#held.length;
    this.#send(this.#held.splice(0), this.#gone.size + held);
    return this.#error;
  }

  #send(held: Held[], count: number | null): void {
    const { id, rankOf, isOld, deliver } = this.#options;
    const results = held.map(({ result, addedAt }) => (isOld(addedAt) ? asStale(result) : result));
    const group = { id, start: this.#gone.size, count };
    results.sort((one, other) => rankOf(one.clusterId) - rankOf(other.clusterId));
    for (const { clusterId } of results) this.#gone.add(clusterId);
    deliver({ results, group, error: this.#error });
  }
}

const asStale = (result: PollResult): PollResult => ({
  ...result,
  status: result.status && { ...result.status, stale: true },
  raw: null,
});
