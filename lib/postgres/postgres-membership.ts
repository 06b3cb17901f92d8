import { createHash } from 'node:crypto';
import { guard } from '../time/guard';
import { RetryTimer } from '../time/retry';
import { settledWithin } from '../time/concurrency';
import type { Assigned, Holding, JoinOptions, Lock, Member, Membership } from '../state/membership';
import type { Key } from '../state/store';
import { encodeMessage, type Channel, type ChannelMessage } from './channel';
import { notReadable, wrapped } from './entries';
import type { RuntimeContext } from './entry-locks';
import type { Lease } from './leases';
import {
  ADD_ITEMS,
  CLAIM_ITEMS,
  ENTER,
  EVICT,
  HOLDERS,
  LEAVE,
  markOf,
  type MemberRow,
  READ_MEMBERS,
  readJson,
  RELEASE_ITEMS,
  Roster,
  UPDATE_CONTENT,
} from './roster';
import { Sightings } from './sightings';

/** Interval between reads of the members without a notification, ms. */
const REFRESH_EVERY = 5_000;
/** Time without a heartbeat after which a member counts as silent, ms: more than a renewal. */
const SILENT_AFTER = 6_000;
/** Delay after the expiry of a member's lease until its eviction, ms. */
const AFTER_EXPIRY = 20;
/** Backoff between attempts to join, ms. */
const WAITS = { first: 500, longest: 5_000, jitter: 0.2 };
/** Longest wait for the database when leaving, ms. */
const LEAVE_WITHIN = 5_000;

const NONE: readonly Member[] = [];
/** Kind of its values in sentences. */
const KIND: Key = ['assignment'];

/** A runtime's membership in shared work on a PostgreSQL database. Sends its statements one after the other. */
export class PostgresMembership implements Membership {
  readonly #onChange: () => void;
  readonly #topic: string;
  /** Name of its lease. */
  readonly #name: string;
  readonly #about: { name: string; since: number };
  readonly #stopListening: () => void;
  /** Leases of the members. */
  readonly #sightings: Sightings;
  /** Content of its own row: the current one, and the one last written. */
  #content: string;
  #written = '';
  #lease: Lease | undefined;
  readonly #roster = new Roster();
  #nextRefresh = REFRESH_EVERY;
  readonly #retries: RetryTimer;
  #isWaiting = false;
  #hasLeft = false;
  #disarm: () => void = () => undefined;

  constructor(
    topic: Key,
    { name, wants, onChange }: JoinOptions,
    private readonly context: RuntimeContext,
    channel: Channel,
  ) {
    this.#onChange = guard(onChange);
    this.#retries = new RetryTimer(context.clock, WAITS);
    this.#sightings = new Sightings(context.clock);
    this.#topic = hashOf(topic);
    this.#name = hashOf([this.#topic, context.holder]);
    this.#about = { name, since: context.clock.now() };
    this.#content = this.#contentOf(wants);
    this.#stopListening = channel.listen((message) => {
      if (message === null || message.topic === this.#topic) this.#step();
    });
    this.#step();
  }

  get id(): string {
    return this.context.holder;
  }

  get members(): readonly Member[] {
    return this.lock ? this.#roster.members : NONE;
  }

  get lock(): Lock | null {
    // A runtime that stood still may ask before its timers fire.
    if (this.#lease?.isExpired) this.#lease.lose();
    return this.#roster.members.length > 0 ? (this.#lease ?? null) : null;
  }

  get leaseAge(): number | null {
    return this.lock ? (this.#lease?.age ?? null) : null;
  }

  want(wants: unknown): void {
    const content = this.#contentOf(wants);
    if (content === this.#content) return;
    this.#content = content;
    if (this.#lease) this.#step();
  }

  async take(items: readonly string[], limit: number): Promise<Assigned[]> {
    if (items.length === 0 || limit <= 0) return [];
    return (await this.#change(({ token }) => this.#claim(token, items, limit))) ?? [];
  }

  async release(notes: ReadonlyMap<string, unknown>): Promise<void> {
    if (notes.size === 0) return;
    const names = [...notes.keys()].map((item) => this.#nameOf(item));
    await this.#change(({ token }) =>
      this.#ask(RELEASE_ITEMS, [token, names, this.#byName(notes), this.#payload], true),
    );
  }

  async holders(): Promise<ReadonlyMap<string, Holding>> {
    const rows = await this.#ask<{ id: string; beat: string; item: string | null }>(HOLDERS, [this.#topic]);
    const found = new Map<string, { items: string[]; leaseAge: number }>();
    for (const { id, beat, item } of rows) {
      const holding = found.get(id) ?? { items: [], leaseAge: this.#sightings.age(id, beat) };
      const word = readJson(item);
      if (typeof word === 'string') holding.items.push(word);
      found.set(id, holding);
    }
    return found;
  }

  async leave(notes: ReadonlyMap<string, unknown>): Promise<void> {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#roster.clear();
    this.#stopListening();
    this.#stopTimers();
    const left = this.#inOrder(async () => {
      const lease = this.#lease;
      if (!lease) return;
      this.#forget(lease);
      await this.#ask(LEAVE, [this.#name, lease.token, this.#topic, this.#byName(notes), this.#payload]);
    });
    await settledWithin(this.context.clock, LEAVE_WITHIN, left);
  }

  /** Joins or refreshes, in order with the other statements, and schedules the next step. */
  #step(): void {
    if (this.#isWaiting || this.#hasLeft) return;
    this.#isWaiting = true;
    this.#stopTimers();
    const step = async () => {
      this.#isWaiting = false;
      if (this.#hasLeft) return;
      const isNew = !this.#lease;
      this.#nextRefresh = REFRESH_EVERY;
      if (isNew) await this.#enter();
      else if (this.#content !== this.#written) await this.#publish();
      await this.#refresh();
      // A member that joins and loses its lease at once must back off further.
      if (!isNew) this.#retries.succeeded();
    };
    this.#inOrder(step)
      // The database reports the failure. Without a lease, the next step tries again.
      .catch(() => undefined)
      .finally(() => this.#schedule());
  }

  #schedule(): void {
    this.#disarm();
    if (this.#hasLeft || this.#isWaiting) return;
    if (this.#lease) this.#disarm = this.context.clock.after(this.#nextRefresh, () => this.#step());
    else this.#retries.plan(() => this.#step());
  }

  #stopTimers(): void {
    this.#disarm();
    this.#retries.stop();
  }

  async #enter(): Promise<void> {
    const { clock, holder, leases } = this.context;
    await this.#evict(this.#name);
    const content = this.#content;
    const askedAt = clock.monotonic();
    const values = [this.#topic, this.#name, holder, content, leases.lasts, this.#payload];
    const [row] = await this.#ask<{ token: string }>(ENTER, values);
    if (!row) throw new Error('no lease was made');
    const lease = leases.add(this.#name, row.token, askedAt);
    this.#lease = lease;
    this.#written = content;
    lease.signal.addEventListener('abort', () => this.#lost(lease), { once: true });
  }

  async #publish(): Promise<void> {
    const content = this.#content;
    const rows = await this.#ask(UPDATE_CONTENT, [this.#name, this.#lease?.token, content, this.#payload]);
    if (rows.length > 0) this.#written = content;
  }

  async #refresh(): Promise<void> {
    let rows = await this.#ask<MemberRow>(READ_MEMBERS, [this.#topic, this.#roster.marks]);
    let left = this.#recordSightings(rows);
    const untilSilent = await this.#watchSilent(rows);
    const expired = this.context.mayTakeOver() ? rows.flatMap(({ id }) => this.#sightings.expired(id) ?? []) : [];
    // A departed member may have taken an item in its last moment.
    if (this.#roster.hasMoreThan(rows) || expired.length > 0) {
      await this.#evict(null, expired);
      rows = await this.#ask<MemberRow>(READ_MEMBERS, [this.#topic, this.#roster.marks]);
      left = this.#recordSightings(rows);
    }
    const ends = left.flatMap((ms) => (ms > 0 ? [ms + AFTER_EXPIRY] : []));
    this.#nextRefresh = Math.min(REFRESH_EVERY, untilSilent, ...ends);
    const lease = this.#lease;
    if (lease && !rows.some(({ token }) => token === lease.token)) lease.lose();
    else if (lease && !lease.signal.aborted) this.#adopt(rows);
  }

  /**
   * Watches the locks of silent members, which expire no later than their leases by much, though nobody may have asked for them
   * before. Returns the time until another member may be silent, ms.
   */
  async #watchSilent(rows: MemberRow[]): Promise<number> {
    let untilSilent = Infinity;
    for (const { id, beat } of rows) {
      if (id === this.id) continue;
      const left = SILENT_AFTER - this.#sightings.age(id, beat);
      if (left > 0) untilSilent = Math.min(untilSilent, left);
      else await this.context.watchLocks(id);
    }
    return untilSilent;
  }

  /** Records a sighting of each lease. Returns how long each will last at least, ms. */
  #recordSightings(rows: MemberRow[]): number[] {
    return rows.map(({ id, beat, lasts }) => this.#sightings.record(id, beat, lasts));
  }

  #adopt(rows: MemberRow[]): void {
    // A late write of earlier content may have overwritten the current one.
    const own = rows.find(({ id }) => id === this.id);
    if (own?.mark !== markOf(this.#written)) this.#written = '';
    if (this.#roster.adopt(rows)) this.#changed();
  }

  async #evict(own: string | null = null, expired: string[] = []): Promise<void> {
    await this.#ask(EVICT, [this.#topic, own, expired, this.#payload]);
  }

  /**
   * Changes the items of this runtime. Resolves with undefined if it isn't a member or the change failed. Never
   * rejects.
   */
  async #change<T>(change: (lease: Lease) => Promise<T>): Promise<T | undefined> {
    const lease = this.lock && this.#lease;
    if (!lease) return undefined;
    return this.#inOrder(async () => {
      if (lease !== this.#lease || this.#hasLeft) return undefined;
      try {
        const changed = await change(lease);
        return lease.signal.aborted ? undefined : changed;
      } catch {
        // The outcome is unknown. The next lease frees everything held under this one.
        lease.lose();
        return undefined;
      }
    });
  }

  #lost(lease: Lease): void {
    if (lease !== this.#lease) return;
    this.#forget(lease);
    this.#schedule();
    this.#changed();
  }

  #forget(lease: Lease): void {
    this.#lease = undefined;
    this.#roster.clear();
    this.context.leases.remove(lease);
    lease.lose();
  }

  #changed(): void {
    if (!this.#hasLeft) this.#onChange();
  }

  /**
   * Claims free items under the lease `token`. Statements that claim or release are never repeated: arriving late, one
   * would retake released items or release retaken ones.
   */
  async #claim(token: string, items: readonly string[], limit: number): Promise<Assigned[]> {
    const byName = new Map(items.map((item) => [this.#nameOf(item), item]));
    const names = [...byName.keys()];
    const most = Math.min(limit, names.length);
    const claim = (many: number) => this.#ask<Claimed>(CLAIM_ITEMS, [this.#name, token, names, many], true);
    const answer = await claim(most);
    const claimed = answer.filter(({ name }) => name !== null);
    if (claimed.length < answer.length && claimed.length < most) {
      const words = [...byName.values()].map((item) => JSON.stringify(item));
      await this.#ask(ADD_ITEMS, [names, this.#topic, words]);
      claimed.push(...(await claim(most - claimed.length)));
    }
    return claimed.flatMap(({ name, note, idle }) => {
      const item = byName.get(name ?? '');
      if (item === undefined) return [];
      return { item, note: readJson(note), idle: idle === null ? Infinity : Math.max(0, Number(idle)) };
    });
  }

  /** Encodes notes by the names of their rows. */
  #byName(notes: ReadonlyMap<string, unknown>): string {
    return JSON.stringify(
      Object.fromEntries([...notes].map(([item, note]) => [this.#nameOf(item), JSON.stringify(note)])),
    );
  }

  #nameOf(item: string): string {
    return hashOf([this.#topic, item]);
  }

  /** `once`: doesn't repeat the statement if its outcome is unknown. */
  #ask<Answer extends object>(text: string, values: unknown[], once = false): Promise<Answer[]> {
    return wrapped(this.context.database.query<Answer>(text, values, { urgent: true, once }), notReadable(KIND));
  }

  /** Runs after all earlier statements, including those of an earlier membership of this runtime. */
  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    return this.context.locks.waitFor(`member ${this.#topic}`, work);
  }

  get #payload(): string {
    return encodeMessage({ by: this.context.holder, topic: this.#topic } satisfies ChannelMessage);
  }

  #contentOf(wants: unknown): string {
    return JSON.stringify({ ...this.#about, wants });
  }
}

interface Claimed {
  /** Null: some items have no row yet. */
  name: string | null;
  note: string | null;
  idle: string | null;
}

/** Hash of a list of words, as the name of a row. */
const hashOf = (words: readonly string[]): string => createHash('sha256').update(JSON.stringify(words)).digest('hex');
