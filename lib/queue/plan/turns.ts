import type { Requirement } from '../model/requirement';
import type { QueueRules } from '../model/rules';
import type { PlanFile, PlanItem } from './inputs';
import { type Fleet, isLow, type RequirementGroup, type RequirementGroups } from './suitability';

/** An item in a plan, with what the plan knows about it beyond its record. */
export interface Turn {
  // Each plan reads these members of every turn, which costs most of its time: they lie together.
  /** Whether it owes copies of a file that can be printed, and nothing holds it. */
  isReady: boolean;
  /** Index of the only printer that suits, or `NONE` or `SEVERAL`, as of the fleet's `stock`. */
  only: number;
  stock: number;
  /** ms since 1970; 0: at once. */
  notBefore: number;
  front: number;
  /** Place in the order of turns, from 0; -1: it can't be planned. */
  position: number;
  /** Place in the order of `sort`, among items of the same priority. */
  key: number;
  /** Estimate of a copy, s. */
  seconds: number;
  priority: number;
  item: PlanItem;
  itemId: string;
  rank: string;
  added: string;
  /** Whether a printer refused it. */
  isRefused: boolean;
  /** The group of its only file; null: it has several. */
  group: RequirementGroup | null;
  /** Files that can be printed; all files, where none can. */
  files: readonly TurnFile[];
  /** Why none of its files can be printed; null: one can. */
  fault: 'MODEL_UNKNOWN' | 'UPLOAD' | null;
}

export interface TurnFile {
  /** Index in the item's files. */
  index: number;
  group: RequirementGroup;
  /** Null: none is known. */
  volumes: Requirement['volumes'] | null;
}

/** No printer, and no place in the order. */
export const NONE = -1;
const SEVERAL = -2;

/** Duration of a copy whose estimate is unknown, s (print queue, 8). */
export const ASSUMED_SECONDS = 3600;

/** Whether a file can be printed, as far as the rules ask for its model. */
const canPrint = ({ requirement, isStored }: PlanFile, match: QueueRules['match']): boolean =>
  isStored && (match === 'lenient' || requirement.models !== null);

const isKnown = (volume: number | null): boolean => volume !== null;

/** Makes or renews the turn of an item. */
export function turnOf(item: PlanItem, groups: RequirementGroups, { match }: Pick<QueueRules, 'match'>): Turn {
  const all: TurnFile[] = [];
  const printable: TurnFile[] = [];
  let isAnyStored = false;
  for (let index = 0; index < item.files.length; index++) {
    const file = item.files[index] as PlanFile;
    const { volumes } = file.requirement;
    all.push({ index, group: groups.of(file.requirement), volumes: volumes.some(isKnown) ? volumes : null });
    if (canPrint(file, match)) printable.push(all[index] as TurnFile);
    isAnyStored ||= file.isStored;
  }
  const files = printable.length > 0 ? printable : all;
  const fault = printable.length > 0 ? null : isAnyStored ? 'MODEL_UNKNOWN' : 'UPLOAD';
  return {
    isReady: item.obstacle === null && fault === null && item.waiting.length > 0,
    only: NONE,
    stock: -1,
    notBefore: item.notBefore ?? 0,
    front: item.front,
    position: NONE,
    key: 0,
    seconds: item.files[files[0]?.index ?? 0]?.seconds ?? ASSUMED_SECONDS,
    priority: item.priority,
    item,
    itemId: item.itemId,
    rank: item.rank,
    added: item.added,
    isRefused: item.refused.size > 0,
    group: files.length === 1 ? (files[0]?.group ?? null) : null,
    files,
    fault,
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
  for (const file of files) {
    for (const at of file.group.suitable) {
      if (at === only || !accepts(item, file, at, fleet)) continue;
      if (only !== NONE) return SEVERAL;
      only = at;
    }
  }
  return only;
}

/** Whether a printer that suits a file's group has enough material for it, and did not refuse the item. */
export function accepts(item: PlanItem, { group, volumes }: TurnFile, at: number, fleet: Fleet): boolean {
  const printer = fleet.printers[at];
  if (!printer || (volumes !== null && isLow(volumes, printer, group.suitedAt(at)))) return false;
  return item.refused.size === 0 || !item.refused.has(printer.clusterId);
}
