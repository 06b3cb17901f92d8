import type { Clock } from '../../time/clock';
import { list, record, text } from '../../service/json-readers';
import type { Key } from '../../state/store';
import { PLANNER, type QueueStore } from './records';

/** Events that a runtime tells, or has told, under one lease. */
interface Claim {
  /** Number of the lease. */
  lease: string;
  ids: readonly string[];
  /** Present if they were told, for certain; otherwise only the runtime itself knows. */
  areTold?: true;
}

/** Saved under `['queue-telling', ...scope, queueId]`. */
interface TellingRecord {
  version: 1;
  claims: readonly Claim[];
}

/**
 * Time for which an event is left to a runtime that recorded that it tells it, and lost its lease, ms: if that runtime
 * only stood still, it says within this time which events it has told (ADR 35).
 */
const LEFT_FOR = 180_000;

/** Which runtime tells which events of a queue, under the number of its lease. Only events that are not removed yet count. */
export class Telling {
  readonly #store: QueueStore;
  readonly #clock: Clock;
  readonly #key: Key;
  #claims: readonly Claim[] = [];
  /** When this runtime first saw each claim of an event, by lease and event, monotonic, ms. */
  #seenAt: ReadonlyMap<string, number> = new Map();

  constructor(store: QueueStore, queueId: string, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#key = store.keyOf('queue-telling', queueId);
  }

  /** Rejects while the record can't be read. */
  async load(): Promise<void> {
    this.#adopt(await this.#store.get<unknown>(this.#key));
  }

  /** What is known of an event that another lease has claimed: it was told, or may be told still; null: it is not claimed. */
  stateOf(id: string, lease: string): 'told' | 'left' | null {
    let state: 'told' | 'left' | null = null;
    for (const claim of this.#claims) {
      if (claim.lease === lease || !claim.ids.includes(id)) continue;
      if (claim.areTold) return 'told';
      const since = this.#clock.monotonic() - (this.#seenAt.get(nameOf(claim.lease, id)) ?? -Infinity);
      if (since < LEFT_FOR) state = 'left';
    }
    return state;
  }

  /**
   * Records, as the planner, that events are told under its lease, and resolves with those: not with the ones that another
   * lease has claimed. Claims of events that are gone are dropped; `open`: all events that were not removed yet. Rejects if
   * it can't be written, or the lease was lost.
   */
  async claim(lease: string, ids: readonly string[], open: ReadonlySet<string>): Promise<string[]> {
    let free: string[] = [];
    await this.#change((claims) => {
      free = ids.filter((id) => this.stateOf(id, lease) === null);
      if (free.length === 0) return claims;
      const left = claims
        .map((claim) => ({ ...claim, ids: claim.ids.filter((id) => open.has(id) && !free.includes(id)) }))
        .filter((claim) => claim.ids.length > 0);
      const own = left.find((claim) => claim.lease === lease && !claim.areTold);
      return [...left.filter((claim) => claim !== own), { lease, ids: [...(own?.ids ?? []), ...free] }];
    }, PLANNER);
    return free;
  }

  /** Records which events were told under a lease that this runtime has lost; the others are left to the planner. */
  async settle(lease: string, told: ReadonlySet<string>): Promise<void> {
    await this.#change((claims) =>
      claims.flatMap((claim) => {
        if (claim.lease !== lease || claim.areTold) return [claim];
        const ids = claim.ids.filter((id) => told.has(id));
        return ids.length > 0 ? [{ lease, ids, areTold: true }] : [];
      }),
    );
  }

  async #change(change: (claims: readonly Claim[]) => readonly Claim[], options = {}): Promise<void> {
    const after = await this.#store.update<TellingRecord>(
      this.#key,
      (stored) => {
        this.#adopt(stored);
        const claims = this.#claims;
        const next = change(claims);
        return JSON.stringify(next) === JSON.stringify(claims) ? stored : { version: 1, claims: next };
      },
      options,
    );
    this.#adopt(after);
  }

  #adopt(stored: unknown): void {
    this.#claims = readClaims(stored);
    const now = this.#clock.monotonic();
    const names = this.#claims.flatMap(({ lease, ids }) => ids.map((id) => nameOf(lease, id)));
    this.#seenAt = new Map(names.map((name) => [name, this.#seenAt.get(name) ?? now]));
  }
}

/** Names the claim of an event: each of a lease has an age of its own. */
const nameOf = (lease: string, id: string): string => `${lease}/${id}`;

/** The claims of a record; of another version it may be anything. */
const readClaims = (stored: unknown): Claim[] =>
  list(record(stored)?.claims).flatMap((entry) => {
    const { lease, ids, areTold } = record(entry) ?? {};
    const number = text(lease);
    const words = list(ids).filter((id) => typeof id === 'string');
    return number === null ? [] : [{ lease: number, ids: words, ...(areTold === true && { areTold }) }];
  });
