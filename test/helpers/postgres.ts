import { Client } from 'pg';
import { startPostgres, type RunningPostgres } from '../../scripts/postgres.mjs';

/** The PostgreSQL server of this process, as one test file uses it. */
export interface TestPostgres extends Omit<RunningPostgres, 'stop'> {
  /** Creates an empty database; returns its address. */
  fresh(): Promise<string>;
  /** Runs one statement on a database. */
  ask<Row extends object>(address: string, statement: string, values?: unknown[]): Promise<Row[]>;
}

let running: Promise<RunningPostgres> | undefined;
let made = 0;
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
    const name = `test_${++made}`;
    await ask(server.address, `CREATE DATABASE ${name}`);
    return server.address.replace(/postgres$/, name);
  };
  return { ...server, fresh, ask };
}
