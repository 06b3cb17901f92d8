import type { ApiClient } from '../account/api-client';
import { matches, noneMatches, type PrinterFilter } from '../service/printer-filter';
import type { Clock } from '../time/clock';
import type { Deadline } from '../time/deadline';
import { readPrinters } from '../watch/polling/cluster-list';

/** Time for which the list may still show a printer as idle after a print was sent, ms (wire facts 7). */
const LAG = 30_000;

/** Chooses idle printers, each for one print at a time. */
export class IdlePrinters {
  /** Time until which a cluster counts as busy, whatever the list says, ms. */
  readonly #taken = new Map<string, number>();

  constructor(private readonly deps: { service: ApiClient; clock: Clock }) {}

  /**
   * Returns the first cluster of the list whose printer is idle and matches the filter; it counts as busy until
   * `release`. Throws NOT_ACCEPTED without one, and the errors of the list.
   */
  async take(filter: PrinterFilter, deadline: Deadline): Promise<string> {
    const wanted = { ...filter, idle: true };
    const listed = await readPrinters(this.deps.service, deadline);
    // No wait from here on, so that no two prints choose the same printer.
    const now = this.deps.clock.monotonic();
    for (const [clusterId, until] of this.#taken) if (until <= now) this.#taken.delete(clusterId);
    const printers = listed.map((one) => ({ ...one, idle: one.idle && !this.#taken.has(one.clusterId) }));
    const first = printers.find((printer) => matches(wanted, printer));
    if (!first) throw noneMatches(wanted, printers);
    this.#taken.set(first.clusterId, Infinity);
    return first.clusterId;
  }

  /** Releases a cluster: at once, or if a print was sent, when the list shows it. */
  release(clusterId: string, isSent: boolean): void {
    if (isSent) this.#taken.set(clusterId, this.deps.clock.monotonic() + LAG);
    else this.#taken.delete(clusterId);
  }
}
