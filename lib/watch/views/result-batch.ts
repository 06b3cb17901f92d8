import type { PrintingError } from '../../service/errors';
import type { PollResult } from '../polling/poll-result';
import type { Round } from './watch';

/** Largest group whose results are collected, since each result is some ten kilobytes. */
const MOST_COLLECTED = 100;

interface BatchOptions {
  id: string;
  /** Expected number of clusters. */
  size: () => number;
  /** Position of a cluster in the list. */
  rankOf: (clusterId: string) => number;
  /** Monotonic time, ms. */
  now: () => number;
  /** Whether figures added at that time are stale by now. */
  isOld: (addedAt: number) => boolean;
  deliver: (round: Round) => void;
}

interface PendingResult {
  result: PollResult;
  addedAt: number;
}

/** Batch of the latest results of all clusters. The last part of a batch states their number. */
export class ResultBatch {
  /** An array instead of a Map: a Map would keep removed values alive for longer (see `followAbort`). */
  #pending: PendingResult[] = [];
  readonly #sent = new Set<string>();
  readonly #options: BatchOptions;
  #error: PrintingError | null = null;

  constructor(options: BatchOptions) {
    this.#options = options;
  }

  add(result: PollResult): void {
    this.#error ??= result.error;
    if (!result.status || this.#sent.has(result.clusterId)) return;
    this.drop(result.clusterId);
    this.#pending.push({ result, addedAt: this.#options.now() });
    if (this.#pending.length <= (this.#options.size() > MOST_COLLECTED ? 1 : MOST_COLLECTED)) return;
    // One result stays for the last part, which states the count.
    this.#send(this.#pending.splice(0, this.#pending.length - 1), null);
  }

  /** Drops the result of a cluster. */
  drop(clusterId: string): void {
    const at = this.#pending.findIndex(({ result }) => result.clusterId === clusterId);
    if (at >= 0) this.#pending.splice(at, 1);
  }

  end(error: PrintingError | null = null): PrintingError | null {
    this.#error = error ?? this.#error;
    const pending = this.#pending.length;
    this.#send(this.#pending.splice(0), this.#sent.size + pending);
    return this.#error;
  }

  #send(pending: PendingResult[], count: number | null): void {
    const { id, rankOf, isOld, deliver } = this.#options;
    const results = pending.map(({ result, addedAt }) => (isOld(addedAt) ? asStale(result) : result));
    const group = { id, start: this.#sent.size, count };
    results.sort((one, other) => rankOf(one.clusterId) - rankOf(other.clusterId));
    for (const { clusterId } of results) this.#sent.add(clusterId);
    deliver({ results, group, error: this.#error });
  }
}

const asStale = (result: PollResult): PollResult => ({
  ...result,
  status: result.status && { ...result.status, stale: true },
  raw: null,
});
