import { createHash } from 'node:crypto';
import { MEMBER, TEXT } from '../rules/limits';
import { record } from '../service/json-readers';
import type { Member } from '../state/membership';

/** Row of a member. */
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

/** A member as last read. */
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

  /** Marks of the known contents. */
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
    since: isTime(since) ? since : 0,
    wants,
  };
}

/** From 1970 to 9999. */
const isTime = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value < 253_402_300_800_000;

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
