import { createHash } from 'node:crypto';
import type { Assigned, Holding } from '../state/membership';
import { ADD_ITEMS, CLAIM_ITEMS, HOLDERS, RELEASE_ITEMS } from './member-statements';
import { readJson } from './roster';
import type { Sightings } from './sightings';

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
