import { createHash } from 'node:crypto';
import { DatabaseError, type Database, type QueryOptions } from '../../lib/postgres/database';
import { WriteBehindStore } from '../../lib/state/write-behind-store';
import { EXTEND, RELEASE_LEASE } from '../../lib/postgres/leases';
import * as members from '../../lib/postgres/roster';
import { LIST_ENTRIES, LOCKS_OF, READ, REMOVE, TAKE, WRITE } from '../../lib/postgres/entries';
import { PostgresStore } from '../../lib/postgres/postgres-store';
import { POSITION, type StateStore } from '../../lib/state/store';
import type { Clock } from '../../lib/time/clock';

/** A row of `entries`. */
interface Entry {
  kind: string;
  key: string;
  content: string | null;
  token: string;
  /** Hash of a member's content. */
  mark?: string | undefined;
  holder: string | null;
  turn?: number;
  endsAt: number;
  /** Changes with every update. */
  beat: number;
  lasts: number;
}

/** A row of `assignments`. */
interface Item {
  topic: string;
  item: string;
  holder: string | null;
  note: string | null;
  leftAt: number | null;
}

type Rows = object[];
type Statement = (values: never) => Rows;

const markOf = (content: string): string => createHash('sha256').update(content).digest('hex');

const beatOf = ({ token, beat }: Entry): string => `${token} ${beat}`;

/** One runtime's connection to the shared state. */
export interface Line {
  query(text: string, values: unknown[], options?: QueryOptions): Promise<Rows>;
  listen(heard: (words: string | null) => void): () => void;
  close(): Promise<void>;
}

/** State that several runtimes share. The test can kill, pause and disconnect each of them separately. */
export abstract class Shared {
  readonly clock: Clock;
  /** Runtimes that were not killed. */
  readonly runtimes = new Set<SharedRuntime>();
  isAway = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  abstract line(): Line;

  /** Starts another runtime. */
  runtime(): SharedRuntime {
    const runtime = new SharedRuntime(this);
    this.runtimes.add(runtime);
    return runtime;
  }

  /** Makes the shared state unreachable for every runtime. */
  halt(): void {
    this.isAway = true;
    for (const runtime of this.runtimes) runtime.broken();
  }

  /** Makes the shared state reachable again, with everything that was written. */
  start(): void {
    this.isAway = false;
    for (const runtime of this.runtimes) runtime.reached();
  }
}

/**
 * Shared state in memory, on an injected clock. It executes the statements of the PostgreSQL store at once; the rest is
 * the store's own code.
 */
export class SharedMemory extends Shared {
  readonly #entries = new Map<string, Entry>();
  readonly #members = new Map<string, Map<string, Entry>>();
  readonly #items = new Map<string, Item>();
  readonly #topics = new Map<string, Set<Item>>();
  readonly #statements: Map<string, Statement>;
  readonly #listeners = new Set<(words: string | null) => void>();
  #tokens = 0;

  constructor(clock: Clock) {
    super(clock);
    this.#statements = new Map<string, Statement>(
      Object.entries({
        [READ]: this.#read,
        [LIST_ENTRIES]: this.#list,
        [TAKE]: this.#take,
        [LOCKS_OF]: this.#locksOf,
        [WRITE]: this.#write,
        [REMOVE]: this.#remove,
        [RELEASE_LEASE]: this.#giveBack,
        [EXTEND]: this.#extend,
        [members.EVICT]: this.#evict,
        [members.ENTER]: this.#enter,
        [members.UPDATE_CONTENT]: this.#want,
        [members.READ_MEMBERS]: this.#look,
        [members.ADD_ITEMS]: this.#add,
        [members.CLAIM_ITEMS]: this.#takeItems,
        [members.RELEASE_ITEMS]: this.#release,
        [members.LEAVE]: this.#leave,
        [members.HOLDERS]: this.#holders,
      }),
    );
  }

  line(): Line {
    return {
      query: async (text, values) => this.#run(text, values),
      listen: (heard) => {
        // Creates a new function, so that the same callback can listen twice.
        const listener = (words: string | null) => heard(words);
        this.#listeners.add(listener);
        queueMicrotask(() => listener(null));
        return () => this.#listeners.delete(listener);
      },
      close: () => Promise.resolve(),
    };
  }

  /** Stored values of a kind, by key. */
  values(kind: string): Map<string, unknown> {
    const found = [...this.#entries.values()].filter((entry) => entry.kind === kind && entry.content !== null);
    return new Map(found.map(({ key, content }) => [key, (JSON.parse(content ?? '') as { value: unknown }).value]));
  }

  #run(statement: string, values: unknown[]): Rows {
    const work = this.#statements.get(statement);
    if (!work) throw new Error(`a statement that is not known: ${statement}`);
    return work.call(this, values as never);
  }

  get #now(): number {
    return this.clock.monotonic();
  }

  #tell(words: string): void {
    if (words !== '') for (const heard of this.#listeners) queueMicrotask(() => heard(words));
  }

  #nextToken(): string {
    return String(++this.#tokens);
  }

  #stands(names: string[], tokens: string[]): boolean {
    return names.every((name, at) => this.#entries.get(name)?.token === tokens[at]);
  }

  #membersOf(topic: string): Map<string, Entry> {
    const found = this.#members.get(topic) ?? new Map<string, Entry>();
    this.#members.set(topic, found);
    return found;
  }

  #itemsOf(topic: string): Set<Item> {
    const found = this.#topics.get(topic) ?? new Set<Item>();
    this.#topics.set(topic, found);
    return found;
  }

  #read([name]: [string]): Rows {
    const entry = this.#entries.get(name);
    return entry ? [{ content: entry.content, over: false }] : [];
  }

  #list([kind, after, beginning, limit]: [string, string, string, number]): Rows {
    return [...this.#entries]
      .map(([name, entry]) => ({ ...entry, position: name.slice(0, POSITION), over: false }))
      .filter((entry) => entry.kind === kind && entry.position > after)
      .sort((one, other) => (one.position < other.position ? -1 : 1))
      .slice(0, limit)
      .map((entry) => ({ ...entry, content: entry.key.startsWith(beginning) ? entry.content : null }));
  }

  #take(columns: [string[], string[], string[], number[], string, number, string | null, string | null]): Rows {
    const [names, kinds, keys, turns, ...rest] = columns;
    return names.map((name, at) => this.#takeOne([name, kinds[at]!, keys[at]!, turns[at]!, ...rest]));
  }

  #locksOf([holder]: [string]): Rows {
    return [...this.#entries].flatMap(([name, entry]) =>
      entry.holder === holder && entry.kind !== 'member' ? [{ name, beat: beatOf(entry), lasts: entry.lasts }] : [],
    );
  }

  #takeOne(values: [string, string, string, number, string, number, string | null, string | null]): object {
    const [name, kind, key, turn, holder, lasts, over, kept] = values;
    const found = this.#entries.get(name);
    const entry = found ?? { kind, key, content: null, token: '', holder: null, turn, endsAt: 0, beat: 0, lasts };
    const isOwn = entry.holder === holder && (entry.turn ?? 0) <= turn;
    const isFree = entry.holder === null || isOwn || beatOf(entry) === over;
    if (!isFree) return { name, token: null, content: null, over: null, beat: beatOf(entry), lasts: entry.lasts };
    const goesOn = isOwn && (entry.turn === turn || entry.token === kept);
    const token = goesOn ? entry.token : this.#nextToken();
    const endsAt = Math.max(isOwn ? entry.endsAt : 0, this.#now + lasts);
    Object.assign(entry, { token, holder, turn, endsAt, lasts: isOwn ? Math.max(entry.lasts, lasts) : lasts });
    entry.beat++;
    this.#entries.set(name, entry);
    return { name, token: entry.token, content: entry.content, over: false, beat: null, lasts: null };
  }

  #write([names, tokens, ...rest]: [string[], string[], string[], string[], string[], string[]]): Rows {
    const [under, held, words, contents] = rest;
    return names.flatMap((name, at) => {
      const entry = this.#entries.get(name);
      if (!entry || entry.token !== tokens[at] || !this.#stands(under, held)) return [];
      Object.assign(entry, { content: contents[at], holder: null });
      entry.beat++;
      this.#tell(words[at] ?? '');
      return [{ name }];
    });
  }

  #remove([name, token, names, tokens, words]: [string, string, string[], string[], string]): Rows {
    if (this.#entries.get(name)?.token !== token || !this.#stands(names, tokens)) return [];
    this.#entries.delete(name);
    this.#tell(words);
    return [{ name }];
  }

  #giveBack([name, token]: [string, string]): Rows {
    const entry = this.#entries.get(name);
    if (entry?.token === token) Object.assign(entry, { holder: null, beat: entry.beat + 1 });
    return [];
  }

  #extend([names, tokens, ms]: [string[], string[], number]): Rows {
    return names.flatMap((name, at) => {
      const entry = this.#entries.get(name);
      if (!entry?.holder || entry.token !== tokens[at]) return [];
      entry.endsAt = Math.max(entry.endsAt, this.#now + ms);
      entry.lasts = Math.max(entry.lasts, ms);
      entry.beat++;
      return [{ name }];
    });
  }

  #evict([topic, own, over, words]: [string, string | null, string[], string]): Rows {
    const here = this.#membersOf(topic);
    const ends = new Map<string, number>();
    for (const [name, entry] of here) {
      const { token, endsAt } = entry;
      if (name !== own && !over.includes(beatOf(entry))) continue;
      ends.set(token, endsAt);
      here.delete(name);
      this.#entries.delete(name);
    }
    const living = new Set([...here.values()].map(({ token }) => token));
    let freed = 0;
    for (const item of this.#itemsOf(topic)) {
      if (item.holder === null || living.has(item.holder)) continue;
      const leftAt = Math.min(ends.get(item.holder) ?? Infinity, this.#now);
      Object.assign(item, { holder: null, note: null, leftAt });
      freed++;
    }
    if (ends.size > 0 || freed > 0) this.#tell(words);
    return [];
  }

  #enter([topic, name, holder, content, lasts, words]: [string, string, string, string, number, string]): Rows {
    const [token, endsAt] = [this.#nextToken(), this.#now + lasts];
    const entry = { kind: 'member', key: topic, content, token, holder, endsAt, beat: 0, lasts };
    this.#entries.set(name, entry);
    this.#membersOf(topic).set(name, entry);
    this.#tell(words);
    return [{ token: entry.token }];
  }

  #want([name, token, content, words]: [string, string, string, string]): Rows {
    const entry = this.#entries.get(name);
    if (entry?.token !== token) return [];
    Object.assign(entry, { content, mark: undefined });
    this.#tell(words);
    return [{ token }];
  }

  #look([topic, marks]: [string, string[]]): Rows {
    let count = 0;
    let last = -Infinity;
    for (const { holder, leftAt } of this.#itemsOf(topic))
      if (holder === null) {
        count++;
        last = Math.max(last, leftAt ?? -Infinity);
      }
    return [...this.#membersOf(topic).values()]
      .sort((one, other) => ((one.holder ?? '') < (other.holder ?? '') ? -1 : 1))
      .map((entry) => {
        const { holder, token, lasts, content } = entry;
        const mark = (entry.mark ??= markOf(content ?? ''));
        const free = `${count} ${last}`;
        return {
          id: holder,
          token,
          beat: beatOf(entry),
          lasts,
          mark,
          content: marks.includes(mark) ? null : content,
          free,
        };
      });
  }

  #add([names, topic, items]: [string[], string, string[]]): Rows {
    for (const [at, name] of names.entries()) {
      if (this.#items.has(name)) continue;
      const item = { topic, item: items[at] ?? '', holder: null, note: null, leftAt: null };
      this.#items.set(name, item);
      this.#itemsOf(topic).add(item);
    }
    return [];
  }

  #takeItems([row, token, names, most]: [string, string, string[], number]): Rows {
    if (this.#entries.get(row)?.token !== token) return [];
    const free = names.flatMap((name) => {
      const item = this.#items.get(name);
      return item?.holder === null ? [{ name, item }] : [];
    });
    const taken = free.slice(0, most).map(({ name, item }) => {
      item.holder = token;
      return { name, note: item.note, idle: item.leftAt === null ? null : String(this.#now - item.leftAt) };
    });
    const isKnown = names.every((name) => this.#items.has(name));
    return isKnown ? taken : [...taken, { name: null, note: null, idle: null }];
  }

  #release([token, names, notes, words]: [string, string[], string, string]): Rows {
    const noteOf = JSON.parse(notes) as Partial<Record<string, string>>;
    let freed = 0;
    for (const name of names) {
      const item = this.#items.get(name);
      if (item?.holder !== token) continue;
      Object.assign(item, { holder: null, note: noteOf[name] ?? null, leftAt: this.#now });
      freed++;
    }
    if (freed > 0) this.#tell(words);
    return [];
  }

  #leave([row, token, topic, notes, words]: [string, string, string, string, string]): Rows {
    if (this.#entries.get(row)?.token === token) {
      this.#entries.delete(row);
      this.#membersOf(topic).delete(row);
    }
    const noteOf = new Map(
      Object.entries(JSON.parse(notes) as Record<string, string>).map(([name, note]) => [this.#items.get(name), note]),
    );
    for (const item of this.#itemsOf(topic))
      if (item.holder === token)
        Object.assign(item, { holder: null, note: noteOf.get(item) ?? null, leftAt: this.#now });
    this.#tell(words);
    return [];
  }

  #holders([topic]: [string]): Rows {
    const items = [...this.#itemsOf(topic)];
    return [...this.#membersOf(topic).values()].flatMap((entry) => {
      const { token, holder } = entry;
      const row = { id: holder, beat: beatOf(entry) };
      const held: (string | null)[] = items.filter((one) => one.holder === token).map(({ item }) => item);
      return (held.length > 0 ? held : [null]).map((item) => ({ ...row, item }));
    });
  }
}

/** One of several runtimes. */
export class SharedRuntime {
  /** Its clock, which runs no timer while the runtime is paused. */
  readonly clock: Clock;
  readonly store: StateStore & Required<Pick<StateStore, 'join' | 'onChange'>>;
  /** Time by which its wall clock is ahead, ms. */
  lead = 0;
  /** Number of statements so far. */
  statements = 0;
  /** Number of pending statements. */
  underWay = 0;
  /** Connection between the runtime's store and the shared state. */
  readonly line: Line;
  readonly #shared: Shared;
  readonly #rows: PostgresStore;
  readonly #insistent: WriteBehindStore;
  readonly #listeners = new Set<(words: string | null) => void>();
  readonly #timers = new Set<() => void>();
  #late: (() => void)[] | undefined;
  #isDead = false;
  #isDeaf = false;
  #cut: false | 'at once' | 'after asking' = false;
  #steadySince: number | undefined;
  #next = { left: Infinity, action: (): void => undefined };

  constructor(shared: Shared) {
    this.#shared = shared;
    this.line = shared.line();
    this.clock = {
      now: () => shared.clock.now() + this.lead,
      monotonic: () => shared.clock.monotonic(),
      after: (ms, action) => this.#after(ms, action),
    };
    const database: Pick<Database, 'query' | 'listen' | 'steadyFor' | 'close'> = {
      query: async <Row>(text: string, values: unknown[], options?: QueryOptions) =>
        (await this.#query(text, values, options)) as Row[],
      listen: (_, heard) => this.#listen(heard),
      steadyFor: 0,
      close: () => this.line.close(),
    };
    Object.defineProperty(database, 'steadyFor', { get: () => this.#steadyFor });
    const parts = { clock: this.clock, sealedKinds: ['grant'], secrets: () => [], warn: () => undefined };
    this.#rows = new PostgresStore({ ...parts, database });
    this.#insistent = new WriteBehindStore(this.#rows, this.clock, 5_000);
    this.store = this.#insistent as SharedRuntime['store'];
  }

  /** Number of pending timers. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Kills the runtime like kill -9: it does nothing more, and none of its pending calls returns. */
  kill(): void {
    this.#isDead = true;
    this.#shared.runtimes.delete(this);
    this.#listeners.clear();
    for (const cancel of this.#timers) cancel();
  }

  /** Disconnects its store. With `after asking`, statements still take effect, but their answers are lost. */
  cutOff(when: 'at once' | 'after asking' = 'at once'): void {
    this.#cut = when;
    this.broken();
  }

  reconnect(): void {
    this.#cut = false;
    this.reached();
  }

  /** Drops the notifications of other runtimes silently. */
  deafen(): void {
    this.#isDeaf = true;
  }

  /** Pauses the runtime: its timers and answers wait. Direct calls by the test continue. */
  pause(): void {
    this.#late ??= [];
  }

  resume(): void {
    const late = this.#late ?? [];
    this.#late = undefined;
    for (const action of late) action();
  }

  /** Calls `action` before the statement that follows `after` further ones; replaces an earlier action. */
  inTheMiddle(after: number, action: () => void): void {
    this.#next = { left: after, action };
  }

  /** Writes everything pending, as at the end of a runtime. */
  async close(): Promise<void> {
    await this.#insistent.close();
    await this.#rows.close();
  }

  /** Called by the shared state when the connections break. */
  broken(): void {
    this.#steadySince = undefined;
  }

  /** Called by the shared state when connections are back; notifications in between were missed. */
  reached(): void {
    this.#isDeaf = false;
    if (this.#isReached) this.#whenAwake(() => this.#listeners.forEach((heard) => heard(null)));
  }

  get #isReached(): boolean {
    return !this.#isDead && !this.#cut && !this.#shared.isAway;
  }

  get #steadyFor(): number {
    return this.#steadySince === undefined ? 0 : this.clock.monotonic() - this.#steadySince;
  }

  #after(ms: number, action: () => void): () => void {
    let isCancelled = false;
    const fire = this.#shared.clock.after(ms, () => {
      this.#timers.delete(cancel);
      this.#whenAwake(() => isCancelled || action());
    });
    const cancel = () => {
      isCancelled = true;
      this.#timers.delete(cancel);
      fire();
    };
    this.#timers.add(cancel);
    if (this.#isDead) cancel();
    return cancel;
  }

  #whenAwake(action: () => void): void {
    if (this.#isDead) return;
    if (this.#late) this.#late.push(action);
    else action();
  }

  #awake(): Promise<void> {
    return new Promise((resolve) => this.#whenAwake(resolve));
  }

  #listen(heard: (words: string | null) => void): () => void {
    const listener = (words: string | null) => heard(words);
    this.#listeners.add(listener);
    const end = this.line.listen((words) => {
      if (!this.#isReached || this.#isDeaf) return;
      this.#whenAwake(() => this.#listeners.has(listener) && listener(words));
    });
    return () => {
      this.#listeners.delete(listener);
      end();
    };
  }

  async #query(text: string, values: unknown[], options?: QueryOptions): Promise<object[]> {
    await this.#awake();
    this.statements++;
    if (this.#next.left-- === 0) this.#next.action();
    this.underWay++;
    try {
      const isAsked = !this.#shared.isAway && this.#cut !== 'at once';
      const rows = isAsked ? await this.line.query(text, values, options) : [];
      if (!isAsked || !this.#isReached) {
        this.broken();
        throw new DatabaseError('ECONNRESET');
      }
      this.#steadySince ??= this.clock.monotonic();
      return rows;
    } finally {
      this.underWay--;
      await this.#awake();
    }
  }
}
