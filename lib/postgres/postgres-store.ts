import { randomUUID } from 'node:crypto';
import { asPrintingError, newerValue } from '../service/errors';
import { Locks } from '../state/locks';
import { type JoinOptions, type Lock, LockLostError, type Membership } from '../state/membership';
import { damaged, isNewer, type Movable, parseRecord, Records, type RecordsOptions, setAside } from '../state/records';
import type { Change, Key, ListOptions, PutOptions, StatePage, StateStore } from '../state/store';
import { sleep, type Clock } from '../time/clock';
import type { Deadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';
import { Batches } from './batches';
import { Channel, encodeMessage } from './channel';
import type { Database } from './database';
import {
  ADD,
  DROP,
  type Failure,
  foreign,
  LIST_ENTRIES,
  notReadable,
  notWritable,
  OLD,
  READ,
  RECORDS,
  REMOVE,
  SET_ASIDE,
  SWEEP,
  wrapped,
  WRITE,
} from './entries';
import { EntryLocks, type HeldLock, rowNameOf, type RuntimeContext, type StoredRow } from './entry-locks';
import { Lease, Leases, LEASE_TIMES, namesAndTokens, type LeaseTimes } from './leases';
import { ABANDONED, EVICT, FORGET_ITEMS } from './roster';
import { PostgresMembership } from './postgres-membership';

interface PostgresStoreOptions extends RecordsOptions {
  database: Pick<Database, 'query' | 'listen' | 'steadyFor' | 'close'>;
  clock: Clock;
  warn: (sentence: Sentence) => void;
  /** Default: LEASE_TIMES and STEADY, the same for every runtime that shares the database. */
  times?: LeaseTimes & { steady: number };
}

/**
 * A runtime takes an expired lock over only after the database has answered it for this long without a break, ms (ADR
 * 12).
 */
const STEADY = 10_000;
/** Records read at once: as many as may be read and unsealed without a pause of the event loop. */
const PAGE = 250;

interface ListedRow extends StoredRow {
  position: string;
  key: string;
}

/** A StateStore that any number of runtimes share. Each key has a row, and its lock is a lease (ADR 12). */
export class PostgresStore implements StateStore, Movable {
  readonly #records: Records;
  readonly #leases: Leases;
  readonly #context: RuntimeContext;
  readonly #entryLocks: EntryLocks;
  readonly #writes: Batches<{ name: string }, Lease[]>;
  /** Kinds with a value of a newer version. */
  readonly #leftOut = new Set<string>();
  readonly #holder = randomUUID();
  readonly #channel: Channel;

  constructor(private readonly options: PostgresStoreOptions) {
    this.#records = new Records(options);
    const { database, clock, times } = options;
    const steady = times?.steady ?? STEADY;
    this.#leases = new Leases(database, clock, times ?? LEASE_TIMES);
    const context = {
      clock,
      holder: this.#holder,
      leases: this.#leases,
      locks: new Locks(),
      database,
      mayTakeOver: () => database.steadyFor >= steady,
    };
    this.#entryLocks = new EntryLocks(context);
    this.#context = { ...context, watchLocks: (holder) => this.#entryLocks.watch(holder) };
    this.#writes = new Batches(([names, tokens, ...rest], under = []) =>
      database.query(WRITE, [names, tokens, ...namesAndTokens(under), ...rest]),
    );
    this.#channel = new Channel({
      database,
      clock,
      own: this.#holder,
      fault: ({ sentence }) =>
        options.warn(phrase`A change that another Node-RED made could not be followed: ${sentence}`),
    });
  }

  get runtime(): string {
    return this.#holder;
  }

  async get<T>(key: Key): Promise<T | undefined> {
    const [row] = await this.#query<StoredRow>(READ, [rowNameOf(key)], notReadable(key));
    return this.#value<T>(key, row);
  }

  async put<T>(key: Key, value: T, options: PutOptions = {}): Promise<void> {
    // The current value, readable or not, doesn't matter.
    const write = ({ lease }: HeldLock) => this.#write(key, lease, value, options);
    await this.#entryLocks.waitFor(key, write, { deadline: options.deadline, failed: notWritable(key) });
  }

  async delete(key: Key, options: PutOptions = {}): Promise<void> {
    const remove = ({ lease }: HeldLock) => this.#remove(key, lease, options);
    await this.#entryLocks.waitFor(key, remove, { deadline: options.deadline, failed: notWritable(key) });
  }

  update<T>(key: Key, change: Change<T>, options: PutOptions = {}): Promise<T | undefined> {
    const work = async ({ lease, ...row }: HeldLock) => {
      const current = await this.#value<T>(key, row);
      const next = await change(current, lease);
      if (next === undefined) {
        if (current !== undefined) await this.#remove(key, lease, options);
      } else if (next !== current || typeof next !== 'object') await this.#write(key, lease, next, options);
      return next;
    };
    return this.#entryLocks.waitFor(key, work, { deadline: options.deadline, failed: notReadable(key) });
  }

  waitForLock<T>(key: Key, work: (lock: Lock) => Promise<T>, deadline?: Deadline): Promise<T> {
    const failed = notReadable(key);
    return this.#entryLocks.waitFor(key, ({ lease }) => work(lease), { deadline, lockOnly: true, failed });
  }

  list<T>(prefix: Key, options: ListOptions): Promise<StatePage<T>> {
    const page = this.#list<T>(prefix, options);
    return options.deadline?.wait(page) ?? page;
  }

  async #list<T>(prefix: Key, { after = '', limit, unread }: ListOptions): Promise<StatePage<T>> {
    const size = Math.min(limit, PAGE);
    const values = [prefix[0], after, JSON.stringify(prefix).slice(0, -1), size];
    const rows = await this.#query<ListedRow>(LIST_ENTRIES, values, notReadable(prefix));
    const entries: StatePage<T>['entries'] = [];
    for (const row of rows) {
      const key = JSON.parse(row.key) as Key;
      if (isNewer(row.content ?? '')) this.#leaveOut(key);
      else {
        const value = await this.#value<T>(key, row).catch((thrown: unknown) => {
          if (!unread) throw thrown;
          unread(asPrintingError(thrown));
          return undefined;
        });
        if (value !== undefined) entries.push({ key, value });
      }
    }
    return { entries, next: rows.length === size ? (rows.at(-1)?.position ?? null) : null };
  }

  onChange(listener: (key: Key | null) => void): () => void {
    return this.#channel.listen((message) => {
      if (!message?.topic) listener(message?.key ?? null);
    });
  }

  join(topic: Key, options: JoinOptions): Membership {
    return new PostgresMembership(topic, options, this.#context, this.#channel);
  }

  /** Removes expired values, by the database's clock, and locks that were never released. */
  async sweep(): Promise<void> {
    const { database, clock } = this.options;
    await database.query(SWEEP, []);
    const evict = (topic: string, beats: string[]) =>
      database.query(EVICT, [topic, null, beats, encodeMessage({ by: this.#holder, topic })]);
    const old = await database.query<{ name: string; kind: string; key: string; beat: string }>(OLD, []);
    // The database's clock may have been set ahead: a live lease shows a new heartbeat within this time.
    if (old.length > 0) await sleep(clock, this.#leases.lasts);
    for (const { name, kind, key, beat } of old)
      await (kind === 'member' ? evict(key, [beat]) : database.query(DROP, [name, beat]));
    for (const { topic } of await database.query<{ topic: string }>(ABANDONED, [])) await evict(topic, []);
    await database.query(FORGET_ITEMS, []);
  }

  async *records(): AsyncGenerator<string> {
    for (let last = '', isMore = true; isMore;) {
      const rows = await this.options.database.query<{ name: string; content: string }>(RECORDS, [last, PAGE]);
      for (const { content } of rows) yield content;
      last = rows.at(-1)?.name ?? '';
      isMore = rows.length === PAGE;
    }
  }

  async add(record: string): Promise<void> {
    const { key, until } = parseRecord(record) ?? {};
    if (key)
      await this.options.database.query(ADD, [rowNameOf(key), key[0], JSON.stringify(key), record, until ?? null]);
  }

  close(): Promise<void> {
    this.#leases.close();
    return this.options.database.close();
  }

  /** Notification of a change; blank: none. */
  #payload(key: Key, { notify }: PutOptions): string {
    return notify ? encodeMessage({ by: this.#holder, key }) : '';
  }

  async #write(key: Key, lease: Lease, value: unknown, options: PutOptions): Promise<void> {
    const content = await this.#records.write(key, value, this.options.clock.now(), options.keepFor);
    const row = [lease.token, this.#payload(key, options), content, options.keepFor ?? null];
    const under = leasesOf(options.under);
    const written = this.#writes.ask(lease.name, row, under.length > 0 ? under : undefined);
    const failed = notWritable(key);
    // The answer to the first attempt may have been lost, and another runtime may have taken the lock since.
    if (
      !(await wrapped(written, failed)) &&
      (await this.#query<StoredRow>(READ, [lease.name], failed))[0]?.content !== content
    )
      throw new LockLostError();
    this.#leases.remove(lease);
    await this.#records.written(key);
  }

  async #remove(key: Key, lease: Lease, options: PutOptions): Promise<void> {
    const failed = notWritable(key);
    const under = namesAndTokens(leasesOf(options.under));
    const rows = await this.#query(REMOVE, [lease.name, lease.token, ...under, this.#payload(key, options)], failed);
    // If the answer to the first attempt was lost, the row is already gone.
    if (rows.length === 0 && (await this.#query(READ, [lease.name], failed)).length > 0) throw new LockLostError();
    this.#leases.remove(lease);
  }

  /** As `FileStore` does. */
  #leaveOut([kind]: Key): void {
    if (!this.#leftOut.has(kind)) this.options.warn(newerValue(kind).sentence);
    this.#leftOut.add(kind);
  }

  async #value<T>(key: Key, row: StoredRow | undefined): Promise<T | undefined> {
    const content = row?.content;
    if (typeof content !== 'string' || (row?.over && this.#records.isTemporary(key))) return undefined;
    const read = await this.#records.read<T>(key, content);
    if (typeof read === 'object') return read.value;
    if (read === 'foreign') {
      // An unreadable value that is short-lived or has expired counts as missing.
      if (row?.over || this.#records.isTemporary(key)) return undefined;
      throw foreign(key);
    }
    const rows = await this.#query(SET_ASIDE, [rowNameOf(key), content], notReadable(key));
    const reason =
      read === 'unsealed'
        ? phrase`The saved ${key[0]} is not encrypted, so anybody may have put it there`
        : damaged(key);
    if (rows.length > 0) this.options.warn(setAside(reason));
    return undefined;
  }

  #query<Row extends object>(text: string, values: unknown[], failed: Failure): Promise<Row[]> {
    return wrapped(this.options.database.query<Row>(text, values), failed);
  }
}

const leasesOf = (locks: readonly Lock[] = []): Lease[] => locks.filter((lock) => lock instanceof Lease);
