import type { ClientBase } from 'pg';
import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

export const SCHEMA = 'remote_printing';

/** The last sign of life of the lease in row `e`: each renewal makes another one. A version before this one moves ends_at alone. */
export const BEAT = `(e.token || ' ' || coalesce(e.beats::text, e.ends_at::text))`;
/** How long the lease in row `e` lasts after that, ms. One of a version that didn't say so is given more than it needs. */
export const LASTS = `coalesce(e.lasts, 120000)`;

/** Any number that nobody else locks. */
const MIGRATING = 7_231_190_412;

/** What makes version n+1 of the tables out of version n. */
const STEPS = [
  `CREATE TABLE ${SCHEMA}.version (number integer NOT NULL);
   INSERT INTO ${SCHEMA}.version VALUES (0);
   CREATE SEQUENCE ${SCHEMA}.tokens;
   -- A value and its lock. Without content: a lock alone. Without holder: nobody's lock. The turns of one holder grow.
   CREATE TABLE ${SCHEMA}.entries (
     name text PRIMARY KEY,
     kind text NOT NULL,
     key text NOT NULL,
     content text,
     until timestamptz,
     token bigint NOT NULL,
     holder text,
     turn bigint,
     ends_at timestamptz
   );
   CREATE TABLE ${SCHEMA}.set_aside (
     key text NOT NULL,
     content text NOT NULL,
     at timestamptz NOT NULL DEFAULT now()
   )`,
  `-- Renewing a lease changes nothing that a key could refer to, taking it over does: what is written under it waits for the latter alone.
   ALTER TABLE ${SCHEMA}.entries ADD UNIQUE (name, token);
   CREATE INDEX members ON ${SCHEMA}.entries (key) WHERE kind = 'member';
   -- An item of work that is shared out. Its holder is the token of a member. Without one: nobody's since left_at, if ever.
   CREATE TABLE ${SCHEMA}.assignments (
     name text PRIMARY KEY,
     topic text NOT NULL,
     item text NOT NULL,
     holder bigint,
     note text,
     left_at timestamptz
   );
   CREATE INDEX holders ON ${SCHEMA}.assignments (topic, holder)`,
  `-- How long a lease lasts after its last beat, ms. What ends_at says is left for versions of before, and for forgetting after a day.
   ALTER TABLE ${SCHEMA}.entries ADD COLUMN lasts double precision, ADD COLUMN beats bigint`,
];

/**
 * Makes the tables, or brings them up to date. Replicas may do so all at once. Where it fails the connection has to be given
 * up: transaction and lock go with it.
 */
export async function migrate(client: ClientBase): Promise<void> {
  if ((await versionOf(client)) === STEPS.length) return;
  // Of the session: a transaction that began before the lock was had would not see what the one before it has made.
  await client.query('SELECT pg_advisory_lock($1)', [MIGRATING]);
  await client.query('BEGIN');
  const version = await versionOf(client);
  if (version > STEPS.length) throw newer();
  if (!(await hasSchema(client))) await client.query(`CREATE SCHEMA ${SCHEMA}`);
  for (const step of STEPS.slice(version)) await client.query(step);
  await client.query(`UPDATE ${SCHEMA}.version SET number = ${STEPS.length}`);
  await client.query('COMMIT');
  await client.query('SELECT pg_advisory_unlock($1)', [MIGRATING]);
}

/** 0 where there are no tables yet. */
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
