import { isWithin, nextClosing, nextOpening } from '../rules/hours';
import type { Fleet } from './fleet';
import type { PlanFile, PlanItem } from './plan-types';
import type { QueueRules } from './queue-rules';
import type { RequirementGroup, RequirementGroups } from './requirement-group';
import type { Requirement } from './requirement';
import { isLow } from './suitability';

/** An item in a plan, with what the plan knows about it beyond its record. */
export interface Turn {
  item: PlanItem;
  // Members of the item that each plan reads of every turn, which costs most of its time: they lie together here.
  itemId: string;
  priority: number;
  rank: string;
  createdAt: number;
  /** ms since 1970; 0: at once. */
  notBefore: number;
  isFront: boolean;
  /** Whether a printer refused it. */
  isRefused: boolean;
  /** Whether it owes copies of a file that can be printed, and nothing holds it. */
  isReady: boolean;
  /** The group of its only file; null: it has several. */
  group: RequirementGroup | null;
  /** Files that can be printed; all files, where none can. */
  files: readonly TurnFile[];
  /** Why none of its files can be printed; null: one can. */
  fault: 'MODEL_UNKNOWN' | 'UPLOAD' | null;
  /** Estimate of a copy, s. */
  seconds: number;
  /** Place in the order of `sort`, among items of the same priority. */
  key: number;
  /** Place in the order of turns, from 0; -1: it can't be planned. */
  position: number;
  /** Index of the only printer that suits, or `NONE` or `SEVERAL`, as of the fleet's `stock`. */
  only: number;
  stock: number;
}

export interface TurnFile {
  /** Index in the item's files. */
  index: number;
  group: RequirementGroup;
  /** Null: none is known. */
  volumes: Requirement['volumes'] | null;
}

export const NONE = -1;
export const SEVERAL = -2;

/** Duration of a copy whose estimate is unknown, s (print queue, 8). */
export const HOUR = 3600;

/** Makes or renews the turn of an item. */
export function turnOf(item: PlanItem, groups: RequirementGroups, { match }: Pick<QueueRules, 'match'>): Turn {
  const canPrint = ({ requirement, isStored }: PlanFile) =>
    isStored && (match === 'lenient' || requirement.models !== null);
  const all = item.files.map(({ requirement: { volumes }, requirement }, index) => ({
    index,
    group: groups.of(requirement),
    volumes: volumes.some((volume) => volume !== null) ? volumes : null,
  }));
  const isAnyPrintable = item.files.some(canPrint);
  const files =
    isAnyPrintable && !item.files.every(canPrint) ? all.filter((_, at) => canPrint(item.files[at] as PlanFile)) : all;
  const fault = isAnyPrintable ? null : item.files.some(({ isStored }) => isStored) ? 'MODEL_UNKNOWN' : 'UPLOAD';
  return {
    item,
    itemId: item.itemId,
    priority: item.priority,
    rank: item.rank,
    createdAt: item.createdAt,
    notBefore: item.notBefore ?? 0,
    isFront: item.isFront,
    isRefused: item.refused.size > 0,
    isReady: item.obstacle === null && fault === null && item.waiting.length > 0,
    group: files.length === 1 ? (files[0]?.group ?? null) : null,
    files,
    fault,
    seconds: item.files[files[0]?.index ?? 0]?.seconds ?? HOUR,
    key: 0,
    position: NONE,
    only: NONE,
    stock: -1,
  };
}

/** Renews the only printer that suits an item. */
export function findOnly(turn: Turn, fleet: Fleet): void {
  if (turn.stock === fleet.stock) return;
  turn.stock = fleet.stock;
  const isAmple = turn.group !== null && !turn.isRefused && turn.group.isAmple;
  turn.only = isAmple ? SEVERAL : onlyPrinter(turn, fleet);
}

function onlyPrinter({ item, files }: Turn, fleet: Fleet): number {
  let only = NONE;
  for (const { group, volumes } of files) {
    const { suitable } = group;
    for (const at of suitable) {
      if (at === only || !takes(item, volumes, at, fleet)) continue;
      if (only !== NONE) return SEVERAL;
      only = at;
    }
  }
  return only;
}

/** Whether a printer that suits a file's group has enough material for it, and did not refuse the item. */
export function takes(item: PlanItem, volumes: TurnFile['volumes'], at: number, fleet: Fleet): boolean {
  const printer = fleet.printers[at];
  if (!printer || (volumes !== null && isLow(volumes, printer))) return false;
  return item.refused.size === 0 || !item.refused.has(fleet.keyAt(at));
}

/** Order of turns: higher priority first, then by `sort`, then by rank. */
export function compareTurns(one: Turn, other: Turn): number {
  if (one.priority !== other.priority) return other.priority - one.priority;
  if (one.key !== other.key) return one.key - other.key;
  if (one.rank !== other.rank) return one.rank < other.rank ? -1 : 1;
  if (one.createdAt !== other.createdAt) return one.createdAt - other.createdAt;
  return one.itemId < other.itemId ? -1 : Number(one.itemId !== other.itemId);
}

/** Computes the key of a turn, for the time of a plan; null: all have the same. */
export function keyReader(
  { sort, staffed }: Pick<QueueRules, 'sort' | 'staffed'>,
  now: number,
): ((turn: Turn) => number) | null {
  switch (sort) {
    case 'priority':
      return null;
    case 'shortest':
      return ({ seconds }) => seconds;
    case 'deadline':
      return latestStart;
    case 'staffed':
      return staffedKey(staffed, now);
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
/** Changes between staffed and unstaffed hours to look ahead: seven weeks of working days. */
const CHANGES = 70;

/** First what ends in staffed hours, the shortest first, then what ends before they begin again, the longest first. */
function staffedKey(staffed: QueueRules['staffed'], now: number): (turn: Turn) => number {
  const isStaffed = isWithin(staffed, now);
  const changes: number[] = [];
  for (let at = now; changes.length < CHANGES && at < Infinity;) {
    at = isStaffed === (changes.length % 2 === 0) ? nextClosing(staffed, at) : nextOpening(staffed, at);
    changes.push(at);
  }
  return ({ seconds }) => {
    const end = now + seconds * 1000;
    let passed = 0;
    while (passed < changes.length && (changes[passed] ?? Infinity) <= end) passed++;
    if (isStaffed === (passed % 2 === 0)) return seconds;
    return passed <= (isStaffed ? 1 : 0) ? 2 * CLASS - seconds : 2 * CLASS + seconds;
  };
}
