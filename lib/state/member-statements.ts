import { CHANNEL } from './channel';
import { BEAT, LASTS, SCHEMA } from './schema';

/**
 * Who takes part, and who has what. A member is a row of `entries`, its lease; items are held by the token of that row, so
 * that whatever a member that was buried or has come back still sends finds nothing of its own. No statement waits for an
 * item that another one holds, so none can stand in another one's way. Lists of items are never joined with the table: the
 * statistics of that are of another time, and a plan made for a few items takes minutes for ten thousand.
 */
const MEMBERS = `${SCHEMA}.entries AS e WHERE e.kind = 'member' AND e.key = $1`;
const ITEMS = `${SCHEMA}.assignments`;
/** Stands for what a member says of itself. */
const MARK = `encode(sha256(convert_to(content, 'UTF8')), 'hex')`;
const told = (words: string) => `pg_notify('${CHANNEL}', ${words})`;

/**
 * $1 topic, $2 row of this runtime where its former lease is to end, $3 the signs of life that leases ended with, $4 words. Leases that
 * are over are buried, and items that no living member has are free.
 *
 * An item is given up only as this statement's snapshot shows it: a token that is no member's there never is one again,
 * while that of an item which changes meanwhile may be somebody's who came later.
 */
export const BURY = `WITH ended AS MATERIALIZED (
    SELECT name FROM ${MEMBERS} AND ${BEAT} = ANY ($3::text[]) FOR UPDATE OF e SKIP LOCKED),
  gone AS (
    DELETE FROM ${SCHEMA}.entries WHERE name IN (SELECT name FROM ended UNION ALL SELECT $2::text)
    RETURNING token, ends_at),
  dead AS MATERIALIZED (
    SELECT a.name, a.holder, gone.ends_at FROM ${ITEMS} AS a LEFT JOIN gone ON gone.token = a.holder
    WHERE a.topic = $1 AND a.holder IS NOT NULL
      AND (gone.token IS NOT NULL OR a.holder NOT IN (SELECT token FROM ${MEMBERS}))),
  free AS MATERIALIZED (
    SELECT a.name, dead.ends_at FROM ${ITEMS} AS a JOIN dead ON dead.name = a.name AND dead.holder = a.holder
    FOR UPDATE OF a SKIP LOCKED),
  freed AS (
    UPDATE ${ITEMS} AS a SET holder = NULL, note = NULL, left_at = least(free.ends_at, clock_timestamp())
    FROM free WHERE a.name = free.name RETURNING a.name)
  SELECT ${told('$4')} WHERE EXISTS (SELECT FROM gone) OR EXISTS (SELECT FROM freed)`;

/** $1 topic, $2 row, $3 holder, $4 content, $5 ms, $6 words. */
export const ENTER = `WITH entered AS (
    INSERT INTO ${SCHEMA}.entries AS e (name, kind, key, content, token, holder, ends_at, lasts, beats)
    VALUES ($2, 'member', $1, $4, nextval('${SCHEMA}.tokens'), $3, clock_timestamp() + $5 * interval '1 ms', $5, 1)
    ON CONFLICT (name) DO UPDATE SET content = excluded.content, token = excluded.token, ends_at = excluded.ends_at,
      lasts = excluded.lasts, beats = 1
    RETURNING token)
  SELECT token, ${told('$6')} FROM entered`;

/** $1 row, $2 token, $3 content, $4 words. */
export const WANT = `WITH done AS (
    UPDATE ${SCHEMA}.entries SET content = $3 WHERE name = $1 AND token = $2 RETURNING token)
  SELECT token, ${told('$4')} FROM done`;

/** $1 topic, $2 marks of contents that are known. What stands for the items that nobody has changes with them. */
export const LOOK = `SELECT holder AS id, token, ${BEAT} AS beat, ${LASTS} AS lasts, ${MARK} AS mark,
    CASE WHEN ${MARK} <> ALL ($2::text[]) THEN content END AS content,
    (SELECT concat(count(*), ' ', max(left_at)) FROM ${ITEMS} WHERE topic = $1 AND holder IS NULL) AS free
  FROM ${MEMBERS} ORDER BY holder`;

/** $1 names, $2 topic, $3 items. */
export const ADD = `INSERT INTO ${ITEMS} (name, topic, item)
  SELECT name, $2, item FROM unnest($1::text[], $3::text[]) AS wanted (name, item) ORDER BY name ON CONFLICT DO NOTHING`;

/** $1 row, $2 token, $3 names, $4 how many. A row without a name says that some items are not known yet. */
export const TAKE_ITEMS = `WITH me AS MATERIALIZED (
    SELECT token FROM ${SCHEMA}.entries WHERE name = $1 AND token = $2 FOR KEY SHARE),
  free AS MATERIALIZED (
    SELECT name, note, left_at FROM ${ITEMS} WHERE name = ANY ($3::text[]) AND holder IS NULL
    LIMIT $4 FOR UPDATE SKIP LOCKED),
  taken AS (
    UPDATE ${ITEMS} AS a SET holder = me.token FROM me, free WHERE a.name = free.name
    RETURNING a.name, free.note, free.left_at)
  SELECT name, note, extract(epoch FROM clock_timestamp() - left_at) * 1000 AS idle FROM taken
  UNION ALL SELECT NULL, NULL, NULL
    WHERE cardinality($3::text[]) > (SELECT count(*) FROM ${ITEMS} WHERE name = ANY ($3::text[]))`;

/** $1 token, $2 names, $3 notes by name, $4 words. */
export const RELEASE = `WITH freed AS (
    UPDATE ${ITEMS} SET holder = NULL, note = $3::jsonb ->> name, left_at = clock_timestamp()
    WHERE name = ANY ($2::text[]) AND holder = $1 RETURNING name)
  SELECT ${told('$4')} WHERE EXISTS (SELECT FROM freed)`;

/** $1 row, $2 token, $3 topic, $4 notes by name, $5 words. */
export const LEAVE = `WITH gone AS (
    DELETE FROM ${SCHEMA}.entries WHERE name = $1 AND token = $2),
  freed AS (
    UPDATE ${ITEMS} SET holder = NULL, note = $4::jsonb ->> name, left_at = clock_timestamp()
    WHERE topic = $3 AND holder = $2)
  SELECT ${told('$5')}`;

/** $1 topic. */
export const HOLDERS = `SELECT e.holder AS id, ${BEAT} AS beat, a.item
  FROM ${SCHEMA}.entries AS e LEFT JOIN ${ITEMS} AS a ON a.topic = $1 AND a.holder = e.token
  WHERE e.kind = 'member' AND e.key = $1 ORDER BY e.holder, a.item`;

const FORGOTTEN = `clock_timestamp() - interval '1 day'`;

/** Topics with items that are held by no member. */
export const ABANDONED = `SELECT DISTINCT topic FROM ${ITEMS}
    WHERE holder NOT IN (SELECT token FROM ${SCHEMA}.entries WHERE kind = 'member')`;

/** What nobody has had for a day, nobody wants. */
export const FORGET = `DELETE FROM ${ITEMS} WHERE name IN (
    SELECT name FROM ${ITEMS} WHERE holder IS NULL AND (left_at IS NULL OR left_at < ${FORGOTTEN})
    FOR UPDATE SKIP LOCKED)`;
