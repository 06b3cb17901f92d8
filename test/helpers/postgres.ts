import { Client } from 'pg';
import { startPostgres, type RunningPostgres } from '../../scripts/postgres.mjs';

/** A PostgreSQL server for one test file. */
export interface TestPostgres extends RunningPostgres {
  /** Creates an empty database; returns its address. */
  fresh(): Promise<string>;
  /** Runs one statement on a database. */
  ask<Row extends object>(address: string, statement: string, values?: unknown[]): Promise<Row[]>;
}

export async function testPostgres(): Promise<TestPostgres> {
  const server = await startPostgres();
  let made = 0;
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
