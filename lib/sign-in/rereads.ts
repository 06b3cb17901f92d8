import { waitBefore } from '../time/backoff';
import type { Clock } from '../time/clock';

/** Waits between reads while the store can't be read, ms. */
const REREAD = { first: 1_000, longest: 30_000 };

/** Plans the next read of the stored grant after a failed one. */
export class Rereads {
  /** Failed reads in a row. */
  #failed = 0;
  #cancel: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  /** Reads again later. `read` reports its own failures. */
  plan(read: () => Promise<void>): void {
    this.stop();
    const wait = waitBefore(this.#failed++, REREAD);
    this.#cancel = this.clock.after(wait, () => void read().catch(() => undefined));
  }

  succeeded(): void {
    this.#failed = 0;
  }

  stop(): void {
    this.#cancel?.();
  }
}
