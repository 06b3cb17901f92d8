import { createHash } from 'node:crypto';
import type { Assigned, Holding } from '../state/membership';
import type { Clock } from '../time/clock';
import { ADD_ITEMS, CLAIM_ITEMS, HOLDERS, readJson, RELEASE_ITEMS } from './roster';

interface TopicItemsOptions {
  /** Hash of the topic. */
  topic: string;
  /** Name of this member's row. */
  member: string;
  /** `once`: don't repeat the statement if its outcome is unknown. */
  query: <Row extends object>(text: string, values: unknown[], once?: boolean) => Promise<Row[]>;
  /** Leases of the members. */
  sightings: Sightings;
  /** Notification of a change. */
  payload: string;
}

/**
 * The items of a topic. Statements that claim or release are never repeated: arriving late, one would retake released
 * items or release retaken ones.
 */
export class TopicItems {
  readonly #options: TopicItemsOptions;

  constructor(options: TopicItemsOptions) {
    this.#options = options;
  }

  /** Claims up to `limit` free items under the lease `token`. */
  async claim(token: string, items: readonly string[], limit: number): Promise<Assigned[]> {
    const { member, query, topic } = this.#options;
    const byName = new Map(items.map((item) => [this.#nameOf(item), item]));
    const names = [...byName.keys()];
    const most = Math.min(limit, names.length);
    const claim = (many: number) => query<Claimed>(CLAIM_ITEMS, [member, token, names, many], true);
    const answer = await claim(most);
    const claimed = answer.filter(({ name }) => name !== null);
    if (claimed.length < answer.length && claimed.length < most) {
      const words = [...byName.values()].map((item) => JSON.stringify(item));
      await query(ADD_ITEMS, [names, topic, words]);
      claimed.push(...(await claim(most - claimed.length)));
    }
    return claimed.flatMap(({ name, note, idle }) => {
      const item = byName.get(name ?? '');
      if (item === undefined) return [];
      return { item, note: readJson(note), idle: idle === null ? Infinity : Math.max(0, Number(idle)) };
    });
  }

  /** Releases items that are held under the lease `token`. */
  async release(token: string, notes: ReadonlyMap<string, unknown>): Promise<void> {
    const { payload, query } = this.#options;
    const names = [...notes.keys()].map((item) => this.#nameOf(item));
    await query(RELEASE_ITEMS, [token, names, this.byName(notes), payload], true);
  }

  /** Items of each member, by member id. */
  async holders(): Promise<ReadonlyMap<string, Holding>> {
    const { query, sightings, topic } = this.#options;
    const rows = await query<{ id: string; beat: string; item: string | null }>(HOLDERS, [topic]);
    const found = new Map<string, { items: string[]; leaseAge: number }>();
    for (const { id, beat, item } of rows) {
      const holding = found.get(id) ?? { items: [], leaseAge: sightings.age(id, beat) };
      const word = readJson(item);
      if (typeof word === 'string') holding.items.push(word);
      found.set(id, holding);
    }
    return found;
  }

  /** Encodes notes by the names of their rows. */
  byName(notes: ReadonlyMap<string, unknown>): string {
    return JSON.stringify(
      Object.fromEntries([...notes].map(([item, note]) => [this.#nameOf(item), JSON.stringify(note)])),
    );
  }

  #nameOf(item: string): string {
    return hashOf([this.#options.topic, item]);
  }
}

interface Claimed {
  /** Null: some items have no row yet. */
  name: string | null;
  note: string | null;
  idle: string | null;
}

/** Hash of a list of words, as the name of a row. */
export const hashOf = (words: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(words)).digest('hex');

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
  readonly #clock: Clock;
  readonly #seen = new Map<string, Sighting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Records the heartbeat of a row. Call it after the answer arrived, when the heartbeat is already older. Returns the
   * remaining lifetime, ms.
   */
  record(name: string, beat: string, lasts: number): number {
    const seen = this.#seen.get(name);
    const since = seen?.beat === beat ? seen.since : this.#clock.monotonic();
    this.#seen.delete(name);
    this.#seen.set(name, { beat, since, lasts });
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > MOST && oldest !== undefined) this.#seen.delete(oldest);
    return lasts - (this.#clock.monotonic() - since);
  }

  /** Last heartbeat of an expired lease; undefined if the lease isn't known to have expired. */
  expired(name: string): string | undefined {
    const seen = this.#seen.get(name);
    return seen && this.#clock.monotonic() - seen.since >= seen.lasts ? seen.beat : undefined;
  }

  /** Time since this heartbeat was first seen, ms; 0 for one not seen before. */
  age(name: string, beat: string): number {
    const seen = this.#seen.get(name);
    return seen?.beat === beat ? this.#clock.monotonic() - seen.since : 0;
  }

  forget(name: string): void {
    this.#seen.delete(name);
  }
}
