import { createHash } from 'node:crypto';
import { MEMBER, TEXT } from '../rules/limits';
import { record } from '../service/json-readers';
import type { Member } from '../state/membership';
import { isTime } from '../time/clock';
import { CHANNEL } from './channel';
import { BEAT, SCHEMA } from './schema';

export interface MemberRow {
  id: string;
  token: string;
  /** Its last heartbeat, and the lifetime of its lease after that, ms. */
  beat: string;
  lasts: number;
  mark: string;
  /** Null if the mark is known. */
  content: string | null;
  free: string;
}

/** A member's description of itself. */
type About = Omit<Member, 'id'>;

interface KnownMember {
  token: string;
  mark: string;
  about: About;
}

/** The members of a topic, as last read. */
export class Roster {
  #known = new Map<string, KnownMember>();
  #members: readonly Member[] = [];
  /** Changes with the set of free items. */
  #free = '';

  get members(): readonly Member[] {
    return this.#members;
  }

  get marks(): string[] {
    return [...this.#known.values()].map(({ mark }) => mark);
  }

  /** Whether a known member is missing from the rows. */
  hasMoreThan(rows: readonly MemberRow[]): boolean {
    return ![...this.#known.values()].every(({ token }) => rows.some((row) => row.token === token));
  }

  /** Adopts the members that were read. Returns whether they or the free items have changed. */
  adopt(rows: readonly MemberRow[]): boolean {
    const before = this.#known;
    const known = new Map([...before.values()].map(({ mark, about }) => [mark, about]));
    for (const { mark, content } of rows) if (content !== null) known.set(mark, readAbout(content));
    const aboutOf = (mark: string) => known.get(mark) ?? readAbout(null);
    this.#known = new Map(rows.map(({ id, token, mark }) => [id, { token, mark, about: aboutOf(mark) }]));
    const free = rows[0]?.free ?? '';
    const isSame = ([id, { token, mark }]: [string, KnownMember]) =>
      before.get(id)?.token === token && before.get(id)?.mark === mark;
    if (free === this.#free && before.size === this.#known.size && [...this.#known].every(isSame)) return false;
    this.#free = free;
    this.#members = [...this.#known].map(([id, { about }]) => ({ id, ...about }));
    return true;
  }

  clear(): void {
    this.#known.clear();
    this.#members = [];
  }
}

/** The entry of a member: of another version it may be anything. */
export function readAbout(content: string | null): About {
  const { name, since, wants = null } = record(readJson(content)) ?? {};
  return {
    name: typeof name === 'string' ? name.slice(0, TEXT.shown) : '',
    since: typeof since === 'number' && isTime(since) ? since : 0,
    wants,
  };
}

/** Parses a JSON text of the database; null if it is invalid or too long. */
export function readJson(json: string | null): unknown {
  if (json === null || json.length > MEMBER.content) return null;
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/** Mark of a content, as READ_MEMBERS computes it. */
export const markOf = (content: string): string => createHash('sha256').update(content).digest('hex');

/**
 * Statements for members and the items that they hold. A member's lease is a row of `entries`, and its items refer to
 * the token of that row. A late statement of a member that was evicted, or has rejoined, therefore matches no row. No
 * statement waits for an item that another one has locked, so statements never block each other. Never join lists of
 * items with the table: its statistics are outdated, and a plan made for a few items takes minutes for ten thousand.
 */
const MEMBERS = `${SCHEMA}.entries AS e WHERE e.kind = 'member' AND e.key = $1`;
const ITEMS = `${SCHEMA}.assignments`;
/** Hash of the content of a member's row. */
const MARK = `encode(sha256(convert_to(content, 'UTF8')), 'hex')`;
const notify = (payload: string) => `pg_notify('${CHANNEL}', ${payload})`;

/**
 * Parameters: $1 topic, $2 row of this runtime if its former lease is to end, $3 last beats of expired leases, $4
 * payload. Evicts the members with expired leases, and frees the items that no present member holds.
 *
 * Only items whose holder isn't a member in this statement's snapshot are freed. Such a token never becomes a member's
 * again, whereas the new token of an item that changes meanwhile may be that of a later member.
 */
export const EVICT = `WITH ended AS MATERIALIZED (
    SELECT name FROM ${MEMBERS} AND ${BEAT} = ANY ($3::text[]) FOR UPDATE OF e SKIP LOCKED),
  evicted AS (
    DELETE FROM ${SCHEMA}.entries WHERE name IN (SELECT name FROM ended UNION ALL SELECT $2::text)
    RETURNING token, ends_at),
  orphaned AS MATERIALIZED (
    SELECT a.name, a.holder, evicted.ends_at FROM ${ITEMS} AS a LEFT JOIN evicted ON evicted.token = a.holder
    WHERE a.topic = $1 AND a.holder IS NOT NULL
      AND (evicted.token IS NOT NULL OR a.holder NOT IN (SELECT token FROM ${MEMBERS}))),
  free AS MATERIALIZED (
    SELECT a.name, orphaned.ends_at FROM ${ITEMS} AS a JOIN orphaned ON orphaned.name = a.name AND orphaned.holder = a.holder
    FOR UPDATE OF a SKIP LOCKED),
  freed AS (
    UPDATE ${ITEMS} AS a SET holder = NULL, note = NULL, left_at = least(free.ends_at, clock_timestamp())
    FROM free WHERE a.name = free.name RETURNING a.name)
  SELECT ${notify('$4')} WHERE EXISTS (SELECT FROM evicted) OR EXISTS (SELECT FROM freed)`;

/** Parameters: $1 topic, $2 row, $3 holder, $4 content, $5 ms, $6 payload. */
export const ENTER = `WITH entered AS (
    INSERT INTO ${SCHEMA}.entries AS e (name, kind, key, content, token, holder, ends_at, lasts, beats)
    VALUES ($2, 'member', $1, $4, nextval('${SCHEMA}.tokens'), $3, clock_timestamp() + $5 * interval '1 ms', $5, 1)
    ON CONFLICT (name) DO UPDATE SET content = excluded.content, token = excluded.token, ends_at = excluded.ends_at,
      lasts = excluded.lasts, beats = 1
    RETURNING token)
  SELECT token, ${notify('$6')} FROM entered`;

/** Parameters: $1 row, $2 token, $3 content, $4 payload. */
export const UPDATE_CONTENT = `WITH done AS (
    UPDATE ${SCHEMA}.entries SET content = $3 WHERE name = $1 AND token = $2 RETURNING token)
  SELECT token, ${notify('$4')} FROM done`;

/** Parameters: $1 topic, $2 marks of known contents. The column `free` changes with the free items. */
export const READ_MEMBERS = `SELECT holder AS id, token, ${BEAT} AS beat, e.lasts AS lasts, ${MARK} AS mark,
    CASE WHEN ${MARK} <> ALL ($2::text[]) THEN content END AS content,
    (SELECT concat(count(*), ' ', max(left_at)) FROM ${ITEMS} WHERE topic = $1 AND holder IS NULL) AS free
  FROM ${MEMBERS} ORDER BY holder`;

/** Parameters: $1 names, $2 topic, $3 items. */
export const ADD_ITEMS = `INSERT INTO ${ITEMS} (name, topic, item)
  SELECT name, $2, item FROM unnest($1::text[], $3::text[]) AS wanted (name, item) ORDER BY name ON CONFLICT DO NOTHING`;

/** Parameters: $1 row, $2 token, $3 names, $4 limit. A row without a name means that some items have no row yet. */
export const CLAIM_ITEMS = `WITH me AS MATERIALIZED (
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

/** Parameters: $1 token, $2 names, $3 notes by name, $4 payload. */
export const RELEASE_ITEMS = `WITH freed AS (
    UPDATE ${ITEMS} SET holder = NULL, note = $3::jsonb ->> name, left_at = clock_timestamp()
    WHERE name = ANY ($2::text[]) AND holder = $1 RETURNING name)
  SELECT ${notify('$4')} WHERE EXISTS (SELECT FROM freed)`;

/** Parameters: $1 row, $2 token, $3 topic, $4 notes by name, $5 payload. */
export const LEAVE = `WITH departed AS (
    DELETE FROM ${SCHEMA}.entries WHERE name = $1 AND token = $2),
  freed AS (
    UPDATE ${ITEMS} SET holder = NULL, note = $4::jsonb ->> name, left_at = clock_timestamp()
    WHERE topic = $3 AND holder = $2)
  SELECT ${notify('$5')}`;

/** Parameters: $1 topic. */
export const HOLDERS = `SELECT e.holder AS id, ${BEAT} AS beat, a.item
  FROM ${SCHEMA}.entries AS e LEFT JOIN ${ITEMS} AS a ON a.topic = $1 AND a.holder = e.token
  WHERE e.kind = 'member' AND e.key = $1 ORDER BY e.holder, a.item`;

const FORGOTTEN = `clock_timestamp() - interval '1 day'`;

/** Topics with items that no member holds. */
export const ABANDONED = `SELECT DISTINCT topic FROM ${ITEMS}
    WHERE holder NOT IN (SELECT token FROM ${SCHEMA}.entries WHERE kind = 'member')`;

/** Deletes the items that have been free for a day. */
export const FORGET_ITEMS = `DELETE FROM ${ITEMS} WHERE name IN (
    SELECT name FROM ${ITEMS} WHERE holder IS NULL AND (left_at IS NULL OR left_at < ${FORGOTTEN})
    FOR UPDATE SKIP LOCKED)`;
