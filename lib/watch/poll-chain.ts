import type { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { nextPoll, retryPoll } from './next-poll';

/** Somebody served by a chain of polls. */
export interface Subscriber<T> {
  /** ms. */
  readonly interval: number;
  readonly paused: boolean;
  /** After every poll; `due` says whether it is this subscriber's turn by its own interval. Must not throw. */
  serve(outcome: T, due: boolean): void;
}

/** What one poll brought. */
export interface Turn<T> {
  outcome: T;
  error: PrintingError | null;
  /** Until the next print should end, ms. */
  endsIn: number | null;
}

interface ChainOptions<T> {
  clock: Clock;
  random: () => number;
  /** Whether polls have a chance (the account is signed in). */
  usable: () => boolean;
  /** Makes one poll. `asked`: a user wants it now. Never rejects. */
  run: (asked: boolean) => Promise<Turn<T>>;
}

/**
 * One poll after the other, never two at once, for however many subscribers: at the shortest of their intervals, and at
 * once for one that is new. Every poll, whoever asked for it, serves all and starts the interval anew.
 */
export class PollChain<T, S extends Subscriber<T> = Subscriber<T>> {
  readonly #options: ChainOptions<T>;
  /** When each was last served, monotonic ms. */
  readonly #subscribers = new Map<S, number | null>();
  #flight: Promise<T> | null = null;
  #disarm: () => void = () => undefined;
  #failures = 0;
  #debt = 0;
  #closed = false;

  constructor(options: ChainOptions<T>) {
    this.#options = options;
  }

  get subscribers(): S[] {
    return [...this.#subscribers.keys()];
  }

  /** Failed polls in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** Shortest interval of those who are not paused, ms. */
  get interval(): number | null {
    const active = this.subscribers.filter(({ paused }) => !paused).map(({ interval }) => interval);
    return active.length > 0 ? Math.min(...active) : null;
  }

  add(subscriber: S): void {
    this.#subscribers.set(subscriber, null);
    this.wake();
  }

  remove(subscriber: S): void {
    this.#subscribers.delete(subscriber);
    this.rest();
  }

  /** Polls at once where somebody wants it and it has a chance. */
  wake(): void {
    if (this.#closed || this.interval === null || !this.#options.usable()) return this.rest();
    void this.poll(false);
  }

  /** Ends the waiting for the next poll where nobody wants it or it has no chance. */
  rest(): void {
    if (this.#closed || this.interval === null || !this.#options.usable()) this.#disarm();
  }

  /** Polls now, or joins the poll under way. Never rejects. */
  poll(asked: boolean): Promise<T> {
    this.#flight ??= this.#turn(asked);
    return this.#flight;
  }

  close(): void {
    this.#closed = true;
    this.#subscribers.clear();
    this.#disarm();
  }

  async #turn(asked: boolean): Promise<T> {
    this.#disarm();
    const { outcome, error, endsIn } = await this.#options.run(asked);
    this.#flight = null;
    if (this.#closed) return outcome;
    this.#failures = error ? this.#failures + 1 : 0;
    this.#serve(outcome);
    this.#arm(error, endsIn);
    return outcome;
  }

  #serve(outcome: T): void {
    const now = this.#options.clock.monotonic();
    const shortest = this.interval ?? 0;
    for (const [subscriber, served] of this.#subscribers) {
      if (subscriber.paused) continue;
      const { interval } = subscriber;
      // Who wants less than the chain makes, is served by the poll nearest to its own turn.
      const due = interval <= shortest || served === null || now - served >= interval - shortest / 2;
      if (due) this.#subscribers.set(subscriber, now);
      subscriber.serve(outcome, due);
    }
  }

  #arm(error: PrintingError | null, endsIn: number | null): void {
    this.#disarm();
    const { interval } = this;
    const { clock, random, usable } = this.#options;
    if (this.#closed || interval === null || !usable()) return;
    let delay: number;
    if (error) {
      delay = retryPoll({ interval, failures: this.#failures, retryAfter: error.retryAfter }, random);
    } else {
      ({ delay, debt: this.#debt } = nextPoll({ interval, endsIn, debt: this.#debt }, random));
    }
    this.#disarm = clock.after(delay, () => this.wake());
  }
}
