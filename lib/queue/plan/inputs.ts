import type { ClusterStatus } from '../../service/cluster';
import type { PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import { phrase, type Sentence } from '../../words/sentence';
import { isStuck, openAttempts } from '../model/item';
import { isPauseOver } from '../model/queue';
import { requirementOf } from '../model/requirement';
import type { QueueRules } from '../model/rules';
import {
  type Attempt,
  type ItemReason,
  type ItemRecord,
  printerKey,
  type PrinterReason,
  type QueuePrinter,
  type Reason,
} from '../model/types';
import type { QueueData } from '../records/data';
import { type PlanInput, planItem, type PlanItem, wasRefused } from './plan';
import { BoardCache, type BoardInput, type ClusterViews, configurationOf, printerBoard } from './printers';
import { mismatchOf } from './suitability';

export interface PlanInputsDeps {
  rules: QueueRules;
  clock: Clock;
  data: QueueData;
  views: ClusterViews;
  refusals: Refusals;
  /** Clusters of the queue. */
  clusterIds: () => readonly string[];
  /** Why the whole queue starts nothing, apart from its pause; null: it may. */
  obstacle: () => Reason<ItemReason> | null;
  /** Age from which a status is stale, ms. */
  staleAfter: number;
}

/** The items of a plan, and the state from which they were made. */
interface PlanItems {
  version: number;
  materialCount: number;
  /** Whether some of them depend on the configurations of printers too. */
  areBound: boolean;
  items: readonly PlanItem[];
}

/** Makes the input of each plan. Unchanged parts keep their identity, by which the planner recognises them. */
export class PlanInputs {
  readonly #deps: PlanInputsDeps;
  readonly #board = new BoardCache();
  #known = new WeakMap<ItemRecord, PlanItem>();
  #last: PlanItems = { version: -1, materialCount: 0, areBound: false, items: [] };

  constructor(deps: PlanInputsDeps) {
    this.#deps = deps;
  }

  make(): PlanInput {
    const { data, rules, clock, obstacle } = this.#deps;
    const now = clock.now();
    const printers = this.#board.printers(this.#boardInput(now));
    const open = data.open.all.flatMap(openAttempts);
    const { paused } = data.state.record;
    const isPaused = paused !== null && !isPauseOver(paused, now);
    return {
      items: this.#items(printers),
      printers,
      rules,
      now,
      printing: open.filter((attempt) => attempt.state !== 'unknown' && !isStuck(attempt)).length,
      nextStartAt: data.nextStartAt(rules.stagger),
      obstacle: obstacle() ?? (isPaused ? pausedBy(paused.reason) : null),
    };
  }

  /** Whether a status may change the plan, compared with the last input. */
  differs({ clusterId }: Pick<ClusterStatus, 'clusterId'>): boolean {
    const { views, clock } = this.#deps;
    return (
      this.#board.differs(this.#boardInput(clock.now()), clusterId) || views.materialCount !== this.#last.materialCount
    );
  }

  /** The printers as they would be without one copy, whose own assignment makes its printer busy, and without refusals. */
  printersWithout(itemId: string, copy: number): QueuePrinter[] {
    const input = this.#boardInput(this.#deps.clock.now(), { itemId, copy });
    return printerBoard({ ...input, refusalOf: () => null });
  }

  #items(printers: readonly QueuePrinter[]): readonly PlanItem[] {
    const { data, views } = this.#deps;
    const { version } = data.items;
    const { materialCount } = views;
    const last = this.#last;
    if (version === last.version && materialCount === last.materialCount && !last.areBound) return last.items;
    if (materialCount !== last.materialCount) this.#known = new WeakMap();
    const records = data.items.all.filter((record) => record.endedAt === null);
    const areBound = records.some(wasRefused);
    const configurations = new Map(
      areBound ? printers.map((printer) => [printerKey(printer), configurationOf(printer)]) : [],
    );
    const items = records.map((record) => this.#item(record, configurations));
    this.#last = { version, materialCount, areBound, items };
    return items;
  }

  #item(record: ItemRecord, configurations: ReadonlyMap<string, string>): PlanItem {
    const known = this.#known.get(record);
    if (known && !wasRefused(record)) return known;
    const item = planItem(record, configurations, this.#deps.views.materialOf);
    this.#known.set(record, item);
    return item;
  }

  #suits(attempt: Attempt, printer: QueuePrinter): boolean {
    const { data, rules, views } = this.#deps;
    const record = data.open.all.find(({ prints }) => prints.includes(attempt));
    const needs = record && requirementOf(record.require, record.files[attempt.file]?.facts ?? null, views.materialOf);
    return needs !== undefined && mismatchOf(needs, printer, rules) === null;
  }

  #boardInput(now: number, without?: { itemId: string; copy: number }): BoardInput {
    const { data, rules, views, refusals, clusterIds, staleAfter } = this.#deps;
    const { pausedPrinters } = data.state.record;
    const paused = new Map(Object.entries(pausedPrinters).filter(([, pause]) => !isPauseOver(pause, now)));
    return {
      clusterIds: clusterIds(),
      viewOf: (clusterId) => views.get(clusterId),
      gateOf: (clusterId, printerId) => data.gates.of(clusterId, printerId),
      open: data.openByCluster(without),
      suits: (attempt, printer) => this.#suits(attempt, printer),
      paused,
      refusalOf: (clusterId) => refusals.reasonOf(clusterId),
      usage: data.usage(),
      rules,
      now,
      staleAfter,
    };
  }
}

const pausedBy = (reason: string | null): Reason<ItemReason> => ({
  code: 'QUEUE_PAUSED',
  sentence: reason ? phrase`The queue is paused: ${reason}.` : phrase`The queue is paused.`,
});

/** Time after a refusal until the queue sends to the same printer again, ms. */
const LASTS = 60_000;

/** Clusters to which a copy could not go a moment ago although they seemed free, and why. */
export class Refusals {
  readonly #all = new Map<string, { until: number; reason: Reason<PrinterReason> }>();

  constructor(private readonly clock: Clock) {}

  add(clusterId: string, sentence: Sentence): void {
    this.#all.set(clusterId, { until: this.clock.monotonic() + LASTS, reason: { code: 'BUSY', sentence } });
  }

  /** The same object while a refusal lasts; null without one. */
  reasonOf(clusterId: string): Reason<PrinterReason> | null {
    const { until, reason } = this.#all.get(clusterId) ?? {};
    return reason && (until ?? 0) > this.clock.monotonic() ? reason : null;
  }

  /** Time until the next refusal is over, ms; Infinity without one. */
  get wait(): number {
    const now = this.clock.monotonic();
    return [...this.#all.values()].reduce(
      (first, { until }) => (until > now ? Math.min(first, until - now) : first),
      Infinity,
    );
  }
}

export const RESERVED = phrase`Another print queue has a print at the printer.`;
export const NOT_FREE = phrase`The printer was no longer free just before a print was sent.`;
export const unread = (error: PrintingError): Sentence =>
  phrase`The printer could not be read just before a print was sent: ${error.sentence}`;
export const refusedBy = (error: PrintingError): Sentence =>
  phrase`The service refused a print on the printer: ${error.sentence}`;
