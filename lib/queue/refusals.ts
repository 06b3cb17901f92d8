import type { Clock } from '../time/clock';

/** Time after a refusal until the queue sends to the same printer again, ms. */
const LASTS = 60_000;

/** Clusters that have just refused a copy, or were not free after all. */
export class Refusals {
  readonly #until = new Map<string, number>();

  constructor(private readonly clock: Clock) {}

  add(clusterId: string): void {
    this.#until.set(clusterId, this.clock.monotonic() + LASTS);
  }

  has(clusterId: string): boolean {
    return (this.#until.get(clusterId) ?? -Infinity) > this.clock.monotonic();
  }

  /** Time until the next refusal is over, ms; Infinity without one. */
  get wait(): number {
    const now = this.clock.monotonic();
    return [...this.#until.values()].reduce(
      (first, until) => (until > now ? Math.min(first, until - now) : first),
      Infinity,
    );
  }
}
