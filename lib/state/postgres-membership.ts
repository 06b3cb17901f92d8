import { createHash } from 'node:crypto';
import { MEMBER, TEXT } from '../rules/limits';
import { record } from '../service/json-readers';
import { waitBefore } from '../time/backoff';
import type { Clock } from '../time/clock';
import { encodeMessage, type Channel, type ChannelMessage } from './channel';
import type { Lease, Leases } from './leases';
import type { Lock } from './lock';
import type { Locks } from './locks';
import { ADD, BURY, ENTER, HOLDERS, LEAVE, LOOK, RELEASE, TAKE_ITEMS, WANT } from './member-statements';
import type { Assigned, Holding, JoinOptions, Member, Membership } from './membership';
import type { Sightings } from './sightings';
import type { Key } from './store';

/** What all memberships of a runtime have in common. */
export interface Surroundings {
  clock: Clock;
  /** The id of the runtime. */
  holder: string;
  /** `once`: not a second time where it is not known whether it was done. */
  query<Row extends object>(text: string, values: unknown[], once?: boolean): Promise<Row[]>;
  /** The database was there for long enough that a lease that ran out is over. */
  mayBury(): boolean;
  /** The leases of the members, of this topic alone. */
  sightings: Sightings;
  leases: Leases;
  locks: Locks;
  channel: Channel;
}

/** Between looks at the members while nobody tells of a change, ms. */
const LOOK_EVERY = 5_000;
/** Who is not there any more is seen so soon after its lease has ended, ms. */
const AFTER_END = 20;
/** Between tries to be let in, ms. */
const WAITS = { first: 250, longest: 5_000, jitter: 0.2 };
/** The database is waited for no longer when all is given back, ms. */
const LEAVE_WITHIN = 5_000;

const NONE: readonly Member[] = [];

/** What a member says of itself. */
type About = Omit<Member, 'id'>;

/** A member as it was read. */
interface Read {
  token: string;
  mark: string;
  about: About;
}

interface Row {
  id: string;
  token: string;
  /** Its last sign of life, and for how long its lease lasts after that, ms. */
  beat: string;
  lasts: number;
  mark: string;
  /** Null where the mark is known. */
  content: string | null;
  free: string;
}

/** A runtime's part in work that is shared out on a PostgreSQL database. Its statements are sent one after the other. */
export class PostgresMembership implements Membership {
  readonly #around: Surroundings;
  readonly #onChange: () => void;
  readonly #topic: string;
  /** The name of its lease. */
  readonly #name: string;
  readonly #about: { name: string; since: number };
  readonly #deafen: () => void;
  /** What it says of itself, and what of that was written last. */
  #content: string;
  #written = '';
  #lease: Lease | undefined;
  #read = new Map<string, Read>();
  #members: readonly Member[] = [];
  /** Stands for the items that nobody has. */
  #free = '';
  #nextLook = LOOK_EVERY;
  #failures = 0;
  #isWaiting = false;
  #hasLeft = false;
  #disarm: () => void = () => undefined;

  constructor(topic: Key, { name, wants, onChange }: JoinOptions, around: Surroundings) {
    this.#around = around;
    this.#onChange = onChange;
    this.#topic = hashOf(topic);
    this.#name = hashOf([this.#topic, around.holder]);
    this.#about = { name, since: around.clock.now() };
    this.#content = this.#contentOf(wants);
    this.#deafen = around.channel.listen((said) => {
      if (said === null || said.topic === this.#topic) this.#step();
    });
    this.#step();
  }

  get id(): string {
    return this.#around.holder;
  }

  get members(): readonly Member[] {
    return this.lock ? this.#members : NONE;
  }

  get lock(): Lock | null {
    // Who stood still asks before its timers do.
    if (this.#lease?.isOver) this.#lease.lose();
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
      const take = (many: number) => this.#askOnce<Taken>(TAKE_ITEMS, [this.#name, token, names, many]);
      const answer = await take(most);
      const known = answer.filter(({ name }) => name !== null);
      if (known.length === answer.length || known.length >= most) return known;
      const words = [...byName.values()].map((item) => JSON.stringify(item));
      await this.#ask(ADD, [names, this.#topic, words]);
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
    await this.#change(({ token }) => this.#askOnce(RELEASE, [token, names, this.#byName(notes), this.#words]));
  }

  async holders(): Promise<ReadonlyMap<string, Holding>> {
    const rows = await this.#ask<{ id: string; beat: string; item: string | null }>(HOLDERS, [this.#topic]);
    const found = new Map<string, { items: string[]; leaseAge: number }>();
    for (const { id, beat, item } of rows) {
      const leaseAge = this.#around.sightings.age(id, beat);
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
    this.#deafen();
    this.#disarm();
    const left = this.#inTurn(async () => {
      const lease = this.#lease;
      if (!lease) return;
      this.#forget(lease);
      await this.#ask(LEAVE, [this.#name, lease.token, this.#topic, this.#byName(notes), this.#words]);
    }).catch(() => undefined);
    await new Promise<void>((resolve) => {
      const cancel = this.#around.clock.after(LEAVE_WITHIN, resolve);
      void left.then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** Comes in, or looks who is there, as soon as it is this one's turn; then again and again. */
  #step(): void {
    if (this.#isWaiting || this.#hasLeft) return;
    this.#isWaiting = true;
    this.#disarm();
    const step = async () => {
      this.#isWaiting = false;
      if (this.#hasLeft) return;
      const isNew = !this.#lease;
      this.#nextLook = LOOK_EVERY;
      if (isNew) await this.#enter();
      else if (this.#content !== this.#written) await this.#tell();
      await this.#look();
      // Who is let in and loses it at once waits longer each time.
      if (!isNew) this.#failures = 0;
    };
    this.#inTurn(step)
      // Told by the database; without a lease it is tried again.
      .catch(() => this.#failures++)
      .finally(() => this.#rest());
  }

  #rest(): void {
    this.#disarm();
    if (this.#hasLeft || this.#isWaiting) return;
    const wait = this.#lease ? this.#nextLook : waitBefore(this.#failures, WAITS);
    this.#disarm = this.#around.clock.after(wait, () => this.#step());
  }

  async #enter(): Promise<void> {
    const { clock, holder, leases } = this.#around;
    await this.#bury(this.#name);
    const content = this.#content;
    const askedAt = clock.monotonic();
    const values = [this.#topic, this.#name, holder, content, leases.lasts, this.#words];
    const [row] = await this.#ask<{ token: string }>(ENTER, values);
    if (!row) throw new Error('no lease was made');
    const lease = leases.add(this.#name, row.token, askedAt);
    this.#lease = lease;
    this.#written = content;
    lease.signal.addEventListener('abort', () => this.#lost(lease), { once: true });
  }

  async #tell(): Promise<void> {
    const content = this.#content;
    const rows = await this.#ask(WANT, [this.#name, this.#lease?.token, content, this.#words]);
    if (rows.length > 0) this.#written = content;
  }

  async #look(): Promise<void> {
    let rows = await this.#ask<Row>(LOOK, [this.#topic, this.#marks]);
    let left = this.#see(rows);
    const isThere = ({ token }: Read) => rows.some((row) => row.token === token);
    const over = this.#around.mayBury() ? rows.flatMap(({ id }) => this.#around.sightings.over(id) ?? []) : [];
    // A member that is gone may have taken something in its last moment.
    if (![...this.#read.values()].every(isThere) || over.length > 0) {
      await this.#bury(null, over);
      rows = await this.#ask<Row>(LOOK, [this.#topic, this.#marks]);
      left = this.#see(rows);
    }
    const ends = left.flatMap((ms) => (ms > 0 ? [ms + AFTER_END] : []));
    this.#nextLook = Math.min(LOOK_EVERY, ...ends);
    const lease = this.#lease;
    if (lease && !rows.some(({ token }) => token === lease.token)) lease.lose();
    else if (lease && !lease.signal.aborted) this.#take(rows);
  }

  /** For how long the lease of each lasts at least, ms. */
  #see(rows: Row[]): number[] {
    return rows.map(({ id, beat, lasts }) => this.#around.sightings.see(id, beat, lasts));
  }

  /** Takes note of who is there. */
  #take(rows: Row[]): void {
    // What it said before may arrive late.
    const own = rows.find(({ id }) => id === this.id);
    if (own?.mark !== hash(this.#written)) this.#written = '';
    const before = this.#read;
    const known = new Map([...before.values()].map(({ mark, about }) => [mark, about]));
    for (const { mark, content } of rows) if (content !== null) known.set(mark, readAbout(content));
    const aboutOf = (mark: string) => known.get(mark) ?? readAbout(null);
    this.#read = new Map(rows.map(({ id, token, mark }) => [id, { token, mark, about: aboutOf(mark) }]));
    const free = rows[0]?.free ?? '';
    const isSame = ([id, { token, mark }]: [string, Read]) =>
      before.get(id)?.token === token && before.get(id)?.mark === mark;
    if (free === this.#free && before.size === this.#read.size && [...this.#read].every(isSame)) return;
    this.#free = free;
    this.#members = [...this.#read].map(([id, { about }]) => ({ id, ...about }));
    this.#changed();
  }

  async #bury(own: string | null = null, over: string[] = []): Promise<void> {
    await this.#ask(BURY, [this.#topic, own, over, this.#words]);
  }

  /** Changes what this runtime has; undefined where it may not or could not. Never rejects. */
  async #change<T>(change: (lease: Lease) => Promise<T>): Promise<T | undefined> {
    const lease = this.lock && this.#lease;
    if (!lease) return undefined;
    return this.#inTurn(async () => {
      if (lease !== this.#lease || this.#hasLeft) return undefined;
      try {
        const changed = await change(lease);
        return lease.signal.aborted ? undefined : changed;
      } catch {
        // Nobody knows what of it was done. What was had under this lease is free as soon as there is another one.
        lease.lose();
        return undefined;
      }
    });
  }

  #lost(lease: Lease): void {
    if (lease !== this.#lease) return;
    this.#forget(lease);
    this.#failures++;
    this.#rest();
    this.#changed();
  }

  #forget(lease: Lease): void {
    this.#lease = undefined;
    this.#members = [];
    this.#read.clear();
    this.#around.leases.remove(lease);
    lease.lose();
  }

  #changed(): void {
    if (!this.#hasLeft) this.#onChange();
  }

  #ask<Answer extends object>(text: string, values: unknown[]): Promise<Answer[]> {
    return this.#around.query<Answer>(text, values);
  }

  /** What came late would take again what was released meanwhile, or release what was taken. */
  #askOnce<Answer extends object>(text: string, values: unknown[]): Promise<Answer[]> {
    return this.#around.query<Answer>(text, values, true);
  }

  /** After what was asked before, also by an earlier membership of this runtime. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#around.locks.hold(`member ${this.#topic}`, work);
  }

  get #marks(): string[] {
    return [...this.#read.values()].map(({ mark }) => mark);
  }

  get #words(): string {
    return encodeMessage({ by: this.#around.holder, topic: this.#topic } satisfies ChannelMessage);
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
  /** Null: some items are not known yet. */
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
