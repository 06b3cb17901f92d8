import type { PrintingError } from '../../service/errors';
import { retryPoll } from './poll-timing';

/** A poll that failed. */
export interface FailedPoll {
  /** When it began, monotonic ms. */
  start: number;
  error: PrintingError;
  /** Whether it never left, because it got no token. */
  lacksToken: boolean;
}

/** Failed polls in a row of one poller, and the time of the next try. */
export class FailedPolls {
  #count = 0;
  /** Earliest time of the next try, monotonic ms. */
  retryAt = 0;

  constructor(private readonly random: () => number) {}

  /** Whether the last poll failed. */
  get isFailing(): boolean {
    return this.#count > 0;
  }

  /** Records a failure. A late token doesn't lengthen the backoff. */
  record({ start, error, lacksToken }: FailedPoll, interval: number): void {
    if (!lacksToken || !this.isFailing) this.#count++;
    const { retryAfter } = error;
    this.retryAt = start + retryPoll({ interval, failures: this.#count, retryAfter }, this.random);
  }

  recordSuccess(): void {
    this.#count = 0;
  }

  reset(): void {
    this.#count = this.retryAt = 0;
  }
}
