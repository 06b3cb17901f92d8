import { createHash } from 'node:crypto';
import { MEMBER, TEXT } from '../rules/limits';
import { record } from '../service/json-readers';
import { waitBefore } from '../time/backoff';
import type { Clock } from '../time/clock';
import { encodeMessage, type Channel, type ChannelMessage } from './channel';
import type { Lease, Leases } from './leases';
import type { Lock } from './lock';
import type { Locks } from './locks';
import {
  ADD_ITEMS,
  EVICT,
  ENTER,
  HOLDERS,
  LEAVE,
  READ_MEMBERS,
  RELEASE_ITEMS,
  CLAIM_ITEMS,
  UPDATE_CONTENT,
} from './member-statements';
import type { Assigned, Holding, JoinOptions, Member, Membership } from './membership';
import type { Sightings } from './sightings';
import type { Key } from './store';

/** Context shared by all memberships of a runtime. */
export interface MembershipContext {
  clock: Clock;
  /** Id of the runtime. */
  holder: string;
  /** `once`: don't repeat the statement if its outcome is unknown. */
  query<Row extends object>(text: string, values: unknown[], once?: boolean): Promise<Row[]>;
  /** Whether the database has been available for long enough to evict members with expired leases. */
  mayEvict(): boolean;
  /** Leases of the members of this topic. */
  sightings: Sightings;
  leases: Leases;
  locks: Locks;
  channel: Channel;
}

/** Interval between reads of the members without a notification, ms. */
const REFRESH_EVERY = 5_000;
/** Delay after the expiry of a member's lease until its eviction, ms. */
const AFTER_EXPIRY = 20;
/** Backoff between attempts to join, ms. */
const WAITS = { first: 250, longest: 5_000, jitter: 0.2 };
/** Longest wait for the database when leaving, ms. */
const LEAVE_WITHIN = 5_000;

const NONE: readonly Member[] = [];

/** A member's description of itself. */
type About = Omit<Member, 'id'>;

/** A member as last read. */
interface KnownMember {
  token: string;
  mark: string;
  about: About;
}

interface Row {
  id: string;
  token: string;
  /** Its last heartbeat, and the lifetime of its lease after that, ms. */
  beat: string;
  lasts: number;
  mark: string;
  /** Null if the mark is known. */
  content: string | null;
  free: string;
}

/** A runtime's membership in shared work on a PostgreSQL database. Sends its statements one after the other. */
export class PostgresMembership implements Membership {
  readonly #context: MembershipContext;
  readonly #onChange: () => void;
  readonly #topic: string;
  /** Name of its lease. */
  readonly #name: string;
  readonly #about: { name: string; since: number };
  readonly #stopListening: () => void;
  /** Content of its own row: the current one, and the one last written. */
  #content: string;
  #written = '';
  #lease: Lease | undefined;
  #known = new Map<string, KnownMember>();
  #members: readonly Member[] = [];
  /** Changes with the set of free items. */
  #free = '';
  #nextRefresh = REFRESH_EVERY;
  #failures = 0;
  #isWaiting = false;
  #hasLeft = false;
  #disarm: () => void = () => undefined;

  constructor(topic: Key, { name, wants, onChange }: JoinOptions, context: MembershipContext) {
    this.#context = context;
    this.#onChange = onChange;
    this.#topic = hashOf(topic);
    this.#name = hashOf([this.#topic, context.holder]);
    this.#about = { name, since: context.clock.now() };
    this.#content = this.#contentOf(wants);
    this.#stopListening = context.channel.listen((message) => {
      if (message === null || message.topic === this.#topic) this.#step();
    });
    this.#step();
  }

  get id(): string {
    return this.#context.holder;
  }

  get members(): readonly Member[] {
    return this.lock ? this.#members : NONE;
  }

  get lock(): Lock | null {
    // A runtime that stood still may ask before its timers fire.
    if (this.#lease?.isExpired) this.#lease.lose();
    return this.#members.length > 0 ? (this.#lease ?? null) : null;
  }

  want(wants: unknown): void {
    const content = this.#contentOf(wants);
    if (content === this.#content) return;
    this.#content = content;
    if (this.#lease) this.#step();
  }

  async take(items: readonly string[], limit: number): Promise<Assigned[]> {
    if (items.length === 0 || limit <= 0) return [];
    const byName = new Map(items.map((item) => [this.#nameOf(item), item]));
    const names = [...byName.keys()];
    const most = Math.min(limit, names.length);
    const taken = await this.#change(async ({ token }) => {
      const take = (many: number) => this.#askOnce<Taken>(CLAIM_ITEMS, [this.#name, token, names, many]);
      const answer = await take(most);
      const known = answer.filter(({ name }) => name !== null);
      if (known.length === answer.length || known.length >= most) return known;
      const words = [...byName.values()].map((item) => JSON.stringify(item));
      await this.#ask(ADD_ITEMS, [names, this.#topic, words]);
      return [...known, ...(await take(most - known.length))];
    });
    return (taken ?? []).flatMap(({ name, note, idle }) => {
      const item = byName.get(name ?? '');
      if (item === undefined) return [];
      return { item, note: parse(note), idle: idle === null ? Infinity : Math.max(0, Number(idle)) };
    });
  }

  async release(notes: ReadonlyMap<string, unknown>): Promise<void> {
    if (notes.size === 0) return;
    const names = [...notes.keys()].map((item) => this.#nameOf(item));
    await this.#change(({ token }) => this.#askOnce(RELEASE_ITEMS, [token, names, this.#byName(notes), this.#payload]));
  }

  async holders(): Promise<ReadonlyMap<string, Holding>> {
    const rows = await this.#ask<{ id: string; beat: string; item: string | null }>(HOLDERS, [this.#topic]);
    const found = new Map<string, { items: string[]; leaseAge: number }>();
    for (const { id, beat, item } of rows) {
      const leaseAge = this.#context.sightings.age(id, beat);
      const holding = found.get(id) ?? { items: [], leaseAge };
      const word = parse(item);
      if (typeof word === 'string') holding.items.push(word);
      found.set(id, holding);
    }
    return found;
  }

  async leave(notes: ReadonlyMap<string, unknown>): Promise<void> {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#members = [];
    this.#stopListening();
    this.#disarm();
    const left = this.#inOrder(async () => {
      const lease = this.#lease;
      if (!lease) return;
      this.#forget(lease);
      await this.#ask(LEAVE, [this.#name, lease.token, this.#topic, this.#byName(notes), this.#payload]);
    }).catch(() => undefined);
    await new Promise<void>((resolve) => {
      const cancel = this.#context.clock.after(LEAVE_WITHIN, resolve);
      void left.then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** Joins or refreshes, in order with the other statements, and schedules the next step. */
  #step(): void {
    if (this.#isWaiting || this.#hasLeft) return;
    this.#isWaiting = true;
    this.#disarm();
    const step = async () => {
      this.#isWaiting = false;
      if (this.#hasLeft) return;
      const isNew = !this.#lease;
      this.#nextRefresh = REFRESH_EVERY;
      if (isNew) await this.#enter();
      else if (this.#content !== this.#written) await this.#publish();
      await this.#refresh();
      // A member that joins and loses its lease at once must back off further.
      if (!isNew) this.#failures = 0;
    };
    this.#inOrder(step)
      // The database reports the failure. Without a lease, the next step tries again.
      .catch(() => this.#failures++)
      .finally(() => this.#schedule());
  }

  #schedule(): void {
    this.#disarm();
    if (this.#hasLeft || this.#isWaiting) return;
    const wait = this.#lease ? this.#nextRefresh : waitBefore(this.#failures, WAITS);
    this.#disarm = this.#context.clock.after(wait, () => this.#step());
  }

  async #enter(): Promise<void> {
    const { clock, holder, leases } = this.#context;
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
    let rows = await this.#ask<Row>(READ_MEMBERS, [this.#topic, this.#marks]);
    let left = this.#recordSightings(rows);
    const isThere = ({ token }: KnownMember) => rows.some((row) => row.token === token);
    const expired = this.#context.mayEvict() ? rows.flatMap(({ id }) => this.#context.sightings.expired(id) ?? []) : [];
    // A departed member may have taken an item in its last moment.
    if (![...this.#known.values()].every(isThere) || expired.length > 0) {
      await this.#evict(null, expired);
      rows = await this.#ask<Row>(READ_MEMBERS, [this.#topic, this.#marks]);
      left = this.#recordSightings(rows);
    }
    const ends = left.flatMap((ms) => (ms > 0 ? [ms + AFTER_EXPIRY] : []));
    this.#nextRefresh = Math.min(REFRESH_EVERY, ...ends);
    const lease = this.#lease;
    if (lease && !rows.some(({ token }) => token === lease.token)) lease.lose();
    else if (lease && !lease.signal.aborted) this.#adopt(rows);
  }

  /** Records a sighting of each lease. Returns how long each will last at least, ms. */
  #recordSightings(rows: Row[]): number[] {
    return rows.map(({ id, beat, lasts }) => this.#context.sightings.record(id, beat, lasts));
  }

  /** Adopts the members that were read. */
  #adopt(rows: Row[]): void {
    // A late write of earlier content may have overwritten the current one.
    const own = rows.find(({ id }) => id === this.id);
    if (own?.mark !== hash(this.#written)) this.#written = '';
    const before = this.#known;
    const known = new Map([...before.values()].map(({ mark, about }) => [mark, about]));
    for (const { mark, content } of rows) if (content !== null) known.set(mark, readAbout(content));
    const aboutOf = (mark: string) => known.get(mark) ?? readAbout(null);
    this.#known = new Map(rows.map(({ id, token, mark }) => [id, { token, mark, about: aboutOf(mark) }]));
    const free = rows[0]?.free ?? '';
    const isSame = ([id, { token, mark }]: [string, KnownMember]) =>
      before.get(id)?.token === token && before.get(id)?.mark === mark;
    if (free === this.#free && before.size === this.#known.size && [...this.#known].every(isSame)) return;
    this.#free = free;
    this.#members = [...this.#known].map(([id, { about }]) => ({ id, ...about }));
    this.#changed();
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
    this.#failures++;
    this.#schedule();
    this.#changed();
  }

  #forget(lease: Lease): void {
    this.#lease = undefined;
    this.#members = [];
    this.#known.clear();
    this.#context.leases.remove(lease);
    lease.lose();
  }

  #changed(): void {
    if (!this.#hasLeft) this.#onChange();
  }

  #ask<Answer extends object>(text: string, values: unknown[]): Promise<Answer[]> {
    return this.#context.query<Answer>(text, values);
  }

  /** Never repeats a statement: arriving late, it would retake released items or release retaken ones. */
  #askOnce<Answer extends object>(text: string, values: unknown[]): Promise<Answer[]> {
    return this.#context.query<Answer>(text, values, true);
  }

  /** Runs after all earlier statements, including those of an earlier membership of this runtime. */
  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    return this.#context.locks.hold(`member ${this.#topic}`, work);
  }

  get #marks(): string[] {
    return [...this.#known.values()].map(({ mark }) => mark);
  }

  get #payload(): string {
    return encodeMessage({ by: this.#context.holder, topic: this.#topic } satisfies ChannelMessage);
  }

  #contentOf(wants: unknown): string {
    return JSON.stringify({ ...this.#about, wants });
  }

  #nameOf(item: string): string {
    return hashOf([this.#topic, item]);
  }

  #byName(notes: ReadonlyMap<string, unknown>): string {
    return JSON.stringify(
      Object.fromEntries([...notes].map(([item, note]) => [this.#nameOf(item), JSON.stringify(note)])),
    );
  }
}

interface Taken {
  /** Null: some items have no row yet. */
  name: string | null;
  note: string | null;
  idle: string | null;
}

/** The entry of a member: of another version it may be anything. */
export function readAbout(content: string | null): About {
  const { name, since, wants = null } = record(parse(content)) ?? {};
  return {
    name: typeof name === 'string' ? name.slice(0, TEXT.shown) : '',
    since: isTime(since) ? since : 0,
    wants,
  };
}

/** From 1970 to 9999. */
const isTime = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value < 253_402_300_800_000;

/** The value of a JSON text of the database; null for what is none, or too long. */
function parse(json: string | null): unknown {
  if (json === null || json.length > MEMBER.content) return null;
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

const hashOf = (words: readonly string[]): string => hash(JSON.stringify(words));
