import { isDeepStrictEqual } from 'node:util';
import type { ClusterStatus } from '../../service/cluster';
import { type Feed, feedsOf } from '../../service/feeds';
import { isOver, isPlateWaiting, isUnderWay, occupiesPrinter } from '../../service/job-words';
import { describeChange, describeReason, type PrintJob } from '../../service/print-job';
import { blockingFault, hasNoExtruder, type Printer, refusalOf } from '../../service/printer';
import { phrase, type Sentence } from '../../words/sentence';
import { knows, type PlateGate, plateOf } from '../model/gate';
import { hasBegun, isUnplaced, openAttempts } from '../model/item';
import { printerIdOf } from '../model/machine';
import { pauseAt, type PauseState, type QueueRecord } from '../model/queue-record';
import { requirementOf } from '../model/requirement';
import type { QueueRules } from '../model/rules';
import {
  type Attempt,
  type ItemRecord,
  machinesOf,
  nameOf,
  printerKey,
  type PrinterReason,
  type PrinterTarget,
  type QueuePrinter,
  type Reason,
} from '../model/types';
import type { PlateGates } from '../records/gates';
import type { Reservations } from '../records/items';
import type { ClusterView, ClusterViews, Refusals } from '../records/statuses';
import { mismatchOf, UNKNOWN_PRINTER } from './suitability';

/** An open attempt of the queue, with its item. */
interface OpenPrint {
  record: ItemRecord;
  attempt: Attempt;
}

/** The open prints of this queue. */
export interface OpenPrints {
  byCluster: ReadonlyMap<string, readonly OpenPrint[]>;
  /** Those that nobody has seen to begin, by the plate gate of each machine that may have taken them, wherever it is now. */
  byMachine: ReadonlyMap<string, readonly Attempt[]>;
}

/** Everything that decides whether a printer is free. */
export interface BoardInput {
  clusterIds: readonly string[];
  views: Pick<ClusterViews, 'get' | 'isMissing' | 'isJustSent' | 'materialOf'>;
  gates: Pick<PlateGates, 'of' | 'idOf' | 'missingIn'>;
  reservations: Pick<Reservations, 'isTaken'>;
  /** Why a copy could not go to a cluster a moment ago although it seemed free. */
  refusals: Pick<Refusals, 'reasonOf' | 'timeLeft'>;
  open: OpenPrints;
  pausedPrinters: QueueRecord['pausedPrinters'];
  /** Use by this queue, by `printerKey`. */
  usage: ReadonlyMap<string, { lastUsedAt: number; lastUsedLived: number; usedFor: number }>;
  rules: QueueRules;
  /** ms since 1970. */
  now: number;
  /** Age from which a status is stale, ms. */
  staleAfter: number;
}

type Obstacle = Reason<PrinterReason>;

/** The open prints of items, without those of one copy; `machinesAt`: the machines of the reservation of a cluster. */
export function openPrints(
  records: readonly ItemRecord[],
  machinesAt: Reservations['machinesAt'],
  without?: { itemId: string; copy: number },
): OpenPrints {
  const byCluster = new Map<string, OpenPrint[]>();
  const byMachine = new Map<string, Attempt[]>();
  for (const record of records)
    for (const attempt of openAttempts(record)) {
      if (record.itemId === without?.itemId && attempt.copy === without.copy) continue;
      add(byCluster, attempt.clusterId, { record, attempt });
      // One that a list has shown since may still be anywhere until its end is recorded, or its beginning seen.
      if (attempt.state === 'printing') continue;
      const stored = machinesOf(attempt);
      // One in doubt has stored them; without any, nobody knew its printers.
      const isReserved = stored.length === 0 && attempt.state !== 'unknown';
      for (const gateId of isReserved ? machinesAt(attempt.clusterId) : stored) add(byMachine, gateId, attempt);
    }
  return { byCluster, byMachine };
}

function add<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const here = lists.get(key);
  if (here) here.push(value);
  else lists.set(key, [value]);
}

/** The queue's printers at one moment. */
export const printerBoard = (input: BoardInput): QueuePrinter[] =>
  input.clusterIds.flatMap((clusterId) => printersOf(input, clusterId));

function printersOf(input: BoardInput, clusterId: string): QueuePrinter[] {
  const view = input.views.get(clusterId);
  const isMissing = input.views.isMissing(clusterId);
  if (!view || view.printers.length === 0) {
    const obstacle = isMissing ? MISSING : view?.status.online === false ? OFFLINE : STALE;
    return [present(input, clusterId, view, null, [obstacle])];
  }
  const { status, printers } = view;
  const open = input.open.byCluster.get(clusterId) ?? [];
  const foreign = foreignOf(foreignJobsOf(status, open));
  const all = printers.map((printer) =>
    present(input, clusterId, view, printer, [
      ...(foreign ? [foreign] : []),
      ...obstaclesOf(input, view, printer, open),
    ]),
  );
  const missing = input.gates.missingIn(clusterId);
  if (all.length === 1 && missing.length === 0) return all;
  // The service chooses the member of a group: each open dispatch without a known one occupies a free one that suits.
  const occupied = new Set<QueuePrinter>();
  for (const { record, attempt } of open) {
    if (attempt.printerId !== null || attempt.state === 'printing' || isNowhere(input, view, record, attempt)) continue;
    const needs = requirementOf(record.require, record.files[attempt.file]?.facts ?? null, input.views.materialOf);
    const free = all.filter((printer) => printer.obstacle === null && !occupied.has(printer));
    const chosen = free.find((printer) => mismatchOf(needs, printer, input.rules) === null) ?? free[0];
    if (chosen) occupied.add(chosen);
  }
  const uncleared = printers.find((printer) => isUncleared(input, view, printer, open));
  // A member that a single status lacks may still be there.
  const isClosed = uncleared !== undefined || missing.some((gate) => mayHoldPart(input, view, gate, open));
  const shared = isClosed ? otherPlate(uncleared?.name ?? uncleared?.printerId ?? null) : null;
  return all.map((printer) => {
    const obstacle = printer.obstacle ?? (occupied.has(printer) ? BUSY : shared);
    return obstacle === printer.obstacle ? printer : { ...printer, obstacle };
  });
}

/** Obstacles that the forecast expects to pass. All others need a person, also behind one of these. */
const PASSING: readonly PrinterReason[] = ['BUSY', 'FOREIGN_JOB', 'PLATE_NOT_CLEARED', 'PAUSED', 'REFUSED'];
/** Reasons that leave the configuration of a printer unknown. */
const OUT_OF_SIGHT: readonly PrinterReason[] = ['OFFLINE', 'STALE'];

/** A printer of a cluster; null: the cluster has shown none. */
function present(
  input: BoardInput,
  clusterId: string,
  view: ClusterView | undefined,
  printer: Printer | null,
  obstacles: readonly Obstacle[],
): QueuePrinter {
  const [obstacle = null] = obstacles;
  const { gates, usage, rules, now, views } = input;
  const isMissing = views.isMissing(clusterId);
  const known = isMissing ? null : printer;
  const printerId = printer && view ? printerIdOf(printer, view) : null;
  const {
    lastUsedAt = null,
    lastUsedLived = null,
    usedFor = 0,
  } = usage.get(printerKey({ clusterId, printerId })) ?? {};
  const job = view?.status.jobs.find((one) => isUnderWay(one) && (printerId === null || one.printerId === printerId));
  // A print that has ended lets its printer go soon.
  const remaining = obstacle === COOLING ? 0 : (job?.timeRemaining ?? null);
  return {
    clusterId,
    printerId,
    // After a start, a printer whose status can't be read yet is known by its gate alone.
    clusterName: view?.status.name ?? gates.of(clusterId, printerId)?.clusterName ?? null,
    printerName: printer?.name ?? null,
    isMissing,
    model: known?.model ?? null,
    extruders: known && knownFeedsOf(known),
    buildPlate: known?.buildPlate?.type ?? null,
    tags: rules.tags.get(clusterId) ?? [],
    obstacle,
    isOutOfSight: obstacles.some(({ code }) => OUT_OF_SIGHT.includes(code)),
    lastUsedAt,
    lastUsedLived,
    usedFor,
    freeAt: remaining === null ? null : now - (view?.age ?? 0) + remaining * 1000,
    barredUntil: obstacles.some(({ code }) => !PASSING.includes(code))
      ? Infinity
      : barredUntilOf(input, { clusterId, printerId }),
    isRefused: obstacle !== null && obstacle === input.refusals.reasonOf(clusterId),
  };
}

const feeds = new WeakMap<Printer, readonly Feed[]>();

/**
 * The feeds of a printer's extruders: the same objects as long as it shows the same status. Null where the status gives neither a
 * configuration nor slots.
 */
function knownFeedsOf(printer: Printer): readonly Feed[] | null {
  const known = feeds.get(printer) ?? feedsOf(printer);
  feeds.set(printer, known);
  return known.length > 0 || hasNoExtruder(printer) ? known : null;
}

/** Jobs of someone else that may begin on any printer of the cluster: they precede all other obstacles. */
function foreignJobsOf({ jobs }: ClusterStatus, open: readonly OpenPrint[]): PrintJob[] {
  const own = new Set(open.map(({ attempt }) => attempt.clusterJobId));
  return jobs.filter((job) => job.printerId === null && !isUnderWay(job) && !isOver(job) && !own.has(job.clusterJobId));
}

/** The obstacles in the order of the table (print queue, 4). */
function obstaclesOf(input: BoardInput, view: ClusterView, printer: Printer, open: readonly OpenPrint[]): Obstacle[] {
  const { status, age } = view;
  const { clusterId } = status;
  const printerId = printerIdOf(printer, view);
  const isAlone = printerId === null;
  const jobs = status.jobs.filter((job) => (isAlone || job.printerId === printerId) && isShown(job));
  const here = open.map(({ attempt }) => attempt).filter((attempt) => isAlone || attempt.printerId === printerId);
  const foreign = jobs.filter((job) => !here.some((attempt) => attempt.clusterJobId === job.clusterJobId));
  const gate = input.gates.of(clusterId, printerId);
  const own = [...here, ...broughtAlong(input, clusterId, gate)];
  const nowhere = isAlone ? NOTHING : nowhereSeen(input, view, open, gate);
  const pause = pauseOf(input, { clusterId, printerId });
  const refusal = input.refusals.reasonOf(clusterId);
  const refused = refusalOf(printer);
  const checks: [boolean, Obstacle | null][] = [
    [
      isBusy(jobs, own, foreign) || gate?.printing?.isUnlisted === true || isTaken(input, clusterId, gate),
      busyWith(jobs, status.online === true),
    ],
    [foreign.some((job) => !isPlateWaiting(job)), foreignOf(foreign)],
    [gate !== undefined && plateOf(gate, input.rules.gate) !== 'open', PLATE],
    [input.views.isMissing(clusterId), MISSING],
    [status.online !== true || printer.status === 'unreachable' || printer.status === 'booting', OFFLINE],
    // The newest status may lack a printer that an earlier one has shown.
    [age > input.staleAfter || status.stale || !status.printers.includes(printer), STALE],
    [jobs.some(isPlateWaiting), PLATE_THERE],
    [refused === 'disabled', DISABLED],
    [status.authorized === false, INACTIVE],
    [refused === 'fault', fault(printer)],
    [refused === 'maintenance', MAINTENANCE],
    [refused === 'updating', UPDATING],
    // The printer was not seen yet, or it does something that its jobs don't show.
    [gate === undefined, STALE],
    [printer.status !== 'idle', BUSY],
    [pause !== undefined, pausedBy(pause?.reason ?? null)],
    [refusal !== null, refusal],
    [[...own, ...nowhere].some(({ state }) => state === 'unknown'), OUTCOME_UNKNOWN],
    [nowhere.length > 0, SENT_TO_GROUP],
  ];
  return checks.flatMap(([applies, obstacle]) => (applies && obstacle ? [obstacle] : []));
}

/** Open prints that a machine may have taken before it left their cluster. Of one that it has shown, its gate tells the rest. */
const broughtAlong = ({ open }: BoardInput, clusterId: string, gate: PlateGate | undefined): readonly Attempt[] =>
  (gate && open.byMachine.get(gate.gateId))?.filter(
    (attempt) => attempt.clusterId !== clusterId && !hasShown(gate, attempt),
  ) ?? NOTHING;
const NOTHING: readonly Attempt[] = [];

/** The same of a print of another queue. */
const isTaken = ({ reservations }: BoardInput, clusterId: string, gate: PlateGate | undefined): boolean =>
  gate !== undefined && reservations.isTaken(gate.gateId, clusterId);

/** Prints that are nowhere to be seen and that the service may have given to a member of a group: their parts may lie there. */
const nowhereSeen = (
  input: BoardInput,
  view: ClusterView,
  open: readonly OpenPrint[],
  gate: PlateGate | undefined,
): readonly Attempt[] =>
  open
    .filter(({ record, attempt }) => isNowhere(input, view, record, attempt))
    .map(({ attempt }) => attempt)
    .filter((attempt) => {
      if (gate && hasShown(gate, attempt)) return false;
      const machines = machinesOf(attempt);
      return machines.length === 0 || (gate !== undefined && machines.includes(gate.gateId));
    });

/** Whether a machine has shown the print of an attempt. */
const hasShown = (gate: PlateGate, { clusterJobId }: Attempt): boolean =>
  clusterJobId !== null && knows(gate, clusterJobId);

/** Whether nothing shows on which member of a group an open print is, and whether it has begun or ended there. */
function isNowhere({ views }: BoardInput, { status }: ClusterView, { itemId }: ItemRecord, attempt: Attempt): boolean {
  const { state, clusterJobId } = attempt;
  if (!isUnplaced(attempt)) return false;
  if (state === 'unknown') return true;
  const isListed = status.jobs.some((job) => job.clusterJobId !== null && job.clusterJobId === clusterJobId);
  return !isListed && !views.isJustSent(status.clusterId, nameOf(itemId, attempt));
}

const isBusy = (jobs: readonly PrintJob[], own: readonly Attempt[], foreign: readonly PrintJob[]): boolean =>
  own.some(({ state }) => state !== 'unknown') ||
  jobs.some((job) => occupiesPrinter(job) && !(job.state === 'paused' && foreign.includes(job))) ||
  jobs.some(({ state }) => state === 'preparing');

/** Whether a listed job is an obstacle: it has not ended, occupies the printer still, or its plate waits. */
export const isShown = (job: PrintJob): boolean => !isOver(job) || occupiesPrinter(job) || isPlateWaiting(job);

/** What a busy printer does. */
function busyWith(jobs: readonly PrintJob[], isOnline: boolean): Obstacle {
  if (!isOnline) return AWAY;
  if (jobs.some(isUnderWay)) return BUSY;
  if (jobs.some((job) => isOver(job) && occupiesPrinter(job))) return COOLING;
  const why = hindranceOf(jobs);
  return why ? { code: 'BUSY', sentence: phrase`A print waits in the printer: ${why}` } : BUSY;
}

/** The obstacle of jobs that somebody else has sent; null without any. */
function foreignOf(jobs: readonly PrintJob[]): Obstacle | null {
  if (jobs.length === 0) return null;
  const why = hindranceOf(jobs);
  return why ? { code: 'FOREIGN_JOB', sentence: phrase`Another job waits in the printer: ${why}` } : FOREIGN;
}

/** What keeps the first of the waiting jobs from beginning, as far as the service says; null if it does not. */
function hindranceOf(jobs: readonly PrintJob[]): Sentence | null {
  for (const job of jobs) {
    const [change] = job.changesRequired;
    const why = hasBegun(job) ? null : (describeReason(job) ?? (change ? describeChange(change) : null));
    if (why) return why;
  }
  return null;
}

/** The pause of a printer that is not over. */
function pauseOf({ pausedPrinters, gates, now }: BoardInput, printer: PrinterTarget): PauseState | undefined {
  return pauseAt(pausedPrinters, { ...printer, gateId: gates.idOf(printer.clusterId, printer.printerId) }, now);
}

/** When a printer may be used again after its pause and a refusal. */
function barredUntilOf(input: BoardInput, printer: PrinterTarget): number {
  const pause = pauseOf(input, printer);
  const refusedFor = input.refusals.timeLeft(printer.clusterId);
  return Math.max(pause ? (pause.until ?? Infinity) : 0, refusedFor > 0 ? input.now + refusedFor : 0);
}

/**
 * Whether the service may choose a member of a group although its plate is not known to be clear: the printer is idle, no
 * job occupies it, and it does not ask for a clear plate itself.
 */
function isUncleared(input: BoardInput, view: ClusterView, printer: Printer, open: readonly OpenPrint[]): boolean {
  const { status, printerId } = printer;
  const { clusterId, jobs } = view.status;
  const isClosed = mayHoldPart(input, view, input.gates.of(clusterId, printerIdOf(printer, view)), open);
  const isInUse = jobs.some((job) => job.printerId === printerId && (occupiesPrinter(job) || isPlateWaiting(job)));
  return status === 'idle' && isClosed && !isInUse;
}

/** Whether the plate of a member of a group is not known to be clear, or the member may have taken a print. */
function mayHoldPart(
  input: BoardInput,
  view: ClusterView,
  gate: PlateGate | undefined,
  open: readonly OpenPrint[],
): boolean {
  const { clusterId } = view.status;
  const isOpen = gate && plateOf(gate, input.rules.gate) === 'open';
  const taken = [...broughtAlong(input, clusterId, gate), ...nowhereSeen(input, view, open, gate)];
  return !isOpen || taken.length > 0 || isTaken(input, clusterId, gate);
}

export const BUSY = { code: 'BUSY', sentence: phrase`The printer is printing.` } as const;
const COOLING = {
  code: 'BUSY',
  sentence: phrase`The print on the printer has ended, but the printer is not free yet.`,
} as const;
const FOREIGN = { code: 'FOREIGN_JOB', sentence: phrase`Another job waits in the printer.` } as const;
const SENT_TO_GROUP = {
  code: 'BUSY',
  sentence: phrase`A print that was sent to the group may be on this printer: nothing shows it yet.`,
} as const;
const AWAY = { code: 'BUSY', sentence: phrase`The printer had a print when it went offline.` } as const;
const PLATE = {
  code: 'PLATE_NOT_CLEARED',
  sentence: phrase`Nobody has confirmed yet that the plate is clear.`,
} as const;
const PLATE_THERE = {
  code: 'PLATE_NOT_CLEARED',
  sentence: phrase`The printer asks for a clear plate: confirm it at the printer.`,
} as const;
const OFFLINE = { code: 'OFFLINE', sentence: phrase`The printer is offline.` } as const;
const MISSING = { code: 'STALE', sentence: UNKNOWN_PRINTER } as const;
const STALE = { code: 'STALE', sentence: phrase`The printer was not seen lately.` } as const;
const DISABLED = {
  code: 'DISABLED',
  sentence: phrase`The printer accepts no jobs, as it was switched off for them.`,
} as const;
const INACTIVE = { code: 'INACTIVE', sentence: phrase`The account may not use the printer.` } as const;
const MAINTENANCE = { code: 'MAINTENANCE', sentence: phrase`The printer is under maintenance.` } as const;

const UPDATING = { code: 'MAINTENANCE', sentence: phrase`The firmware of the printer is being written.` } as const;

/** Reasons of a printer at which a copy of the queue is stuck. */
export const REFUSED = {
  code: 'REFUSED',
  sentence: phrase`The service asked for changes at this printer.`,
} as const;
export const NOT_REMOVED = {
  code: 'REFUSED',
  sentence: phrase`A print that has not begun at this printer can't be removed: remove it there.`,
} as const;
export const OUTCOME_UNKNOWN = {
  code: 'OUTCOME_UNKNOWN',
  sentence: phrase`It is unknown whether the printer has printed a copy: look there and settle it.`,
} as const;

const otherPlate = (name: string | null): Reason<PrinterReason> => ({
  code: 'PLATE_NOT_CLEARED',
  sentence: name
    ? phrase`The service chooses the printer in the group, and the plate of ${name} was not cleared.`
    : phrase`The service chooses the printer in the group, and the plate of one was not cleared.`,
});

function fault(printer: Printer): Reason<PrinterReason> {
  const { message, code } = blockingFault(printer) ?? {};
  const what = message ?? code;
  return {
    code: 'FAULT',
    sentence: what ? phrase`The printer has a fault: ${what}.` : phrase`The printer has a fault.`,
  };
}

const pausedBy = (reason: string | null): Reason<PrinterReason> => ({
  code: 'PAUSED',
  sentence: reason
    ? phrase`No new prints, as the printer is paused in the queue: ${reason}.`
    : phrase`No new prints, as the printer is paused in the queue.`,
});

interface KnownCluster {
  /** Facts that decide about its printers, compared by identity. */
  facts: readonly unknown[];
  printers: readonly QueuePrinter[];
}

/**
 * The board of a queue, which computes again only the clusters that changed. Printers that did not change keep their
 * identity, by which the plan recognises them.
 */
export class BoardCache {
  #clusters = new Map<string, KnownCluster>();

  printers(input: BoardInput): QueuePrinter[] {
    this.#clusters = new Map(input.clusterIds.map((clusterId) => [clusterId, this.#present(input, clusterId)]));
    return [...this.#clusters.values()].flatMap(({ printers }) => printers);
  }

  /** Whether the printers of a cluster differ from its last ones in anything that decides a plan. */
  differs(input: BoardInput, clusterId: string): boolean {
    const before = this.#clusters.get(clusterId);
    const now = this.#present(input, clusterId);
    this.#clusters.set(clusterId, now);
    return now !== before && !isDeepStrictEqual(now.printers.map(decisive), before?.printers.map(decisive));
  }

  #present(input: BoardInput, clusterId: string): KnownCluster {
    const known = this.#clusters.get(clusterId);
    const facts = factsOf(input, clusterId);
    const isSame = known?.facts.length === facts.length && facts.every((fact, at) => fact === known.facts[at]);
    return isSame ? known : { facts, printers: printersOf(input, clusterId) };
  }
}

/** A printer without the figures that change while it prints: the plan needs them once it is free. */
function decisive({ freeAt: _freeAt, ...printer }: QueuePrinter): object {
  if (printer.obstacle === null) return printer;
  const extruders = printer.extruders?.map(({ printCore, sources }) => ({
    printCore,
    sources: sources.map(({ volumeLeft: _volumeLeft, ...source }) => source),
  }));
  return { ...printer, extruders };
}

function factsOf(input: BoardInput, clusterId: string): unknown[] {
  const { views, gates, refusals, open, usage, staleAfter } = input;
  const view = views.get(clusterId);
  const isMissing = views.isMissing(clusterId);
  if (!view) return [isMissing, gates.of(clusterId, null)];
  const { status, printers, age } = view;
  const facts: unknown[] = [isMissing, status, printers, age > staleAfter, refusals.reasonOf(clusterId)];
  for (const { attempt } of open.byCluster.get(clusterId) ?? []) facts.push(attempt);
  for (const printer of printers) {
    const target = { clusterId, printerId: printerIdOf(printer, view) };
    const gate = gates.of(clusterId, target.printerId);
    facts.push(gate, pauseOf(input, target), usage.get(printerKey(target)), isTaken(input, clusterId, gate));
    facts.push(...broughtAlong(input, clusterId, gate));
  }
  for (const gate of gates.missingIn(clusterId))
    facts.push(gate, isTaken(input, clusterId, gate), ...broughtAlong(input, clusterId, gate));
  return facts;
}

/**
 * By cluster, the configuration that decides the service's second match: a printer that refused a print may suit after its
 * change. A group counts as one printer, because the service chooses the member.
 */
export function configurationsOf(printers: readonly QueuePrinter[]): Map<string, string> {
  const members = new Map<string, string[]>();
  for (const printer of printers) {
    const here = members.get(printer.clusterId) ?? [];
    members.set(printer.clusterId, [...here, configurationOf(printer)]);
  }
  return new Map([...members].map(([clusterId, all]) => [clusterId, all.sort().join()]));
}

/** That a station loads a material of its slots, or takes it back, is no change. */
const configurationOf = ({ extruders, buildPlate }: Pick<QueuePrinter, 'extruders' | 'buildPlate'>): string =>
  JSON.stringify([
    extruders?.map(({ printCore, sources }) => {
      const materials = new Map(sources.map(({ material }) => [material?.guid ?? material?.name, material]));
      return [printCore, ...[...materials.values()].flatMap((material) => [material?.guid, material?.name])];
    }),
    buildPlate,
  ]);
