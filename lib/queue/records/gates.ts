import type { ClusterStatus } from '../../service/cluster';
import { PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import { phrase } from '../../words/sentence';
import { closedBy, confirmed, type EndedPrint, observed, type PlateGate, printerIdOf } from '../model/gate';
import { printerKey, type PrinterTarget } from '../model/types';
import type { QueueStore } from './store';

/** The plate gates of the account's printers, which all its queues share. */
export class PlateGates {
  readonly #gates = new Map<string, PlateGate>();
  /** Gates whose last change is not known to be written. */
  readonly #unwritten = new Set<string>();
  /** Ids of the only printers of their clusters, as last seen. */
  readonly #onlyIds = new Map<string, string | null>();

  constructor(
    private readonly store: QueueStore,
    private readonly clock: Clock,
    /** Called after a gate has changed, here or at another runtime. */
    private readonly changed: (gate: PlateGate) => void,
  ) {}

  get all(): PlateGate[] {
    return [...this.#gates.values()];
  }

  /** The gate of a printer; undefined before its first sight, and while a change could not be written. */
  of(clusterId: string, printerId: string | null): PlateGate | undefined {
    const key = printerKey({ clusterId, printerId });
    return this.#unwritten.has(key) ? undefined : this.#gates.get(key);
  }

  async load(): Promise<void> {
    const before = new Map(this.#gates);
    const doubtful: PlateGate[] = [];
    for await (const gate of this.store.list<PlateGate>(this.store.keyOf('queue-plate'))) {
      const key = printerKey(gate);
      if (this.#gates.get(key) === before.get(key)) this.#set(gate);
      else doubtful.push(gate);
    }
    // Of a gate that changed during the listing, either state may be the newer one.
    for (const gate of doubtful) await this.reload(gate);
  }

  /** Reads a gate again that another runtime or queue has changed. */
  async reload(target: PrinterTarget): Promise<void> {
    await this.#update(target, (gate) => gate);
  }

  /** Follows the printers of a cluster. Rejects if a change can't be written; the next status tries again. */
  async observe(status: ClusterStatus): Promise<void> {
    const { clusterId } = status;
    const now = this.clock.now();
    const [only] = status.printers;
    if (status.printers.length === 1) this.#onlyIds.set(clusterId, only?.printerId ?? null);
    await Promise.all(
      status.printers.map(async (printer) => {
        const target = { clusterId, printerId: printerIdOf(printer, status) };
        const key = printerKey(target);
        const before = this.#gates.get(key) ?? null;
        const moved = before ? null : this.#movedGate(target, status);
        const change = (gate: PlateGate | null) => observed(gate ?? moved, status, printer, now);
        const after = change(before);
        if (after === before && !this.#unwritten.has(key)) return;
        this.#unwritten.add(key);
        await this.#update(target, change);
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
    await this.#update(target, (gate) => closedBy(gate ?? newGate(target), id, outcome, this.clock.now()));
  }

  /** Records a clear plate, also while the printer is offline. Throws NOT_FOUND for an unknown printer. */
  async confirm(target: PrinterTarget, good: boolean): Promise<void> {
    const known = this.#targetOf(target);
    await this.#update(known, (gate) => (gate ? confirmed(gate, good, this.clock.now()) : gate));
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

  async #update(target: PrinterTarget, change: (gate: PlateGate | null) => PlateGate | null): Promise<void> {
    const { clusterId, printerId } = target;
    const key = this.store.keyOf('queue-plate', clusterId, printerId ?? '');
    const after = await this.store.update<PlateGate>(key, (current) => change(current ?? null) ?? undefined);
    this.#unwritten.delete(printerKey(target));
    if (after) this.#set(after);
  }

  #set(gate: PlateGate): void {
    const key = printerKey(gate);
    if (JSON.stringify(this.#gates.get(key)) === JSON.stringify(gate)) return;
    this.#gates.set(key, gate);
    this.changed(gate);
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
