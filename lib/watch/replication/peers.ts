import { Changes } from '../../sign-in/sign-in-state';
import type { Membership } from '../../state/membership';
import type { Key } from '../../state/store';
import { type Clock, isoTime } from '../../time/clock';
import { LIST } from '../checkpoints/checkpoint-store';

/** Runtimes that share an account's work. */
export interface Peers {
  /** Id of this runtime; null without peers. */
  readonly id: string | null;
  /** Returns false where a runtime has ended for certain. While that is unknown it counts as live. */
  isLiving(id: string): boolean;
  /** Calls `listener` after a runtime joined or ended, or this one rejoined. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
}

/** Peers of a single runtime: it inherits the work of earlier ones. */
export const NO_PEERS: Peers = { id: null, isLiving: () => false, onChange: () => () => undefined };

/** Live runtimes of one account. */
export class LivePeers implements Peers {
  readonly #changes = new Changes();
  #known = '';

  constructor(private readonly membership: Membership) {}

  get id(): string {
    return this.membership.id;
  }

  isLiving(id: string): boolean {
    const { members } = this.membership;
    return members.length === 0 || members.some((member) => member.id === id);
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  /** Call after the members may have changed. */
  refresh(): void {
    const known = this.membership.members.map(({ id }) => id).join();
    if (known === this.#known) return;
    this.#known = known;
    if (known !== '') this.#changes.notify();
  }
}

/** Runtime that shares an account's polls, as shown in a problem report: ids are shortened. */
export interface Replica {
  id: string;
  name: string;
  /** Whether it is the runtime that reports. */
  self: boolean;
  since: string;
  /** Seconds since the last renewal of its lease. */
  leaseAge: number;
  /** Number of printers that it polls, and whether it reads the list of printers. */
  printers: number;
  list: boolean;
  /** Printers that it polls, the first 1,000 of them. */
  clusterIds: string[];
}

/** Largest number of polls that a problem report names of one runtime. */
const MOST_NAMED = 1_000;

/** Lists the runtimes and their polls. Empty while this runtime is no member. Rejects without the database. */
export async function replicasOf(membership: Membership): Promise<Replica[]> {
  const holdings = await membership.holders();
  const { id: own, members } = membership;
  return members.map(({ id, name, since }) => {
    const { items = [], leaseAge = 0 } = holdings.get(id) ?? {};
    const list = items.includes(LIST);
    return {
      id: shortened(id),
      name,
      self: id === own,
      since: isoTime(since),
      leaseAge: Math.round(leaseAge / 100) / 10,
      printers: list ? items.length - 1 : items.length,
      list,
      clusterIds: items
        .slice(0, MOST_NAMED)
        .filter((item) => item !== LIST)
        .map(shortened),
    };
  });
}

const shortened = (id: string): string => `${id.slice(0, 6)}…`;

/** Names by which other runtimes know this account (`topic`) and this runtime (`name`). */
export interface Sharing {
  topic: Key;
  name: string;
}

/** Reason for not polling: another runtime polls (`by`: its name, if known), or the store is unreachable. */
export type Standby = { why: 'elsewhere'; by: string | null } | { why: 'store' };

/** Shortest time between two queries of the owners, ms: the names only serve node statuses. */
const APART = 5_000;

/** Names of the runtimes that own clusters. */
export class OwnerNames {
  readonly #names = new Map<string, string>();
  #askedAt = -Infinity;
  #disarm: (() => void) | undefined;

  constructor(
    private readonly membership: Membership,
    private readonly clock: Clock,
    private readonly changed: () => void,
  ) {}

  of(item: string): string | null {
    return this.#names.get(item) ?? null;
  }

  /** Call after owners may have changed: queries those of `items` soon. */
  refresh(items: () => readonly string[]): void {
    if (items().length === 0) return;
    const wait = Math.max(0, this.#askedAt + APART - this.clock.monotonic());
    this.#disarm ??= this.clock.after(wait, () => void this.#ask(items));
  }

  end(): void {
    this.#disarm?.();
    this.#disarm = () => undefined;
  }

  /** Never rejects: the names are optional. */
  async #ask(items: () => readonly string[]): Promise<void> {
    this.#disarm = undefined;
    this.#askedAt = this.clock.monotonic();
    const { members } = this.membership;
    const holders = await this.membership.holders().catch(() => null);
    const wanted = new Set(items());
    this.#names.clear();
    for (const { id, name } of members)
      for (const item of holders?.get(id)?.items ?? []) if (wanted.has(item)) this.#names.set(item, name);
    this.changed();
  }
}
