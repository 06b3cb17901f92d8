import { createHash, randomUUID } from 'node:crypto';
import { codeOf } from '../http/network-error';
import { PrintingError } from '../service/errors';
import { waitBefore } from '../time/backoff';
import { sleep, type Clock } from '../time/clock';
import { phrase, type Sentence } from '../words/sentence';
import { Channel, CHANNEL, encodeMessage } from './channel';
import type { Database, QueryOptions } from './database';
import { Lease, Leases, LEASE_TIMES, type LeaseTimes } from './leases';
import { Locks } from './locks';
import { ABANDONED, EVICT, FORGET_ITEMS } from './member-statements';
import type { JoinOptions, Membership } from './membership';
import { PostgresMembership } from './postgres-membership';
import { parseRecord, Records, type RecordsOptions } from './records';
import { BEAT, LASTS, SCHEMA } from './schema';
import { Sightings } from './sightings';
import { LockLostError, type Change, type Key, type Lock, type PutOptions, type StateStore } from './store';
import type { Movable } from './move-state';

export interface PostgresStoreOptions extends RecordsOptions {
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
/** Backoff while another holder has the lock, ms. */
const WAITS = { first: 20, longest: 250, factor: 1.5, jitter: 0.2 };
/** Age after which a row without a value, or a lock that was never released, is deleted. */
const FORGOTTEN = '1 day';

/** The value has passed its expiry. */
const OVER = `coalesce(e.until <= clock_timestamp(), false)`;

export const READ = `SELECT e.content, ${OVER} AS over FROM ${SCHEMA}.entries AS e WHERE e.name = $1`;

/**
 * Acquires a lock. A lock that this runtime already holds is one that it couldn't release, or that it keeps; within the
 * runtime, each name has one holder at a time. A later turn takes it over. The same turn is asked again after its
 * answer was lost, and an earlier turn may arrive late. $7 is the heartbeat of an expired lease. $8 is the token of a
 * lock without a value that is kept, and continues. Without the lock, the answer is the heartbeat of its holder.
 */
export const TAKE = `WITH taken AS (
    INSERT INTO ${SCHEMA}.entries AS e (name, kind, key, token, holder, turn, lasts, beats, ends_at, until)
    VALUES ($1, $2, $3, nextval('${SCHEMA}.tokens'), $4, $5, $6, 1, clock_timestamp() + $6 * interval '1 ms',
      clock_timestamp() + interval '${FORGOTTEN}')
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, turn = excluded.turn,
      token = CASE WHEN (e.holder, e.turn) = (excluded.holder, excluded.turn) OR (e.holder = excluded.holder AND e.token = $8)
        THEN e.token ELSE excluded.token END,
      lasts = CASE WHEN e.holder = excluded.holder THEN greatest(e.lasts, excluded.lasts) ELSE excluded.lasts END,
      beats = coalesce(e.beats, 0) + 1, ends_at = greatest(e.ends_at, excluded.ends_at),
      until = CASE WHEN e.content IS NULL THEN excluded.until ELSE e.until END
    WHERE e.holder IS NULL OR (e.holder = excluded.holder AND e.turn <= excluded.turn) OR ${BEAT} = $7
    RETURNING e.token, e.content, ${OVER} AS over)
  SELECT token, content, over, NULL AS beat, NULL AS lasts FROM taken
  UNION ALL SELECT NULL, NULL, NULL, ${BEAT}, ${LASTS} FROM ${SCHEMA}.entries AS e
    WHERE e.name = $1 AND e.holder IS NOT NULL AND NOT EXISTS (SELECT FROM taken)`;

/**
 * Locks that a statement depends on. Until it ends, no runtime can take them over, but their holders can still renew
 * them.
 */
const LOCKS = `WITH locks AS (
  SELECT 1 FROM ${SCHEMA}.entries AS e JOIN unnest($3::text[], $4::bigint[]) AS held (name, token)
    ON e.name = held.name AND e.token = held.token FOR KEY SHARE OF e)`;
const STANDS = `name = $1 AND token = $2 AND (SELECT count(*) FROM locks) = cardinality($3::text[])`;

/** Notifies listeners with the commit, unless the payload is blank. */
const notifying = (payload: string) =>
  `SELECT name, CASE WHEN ${payload} <> '' THEN pg_notify('${CHANNEL}', ${payload}) END FROM done`;

/** Writes the value and releases the lock. */
export const WRITE = `${LOCKS}, done AS (
    UPDATE ${SCHEMA}.entries SET content = $6, until = now() + $7 * interval '1 ms', holder = NULL, ends_at = NULL, lasts = NULL,
      beats = NULL
    WHERE ${STANDS} RETURNING name)
  ${notifying('$5::text')}`;

export const REMOVE = `${LOCKS}, done AS (DELETE FROM ${SCHEMA}.entries WHERE ${STANDS} RETURNING name) ${notifying('$5::text')}`;

const SET_ASIDE = `WITH damaged AS (
    UPDATE ${SCHEMA}.entries SET content = NULL, until = now() WHERE name = $1 AND content = $2 RETURNING key)
  INSERT INTO ${SCHEMA}.set_aside (key, content) SELECT key, $2 FROM damaged RETURNING key`;

const SWEEP = `DELETE FROM ${SCHEMA}.entries WHERE until <= clock_timestamp() AND holder IS NULL`;

/** Leases that should have expired long ago, by the database's clock, which may be wrong. */
const OLD = `SELECT e.name, e.kind, e.key, ${BEAT} AS beat FROM ${SCHEMA}.entries AS e
  WHERE e.holder IS NOT NULL AND e.ends_at < clock_timestamp() - interval '${FORGOTTEN}' LIMIT 1000`;
const DROP = `DELETE FROM ${SCHEMA}.entries AS e WHERE e.name = $1 AND e.until <= clock_timestamp() AND ${BEAT} = $2`;

const PAGE = 100;
const RECORDS = `SELECT name, content FROM ${SCHEMA}.entries WHERE content IS NOT NULL AND name > $1 ORDER BY name LIMIT $2`;

const ADD = `INSERT INTO ${SCHEMA}.entries AS e (name, kind, key, content, until, token)
  VALUES ($1, $2, $3, $4, to_timestamp($5::double precision / 1000), nextval('${SCHEMA}.tokens'))
  ON CONFLICT (name) DO UPDATE SET content = excluded.content, until = excluded.until, token = excluded.token,
    holder = NULL, ends_at = NULL
  WHERE e.content IS NULL`;

/** A StateStore that any number of runtimes share. Each key has a row, and its lock is a lease (ADR 12). */
export class PostgresStore implements StateStore, Movable {
  readonly #options: PostgresStoreOptions;
  readonly #records: Records;
  readonly #leases: Leases;
  /** Within this runtime, one request at a time asks for a lock, in the order of asking. */
  readonly #locks = new Locks();
  readonly #holder = randomUUID();
  readonly #channel: Channel;
  readonly #sightings: Sightings;
  #turn = 0;
  readonly #steady: number;

  constructor(options: PostgresStoreOptions) {
    this.#options = options;
    this.#records = new Records(options);
    this.#leases = new Leases(options.database, options.clock, options.times ?? LEASE_TIMES);
    this.#sightings = new Sightings(options.clock);
    this.#channel = new Channel({
      database: options.database,
      clock: options.clock,
      own: this.#holder,
      fault: ({ sentence }) =>
        options.warn(phrase`A change that another Node-RED made could not be followed: ${sentence}`),
    });
    this.#steady = options.times?.steady ?? STEADY;
  }

  get runtime(): string {
    return this.#holder;
  }

  async get<T>(key: Key): Promise<T | undefined> {
    const [row] = await this.#query<Content>(READ, [nameOf(key)], notReadable(key));
    return this.#value<T>(key, row);
  }

  async put<T>(key: Key, value: T, options: PutOptions = {}): Promise<void> {
    // The current value, readable or not, doesn't matter.
    await this.#hold(key, options, notWritable(key), ({ lease }) => this.#write(key, lease, value, options));
  }

  async delete(key: Key, options: PutOptions = {}): Promise<void> {
    await this.#hold(key, options, notWritable(key), ({ lease }) => this.#remove(key, lease, options));
  }

  update<T>(key: Key, change: Change<T>, options: PutOptions = {}): Promise<T | undefined> {
    return this.#hold(key, options, notReadable(key), async ({ lease, ...row }) => {
      const current = await this.#value<T>(key, row);
      const next = await change(current, lease);
      if (next === undefined) {
        if (current !== undefined) await this.#remove(key, lease, options);
      } else if (next !== current || typeof next !== 'object') await this.#write(key, lease, next, options);
      return next;
    });
  }

  onChange(listener: (key: Key | null) => void): () => void {
    return this.#channel.listen((message) => {
      if (!message?.topic) listener(message?.key ?? null);
    });
  }

  join(topic: Key, options: JoinOptions): Membership {
    const kind: Key = ['assignment'];
    return new PostgresMembership(topic, options, {
      clock: this.#options.clock,
      holder: this.#holder,
      query: (text, values, once) =>
        this.#query(text, values, notReadable(kind), { urgent: true, once: once === true }),
      mayEvict: () => this.#mayTakeOver,
      sightings: new Sightings(this.#options.clock),
      leases: this.#leases,
      locks: this.#locks,
      channel: this.#channel,
    });
  }

  /** Removes expired values, by the database's clock, and locks that were never released. */
  async sweep(): Promise<void> {
    const { database, clock } = this.#options;
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
      const rows = await this.#options.database.query<{ name: string; content: string }>(RECORDS, [last, PAGE]);
      for (const { content } of rows) if (parseRecord(content)) yield content;
      last = rows.at(-1)?.name ?? '';
      isMore = rows.length === PAGE;
    }
  }

  async add(record: string): Promise<void> {
    const { key, until } = parseRecord(record) ?? {};
    if (key) await this.#options.database.query(ADD, [nameOf(key), key[0], JSON.stringify(key), record, until ?? null]);
  }

  close(): Promise<void> {
    this.#leases.close();
    return this.#options.database.close();
  }

  /** Runs `work` under the key's lock. */
  #hold<T>(key: Key, options: PutOptions, failed: Failure, work: (taken: HeldLock) => Promise<T>): Promise<T> {
    const { deadline } = options;
    const held = async () => {
      const taken = await this.#take(key, options, failed);
      try {
        return await work(taken);
      } finally {
        const finished = this.#leases.finish(taken.lease);
        await (deadline?.wait(finished).catch(() => undefined) ?? finished);
      }
    };
    return this.#locks.hold(nameOf(key), held, deadline);
  }

  /** Whether the holder of an expired lease has had time to renew it. */
  get #mayTakeOver(): boolean {
    return this.#options.database.steadyFor >= this.#steady;
  }

  /** Notification of a change; blank: none. */
  #payload(key: Key, { notify }: PutOptions): string {
    return notify ? encodeMessage({ by: this.#holder, key }) : '';
  }

  /** Waits for the lock until the deadline. */
  async #take(key: Key, { deadline, lockOnly }: PutOptions, failed: Failure): Promise<HeldLock> {
    const { clock } = this.#options;
    for (let turn = 0; ; turn++) {
      const asked = this.#ask(key, lockOnly === true, failed);
      const taken = await (deadline?.wait(asked) ?? asked).catch((reason: unknown) => {
        // The lock may still arrive after the wait was abandoned.
        void asked.then((late) => late && this.#leases.finish(late.lease)).catch(() => undefined);
        throw reason;
      });
      if (taken) return taken;
      const wait = waitBefore(turn, WAITS);
      await (deadline?.sleep(wait) ?? sleep(clock, wait));
    }
  }

  async #ask(key: Key, lockOnly: boolean, failed: Failure): Promise<HeldLock | undefined> {
    const { clock } = this.#options;
    const name = nameOf(key);
    const askedAt = clock.monotonic();
    const holder = [this.#holder, ++this.#turn, this.#leases.lasts];
    const expired = this.#mayTakeOver ? (this.#sightings.expired(name) ?? null) : null;
    const kept = lockOnly ? this.#leases.keptToken(name) : null;
    const values = [name, key[0], JSON.stringify(key), ...holder, expired, kept];
    const [row] = await this.#query<Content & Holder>(TAKE, values, failed);
    if (row?.token === null) this.#sightings.record(name, row.beat ?? '', Number(row.lasts));
    if (!row?.token) return undefined;
    this.#sightings.forget(name);
    return {
      lease: this.#leases.add(name, row.token, askedAt, expired !== null),
      content: row.content,
      over: row.over,
    };
  }

  async #write(key: Key, lease: Lease, value: unknown, options: PutOptions): Promise<void> {
    const content = await this.#records.write(key, value, this.#options.clock.now(), options.keepFor);
    const values = [...standing(lease, options.under), this.#payload(key, options), content, options.keepFor ?? null];
    const rows = await this.#query(WRITE, values, notWritable(key));
    if (rows.length === 0) throw new LockLostError();
    this.#leases.remove(lease);
    await this.#records.written(key);
  }

  async #remove(key: Key, lease: Lease, options: PutOptions): Promise<void> {
    const failed = notWritable(key);
    const rows = await this.#query(REMOVE, [...standing(lease, options.under), this.#payload(key, options)], failed);
    // If the answer to the first attempt was lost, the row is already gone.
    if (rows.length === 0 && (await this.#query(READ, [lease.name], failed)).length > 0) throw new LockLostError();
    this.#leases.remove(lease);
  }

  async #value<T>(key: Key, row: Content | undefined): Promise<T | undefined> {
    const content = row?.content;
    if (typeof content !== 'string') return undefined;
    const read = await this.#records.read<T>(key, content);
    if (typeof read === 'object') return read.value;
    if (read === 'foreign') {
      // An unreadable value that is short-lived or has expired counts as missing.
      if (row?.over || this.#records.isPassing(key)) return undefined;
      throw foreign(key);
    }
    const rows = await this.#query(SET_ASIDE, [nameOf(key), content], notReadable(key));
    const reason =
      read === 'unsealed'
        ? phrase`The saved ${key[0]} is not encrypted, so anybody may have put it there`
        : phrase`The saved ${key[0]} is damaged`;
    if (rows.length > 0) this.#options.warn(phrase`${reason}; it was set aside and is treated as missing.`);
    return undefined;
  }

  async #query<Row extends object>(
    text: string,
    values: unknown[],
    failed: Failure,
    options?: QueryOptions,
  ): Promise<Row[]> {
    try {
      return await this.#options.database.query<Row>(text, values, options);
    } catch (error) {
      throw error instanceof PrintingError ? error : failed(error);
    }
  }
}

/** Wraps a failure of the database. */
type Failure = (cause: unknown) => PrintingError;

interface Content {
  content: string | null;
  /** The value has passed its expiry. */
  over: boolean | null;
}

/** Answer to a request for a lock: its token, or the last heartbeat of its holder. */
interface Holder {
  token: string | null;
  beat: string | null;
  lasts: number | null;
}

interface HeldLock extends Content {
  lease: Lease;
}

/** Hashed, because a key may be longer than an index entry. */
const nameOf = (key: Key): string => createHash('sha256').update(JSON.stringify(key)).digest('hex');

/** First values of a statement that depends on locks. */
function standing(own: Lease, under: readonly Lock[] = []): unknown[] {
  const leases = under.filter((lock) => lock instanceof Lease);
  return [own.name, own.token, leases.map(({ name }) => name), leases.map(({ token }) => token)];
}

const notReadable =
  ([kind]: Key): Failure =>
  (cause) =>
    new PrintingError(
      'FILE_NOT_READABLE',
      phrase`The saved ${kind} can't be read now (${codeOf(cause)}): check the database.`,
      {
        cause,
        outcome: 'not-sent',
      },
    );

const notWritable =
  ([kind]: Key): Failure =>
  (cause) =>
    new PrintingError('FILE_NOT_WRITABLE', phrase`The ${kind} can't be saved (${codeOf(cause)}): check the database.`, {
      cause,
      outcome: 'not-sent',
    });

const foreign = ([kind]: Key): PrintingError =>
  new PrintingError(
    'FILE_NOT_READABLE',
    phrase`The saved ${kind} was encrypted with another credential secret: give all Node-REDs that share the database the same.`,
    { outcome: 'not-sent' },
  );
