import type { ClusterStatus } from '../../service/cluster';
import { PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import { phrase } from '../../words/sentence';
import { closedBy, confirmed, type EndedPrint, observed, type PlateGate, printerIdOf } from '../model/gate';
import { printerKey, type PrinterTarget } from '../model/types';
import { type QueueStore, Records } from './records';

/** The plate gates of the account's printers, which all its queues share. */
export class PlateGates {
  readonly #store: QueueStore;
  readonly #clock: Clock;
  readonly #records: Records<PlateGate>;
  /** Ids of the only printers of their clusters, as last seen. */
  readonly #onlyIds = new Map<string, string | null>();

  /** @param changed called after a gate has changed, here or at another runtime */
  constructor(store: QueueStore, clock: Clock, changed: () => void) {
    this.#store = store;
    this.#clock = clock;
    const keyOf = (id: string) => {
      const [clusterId, printerId] = JSON.parse(id) as [string, string | null];
      return store.keyOf('queue-plate', clusterId, printerId ?? '');
    };
    this.#records = new Records<PlateGate>({ store, keyOf, idOf: printerKey, isLasting: true, changed });
  }

  get all(): PlateGate[] {
    return this.#records.all;
  }

  /** The gate of a printer; undefined before its first sight, and while a change could not be written. */
  of(clusterId: string, printerId: string | null): PlateGate | undefined {
    const key = printerKey({ clusterId, printerId });
    return this.#records.isBehind(key) ? undefined : this.#records.get(key);
  }

  load(): Promise<void> {
    return this.#records.load(this.#store.list<PlateGate>(this.#store.keyOf('queue-plate')));
  }

  /** Reads a gate again that another runtime or queue has changed. */
  reload(target: PrinterTarget): Promise<void> {
    return this.#records.reload(printerKey(target));
  }

  /** Follows the printers of a cluster. Rejects if a change can't be written; the next status tries again. */
  async observe(status: ClusterStatus): Promise<void> {
    const { clusterId } = status;
    const now = this.#clock.now();
    const [only] = status.printers;
    if (status.printers.length === 1) this.#onlyIds.set(clusterId, only?.printerId ?? null);
    await Promise.all(
      status.printers.map(async (printer) => {
        const target = { clusterId, printerId: printerIdOf(printer, status) };
        const key = printerKey(target);
        const before = this.#records.get(key) ?? null;
        const moved = before ? null : this.#movedGate(target, status);
        const change = (gate: PlateGate | null) => observed(gate ?? moved, status, printer, now);
        const after = change(before);
        if (after !== before || this.#records.isBehind(key)) await this.#update(target, change, { isSeen: true });
      }),
    );
  }

  /** The gate that a machine had before it was connected anew, under another cluster id; null without one. */
  #movedGate({ clusterId, printerId }: PrinterTarget, { hostGuid }: ClusterStatus): PlateGate | null {
    if (hostGuid === null) return null;
    const found = this.all.findLast((gate) => gate.hostGuid === hostGuid && gate.printerId === printerId);
    return found ? { ...found, clusterId } : null;
  }

  /** Closes a gate after a print that the queue knows to have ended there. Resolves when that is durable. */
  async close(target: PrinterTarget, id: string, outcome: EndedPrint['outcome']): Promise<void> {
    const here = this.all.filter(({ clusterId }) => clusterId === target.clusterId);
    // Of a group, the statuses show on which printer it ended.
    if (target.printerId === null && here.some(({ printerId }) => printerId !== null)) return;
    await this.#update(target, (gate) => closedBy(gate ?? newGate(target), id, outcome, this.#clock.now()));
  }

  /** Records a clear plate, also while the printer is offline. Throws NOT_FOUND for an unknown printer. */
  async confirm(target: PrinterTarget, good: boolean): Promise<void> {
    const known = this.#targetOf(target);
    await this.#update(known, (gate) => (gate ? confirmed(gate, good, this.#clock.now()) : gate));
  }

  /** A message may name the only printer of a cluster by its own id, or leave it out. */
  #targetOf({ clusterId, printerId }: PrinterTarget): PrinterTarget {
    const here = this.all.filter((gate) => gate.clusterId === clusterId);
    const named = here.find((gate) => gate.printerId === printerId);
    const only = here.length === 1 && here[0]?.printerId === null ? here[0] : undefined;
    const onlyId = this.#onlyIds.get(clusterId) ?? printerId;
    if (only && printerId !== null && printerId !== onlyId)
      throw new PrintingError('NOT_FOUND', phrase`Another printer is at this place: check msg.printerId.`);
    const found = named ?? only;
    if (found) return found;
    const sentence =
      here.length > 0
        ? phrase`The printer is a group: set msg.printerId to the printer whose plate is clear.`
        : phrase`The queue has not seen this printer yet: check msg.clusterId.`;
    throw new PrintingError(here.length > 0 ? 'INVALID_INPUT' : 'NOT_FOUND', sentence);
  }

  async #update(
    target: PrinterTarget,
    change: (gate: PlateGate | null) => PlateGate | null,
    options: { isSeen?: boolean } = {},
  ): Promise<void> {
    await this.#records.update(printerKey(target), (current) => change(current ?? null) ?? undefined, options);
  }
}

const newGate = ({ clusterId, printerId }: PrinterTarget): PlateGate => ({
  version: 1,
  clusterId,
  printerId,
  clusterName: null,
  hostGuid: null,
  closings: 0,
  printing: null,
  ended: null,
  hasShownCleanup: false,
  known: [],
  verdicts: [],
});
