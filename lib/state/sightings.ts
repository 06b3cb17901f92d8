import type { Clock } from '../time/clock';

interface Sighting {
  /** The last sign of life, as the row showed it. */
  beat: string;
  /** When it was first seen, monotonic ms. */
  since: number;
  /** For how long the lease lasts after a sign of life, ms. */
  lasts: number;
}

/** Leases that are watched at once; the longest forgotten gives way. */
const MOST = 10_000;

/**
 * The leases of other runtimes, as this one sees them. A lease is over when its row has shown no sign of life for as long as
 * it lasts, by the monotonic clock of the runtime that watches. So the clocks on the walls have no part in it, neither the
 * database's nor any runtime's (ADR 14).
 */
export class Sightings {
  readonly #clock: Clock;
  readonly #seen = new Map<string, Sighting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes what a row shows, once the answer is there: the sign of life is older than that. Answers how much is left, ms. */
  see(name: string, beat: string, lasts: number): number {
    const seen = this.#seen.get(name);
    const since = seen?.beat === beat ? seen.since : this.#clock.monotonic();
    this.#seen.delete(name);
    this.#seen.set(name, { beat, since, lasts });
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > MOST && oldest !== undefined) this.#seen.delete(oldest);
    return lasts - (this.#clock.monotonic() - since);
  }

  /** The sign of life that a lease ended with; undefined where it is not known to be over. */
  over(name: string): string | undefined {
    const seen = this.#seen.get(name);
    return seen && this.#clock.monotonic() - seen.since >= seen.lasts ? seen.beat : undefined;
  }

  /** For how long a lease has shown no other sign of life than this, ms. */
  age(name: string, beat: string): number {
    const seen = this.#seen.get(name);
    return seen?.beat === beat ? this.#clock.monotonic() - seen.since : 0;
  }

  forget(name: string): void {
    this.#seen.delete(name);
  }
}
