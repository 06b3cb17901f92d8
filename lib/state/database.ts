import type { ClientBase, Pool, PoolClient, QueryResultRow } from 'pg';
import { codeOf } from '../http/network-error';
import { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { say, type Sentence } from '../words/say';
import { Listening } from './listening';
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
  #line: { pool: Pool; ready: Promise<void> } | undefined;
  /** Since when every statement was answered, monotonic ms. */
  #steadySince: number | undefined;
  #isAway = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  /** For how long it has answered without a break, ms. */
  get steadyFor(): number {
    return this.#steadySince === undefined ? 0 : this.#options.clock.monotonic() - this.#steadySince;
  }

  /**
   * One statement, in a transaction of its own. It is asked a second time where its connection broke: that must do no harm.
   * Throws a DatabaseError, or a PrintingError for what a person has to mend first.
   */
  async query<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    try {
      const rows = await this.#ask<Row>(text, values).catch((error: unknown) => {
        if (!isBreak(error)) throw error;
        return this.#ask<Row>(text, values);
      });
      this.#note(undefined);
      return rows;
    } catch (error) {
      if (isBreak(error)) this.#steadySince = undefined;
      this.#note(error);
      throw error instanceof PrintingError ? error : new DatabaseError(codeOf(error));
    }
  }

  /** Hears what is said on a channel; the returned function ends that. An address that is none is told by `query`. */
  listen(channel: string, heard: (words: string | null) => void): () => void {
    const { address, clock } = this.#options;
    if (!isAddress(address)) return () => undefined;
    const listening = new Listening({ address, clock, channel, heard });
    return () => listening.end();
  }

  /** Lets go of all connections; the next statement makes new ones. */
  async close(): Promise<void> {
    const line = this.#line;
    this.#line = this.#steadySince = undefined;
    await line?.pool.end().catch(() => undefined);
  }

  async #ask<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    const line = (this.#line ??= this.#open());
    try {
      await line.ready;
      const { rows } = await line.pool.query<Row>(text, values);
      return rows;
    } catch (error) {
      // Where one connection broke, the others did too, or nobody knows. Those that still work end by themselves.
      if (this.#line === line && (isBreak(error) || !(await succeeds(line.ready)))) {
        this.#line = undefined;
        line.pool.end().catch(() => undefined);
      }
      throw error;
    }
  }

  #open(): { pool: Pool; ready: Promise<void> } {
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
      keepAlive: true,
      allowExitOnIdle: true,
      onConnect: prepare,
    });
    // A connection that breaks while nobody uses it: the next statement finds out.
    pool.on('error', () => undefined);
    const ready = this.#prepare(pool);
    // Who asks hears of it.
    ready.catch(() => undefined);
    return { pool, ready };
  }

  async #prepare(pool: Pool): Promise<void> {
    const client: PoolClient = await pool.connect();
    try {
      await migrate(client);
      client.release();
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** The log hears once that something is wrong, and once that it is over. */
  #note(error: unknown): void {
    const { clock, log } = this.#options;
    if (error === undefined) {
      this.#steadySince ??= clock.monotonic();
      if (this.#isAway) log.info(say`The database is back.`);
    } else if (!this.#isAway) {
      const reason = CAUSES[codeOf(error)] ?? codeOf(error);
      log.warn(
        error instanceof PrintingError
          ? error.sentence
          : say`The database can't be used (${reason}): until it can, nothing is printed and no sign-in renewed.`,
      );
    }
    this.#isAway = error !== undefined;
  }
}

/** Waited for, whatever the types of the driver say. */
const prepare: (client: ClientBase) => unknown = (client) => client.query(DURABLE);

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

const isAddress = (address: string): boolean => /^postgres(ql)?:\/\//.test(address) && URL.canParse(address);

const noAddress = (): PrintingError =>
  new PrintingError(
    'NOT_CONFIGURED',
    say`The setting stateStore is no address of a database: write it like postgresql://user@host/database.`,
    { outcome: 'not-sent' },
  );

/** A server may be told not to wait for its disk; what was promised here has to be there after a crash. */
const DURABLE = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

const CAUSES: Record<string, Sentence> = {
  '28P01': say`the password is wrong`,
  '28000': say`the user is not let in`,
  '3D000': say`there is no such database`,
  '42501': say`the user lacks a right to the schema remote_printing`,
};

/** What PostgreSQL says when it stops, starts or takes no more connections, and what the network says. */
const BREAKS = /^(08...|57P0[123]|53300|E[A-Z_]+|unknown|Error)$/;

/** The connection is to blame, not the statement. */
const isBreak = (error: unknown): boolean => !(error instanceof PrintingError) && BREAKS.test(codeOf(error));
