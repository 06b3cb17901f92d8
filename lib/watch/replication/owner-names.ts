import type { Membership } from '../../state/membership';
import type { Clock } from '../../time/clock';

/** Shortest time between two queries of the owners, ms: the names only serve node statuses. */
const APART = 5_000;

/** Names of the runtimes that own clusters. */
export class OwnerNames {
  readonly #membership: Membership;
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #names = new Map<string, string>();
  #askedAt = -Infinity;
  #disarm: (() => void) | undefined;

  constructor(membership: Membership, clock: Clock, changed: () => void) {
    this.#membership = membership;
    this.#clock = clock;
    this.#changed = changed;
  }

  of(item: string): string | null {
    return this.#names.get(item) ?? null;
  }

  /** Call after owners may have changed: queries those of `items` soon. */
  refresh(items: () => readonly string[]): void {
    if (items().length === 0) return;
    const wait = Math.max(0, this.#askedAt + APART - this.#clock.monotonic());
    this.#disarm ??= this.#clock.after(wait, () => void this.#ask(items));
  }

  end(): void {
    this.#disarm?.();
    this.#disarm = () => undefined;
  }

  /** Never rejects: the names are optional. */
  async #ask(items: () => readonly string[]): Promise<void> {
    this.#disarm = undefined;
    this.#askedAt = this.#clock.monotonic();
    const { members } = this.#membership;
    const holders = await this.#membership.holders().catch(() => null);
    const wanted = new Set(items());
    this.#names.clear();
    for (const { id, name } of members)
      for (const item of holders?.get(id)?.items ?? []) if (wanted.has(item)) this.#names.set(item, name);
    this.#changed();
  }
}
