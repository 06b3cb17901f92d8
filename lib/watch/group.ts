import type { PrintingError } from '../service/errors';
import type { ClusterResult, Round } from './watch-types';

/** So many results wait for the others of their group; in a larger one they go ahead, for each is some ten kilobytes. */
const MOST_HELD = 100;

interface GroupOptions {
  id: string;
  /** Where a cluster stands in the list. */
  rankOf: (clusterId: string) => number;
  deliver: (round: Round) => void;
}

/** Results of all clusters that go out together, the newest of each. The last part of a group says how many they are. */
export class Group {
  readonly #held = new Map<string, ClusterResult>();
  readonly #gone = new Set<string>();
  readonly #options: GroupOptions;
  #error: PrintingError | null = null;

  constructor(options: GroupOptions) {
    this.#options = options;
  }

  add(result: ClusterResult): void {
    this.#error ??= result.error;
    if (!result.status || this.#gone.has(result.clusterId)) return;
    this.#held.set(result.clusterId, result);
    if (this.#held.size <= MOST_HELD) return;
    // One is kept back, to say the count.
    this.#send([...this.#held.values()].slice(0, -1), null);
  }

  /** A cluster that is no more. */
  drop(clusterId: string): void {
    this.#held.delete(clusterId);
  }

  end(error: PrintingError | null = null): PrintingError | null {
    this.#error = error ?? this.#error;
    this.#send([...this.#held.values()], this.#gone.size + this.#held.size);
    return this.#error;
  }

  #send(results: ClusterResult[], count: number | null): void {
    const { id, rankOf, deliver } = this.#options;
    const group = { id, start: this.#gone.size, count };
    results.sort((one, other) => rankOf(one.clusterId) - rankOf(other.clusterId));
    for (const { clusterId } of results) {
      this.#held.delete(clusterId);
      this.#gone.add(clusterId);
    }
    deliver({ results, group, error: this.#error });
  }
}
