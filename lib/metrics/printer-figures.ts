import { extrudersOf, slotsOf } from '../events/extruder-edges';
import type { EndType, PrintEvent } from '../events/print-event';
import { type ClusterStatus, isOnPrinter } from '../service/cluster';
import { isPlateWaiting, isUnderWay } from '../service/job-words';
import type { PrintJob } from '../service/print-job';
import type { Printer } from '../service/printer';
import { labelOf } from './exposition';

/** Ends of prints to recognise when they are derived again. */
const ENDS_KEPT = 20;

/** The figures of one cluster's printers. */
export class ClusterFigures {
  /** Time of the last observation, monotonic ms. */
  observedAt = -Infinity;
  #printers = new Map<string, PrinterFigures>();
  /** Ids of the last ends: an observation that another runtime's lease cut off is derived again. */
  #ends: string[] = [];
  /** Ends before the first observation. */
  #early: PrintEvent[] = [];

  /** @param owner labels of the account and the cluster */
  constructor(private readonly owner: string) {}

  get printers(): Iterable<PrinterFigures> {
    return this.#printers.values();
  }

  get size(): number {
    return this.#printers.size;
  }

  /** Labels of a printer; null: of the only one. */
  labelsOf(printerId: string | null): string | undefined {
    const [first] = this.printers;
    return (printerId === null ? first : this.#printers.get(printerId))?.labels;
  }

  /** Reads a status with the figures of at most `most` printers. A status without printers shows the known ones. */
  read(status: ClusterStatus, now: number, most: number): void {
    this.observedAt = now;
    const shown = new Map<string, ClusterStatus['printers'][number] | null>();
    for (const printer of status.printers) {
      const id = printer.printerId ?? '';
      // Ids repeat only for printers without an id of their own (trap 14): the first one represents all.
      if (!shown.has(id) && shown.size < most) shown.set(id, printer);
    }
    if (shown.size === 0) for (const id of this.#printers.keys()) shown.set(id, null);
    if (shown.size === 0 && most > 0) shown.set('', null);
    const before = this.#printers;
    this.#printers = new Map([...shown.keys()].map((id) => [id, before.get(id) ?? new PrinterFigures(this.owner, id)]));
    for (const [id, printer] of shown) this.#printers.get(id)?.read(status, printer, now);
    for (const event of this.#early.splice(0)) this.#count(event);
  }

  /** Counts the end of a print, once. */
  ended(event: PrintEvent): void {
    if (this.#ends.includes(event.id)) return;
    this.#ends = [...this.#ends, event.id].slice(-ENDS_KEPT);
    if (this.size === 0) this.#early.push(event);
    else this.#count(event);
  }

  #count({ type, printerId, job }: PrintEvent): void {
    const [first] = this.printers;
    const result: Result = RESULTS[type as keyof typeof RESULTS];
    (this.#printers.get(printerId ?? '') ?? first)?.count(result, job);
  }
}

/** Values of the label `state`: the service's words (wire facts 12.1), and `other` for the rest. */
export const STATES = ['idle', 'printing', 'pre_print', 'maintenance', 'unreachable', 'error', 'other'] as const;

/** Ends of a print, by the event that reports it. */
export const RESULTS = {
  'job.finished': 'finished',
  'job.failed': 'failed',
  'job.aborted': 'aborted',
  'job.ended': 'ended',
} as const satisfies Record<EndType, string>;

export type Result = (typeof RESULTS)[EndType];

/** Shared by all printers without a station, as there are thousands. */
const NONE: SlotFigure[] = [];

/** Volumes of one extruder, mm³. */
export interface Spool {
  index: number;
  labels: string;
  left: number | null;
  full: number | null;
}

/** Rest in a slot of a material station, share of a full spool. */
export interface SlotFigure {
  labels: string;
  remaining: number;
}

/** The figures of one printer: numbers only, as there are thousands. Null: unknown, without a sample. */
export class PrinterFigures {
  labels = '';
  online: number | null = null;
  /** Index in STATES. */
  state = STATES.length - 1;
  /** Share of the print under way, 0 to 1. */
  progress: number | null = null;
  /** Seconds. */
  remaining: number | null = null;
  maintenanceDue: number | null = null;
  spools: Spool[] = [];
  /** Slots whose rest is known; empty without a station. */
  slots: SlotFigure[] = NONE;
  /** Time since which its plate is known to wait, monotonic ms; null if it does not. */
  plateSince: number | null = null;
  readonly prints: Record<Result, number> = { finished: 0, failed: 0, aborted: 0, ended: 0 };
  /** Duration of all prints that ended, seconds. */
  printSeconds = 0;
  #plate: string | null = null;
  #name: string | null = null;

  constructor(
    /** Labels of the account and the cluster. */
    private readonly owner: string,
    private readonly printerId: string,
  ) {}

  /** Reads a status; `printer` null if the status shows no printers. */
  read(status: ClusterStatus, printer: Printer | null, now: number): void {
    const names = [status.name, printer?.name ?? null];
    // The name of a group says nothing about one of its printers.
    if (status.printers.length > 1) names.reverse();
    this.#rename(names[0] ?? names[1] ?? '');
    this.online = status.online === null ? null : Number(status.online);
    this.maintenanceDue = dueOf(status, printer);
    this.state = stateOf(status, printer);
    const isMine = (job: PrintJob) => printer === null || isOnPrinter(job, printer, status);
    const job = status.jobs.find((one) => isUnderWay(one) && isMine(one));
    const percent = job?.progress ?? null;
    this.progress = percent === null ? null : percent / 100;
    this.remaining = job?.timeRemaining ?? null;
    if (printer) {
      this.#readSpools(printer);
      this.#readSlots(printer);
    }
    const plate = status.jobs.find((one) => isPlateWaiting(one) && isMine(one))?.clusterJobId ?? null;
    if (plate !== this.#plate) this.plateSince = plate === null ? null : now;
    this.#plate = plate;
  }

  count(result: Result, job: PrintJob | null): void {
    this.prints[result]++;
    this.printSeconds += Math.max(0, job?.timeElapsed ?? 0);
  }

  #rename(name: string): void {
    if (name === this.#name) return;
    this.#name = name;
    this.labels = `${this.owner},${labelOf('printer', this.printerId)},${labelOf('name', name)}`;
    this.spools = [];
  }

  #readSlots(printer: Printer): void {
    if (printer.slots.length === 0) {
      this.slots = NONE;
      return;
    }
    this.slots = [...slotsOf(printer)].flatMap(([index, { extruder, material, remaining }]) =>
      material === null || remaining === null
        ? []
        : { labels: `${this.labels},extruder="${extruder ?? ''}",slot="${index}"`, remaining },
    );
  }

  #readSpools(printer: Printer): void {
    const extruders = extrudersOf(printer);
    this.spools = this.spools.filter(({ index }) => extruders.has(index));
    for (const [index, { volumeLeft, volumeFull }] of extruders) {
      let spool = this.spools.find((one) => one.index === index);
      if (!spool)
        this.spools.push((spool = { index, labels: `${this.labels},extruder="${index}"`, left: null, full: null }));
      spool.left = volumeLeft;
      spool.full = volumeFull;
    }
  }
}

function stateOf({ online }: ClusterStatus, printer: Printer | null): number {
  const word = online === false ? 'unreachable' : (printer?.status ?? 'other');
  const at = STATES.indexOf(word as (typeof STATES)[number]);
  return at < 0 ? STATES.length - 1 : at;
}

function dueOf({ maintenanceDue }: ClusterStatus, printer: Printer | null): number | null {
  const required = printer?.maintenanceRequired ?? null;
  return maintenanceDue === null && required === null ? null : Number(maintenanceDue === true || required === true);
}
