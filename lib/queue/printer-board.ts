import type { ClusterStatus } from '../service/cluster';
import { isUnderWay, type PrintJob } from '../service/print-job';
import type { Fault, Printer } from '../service/printer';
import { phrase } from '../words/sentence';
import { isPlateWaiting } from '../events/printer-edges';
import { isClear, type PlateGate } from './gate';
import { printerIdOf } from './gate-changes';
import type { Attempt } from './queue-item';
import { printerKey, type QueuePrinter } from './queue-printer';
import type { QueueRules } from './queue-rules';
import { OUTCOME_UNKNOWN, type PrinterReason, type Reason } from './reasons';

/** The last status of one cluster. */
export interface ClusterView {
  status: ClusterStatus;
  /** Printers of the last status that had any: an offline cluster shows none. */
  printers: readonly Printer[];
  /** Age of the status, ms. */
  age: number;
}

/** Everything that decides whether a printer is free. */
export interface BoardInput {
  clusterIds: readonly string[];
  viewOf: (clusterId: string) => ClusterView | undefined;
  gateOf: (clusterId: string, printerId: string | null) => PlateGate | undefined;
  /** Open attempts of this queue by cluster. */
  open: ReadonlyMap<string, readonly Attempt[]>;
  /** Whether a printer suits the file of an open attempt. */
  suits: (attempt: Attempt, printer: QueuePrinter) => boolean;
  /** Printers that are paused in the queue, by `printerKey`; until when, ms since 1970. */
  paused: ReadonlyMap<string, { until: number | null; reason: string | null }>;
  /** Why a copy could not go to a cluster a moment ago although it seemed free. */
  refusalOf: (clusterId: string) => Obstacle;
  /** Use by this queue, by `printerKey`. */
  usage: ReadonlyMap<string, { lastUsedAt: number; usedFor: number }>;
  rules: Pick<QueueRules, 'gate' | 'tags'>;
  /** ms since 1970. */
  now: number;
  /** Age from which a status is stale, ms. */
  staleAfter: number;
}

type Obstacle = Reason<PrinterReason> | null;

/** Severities of faults that are known to keep a printer from printing. */
const BLOCKING = new Set(['blocking', 'critical', 'error', 'fatal']);

/** The queue's printers at one moment. */
export const printerBoard = (input: BoardInput): QueuePrinter[] =>
  input.clusterIds.flatMap((clusterId) => printersOf(input, clusterId));

function printersOf(input: BoardInput, clusterId: string): QueuePrinter[] {
  const view = input.viewOf(clusterId);
  const printers = view?.printers ?? [];
  if (!view || printers.length === 0) {
    const obstacle = view?.status.online === false ? OFFLINE : STALE;
    return [about(input, { clusterId, printerId: null, view, printer: null, obstacle })];
  }
  const { status } = view;
  const open = input.open.get(clusterId) ?? [];
  const common = obstacleOfCluster(view, open);
  const all = printers.map((printer) => {
    const printerId = printerIdOf(printer, { printers });
    const obstacle = common ?? obstacleOf(input, { view, printer, printerId, open });
    return about(input, { clusterId, printerId, view, printer, obstacle });
  });
  // The service chooses the member of a group: each open dispatch without a known one occupies a free one that suits.
  const occupied = new Set<QueuePrinter>();
  for (const attempt of printers.length > 1 ? open.filter(isUnplaced) : []) {
    const free = all.filter((printer) => printer.obstacle === null && !occupied.has(printer));
    const [chosen] = [...free.filter((printer) => input.suits(attempt, printer)), ...free];
    if (chosen) occupied.add(chosen);
  }
  const shared = printers.length > 1 && all.some((printer) => mayBeChosen(printer, status)) ? OTHER_PLATE : null;
  return all.map((printer) => {
    if (printer.obstacle !== null) return printer;
    const obstacle = occupied.has(printer) ? BUSY : shared;
    return obstacle ? { ...printer, obstacle } : printer;
  });
}

/** Whether the service may choose a member of a group although its plate was not cleared: the printer does not ask for that. */
const mayBeChosen = ({ obstacle, printerId }: QueuePrinter, { jobs, printers }: ClusterStatus): boolean =>
  obstacle === PLATE &&
  printers.some((printer) => printer.printerId === printerId && printer.status === 'idle') &&
  !jobs.some((job) => job.printerId === printerId && isPlateWaiting(job));

/** Whether an open dispatch has no member of its group yet. */
const isUnplaced = ({ state, printerId }: Attempt): boolean => printerId === null && state !== 'printing';

interface PrinterView {
  view: ClusterView;
  printer: Printer;
  printerId: string | null;
  open: readonly Attempt[];
}

/** An obstacle that holds for every printer of a cluster and precedes all others. */
function obstacleOfCluster({ status }: ClusterView, open: readonly Attempt[]): Obstacle {
  const own = new Set(open.map(({ clusterJobId }) => clusterJobId));
  const waiting = status.jobs.filter(
    (job) => job.printerId === null && !isUnderWay(job) && !isPlateWaiting(job) && !hasEnded(job),
  );
  return waiting.some(({ clusterJobId }) => !own.has(clusterJobId)) ? FOREIGN : null;
}

/** The first obstacle in the order of the table (print queue, 4). */
function obstacleOf(input: BoardInput, { view, printer, printerId, open }: PrinterView): Obstacle {
  const { status, age } = view;
  const isAlone = printerId === null;
  const jobs = status.jobs.filter((job) => (isAlone || job.printerId === printerId) && !hasEnded(job));
  const own = open.filter((attempt) => isAlone || attempt.printerId === printerId);
  const foreign = jobs.filter((job) => !own.some((attempt) => attempt.clusterJobId === job.clusterJobId));
  const gate = input.gateOf(status.clusterId, printerId);
  const paused = input.paused.get(printerKey({ clusterId: status.clusterId, printerId }));
  const refusal = input.refusalOf(status.clusterId);
  const checks: [boolean, Obstacle][] = [
    [isBusy(jobs, own, foreign), status.online === true ? BUSY : AWAY],
    [foreign.some((job) => !isPlateWaiting(job)), FOREIGN],
    [gate !== undefined && !isClear(gate, input.rules.gate), PLATE],
    [status.online !== true || printer.status === 'unreachable' || printer.status === 'booting', OFFLINE],
    [age > input.staleAfter || status.stale, STALE],
    [jobs.some(isPlateWaiting), PLATE_THERE],
    [printer.enabled === false || printer.status === 'disabled', DISABLED],
    [status.authorized === false, INACTIVE],
    [printer.status === 'error' || printer.errors.length > 0 || printer.faults.some(isBlocking), fault(printer)],
    [printer.status === 'maintenance' || printer.maintenanceRequired === true, MAINTENANCE],
    // The printer was not seen yet, or it does something that its jobs don't show.
    [gate === undefined, STALE],
    [printer.status !== 'idle', BUSY],
    [paused !== undefined, pausedBy(paused?.reason ?? null)],
    [own.some(({ state }) => state === 'unknown'), OUTCOME_UNKNOWN],
    [refusal !== null, refusal],
  ];
  return checks.find(([applies]) => applies)?.[1] ?? null;
}

const isBusy = (jobs: readonly PrintJob[], own: readonly Attempt[], foreign: readonly PrintJob[]): boolean =>
  own.some(({ state }) => state !== 'unknown') ||
  jobs.some((job) => isUnderWay(job) && !isPlateWaiting(job) && !(job.state === 'paused' && foreign.includes(job))) ||
  jobs.some(({ state }) => state === 'preparing');

/** Whether a job stays in the queue although it has ended. */
const hasEnded = ({ state, status }: PrintJob): boolean =>
  (state === 'finished' || state === 'failed' || state === 'aborted') &&
  status !== 'aborting' &&
  status !== 'wait_cleanup';

const isBlocking = ({ severity }: Fault): boolean => severity !== null && BLOCKING.has(severity.toLowerCase());

interface About {
  clusterId: string;
  printerId: string | null;
  view: ClusterView | undefined;
  printer: Printer | null;
  obstacle: Obstacle;
}

function about(input: BoardInput, { clusterId, printerId, view, printer, obstacle }: About): QueuePrinter {
  const { status } = view ?? {};
  const usage = input.usage.get(printerKey({ clusterId, printerId }));
  const job = status?.jobs.find((one) => isUnderWay(one) && (printerId === null || one.printerId === printerId));
  const remaining = job?.timeRemaining ?? null;
  return {
    clusterId,
    printerId,
    // After a start, a printer whose status can't be read yet is known by its gate alone.
    clusterName: status?.name ?? input.gateOf(clusterId, printerId)?.clusterName ?? null,
    model: printer?.model ?? null,
    extruders: printer
      ? printer.extruders.map(({ printCore, material, volumeLeft }) => ({ printCore, material, volumeLeft }))
      : null,
    buildPlate: printer?.buildPlate?.type ?? null,
    tags: input.rules.tags.get(clusterId) ?? [],
    obstacle,
    lastUsedAt: usage?.lastUsedAt ?? null,
    usedFor: usage?.usedFor ?? 0,
    freeAt: remaining === null ? null : input.now - (view?.age ?? 0) + remaining * 1000,
  };
}

/** Configuration that decides the service's second match: a printer that was refused may suit after its change. */
export const configurationOf = ({ extruders, buildPlate }: Pick<QueuePrinter, 'extruders' | 'buildPlate'>): string =>
  JSON.stringify([
    extruders?.map(({ printCore, material }) => [printCore, material?.guid, material?.name]),
    buildPlate,
  ]);

const BUSY = { code: 'BUSY', sentence: phrase`The printer is printing.` } as const;
const FOREIGN = { code: 'FOREIGN_JOB', sentence: phrase`Another job waits in the printer.` } as const;
const OTHER_PLATE = {
  code: 'PLATE_NOT_CLEARED',
  sentence: phrase`The service chooses the printer in the group, and the plate of one was not cleared.`,
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
const STALE = { code: 'STALE', sentence: phrase`The printer was not seen lately.` } as const;
const DISABLED = {
  code: 'DISABLED',
  sentence: phrase`The printer accepts no jobs, as it was switched off for them.`,
} as const;
const INACTIVE = { code: 'INACTIVE', sentence: phrase`The account may not use the printer.` } as const;
const MAINTENANCE = { code: 'MAINTENANCE', sentence: phrase`The printer is under maintenance.` } as const;

function fault({ faults, errors }: Printer): Reason<PrinterReason> {
  const { message, code } = errors[0] ?? faults.find(isBlocking) ?? {};
  const what = message ?? code;
  return {
    code: 'FAULT',
    sentence: what ? phrase`The printer has a fault: ${what}.` : phrase`The printer has a fault.`,
  };
}

const pausedBy = (reason: string | null): Reason<PrinterReason> => ({
  code: 'PAUSED',
  sentence: reason
    ? phrase`The printer is paused in the queue: ${reason}.`
    : phrase`The printer is paused in the queue.`,
});
