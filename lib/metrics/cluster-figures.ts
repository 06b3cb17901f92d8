import type { PrintEvent } from '../events/print-event';
import type { ClusterStatus } from '../service/cluster';
import { PrinterFigures, RESULTS, type Result } from './printer-figures';

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
