import { Pool } from 'pg';
import { startPostgres, type RunningPostgres } from '../../scripts/postgres.mjs';

/** The PostgreSQL server of this process, as one test file uses it. */
export interface TestPostgres extends Omit<RunningPostgres, 'stop'> {
  /** Returns the address of an empty database. */
  fresh(): Promise<string>;
  /** Runs one statement on a database. */
  ask<Row extends object>(address: string, statement: string, values?: unknown[]): Promise<Row[]>;
}

let running: Promise<RunningPostgres> | undefined;
let made = 0;
/** Databases of tests that have ended, which later ones empty: creating one costs far more processor time. */
const idle: string[] = [];
/** Databases of the test that runs; null outside of tests: the database of a whole suite is not used again. */
let used: string[] | null = null;
/** Name of the connections for `ask`. */
const ASKING = 'a test';
/** Connections for `ask`, by address: PostgreSQL starts a process for each, whose start costs more than the statement. */
const pools = new Map<string, Pool>();
/** Removes everything from a database, and ends the connections of others to it. */
const EMPTY = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name <> '${ASKING}';
  DROP SCHEMA IF EXISTS remote_printing CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public`;

beforeEach(() => void (used = []));
afterEach(() => {
  idle.push(...(used ?? []));
  used = null;
});
after(async () => {
  await hangUp();
  await (await running)?.stop();
});

/** Ends the connections for `ask`. */
async function hangUp(): Promise<void> {
  const ended = [...pools.values()];
  pools.clear();
  await Promise.all(ended.map((pool) => pool.end()));
}

function poolFor(address: string): Pool {
  const known = pools.get(address);
  if (known) return known;
  const pool = new Pool({ connectionString: address, application_name: ASKING, idleTimeoutMillis: 0 });
  // A broken connection is replaced.
  pool.on('error', () => undefined);
  pools.set(address, pool);
  return pool;
}

/** Starts the server for the first file that needs one; the others share it until the end of the process. */
export async function testPostgres(): Promise<TestPostgres> {
  const server = await (running ??= startPostgres());
  await server.start();
  const ask = async <Row extends object>(address: string, statement: string, values: unknown[] = []) =>
    (await poolFor(address).query<Row>(statement, values)).rows;
  const halt = async () => {
    await hangUp();
    await server.halt();
  };
  const fresh = async () => {
    const left = idle.pop();
    const name = left ?? `test_${++made}`;
    const address = server.address.replace(/postgres$/, name);
    if (left === undefined) await ask(server.address, `CREATE DATABASE ${name}`);
    else await ask(address, EMPTY);
    used?.push(name);
    return address;
  };
  return { ...server, halt, fresh, ask };
}
