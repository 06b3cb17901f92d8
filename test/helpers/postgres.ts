import { Client } from 'pg';
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
/** Removes everything from a database, and ends the connections to it. */
const EMPTY = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
  DROP SCHEMA IF EXISTS remote_printing CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public`;

beforeEach(() => void (used = []));
afterEach(() => {
  idle.push(...(used ?? []));
  used = null;
});
after(async () => (await running)?.stop());

/** Starts the server for the first file that needs one; the others share it until the end of the process. */
export async function testPostgres(): Promise<TestPostgres> {
  const server = await (running ??= startPostgres());
  await server.start();
  const ask = async <Row extends object>(address: string, statement: string, values: unknown[] = []) => {
    const client = new Client(address);
    await client.connect();
    try {
      return (await client.query<Row>(statement, values)).rows;
    } finally {
      await client.end();
    }
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
  return { ...server, fresh, ask };
}
