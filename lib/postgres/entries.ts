import { codeOf } from '../http/retry';
import { PrintingError } from '../service/errors';
import type { Key } from '../state/store';
import { phrase } from '../words/sentence';
import { CHANNEL } from './channel';
import { HELD } from './leases';
import { BEAT, POSITION_OF, SCHEMA } from './schema';

/** Age after which a row without a value, or a lock that was never released, is deleted. */
const FORGOTTEN = '1 day';

/** The value has passed its expiry. */
const OVER = `coalesce(e.until <= clock_timestamp(), false)`;

export const READ = `SELECT e.content, ${OVER} AS over FROM ${SCHEMA}.entries AS e WHERE e.name = $1`;

/**
 * The next entries of a kind after a position; without their content if their keys don't begin with $3, so that a page is
 * a limited amount of work however few keys do.
 */
export const LIST_ENTRIES = `SELECT ${POSITION_OF} AS position, e.key, ${OVER} AS over,
    CASE WHEN starts_with(e.key, $3) THEN e.content END AS content
  FROM ${SCHEMA}.entries AS e WHERE e.kind = $1 AND ${POSITION_OF} COLLATE "C" > $2
  ORDER BY ${POSITION_OF} COLLATE "C" LIMIT $4`;

/**
 * Acquires locks: $1 their names, $2 kinds, $3 keys, $4 turns of this holder ($5). A lock that this runtime already holds is
 * one that it couldn't release, or that it keeps; within the runtime, each name has one holder at a time. A later turn
 * takes it over. The same turn is asked again after its answer was lost, and an earlier turn may arrive late. $7 is the
 * heartbeat of an expired lease. $8 is the token of a lock without a value that is kept, and continues. Without the lock,
 * the answer is the heartbeat of its holder.
 */
export const TAKE = `WITH asked AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS asked (name, kind, key, turn)),
  taken AS (
    INSERT INTO ${SCHEMA}.entries AS e (name, kind, key, token, holder, turn, lasts, beats, ends_at, until)
    SELECT name, kind, key, nextval('${SCHEMA}.tokens'), $5, turn, $6::double precision, 1,
      clock_timestamp() + $6 * interval '1 ms', clock_timestamp() + interval '${FORGOTTEN}'
    FROM asked ORDER BY name
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, turn = excluded.turn,
      token = CASE WHEN (e.holder, e.turn) = (excluded.holder, excluded.turn) OR (e.holder = excluded.holder AND e.token = $8)
        THEN e.token ELSE excluded.token END,
      lasts = CASE WHEN e.holder = excluded.holder THEN greatest(e.lasts, excluded.lasts) ELSE excluded.lasts END,
      beats = coalesce(e.beats, 0) + 1, ends_at = greatest(e.ends_at, excluded.ends_at),
      until = CASE WHEN e.content IS NULL THEN excluded.until ELSE e.until END
    WHERE e.holder IS NULL OR (e.holder = excluded.holder AND e.turn <= excluded.turn) OR ${BEAT} = $7
    RETURNING e.name, e.token, e.content, ${OVER} AS over)
  SELECT name, token, content, over, NULL AS beat, NULL AS lasts FROM taken
  UNION ALL SELECT e.name, NULL, NULL, NULL, ${BEAT}, e.lasts FROM asked JOIN ${SCHEMA}.entries AS e USING (name)
    WHERE e.holder IS NOT NULL AND NOT EXISTS (SELECT FROM taken WHERE taken.name = e.name)`;

/** The locks of keys that a runtime ($1) holds. */
export const LOCKS_OF = `SELECT e.name, ${BEAT} AS beat, e.lasts FROM ${SCHEMA}.entries AS e
  WHERE e.holder = $1 AND e.kind <> 'member' LIMIT 1000`;

/**
 * Locks that a statement depends on. Until it ends, no runtime can take them over, but their holders can still renew
 * them.
 */
const LOCKS = `WITH locks AS (
  SELECT 1 FROM ${SCHEMA}.entries AS e JOIN unnest($3::text[], $4::bigint[]) AS held (name, token)
    ON e.name = held.name AND e.token = held.token FOR KEY SHARE OF e)`;
const ALL_LOCKS = `(SELECT count(*) FROM locks) = cardinality($3::text[])`;

/** Notifies listeners with the commit, unless the payload is blank. */
const notifying = (payload: string) =>
  `SELECT name, CASE WHEN ${payload} <> '' THEN pg_notify('${CHANNEL}', ${payload}) END FROM done`;

/** Writes values and releases their locks: $1 names, $2 tokens, $5 notifications, $6 contents, $7 times to keep them. */
export const WRITE = `${LOCKS}, ${HELD}, written AS (
    SELECT * FROM unnest($1::text[], $5::text[], $6::text[], $7::double precision[]) AS written (name, payload, content, keep_for)),
  done AS (
    UPDATE ${SCHEMA}.entries AS e SET content = written.content, until = now() + written.keep_for * interval '1 ms',
      holder = NULL, ends_at = NULL, lasts = NULL, beats = NULL
    FROM held JOIN written USING (name) WHERE e.name = held.name AND ${ALL_LOCKS} RETURNING e.name, written.payload)
  ${notifying('payload')}`;

export const REMOVE = `${LOCKS}, done AS (DELETE FROM ${SCHEMA}.entries WHERE name = $1 AND token = $2 AND ${ALL_LOCKS} RETURNING name)
  ${notifying('$5::text')}`;

export const SET_ASIDE = `WITH damaged AS (
    UPDATE ${SCHEMA}.entries SET content = NULL, until = now() WHERE name = $1 AND content = $2 RETURNING key)
  INSERT INTO ${SCHEMA}.set_aside (key, content) SELECT key, $2 FROM damaged RETURNING key`;

export const SWEEP = `DELETE FROM ${SCHEMA}.entries WHERE until <= clock_timestamp() AND holder IS NULL`;

/** Leases that should have expired long ago, by the database's clock, which may be wrong. */
export const OLD = `SELECT e.name, e.kind, e.key, ${BEAT} AS beat FROM ${SCHEMA}.entries AS e
  WHERE e.holder IS NOT NULL AND e.ends_at < clock_timestamp() - interval '${FORGOTTEN}' LIMIT 1000`;
export const DROP = `DELETE FROM ${SCHEMA}.entries AS e WHERE e.name = $1 AND e.until <= clock_timestamp() AND ${BEAT} = $2`;

/** The values. The rows of members describe runtimes, and those of killed ones stay. */
export const RECORDS = `SELECT name, content FROM ${SCHEMA}.entries
  WHERE content IS NOT NULL AND kind <> 'member' AND name > $1 ORDER BY name LIMIT $2`;

export const ADD = `INSERT INTO ${SCHEMA}.entries AS e (name, kind, key, content, until, token)
  VALUES ($1, $2, $3, $4, to_timestamp($5::double precision / 1000), nextval('${SCHEMA}.tokens'))
  ON CONFLICT (name) DO UPDATE SET content = excluded.content, until = excluded.until, token = excluded.token,
    holder = NULL, ends_at = NULL
  WHERE e.content IS NULL`;

/** Wraps a failure of the database. */
export type Failure = (cause: unknown) => PrintingError;

export const notReadable =
  ([kind]: Key): Failure =>
  (cause) =>
    new PrintingError(
      'FILE_NOT_READABLE',
      phrase`The saved ${kind} can't be read now (${codeOf(cause)}): check the database.`,
      { cause, outcome: 'not-sent' },
    );

export const notWritable =
  ([kind]: Key): Failure =>
  (cause) =>
    new PrintingError('FILE_NOT_WRITABLE', phrase`The ${kind} can't be saved (${codeOf(cause)}): check the database.`, {
      cause,
      outcome: 'not-sent',
    });

/** A value was encrypted with the secret of another runtime. */
export const foreign = ([kind]: Key): PrintingError =>
  new PrintingError(
    'FILE_NOT_READABLE',
    phrase`The saved ${kind} was encrypted with another credential secret: give all Node-REDs that share the database the same.`,
    { outcome: 'not-sent' },
  );

/** Wraps the failure of a statement, unless it says itself what a person must do. */
export async function wrapped<T>(statement: Promise<T>, failed: Failure): Promise<T> {
  try {
    return await statement;
  } catch (error) {
    throw error instanceof PrintingError ? error : failed(error);
  }
}
