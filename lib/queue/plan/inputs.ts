import { phrase } from '../../words/sentence';
import { addedOf, isStuck, waitingCopies } from '../model/item';
import { countParts, perPrintOf } from '../model/parts';
import { isPauseOver } from '../model/queue-record';
import { type MaterialFinder, type Requirement, requirementOf } from '../model/requirement';
import type { QueueRules } from '../model/rules';
import type { ItemReason, ItemRecord, QueuePrinter, Reason } from '../model/types';
import type { QueueData } from '../records/data';
import type { ClusterViews, Refusals } from '../records/statuses';
import { BoardCache, type BoardInput, configurationsOf, openPrints, printerBoard } from './printers';

/** An item that owes copies, as the plan sees it. */
export interface PlanItem {
  itemId: string;
  priority: number;
  rank: string;
  /** Its rank when it was added: the order of requests. */
  added: string;
  deadline: number | null;
  notBefore: number | null;
  /** The item's files, in the order of preference. */
  files: readonly PlanFile[];
  /** Copies that wait, in the order in which they are printed. */
  waiting: readonly number[];
  /** Parts that are left for them, and the number of the next copy after them; null: the item owes copies. */
  parts: { left: number; perPrint: number; next: number } | null;
  /** Number of the waiting copies, the first ones, that a verdict owes: they go to the front of their priority. */
  front: number;
  /**
   * By waiting copy, the clusters on which it failed or did not begin, each with the place of the last such attempt: others are
   * preferred, and then those of the earlier attempts.
   */
  avoid: ReadonlyMap<number, ReadonlyMap<string, number>>;
  /** Clusters at which the service asked for changes of this item. */
  refused: ReadonlySet<string>;
  /** Why nothing of it may start: held, awaits approval, no file …; null: it may. */
  obstacle: Reason<ItemReason> | null;
}

export interface PlanFile {
  requirement: Requirement;
  /** s; null: unknown. */
  seconds: number | null;
  isStored: boolean;
  /** Parts that one print makes. */
  perPrint: number;
  /** By extruder, g; null: unknown, or not used. */
  weights: readonly (number | null)[];
}

/** The copy of an item that is printed after so many others; undefined: it owes none. */
export const copyAfter = ({ waiting, parts }: PlanItem, others: number): number | undefined =>
  waiting[others] ?? (parts ? parts.next + others - waiting.length : undefined);

/** The item once these prints have begun: what their files make is not owed any more. */
export function withoutPrints(item: PlanItem, prints: readonly { copy: number; file: number }[]): PlanItem {
  const { files, parts } = item;
  const begun = new Set(prints.map(({ copy }) => copy));
  const isLeft = (copy: number) => !begun.has(copy);
  const waiting = item.waiting.filter(isLeft);
  const front = item.waiting.slice(0, item.front).filter(isLeft).length;
  const rest = { ...item, waiting, front, avoid: NONE_AVOIDED };
  if (!parts) return rest;
  const { perPrint } = parts;
  const left = prints.reduce((sum, { file }) => Math.max(0, sum - (files[file]?.perPrint ?? 1)), parts.left);
  const next = prints.reduce((most, { copy }) => Math.max(most, copy + 1), parts.next);
  const needed = Math.ceil(left / perPrint);
  const more = Array.from({ length: Math.max(0, needed - waiting.length) }, (_, at) => next + at);
  return {
    ...rest,
    waiting: [...waiting.slice(0, needed), ...more],
    front: Math.min(front, needed),
    parts: { left, perPrint, next: next + more.length },
  };
}

const NONE_AVOIDED: PlanItem['avoid'] = new Map();

export interface PlanInput {
  items: readonly PlanItem[];
  printers: readonly QueuePrinter[];
  rules: QueueRules;
  /** ms since 1970. */
  now: number;
  /** Prints of this queue that are assigned, dispatched or printing, or may be. */
  printing: number;
  /** Those of them whose outcomes are unknown. */
  inDoubt: number;
  /** From when the next start is allowed by `stagger`, ms since 1970. */
  nextStartAt: number;
  /** Why the whole queue starts nothing; null: it may. */
  obstacle: Reason<ItemReason> | null;
  /** By item and cluster, why the service did not take it there a moment ago. */
  refusals: Refusals['byItem'];
}

/** What a queue knows, from which its plans are made. */
export interface PlanSource {
  rules: QueueRules;
  data: QueueData;
  views: ClusterViews;
  /** Clusters of the queue. */
  clusterIds: () => readonly string[];
  /** Why the whole queue starts nothing, apart from its pause; null: it may. */
  obstacle: () => Reason<ItemReason> | null;
  /** Age from which a status is stale, ms. */
  staleAfter: number;
}

/**
 * Makes the input of each plan from the queue's records and the statuses of its printers. Unchanged parts stay the same
 * objects, by which the planner recognises them. `now`: ms since 1970.
 */
export class PlanInputs {
  readonly #source: PlanSource;
  readonly #refusals: Refusals;
  readonly #board = new BoardCache();
  readonly #itemCache = new ItemCache();
  /** Open prints, as of a version of the items: each status needs them. */
  #open = { version: -1, prints: openPrints([], () => []) };

  constructor(source: PlanSource, refusals: Refusals) {
    this.#source = source;
    this.#refusals = refusals;
  }

  make(now: number): PlanInput {
    const { data, rules, views } = this.#source;
    const board = this.#boardInput(now);
    const printers = this.#board.printers(board);
    const { paused } = data.state.record;
    let [printing, inDoubt] = [0, 0];
    for (const prints of board.open.byCluster.values())
      for (const { attempt } of prints) {
        if (!isStuck(attempt)) printing++;
        if (attempt.state === 'unknown') inDoubt++;
      }
    return {
      items: this.#itemCache.items(data, views, printers),
      printers,
      rules,
      now,
      printing,
      inDoubt,
      nextStartAt: data.nextStartAt(rules.stagger),
      obstacle: this.#source.obstacle() ?? (paused && !isPauseOver(paused, now) ? pausedFor(paused.reason) : null),
      refusals: this.#refusals.byItem,
    };
  }

  /** Whether the last status of a cluster may change the plan, compared with the last input. */
  differs(clusterId: string, now: number): boolean {
    return this.#board.differs(this.#boardInput(now), clusterId) || this.#itemCache.isOutdatedBy(this.#source.views);
  }

  /** The printers of a cluster as they would be without one copy of the queue, and without refusals. */
  printersWithout(itemId: string, copy: number, clusterId: string, now: number): QueuePrinter[] {
    const { data } = this.#source;
    const open = openPrints(data.open.all, data.reservations.machinesAt, { itemId, copy });
    const refusals = { reasonOf: () => null, timeLeft: () => 0 };
    return printerBoard({ ...this.#boardInput(now), clusterIds: [clusterId], open, refusals });
  }

  #boardInput(now: number): BoardInput {
    const { data, views, rules, staleAfter } = this.#source;
    const { version } = data.items;
    if (version !== this.#open.version)
      this.#open = { version, prints: openPrints(data.open.all, data.reservations.machinesAt) };
    return {
      clusterIds: this.#source.clusterIds(),
      views,
      gates: data.gates,
      reservations: data.reservations,
      refusals: this.#refusals,
      open: this.#open.prints,
      pausedPrinters: data.state.record.pausedPrinters,
      usage: data.usage(),
      rules,
      now,
      staleAfter,
    };
  }
}

const pausedFor = (reason: string | null): Reason<ItemReason> => ({
  code: 'QUEUE_PAUSED',
  sentence: reason ? phrase`The queue is paused: ${reason}.` : phrase`The queue is paused.`,
});

/** The items of the last plan, and the state from which they were made. */
class ItemCache {
  #byRecord = new WeakMap<ItemRecord, PlanItem>();
  #items: readonly PlanItem[] = [];
  #version = -1;
  #materialCount = 0;
  /** Whether some of them depend on the configurations of printers too. */
  #areBound = false;

  /** Whether a material became known that may complete a requirement. */
  isOutdatedBy({ materialCount }: ClusterViews): boolean {
    return materialCount !== this.#materialCount;
  }

  items({ items }: QueueData, views: ClusterViews, printers: readonly QueuePrinter[]): readonly PlanItem[] {
    const isOutdated = this.isOutdatedBy(views);
    if (items.version === this.#version && !isOutdated && !this.#areBound) return this.#items;
    if (isOutdated) this.#byRecord = new WeakMap();
    const records = items.all.filter((record) => record.endedAt === null);
    this.#version = items.version;
    this.#materialCount = views.materialCount;
    this.#areBound = records.some(wasRefused);
    const configurations = this.#areBound ? configurationsOf(printers) : new Map<string, string>();
    return (this.#items = records.map((record) => this.#item(record, configurations, views.materialOf)));
  }

  #item(record: ItemRecord, configurations: ReadonlyMap<string, string>, find: MaterialFinder): PlanItem {
    const known = this.#byRecord.get(record);
    if (known && !wasRefused(record)) return known;
    const item = planItem(record, configurations, find);
    this.#byRecord.set(record, item);
    return item;
  }
}

/** A file of an item as the plan sees it. */
export function planFile(record: ItemRecord, at: number, find: MaterialFinder): PlanFile {
  const { facts = null, jobId = null, isGone = true } = record.files[at] ?? {};
  return {
    requirement: requirementOf(record.require, facts, find),
    seconds: facts?.seconds ?? null,
    isStored: jobId !== null && !isGone,
    perPrint: perPrintOf(record, at),
    weights: facts?.weights ?? [],
  };
}

/** The item as the plan sees it; `configurations`: present ones by cluster. */
function planItem(record: ItemRecord, configurations: ReadonlyMap<string, string>, find: MaterialFinder): PlanItem {
  // Nothing of a removed item starts, whatever its record owes.
  const waiting = record.isRemoved ? [] : waitingCopies(record);
  const inFront = new Set(record.front);
  return {
    itemId: record.itemId,
    priority: record.priority,
    rank: record.rank,
    added: addedOf(record),
    deadline: record.deadline,
    notBefore: record.notBefore,
    files: record.files.map((_, at) => planFile(record, at, find)),
    waiting,
    parts: record.parts
      ? { left: countParts(record)?.left ?? 0, perPrint: record.parts.perPrint, next: record.copies + 1 }
      : null,
    front: waiting.filter((copy) => inFront.has(copy)).length,
    avoid: avoidedBy(record),
    refused: refusingPrinters(record, configurations),
    obstacle: obstacleOf(record),
  };
}

/** Whether the service refused the item at some printer: its plan then depends on the printers' configurations. */
const wasRefused = ({ prints }: ItemRecord): boolean => prints.some(({ recall }) => recall?.why === 'changes');

/** By copy, the clusters on which it failed, or from which it was recalled, each with the place of the last such attempt. */
function avoidedBy({ prints }: ItemRecord): PlanItem['avoid'] {
  const avoided = new Map<number, Map<string, number>>();
  for (const [place, { copy, state, settledAs, clusterId }] of prints.entries()) {
    const isRecalled = state === 'recalled' && settledAs === null;
    if (state !== 'failed' && state !== 'rejected' && !isRecalled) continue;
    avoided.set(copy, (avoided.get(copy) ?? new Map<string, number>()).set(clusterId, place));
  }
  return avoided;
}

/** Clusters at which the service asked for changes, as long as their configuration is the same. */
function refusingPrinters({ prints }: ItemRecord, configurations: ReadonlyMap<string, string>): Set<string> {
  const refused = prints.filter(
    ({ recall, clusterId }) => recall?.why === 'changes' && configurations.get(clusterId) === recall.configuration,
  );
  return new Set(refused.map(({ clusterId }) => clusterId));
}

/** The reason in the item itself for which nothing of it may start; null: it may. */
function obstacleOf({ awaitsApproval, isHeld, files }: ItemRecord): Reason<ItemReason> | null {
  if (awaitsApproval) return APPROVAL;
  if (isHeld) return HELD;
  if (files.every(({ isGone }) => isGone)) return GONE;
  return files.some(({ jobId, isGone }) => jobId !== null && !isGone) ? null : UPLOAD;
}

const APPROVAL = { code: 'APPROVAL', sentence: phrase`It waits for its release.` } as const;
const HELD = { code: 'HELD', sentence: phrase`It is held.` } as const;
const UPLOAD = { code: 'UPLOAD', sentence: phrase`Its file is not stored yet.` } as const;
const GONE = { code: 'UPLOAD', sentence: phrase`The service no longer has its file: add it anew.` } as const;
