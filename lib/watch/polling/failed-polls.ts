import type { PrintingError } from '../../service/errors';
import { retryPoll } from './poll-timing';

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

  /** Records the failure of a poll that began at `start`. A late token doesn't lengthen the backoff. */
  record(start: number, interval: number, { retryAfter }: PrintingError, lacksToken: boolean): void {
    if (!lacksToken || !this.isFailing) this.#count++;
    this.retryAt = start + retryPoll({ interval, failures: this.#count, retryAfter }, this.random);
  }

  recordSuccess(): void {
    this.#count = 0;
  }

  reset(): void {
    this.#count = this.retryAt = 0;
  }
}
