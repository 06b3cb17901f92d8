import { isWithin, nextClosing, nextOpening } from '../../rules/hours';
import type { QueueRules } from '../model/rules';
import type { Turn } from './turns';

/** Order of turns: higher priority first, then by `sort`, then by rank. */
export function compareTurns(one: Turn, other: Turn): number {
  if (one.priority !== other.priority) return other.priority - one.priority;
  if (one.key !== other.key) return one.key - other.key;
  if (one.rank !== other.rank) return one.rank < other.rank ? -1 : 1;
  return one.itemId < other.itemId ? -1 : Number(one.itemId !== other.itemId);
}

/** Keys of turns. They hold for the same configuration of printers, `until` a time, ms since 1970. */
export interface Keys {
  until: number;
  of: (turn: Turn, now: number) => number;
}

export function keysFor({ sort, staffed }: Pick<QueueRules, 'sort' | 'staffed'>, now: number): Keys {
  switch (sort) {
    case 'priority':
      return { until: Infinity, of: () => 0 };
    case 'shortest':
      return { until: Infinity, of: ({ seconds }) => seconds };
    case 'deadline':
      return { until: Infinity, of: latestStart };
    case 'staffed':
      return staffedKeys(staffed, now);
  }
}

/** Slack plus the present time, ms: the printers that suit share what the item still owes. */
function latestStart({ item, files, seconds }: Turn): number {
  if (item.deadline === null) return Infinity;
  const printers = Math.max(1, ...files.map(({ group }) => group.suitable.length));
  return item.deadline - Math.ceil(item.waiting.length / printers) * seconds * 1000;
}

/** More than the seconds of any print. */
const CLASS = 1e9;
/** Changes between staffed and unstaffed hours that are foreseen: seven weeks of working days. */
const CHANGES = 70;

/** First what ends in staffed hours, the shortest first, then what ends before they begin again, the longest first. */
function staffedKeys(staffed: QueueRules['staffed'], since: number): Keys {
  const isStaffed = isWithin(staffed, since);
  const changes: number[] = [];
  for (let at = since; changes.length < CHANGES && at < Infinity;) {
    at = isStaffed === (changes.length % 2 === 0) ? nextClosing(staffed, at) : nextOpening(staffed, at);
    changes.push(at);
  }
  const keys: Keys = {
    until: changes[0] ?? Infinity,
    of({ seconds }, now) {
      let passed = 0;
      while (passed < changes.length && (changes[passed] ?? Infinity) <= now + seconds * 1000) passed++;
      keys.until = Math.min(keys.until, (changes[passed] ?? Infinity) - seconds * 1000);
      if (isStaffed === (passed % 2 === 0)) return seconds;
      return passed <= (isStaffed ? 1 : 0) ? 2 * CLASS - seconds : 2 * CLASS + seconds;
    },
  };
  return keys;
}

/** Number of turns up to which each is put into its place; more are sorted. */
const FEW = 100;

/** Puts the turns that moved into their places among the sorted ones. */
export function sortedTurns(sorted: readonly Turn[], moved: ReadonlySet<Turn>): Turn[] {
  const turns = sorted.filter((turn) => !moved.has(turn));
  if (moved.size > FEW) return [...turns, ...moved].sort(compareTurns);
  for (const turn of moved) {
    let [low, high] = [0, turns.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareTurns(turns[middle] as Turn, turn) < 0) low = middle + 1;
      else high = middle;
    }
    turns.splice(low, 0, turn);
  }
  return turns;
}

/** Numbers turns whose order differs from that of `compareTurns`. */
export function renumbered(order: readonly Turn[]): readonly Turn[] {
  for (let at = 0; at < order.length; at++) (order[at] as Turn).position = at;
  return order;
}

/** The sorted turns in their order: an item with a rejected copy goes to the front of its priority. */
export function frontFirst(sorted: readonly Turn[]): readonly Turn[] {
  const isFront = ({ front }: Turn) => front > 0;
  return sorted.toSorted(
    (one, other) => other.priority - one.priority || Number(isFront(other)) - Number(isFront(one)),
  );
}
