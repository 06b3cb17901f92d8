import type { ClientBase, Pool, PoolClient, QueryConfig, QueryResultRow } from 'pg';
import { codeOf } from '../http/network-error';
import { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { phrase, type Sentence } from '../words/sentence';
import { KEEP_ALIVE, Listening } from './listening';
import { Semaphore } from '../time/semaphore';
import { migrate } from './schema';

export interface DatabaseOptions {
  /** `postgresql://…`; what is missing comes from the variables of PostgreSQL's clients. */
  address: string;
  clock: Clock;
  log: { warn(sentence: Sentence): void; info(sentence: Sentence): void };
}

const CONNECTIONS = 4;
/** ms. */
const CONNECT = 5_000;
/** No statement of ours takes longer, ms. */
const ANSWER = 10_000;
/** A break within a longer time without an answer may have gone unseen, ms. */
const SILENCE = 10_000;

export interface QueryOptions {
  /** A connection that says nothing for so long has broken, ms. */
  patience?: number;
  /** It goes before all that wait. */
  urgent?: boolean;
  /** It is not asked a second time where its connection broke: the first one may still arrive, after what came later. */
  once?: boolean;
}

/** Connections to one server, for as long as it is known to be there. */
interface ServerConnections {
  pool: Pool;
  ready: Promise<void>;
  /** Who waits for a connection waits here: the pool would give up, as if there were none. */
  places: Semaphore;
}

/** What is thrown where the database can't be asked; the reason is a code, as no address belongs into a sentence. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  constructor(readonly code: string) {
    super(`The database can't be asked (${code}).`);
  }
}

/** The PostgreSQL database that state lies in: connected with the first statement, made ready once, and again after a break. */
export class Database {
  readonly #options: DatabaseOptions;
  #line: ServerConnections | undefined;
  /** Since when it has answered without a break, and when it did last, monotonic ms. */
  #steadySince = 0;
  #answeredAt = -Infinity;
  /** The statement that it does not take; blank: it takes none. */
  #refused: string | undefined;

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  /** For how long it has answered without a break, ms. */
  get steadyFor(): number {
    const now = this.#options.clock.monotonic();
    return now - this.#answeredAt > SILENCE ? 0 : now - this.#steadySince;
  }

  /**
   * One statement, in a transaction of its own. It is asked a second time where its connection broke, or where it was in
   * another one's way: that must do no harm. Throws a DatabaseError, or a PrintingError for what a person has to mend first.
   */
  async query<Row extends QueryResultRow>(text: string, values: unknown[], options: QueryOptions = {}): Promise<Row[]> {
    try {
      const rows = await this.#ask<Row>(text, values, options).catch((error: unknown) => {
        const mayAgain = COLLISIONS.includes(codeIn(error)) || (isBreak(error) && !options.once);
        if (!mayAgain) throw error;
        return this.#ask<Row>(text, values, options);
      });
      this.#noteAnswer(text);
      return rows;
    } catch (error) {
      this.#noteFailure(text, error);
      throw error instanceof PrintingError ? error : new DatabaseError(codeIn(error));
    }
  }

  /** Hears what is said on a channel; the returned function ends that. An address that is none is told by `query`. */
  listen(channel: string, heard: (words: string | null) => void): () => void {
    const { address, clock, log } = this.#options;
    if (!isAddress(address)) return () => undefined;
    const ask = (text: string, values: unknown[]) => this.query<{ sent?: unknown }>(text, values, { once: true });
    const deaf = () => log.warn(deafened());
    const listening = new Listening({ address, clock, channel, heard, ask, deaf });
    return () => listening.end();
  }

  /** Lets go of all connections; the next statement makes new ones. */
  async close(): Promise<void> {
    const line = this.#line;
    this.#line = undefined;
    this.#answeredAt = -Infinity;
    await line?.pool.end().catch(() => undefined);
  }

  async #ask<Row extends QueryResultRow>(
    text: string,
    values: unknown[],
    { patience, urgent }: QueryOptions,
  ): Promise<Row[]> {
    const line = (this.#line ??= this.#open());
    const config = { text, values, query_timeout: patience ?? ANSWER } satisfies QueryConfig & {
      query_timeout: number;
    };
    try {
      await line.ready;
      const { rows } = await line.places.hold(() => line.pool.query<Row>(config), urgent);
      return rows;
    } catch (error) {
      if (isBreak(error)) this.#answeredAt = -Infinity;
      // Where one connection broke, the others did too, or nobody knows. Those that still work end by themselves.
      if (this.#line === line && (isBreak(error) || !(await succeeds(line.ready)))) {
        this.#line = undefined;
        line.pool.end().catch(() => undefined);
      }
      throw error;
    }
  }

  #open(): ServerConnections {
    const { address } = this.#options;
    if (!isAddress(address)) throw noAddress();
    // Loaded where a database is configured.
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
    // A connection that breaks while nobody uses it: the next statement finds out.
    pool.on('error', () => undefined);
    const ready = this.#prepare(pool);
    // Who asks hears of it.
    ready.catch(() => undefined);
    return { pool, ready, places: new Semaphore(CONNECTIONS) };
  }

  async #prepare(pool: Pool): Promise<void> {
    const client: PoolClient = await pool.connect();
    // Its statement says so too; unheard it would end the process.
    client.on('error', () => undefined);
    try {
      await migrate(client);
      client.release();
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  #noteAnswer(text: string): void {
    const { clock, log } = this.#options;
    const now = clock.monotonic();
    if (now - this.#answeredAt > SILENCE) this.#steadySince = now;
    this.#answeredAt = now;
    // Others may go on where one is refused: on a full disk, or where it may only be read.
    if (this.#refused !== '' && this.#refused !== text) return;
    this.#refused = undefined;
    log.info(phrase`The database is back.`);
  }

  /** The log hears once that something is wrong, and once that it is over. */
  #noteFailure(text: string, error: unknown): void {
    if (this.#refused !== undefined) return;
    this.#refused = isAway(error) ? '' : text;
    const reason = CAUSES[codeIn(error)] ?? codeIn(error);
    this.#options.log.warn(
      error instanceof PrintingError
        ? error.sentence
        : phrase`The database can't be used (${reason}): until it can, nothing is printed and no sign-in renewed.`,
    );
  }
}

/** Waited for, whatever the types of the driver say. */
const prepare: (client: ClientBase) => unknown = (client) => client.query(SESSION);

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

const isAddress = (address: string): boolean => /^postgres(ql)?:\/\//.test(address) && URL.canParse(address);

const deafened = (): Sentence =>
  phrase`The database doesn't report the changes of other Node-REDs (a pooler in transaction mode, or a proxy, drops its notifications), so this Node-RED looks for changes every 10 s: connect without the pooler.`;

const noAddress = (): PrintingError =>
  new PrintingError(
    'NOT_CONFIGURED',
    phrase`The setting stateStore names neither a folder nor a database: write it like /data/printing or postgresql://user@host/database.`,
    { outcome: 'not-sent' },
  );

/**
 * A server may be told not to wait for its disk; what was promised here has to be there after a crash. And it may be told
 * to refuse statements that meet in one row, where ours wait for each other.
 */
const SESSION = `SET default_transaction_isolation = 'read committed';
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

const CAUSES: Record<string, Sentence> = {
  '28P01': phrase`the password is wrong`,
  '28000': phrase`the user is not allowed to connect`,
  '3D000': phrase`there is no such database`,
  '42501': phrase`the user lacks a right to the schema remote_printing`,
};

/** Two statements waited for each other, and this one was undone. */
const COLLISIONS = ['40001', '40P01'];

/** What PostgreSQL says when it stops, starts or takes no more connections, and what the network says. */
const AWAY = /^(08...|57P0[123]|53300|E[A-Z_]+|unknown|Error)$/;
/** Another server takes its place: that one is behind a new connection. */
const READ_ONLY = '25006';

const isAway = (error: unknown): boolean => !(error instanceof PrintingError) && AWAY.test(codeIn(error));

/** The connection is to blame, not the statement. */
const isBreak = (error: unknown): boolean => isAway(error) || codeIn(error) === READ_ONLY;

/** The driver has no code for a password that is missing or refused. */
const codeIn = (error: unknown): string =>
  error instanceof Error && error.message.startsWith('SASL') ? '28P01' : codeOf(error);
