import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../../account/api-client';
import { isPlateWaiting } from '../../events/printer-edges';
import { type ClusterIdentity, type ClusterStatus, readClusterStatus, statusRecord } from '../../service/cluster';
import { isUnderWay, type PrintJob } from '../../service/print-job';
import type { Fault, Material, Printer } from '../../service/printer';
import { type Clock, isoTime } from '../../time/clock';
import type { Deadline } from '../../time/deadline';
import type { MaterialNeed } from '../../toolpath/facts';
import { phrase } from '../../words/sentence';
import { isClear, type PlateGate, printerIdOf } from '../model/gate';
import type { MaterialFinder } from '../model/requirement';
import type { QueueRules } from '../model/rules';
import {
  type Attempt,
  OUTCOME_UNKNOWN,
  printerKey,
  type PrinterReason,
  type QueuePrinter,
  type Reason,
} from '../model/types';

/** The last status of one cluster. */
interface ClusterView {
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
    return isSame ? known : { facts, printers: printerBoard({ ...input, clusterIds: [clusterId] }) };
  }
}

/** A printer without the figures that change while it prints: the plan needs them once it is free. */
function decisive({ freeAt: _freeAt, ...printer }: QueuePrinter): object {
  if (printer.obstacle === null) return printer;
  return { ...printer, extruders: printer.extruders?.map(({ volumeLeft: _volumeLeft, ...extruder }) => extruder) };
}

function factsOf(
  { viewOf, gateOf, open, paused, refusalOf, usage, staleAfter }: BoardInput,
  clusterId: string,
): unknown[] {
  const view = viewOf(clusterId);
  if (!view) return [gateOf(clusterId, null)];
  const { status, printers, age } = view;
  const facts: unknown[] = [status, printers, age > staleAfter, refusalOf(clusterId), ...(open.get(clusterId) ?? [])];
  for (const printer of printers) {
    const printerId = printerIdOf(printer, { printers });
    const key = printerKey({ clusterId, printerId });
    facts.push(gateOf(clusterId, printerId), paused.get(key), usage.get(key));
  }
  return facts;
}

/**
 * The printers of a plan. Printers of the same configuration are of one kind, so that a requirement is compared with
 * each kind once.
 */
export class Fleet {
  printers: readonly QueuePrinter[] = [];
  /** Kind of each printer: an index into `samples`. */
  kinds: readonly number[] = [];
  /** A printer of each kind. */
  readonly samples: QueuePrinter[] = [];
  /** Grows with each change of any printer's configuration. */
  version = 0;
  /** Grows with each change that `version` counts, and with each change of a material's rest that some item may notice. */
  stock = 0;
  /** The most that an item needs of a material, mm³. */
  #needed = 0;
  /** Indexes of the printers of each cluster. */
  #members = new Map<string, number[]>();
  #kindsByKey = new Map<string, number>();
  #keys: string[] = [];

  /** Sets the printers of the next plan. */
  update(printers: readonly QueuePrinter[]): void {
    if (printers === this.printers) return;
    const before = this.printers;
    let isSame = printers.length === before.length;
    const kinds = printers.map((printer, at) => {
      const [kept, keptKind = -1] = [before[at], this.kinds[at]];
      if (printer === kept) return keptKind;
      const kind = kept && haveSameParts(printer, kept) ? keptKind : this.#kindOf(printer);
      isSame &&= kind === keptKind && isAlike(printer, kept);
      if (!this.#haveSameRest(printer, kept)) this.stock++;
      return kind;
    });
    this.printers = printers;
    this.kinds = kinds;
    if (isSame) return;
    this.stock++;
    this.version++;
    this.#keys = [];
    this.#members = new Map();
    for (const [at, { clusterId }] of printers.entries()) {
      const members = this.#members.get(clusterId);
      if (members) members.push(at);
      else this.#members.set(clusterId, [at]);
    }
  }

  /** Records what an item needs, mm³. */
  expect(volumes: readonly (number | null)[]): void {
    const needed = Math.max(this.#needed, ...volumes.map((volume) => volume ?? 0));
    if (needed > this.#needed) this.stock++;
    this.#needed = needed;
  }

  /** Whether a printer has enough material for any item, as far as is known. */
  hasPlenty(at: number): boolean {
    const extruders = this.printers[at]?.extruders ?? [];
    return extruders.every(({ volumeLeft }) => volumeLeft === null || this.#isAmple(volumeLeft));
  }

  /** Key of a printer, as in the sets of an item. */
  keyAt(at: number): string {
    return (this.#keys[at] ??= printerKey(this.printers[at] as QueuePrinter));
  }

  /** Indexes of the printers of a printer's cluster, itself among them. */
  membersAt(at: number): readonly number[] {
    return this.#members.get(this.printers[at]?.clusterId ?? '') ?? [];
  }

  /** Indexes of the printers that can start a print, the first choice first. */
  free({ choose, printers: listed }: Pick<QueueRules, 'choose' | 'printers'>): number[] {
    const places = new Map(choose === 'list' ? listed.map((clusterId, place) => [clusterId, place]) : []);
    const free: { at: number; value: number }[] = [];
    for (const [at, { clusterId, obstacle, usedFor, lastUsedAt }] of this.printers.entries()) {
      if (obstacle !== null) continue;
      const place = places.get(clusterId) ?? listed.length;
      free.push({ at, value: choose === 'list' ? place : choose === 'fewest-hours' ? usedFor : (lastUsedAt ?? -1) });
    }
    return free.sort((one, other) => one.value - other.value || one.at - other.at).map(({ at }) => at);
  }

  /** Whether a printer has as much material as before, or enough for any item then and now. */
  #haveSameRest(one: QueuePrinter, other: QueuePrinter | undefined): boolean {
    if (one.extruders === other?.extruders) return true;
    return (one.extruders ?? []).every(({ volumeLeft }, at) => {
      const before = other?.extruders?.[at]?.volumeLeft ?? null;
      return volumeLeft === before || (this.#isAmple(volumeLeft) && this.#isAmple(before));
    });
  }

  #isAmple(volume: number | null): boolean {
    return volume !== null && volume >= this.#needed;
  }

  #kindOf(printer: QueuePrinter): number {
    const { model, extruders, buildPlate, tags } = printer;
    // The rest of the material and the state of the printer are no part of its kind.
    const tools = extruders?.map(({ printCore, material }) => [
      printCore,
      material && [material.guid, material.brand, material.name, material.color],
    ]);
    const key = JSON.stringify([model, tools, buildPlate, tags]);
    let kind = this.#kindsByKey.get(key);
    if (kind === undefined) {
      kind = this.samples.length;
      this.samples.push(printer);
      this.#kindsByKey.set(key, kind);
    }
    return kind;
  }
}

/** Whether a printer consists of the same objects as before, as one that only began or ended a print. */
const haveSameParts = (one: QueuePrinter, other: QueuePrinter): boolean =>
  one.extruders === other.extruders &&
  one.tags === other.tags &&
  one.model === other.model &&
  one.buildPlate === other.buildPlate;

const isAlike = (one: QueuePrinter | undefined, other: QueuePrinter | undefined): boolean =>
  one?.clusterId === other?.clusterId && one?.printerId === other?.printerId;

/** Greatest age of a late status, compared with the last one, ms: beyond it, the service's clock was set back. */
const LATE = 3_600_000;

/** Number of materials that are remembered. */
const MATERIALS = 2_000;

interface Seen {
  status: ClusterStatus;
  printers: readonly Printer[];
  /** Monotonic, ms. */
  at: number;
}

interface ClusterViewsDeps {
  service: ApiClient;
  clock: Clock;
  /** Identity by the account's list. */
  identityOf: (clusterId: string) => ClusterIdentity | null;
}

/** The last status of each cluster, from the shared polls and from the queue's own reads around a dispatch. */
export class ClusterViews {
  readonly #deps: ClusterViewsDeps;
  readonly #seen = new Map<string, Seen>();
  readonly #materials = new Map<string, MaterialNeed>();

  constructor(deps: ClusterViewsDeps) {
    this.#deps = deps;
  }

  get(clusterId: string): ClusterView | undefined {
    const seen = this.#seen.get(clusterId);
    return seen && { status: seen.status, printers: seen.printers, age: this.#deps.clock.monotonic() - seen.at };
  }

  get clusterIds(): string[] {
    return [...this.#seen.keys()];
  }

  /** Materials that some printer has or had loaded: of most materials, a file states only the GUID. */
  readonly materialOf: MaterialFinder = (guid) => this.#materials.get(guid.toLowerCase()) ?? null;

  /** Grows with each material that `materialOf` comes to know. */
  get materialCount(): number {
    return this.#materials.size;
  }

  /** Records a status; false if a newer one is known. */
  see(status: ClusterStatus): boolean {
    const { clusterId, generatedAt } = status;
    const before = this.#seen.get(clusterId);
    const last = before?.status.generatedAt ?? null;
    const lateBy = last !== null && generatedAt !== null ? Date.parse(last) - Date.parse(generatedAt) : 0;
    if (lateBy > 0 && lateBy <= LATE) return false;
    const printers = status.printers.length > 0 ? status.printers : (before?.printers ?? []);
    this.#seen.set(clusterId, { status, printers, at: this.#deps.clock.monotonic() });
    for (const { extruders } of status.printers) for (const { material } of extruders) this.#learn(material);
    return true;
  }

  #learn(material: Material | null): void {
    const { guid, name: type, brand, color } = material ?? {};
    if (!guid || !type) return;
    const key = guid.toLowerCase();
    if (this.#materials.size >= MATERIALS && !this.#materials.has(key)) return;
    this.#materials.set(key, { guid, type, brand: brand ?? null, color: color ?? null });
  }

  /** Reads a status anew, and records it. Throws the errors of the service's call. */
  async read(clusterId: string, deadline: Deadline): Promise<ClusterStatus> {
    const { service, clock, identityOf } = this.#deps;
    const ids = { cluster_id: clusterId };
    const { data } = await service.call('clusterStatus', { ids, what: phrase`the printer`, deadline });
    const identity = identityOf(clusterId) ?? this.#seen.get(clusterId)?.status ?? null;
    const context = { clusterId, receivedAt: isoTime(clock.now()), identity };
    const status = readClusterStatus(statusRecord(data) ?? {}, context);
    this.see(status);
    return status;
  }
}
