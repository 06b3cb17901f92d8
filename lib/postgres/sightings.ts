import type { Clock } from '../time/clock';

interface Sighting {
  /** Last heartbeat that the row showed. */
  beat: string;
  /** Monotonic time at which it was first seen, ms. */
  since: number;
  /** Lifetime of the lease after a heartbeat, ms. */
  lasts: number;
}

/** Most leases tracked at once; the one recorded longest ago is dropped. */
const MOST = 10_000;

/**
 * Leases of other runtimes, as seen by this one. A lease has expired if its row has shown no new heartbeat for the
 * lifetime of the lease, by this runtime's monotonic clock. No wall clock matters, neither the database's nor any
 * runtime's (ADR 14).
 */
export class Sightings {
  readonly #seen = new Map<string, Sighting>();

  constructor(private readonly clock: Clock) {}

  /**
   * Records the heartbeat of a row. Call it after the answer arrived, when the heartbeat is already older. Returns the
   * remaining lifetime, ms.
   */
  record(name: string, beat: string, lasts: number): number {
    const seen = this.#seen.get(name);
    const since = seen?.beat === beat ? seen.since : this.clock.monotonic();
    this.#seen.delete(name);
    this.#seen.set(name, { beat, since, lasts });
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > MOST && oldest !== undefined) this.#seen.delete(oldest);
    return lasts - (this.clock.monotonic() - since);
  }

  /** Last heartbeat of an expired lease; undefined if the lease isn't known to have expired. */
  expired(name: string): string | undefined {
    const seen = this.#seen.get(name);
    return seen && this.clock.monotonic() - seen.since >= seen.lasts ? seen.beat : undefined;
  }

  /** Time since this heartbeat was first seen, ms; 0 for one not seen before. */
  age(name: string, beat: string): number {
    const seen = this.#seen.get(name);
    return seen?.beat === beat ? this.clock.monotonic() - seen.since : 0;
  }

  forget(name: string): void {
    this.#seen.delete(name);
  }
}
