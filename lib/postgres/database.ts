import type { ClientBase, Pool, PoolClient, QueryConfig, QueryResultRow } from 'pg';
import { codeOf } from '../http/retry';
import { PrintingError } from '../service/errors';
import { type Clock, sleep } from '../time/clock';
import { phrase, type Sentence } from '../words/sentence';
import { KEEP_ALIVE, Listening } from './listening';
import { Semaphore } from '../time/concurrency';
import { type Backoff, waitBefore } from '../time/retry';
import { migrate } from './schema';

interface DatabaseOptions {
  /** `postgresql://…`; missing parts come from the environment variables of PostgreSQL's clients. */
  address: string;
  clock: Clock;
  log: { warn(sentence: Sentence): void; info(sentence: Sentence): void };
}

/** Connections for statements. With the one that listens, a runtime has three. */
const CONNECTIONS = 2;
/** Timeout for connecting, ms. */
const CONNECT = 5_000;
/** Timeout for a statement, ms, and the time after which the server ends it. */
const ANSWER = 10_000;
const ENDED_AFTER = 9_000;
/** Pauses after the server had no connection left, and their number. */
const REFUSED: Backoff = { first: 500, longest: 8_000, jitter: 0.5 };
const MOST_REFUSED = 6;
/** A connection break may go unnoticed in a longer silence, ms. */
const SILENCE = 10_000;

export interface QueryOptions {
  /** Timeout for this statement, ms. After it the connection counts as broken. */
  patience?: number;
  /** Runs before all waiting statements. */
  urgent?: boolean;
  /**
   * Don't repeat the statement if its connection breaks: the first attempt may still arrive, after later statements.
   */
  once?: boolean;
}

/** Connections to one server, kept until one of them breaks. */
interface ServerConnections {
  pool: Pool;
  ready: Promise<void>;
}

/** Thrown when the database can't be asked. Its reason is a code, because no address belongs in a sentence. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  constructor(readonly code: string) {
    super(`The database can't be asked (${code}).`);
  }
}

/**
 * The PostgreSQL database of the state. Connects with the first statement, migrates once, and reconnects after a break.
 */
export class Database {
  readonly #options: DatabaseOptions;
  #connections: ServerConnections | undefined;
  /**
   * Statements wait here for a connection, also for one that replaces a broken one. The pool's own wait would time out as if
   * the database were away. A slot stands for a connection at the server: a statement that was given up keeps its slot until
   * the server has ended it.
   */
  readonly #slots = new Semaphore(CONNECTIONS);
  /** Start of the current period without a break, and the last answer, monotonic ms. */
  #steadySince = 0;
  #answeredAt = -Infinity;
  /** The statement that the database refuses; blank: the database is away. */
  #refused: string | undefined;

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  /** Time that the database has answered without a break, ms. */
  get steadyFor(): number {
    const now = this.#options.clock.monotonic();
    return now - this.#answeredAt > SILENCE ? 0 : now - this.#steadySince;
  }

  /**
   * Runs one statement in its own transaction. Repeats it once if its connection broke or if it collided with another
   * one, so a second run must be harmless. Throws a DatabaseError, or a PrintingError for a fault that a person must
   * fix first.
   */
  async query<Row extends QueryResultRow>(text: string, values: unknown[], options: QueryOptions = {}): Promise<Row[]> {
    try {
      const rows = await this.#askConnected<Row>(text, values, options).catch((error: unknown) => {
        const mayAgain = COLLISIONS.includes(codeIn(error)) || (isBreak(error) && !options.once);
        if (!mayAgain) throw error;
        return this.#askConnected<Row>(text, values, options);
      });
      this.#recordAnswer(text);
      return rows;
    } catch (error) {
      this.#recordFailure(text, error);
      throw error instanceof PrintingError ? error : new DatabaseError(codeIn(error));
    }
  }

  /** Listens to a channel; the returned function ends that. An invalid address is reported by `query` only. */
  listen(channel: string, onMessage: (payload: string | null) => void): () => void {
    const { address, clock, log } = this.#options;
    if (!isAddress(address)) return () => undefined;
    const ask = (text: string, values: unknown[]) => this.query<{ sent?: unknown }>(text, values, { once: true });
    const onDeaf = () =>
      log.warn(
        phrase`The database doesn't report the changes of other Node-REDs (a pooler in transaction mode, or a proxy, drops its notifications), so this Node-RED looks for changes every 10 s: connect without the pooler.`,
      );
    const listening = new Listening({ address, clock, channel, onMessage, ask, onDeaf });
    return () => listening.end();
  }

  /** Closes all connections; the next statement opens new ones. */
  async close(): Promise<void> {
    const connections = this.#connections;
    this.#connections = undefined;
    this.#answeredAt = -Infinity;
    await connections?.pool.end().catch(() => undefined);
  }

  /** Asks again, after growing pauses, while the server has no connection left: then nothing was sent. */
  async #askConnected<Row extends QueryResultRow>(
    text: string,
    values: unknown[],
    options: QueryOptions,
  ): Promise<Row[]> {
    for (let attempt = 0; ; attempt++)
      try {
        return await this.#ask<Row>(text, values, options);
      } catch (error) {
        if (codeIn(error) !== NO_CONNECTION || attempt >= MOST_REFUSED) throw error;
        // Another connection may work.
        if (this.#options.clock.monotonic() - this.#answeredAt > SILENCE) this.#recordFailure(text, error);
        await sleep(this.#options.clock, waitBefore(attempt, REFUSED));
      }
  }

  async #ask<Row extends QueryResultRow>(
    text: string,
    values: unknown[],
    { patience, urgent }: QueryOptions,
  ): Promise<Row[]> {
    const connections = (this.#connections ??= this.#open());
    const config = { text, values, query_timeout: patience ?? ANSWER } satisfies QueryConfig & {
      query_timeout: number;
    };
    try {
      await connections.ready;
      const { rows } = await this.#onConnection(
        () => connections.pool.query<Row>(config),
        config.query_timeout,
        urgent,
      );
      return rows;
    } catch (error) {
      if (isBreak(error)) this.#answeredAt = -Infinity;
      // After one connection broke, assume that the others did too. Those that still work end with their statements.
      if (this.#connections === connections && (isBreak(error) || !(await succeeds(connections.ready)))) {
        this.#connections = undefined;
        connections.pool.end().catch(() => undefined);
      }
      throw error;
    }
  }

  /** Runs a statement while it has a slot. */
  #onConnection<T>(statement: () => Promise<T>, patience: number, urgent = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const held = this.#slots.hold(async () => {
        const answered = statement();
        answered.then(resolve, reject);
        const error: unknown = await answered.then(
          () => null,
          (thrown: unknown) => thrown,
        );
        if (isGivenUp(error) && patience < ENDED_AFTER) await sleep(this.#options.clock, ENDED_AFTER - patience);
      }, urgent);
      held.catch(reject);
    });
  }

  #open(): ServerConnections {
    const { address } = this.#options;
    if (!isAddress(address)) throw noAddress();
    // Loaded only if a database is configured.
    const { Pool } = require('pg') as typeof import('pg');
    const pool = new Pool({
      connectionString: address,
      application_name: 'remote-printing',
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT,
      query_timeout: ANSWER,
      ...KEEP_ALIVE,
      allowExitOnIdle: true,
      onConnect: prepare,
    });
    // An idle connection has broken. The next statement finds out.
    pool.on('error', () => undefined);
    const ready = this.#slots.hold(() => this.#prepare(pool), true);
    // The statement that waits for it reports the failure.
    ready.catch(() => undefined);
    return { pool, ready };
  }

  async #prepare(pool: Pool): Promise<void> {
    const client: PoolClient = await pool.connect();
    // The failed statement reports it too. An unhandled error event would end the process.
    client.on('error', () => undefined);
    try {
      await migrate(client);
      client.release();
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  #recordAnswer(text: string): void {
    const { clock, log } = this.#options;
    const now = clock.monotonic();
    if (now - this.#answeredAt > SILENCE) this.#steadySince = now;
    this.#answeredAt = now;
    // An answer to another statement doesn't end the refusal of one, for example on a full or read-only disk.
    if (this.#refused !== '' && this.#refused !== text) return;
    this.#refused = undefined;
    log.info(phrase`The database is back.`);
  }

  /**
   * Logs the beginning of an outage once; `#recordAnswer` logs its end. What the sentence says is decided where a request
   * needs the state first: `Ledger.begin` of a print, `Lock.secure` of a refresh.
   */
  #recordFailure(text: string, error: unknown): void {
    if (this.#refused !== undefined || isOfData(error)) return;
    this.#refused = isAway(error) ? '' : text;
    const reason = CAUSES[codeIn(error)] ?? codeIn(error);
    this.#options.log.warn(
      error instanceof PrintingError
        ? error.sentence
        : phrase`The database can't be used (${reason}): until it can, nothing is printed and no sign-in renewed.`,
    );
  }
}

/** Awaited by the pool, although the driver's types don't say so. */
const prepare: (client: ClientBase) => unknown = (client) => client.query(SESSION);

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

const isAddress = (address: string): boolean => /^postgres(ql)?:\/\//.test(address) && URL.canParse(address);

const noAddress = (): PrintingError =>
  new PrintingError(
    'NOT_CONFIGURED',
    phrase`The setting stateStore names neither a folder nor a database: write it like /data/printing or postgresql://user@host/database.`,
    { outcome: 'not-sent' },
  );

/**
 * Session settings. A server may be configured not to wait for its disk, but promised writes must survive a crash. It
 * may also be configured to refuse statements that meet in one row, where these statements must wait for each other. One
 * that waits for a locked table ends before its runtime gives its connection up, so that no other one replaces it.
 */
const SESSION = `SET default_transaction_isolation = 'read committed'; SET statement_timeout = ${ENDED_AFTER};
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

const CAUSES: Record<string, Sentence> = {
  '28P01': phrase`the password is wrong`,
  '28000': phrase`the user is not allowed to connect`,
  '3D000': phrase`there is no such database`,
  '42501': phrase`the user lacks a right to the schema remote_printing`,
};

/** Two statements waited for each other, and PostgreSQL rolled this one back. */
const COLLISIONS = ['40001', '40P01'];

/** Codes of PostgreSQL when it stops, starts or has no more connections, and codes of the network. */
const AWAY = /^(08...|57P0[123]|53300|E[A-Z_]+|unknown|Error)$/;
/** The server, or the limit of its role, has no connection left. */
const NO_CONNECTION = '53300';
/** The server is read-only because another one replaces it; a new connection reaches that one. */
const READ_ONLY = '25006';

const isAway = (error: unknown): boolean => !(error instanceof PrintingError) && AWAY.test(codeIn(error));

/** Whether the database refuses a value, such as a time out of its range, and works otherwise. */
export const isOfData = (error: unknown): boolean =>
  !(error instanceof PrintingError) && /^2[23][\dA-Z]{3}$/.test(codeIn(error));

/** Whether the connection failed, not the statement. */
const isBreak = (error: unknown): boolean =>
  (isAway(error) && codeIn(error) !== NO_CONNECTION) || codeIn(error) === READ_ONLY;

/** Whether the driver did not wait for an answer any longer; the server may still be at it. */
const isGivenUp = (error: unknown): boolean => error instanceof Error && error.message === 'Query read timeout';

/** Codes of failures that the driver describes in words alone. */
const WORDED: readonly (readonly [RegExp, string])[] = [
  // A missing or refused password.
  [/^SASL/, '28P01'],
  [/timeout/, 'ETIMEDOUT'],
  [/terminated|connection error/, 'ECONNRESET'],
];

/** Code of a failure. */
function codeIn(error: unknown): string {
  const code = codeOf(error);
  if (code !== 'Error') return code;
  const { message } = error as Error;
  return WORDED.find(([words]) => words.test(message))?.[1] ?? code;
}
