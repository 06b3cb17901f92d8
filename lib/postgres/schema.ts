import type { ClientBase } from 'pg';
import { PrintingError } from '../service/errors';
import { POSITION } from '../state/store';
import { phrase } from '../words/sentence';

export const SCHEMA = 'remote_printing';

/** Last heartbeat of the lease in row `e`; each renewal changes it. */
export const BEAT = `(e.token || ' ' || e.beats)`;

/** Position of an entry in listings. */
export const POSITION_OF = `left(name, ${POSITION})`;

/** Number of the advisory lock, chosen at random. */
const MIGRATING = 7_231_190_412;

/** Version of the tables that the first step makes: that of 1.0.0-rc.1. */
const FIRST = 4;

/** Migrations: the first step makes the tables, each later one turns a version of them into the next. */
const STEPS = [
  `CREATE TABLE ${SCHEMA}.version (number integer NOT NULL);
   INSERT INTO ${SCHEMA}.version VALUES (${FIRST});
   CREATE SEQUENCE ${SCHEMA}.tokens;
   -- A value and its lock. Without content: only a lock. Without a holder: a free lock. The turns of one holder increase.
   -- The lease of a lock lasts for so many ms after its last beat. Only the daily sweep uses ends_at.
   -- A takeover changes the key (name, token) and a renewal doesn't: a write under the lease waits for takeovers only.
   CREATE TABLE ${SCHEMA}.entries (
     name text PRIMARY KEY,
     kind text NOT NULL,
     key text NOT NULL,
     content text,
     until timestamptz,
     token bigint NOT NULL,
     holder text,
     turn bigint,
     ends_at timestamptz,
     lasts double precision,
     beats bigint,
     UNIQUE (name, token)
   );
   CREATE INDEX members ON ${SCHEMA}.entries (key) WHERE kind = 'member';
   -- For the values of a kind, in the order of their positions. Without the content, so that a write need not update it.
   CREATE INDEX kinds ON ${SCHEMA}.entries (kind, (${POSITION_OF}) COLLATE "C");
   CREATE TABLE ${SCHEMA}.set_aside (
     key text NOT NULL,
     content text NOT NULL,
     at timestamptz NOT NULL DEFAULT now()
   );
   -- An item of shared work. Its holder is the token of a member. Without one: free since left_at, or never held.
   CREATE TABLE ${SCHEMA}.assignments (
     name text PRIMARY KEY,
     topic text NOT NULL,
     item text NOT NULL,
     holder bigint,
     note text,
     left_at timestamptz
   );
   CREATE INDEX holders ON ${SCHEMA}.assignments (topic, holder)`,
];

/**
 * Creates the tables or migrates them. Several replicas may call it at once. On failure, discard the connection: its
 * transaction and lock end with it.
 */
export async function migrate(client: ClientBase): Promise<void> {
  const last = FIRST + STEPS.length - 1;
  if ((await versionOf(client)) === last) return;
  // A lock of the session, not of the transaction: a transaction that began before the lock was acquired wouldn't see
  // the previous migration.
  await client.query('SELECT pg_advisory_lock($1)', [MIGRATING]);
  await client.query('BEGIN');
  const version = await versionOf(client);
  if (version > last) throw newer();
  if (!(await hasSchema(client))) await client.query(`CREATE SCHEMA ${SCHEMA}`);
  for (const step of STEPS.slice(version === 0 ? 0 : version - FIRST + 1)) await client.query(step);
  await client.query(`UPDATE ${SCHEMA}.version SET number = ${last}`);
  await client.query('COMMIT');
  await client.query('SELECT pg_advisory_unlock($1)', [MIGRATING]);
}

/** Version of the tables; 0 if there are none. */
async function versionOf(client: ClientBase): Promise<number> {
  const { rows: tables } = await client.query<{ name: string | null }>('SELECT to_regclass($1)::text AS name', [
    `${SCHEMA}.version`,
  ]);
  if (!tables[0]?.name) return 0;
  const { rows } = await client.query<{ number: number }>(`SELECT number FROM ${SCHEMA}.version`);
  return rows[0]?.number ?? 0;
}

async function hasSchema(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ name: string | null }>('SELECT to_regnamespace($1)::text AS name', [SCHEMA]);
  return Boolean(rows[0]?.name);
}

const newer = (): PrintingError =>
  new PrintingError(
    'NOT_CONFIGURED',
    phrase`The tables in the database were made by a newer version of these nodes: update them here too.`,
    { outcome: 'not-sent' },
  );
