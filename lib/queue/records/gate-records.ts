import type { PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import { eachInTurn } from '../../time/concurrency';
import { isPlateToClear, type PlateGate, plateOf } from '../model/gate';
import { MachineIndex } from '../model/machine';
import type { PrinterTarget } from '../model/types';
import { type QueueStore, Records } from './records';
import { gateOf, isNewer, laterOf, readGate, type StoredGate } from './stored-gates';

interface GateRecordsDeps {
  store: QueueStore;
  clock: Clock;
  /** Leaves a mark that a gate of these machines was written. */
  mark: (clusterId: string, machines: readonly string[]) => void;
  /** Called after a gate has changed, here or at another runtime. */
  changed: () => void;
}

/** The printers of a cluster, as a status shows them. */
interface Places {
  /** Gates by printer id; null: the only printer. */
  gates: ReadonlyMap<string | null, string>;
  /** Own id of the only printer; undefined: there are several. */
  onlyId: string | null | undefined;
  /** Gates of machines that this status lacks, and that no other has shown to have left the cluster. */
  missing: readonly string[];
}

/** The plate gates of the account's machines, in the store and in memory, and where their machines were seen last. */
export class GateRecords {
  readonly #deps: GateRecordsDeps;
  readonly #records: Records<PlateGate>;
  readonly #index = new MachineIndex<PlateGate>({
    isClosed: (gate) => isPlateToClear({ ...gate, printing: null }, 'printer'),
    isClear: (gate) => plateOf(gate, 'confirm') === 'open',
  });
  readonly #places = new Map<string, Places>();
  /** Gates of machines that have left a cluster which was not read since, by cluster. */
  readonly #unreadBy = new Map<string, Set<string>>();
  /** Gates of a newer version. */
  readonly #newer = new Set<string>();

  constructor(deps: GateRecordsDeps) {
    this.#deps = deps;
    this.#records = new Records<PlateGate>({
      store: deps.store,
      keyOf: (gateId) => deps.store.keyOf('queue-plate', gateId),
      read: (gateId, value) => gateOf(gateId, value, deps.clock.now()),
      isLeftAlone: isNewer,
      isLasting: true,
      changed: (before, after) => this.#changed(before, after),
    });
  }

  // The records

  get all(): PlateGate[] {
    return this.#records.all;
  }

  get(gateId: string): PlateGate | undefined {
    return this.#records.get(gateId);
  }

  /** Gates by the ids of their machines. */
  get index(): Pick<MachineIndex<PlateGate>, 'find' | 'in' | 'isOther' | 'withGuid'> {
    return this.#index;
  }

  /** Why some gate could not be read; null: each was. */
  get unseen(): PrintingError | null {
    return this.#records.unseen;
  }

  /** Whether a gate is of a newer version, which is left alone. */
  isNewer(gateId: string): boolean {
    return this.#newer.has(gateId);
  }

  /** Reads everything. Rejects while nothing can be read; the machine of a gate that can't be read counts as closed. */
  async load(): Promise<void> {
    const old: StoredGate[] = [];
    const damaged: string[] = [];
    await this.#records.load((unread) => this.#stored(old, damaged, unread));
    await this.#carryOver(old);
    // Written at once, so that the next start reads the same. Until then they are in memory.
    await eachInTurn(damaged, (gateId) => this.#records.reload(gateId)).catch(() => undefined);
  }

  async *#stored(
    old: StoredGate[],
    damaged: string[],
    unread: (error: PrintingError) => void,
  ): AsyncGenerator<{ id: string; value: PlateGate }> {
    const { store } = this.#deps;
    const prefix = store.keyOf('queue-plate');
    const found = new Map<string, PlateGate>();
    this.#newer.clear();
    for await (const { key, value } of store.entries(prefix, unread)) {
      const stored = readGate(key, key.slice(prefix.length), value, this.#deps.clock.now());
      if (isNewer(value)) this.#newer.add(stored.gate.gateId);
      else if (!stored.oldKey && stored.gate !== value) damaged.push(stored.gate.gateId);
      if (stored.oldKey) old.push(stored);
      else found.set(stored.gate.gateId, stored.gate);
    }
    const carried = new Map<string, PlateGate>();
    for (const { gate } of old) carried.set(gate.gateId, laterOf(gate, carried.get(gate.gateId) ?? gate));
    for (const [id, value] of new Map([...carried, ...found])) yield { id, value };
  }

  /** Writes the gates of 1.0.0-rc.1 anew. Never rejects: until then they are in memory, and the next start tries again. */
  async #carryOver(old: readonly StoredGate[]): Promise<void> {
    try {
      for (const { gate, oldKey } of old) {
        await this.#records.update(gate.gateId, (current) => current ?? this.get(gate.gateId));
        if (oldKey) await this.#deps.store.update(oldKey, () => undefined);
      }
    } catch {
      // The store can't be written now.
    }
  }

  /** Reads a gate again that another runtime or queue has changed; `words`: its key without kind and scope. */
  async reload([gateId, ...others]: readonly string[]): Promise<void> {
    if (gateId !== undefined && others.length === 0) await this.update(gateId, (current) => current);
  }

  /** Changes a gate. Resolves when that is durable. */
  async update(gateId: string, change: (gate: PlateGate | undefined) => PlateGate | undefined): Promise<void> {
    await this.#records.update(gateId, (stored) => {
      // A record that the store has lost is written anew.
      const current = stored ?? this.get(gateId);
      return change(current) ?? current;
    });
  }

  /** Deletes a gate that others continue. Never rejects: it does no harm. */
  async forget(gateId: string): Promise<void> {
    const { store } = this.#deps;
    await store.update(store.keyOf('queue-plate', gateId), () => undefined).catch(() => undefined);
    this.#records.forget(gateId);
  }

  #changed(before: PlateGate | undefined, after: PlateGate | undefined): void {
    this.#index.update(before, after);
    for (const clusterId of before?.unread?.clusterIds ?? [])
      this.#unreadBy.get(clusterId)?.delete(before?.gateId ?? '');
    for (const clusterId of after?.unread?.clusterIds ?? [])
      this.#unreadBy.set(clusterId, (this.#unreadBy.get(clusterId) ?? new Set()).add(after?.gateId ?? ''));
    if (after) {
      const { gateId, ownIds, hostGuid } = after;
      this.#deps.mark(after.clusterId, [
        ...new Set([gateId, ...ownIds.slice(-1), ...(hostGuid === null ? [] : [hostGuid])]),
      ]);
    }
    this.#deps.changed();
  }

  // The places

  /** Records the printers of a cluster, as its last status shows them. */
  show(clusterId: string, places: Places): void {
    const before = this.#places.get(clusterId)?.missing.length ?? 0;
    this.#places.set(clusterId, places);
    if (places.missing.length !== before) this.#deps.changed();
  }

  /** Gates of machines that the last status of a cluster lacks, although they may be there still. */
  missingIn(clusterId: string): PlateGate[] {
    const missing = this.shown(clusterId)?.missing ?? [];
    return missing.flatMap((gateId) => this.get(gateId) ?? []).filter((gate) => gate.clusterId === clusterId);
  }

  /** The printers of a cluster, as its last status showed them; undefined: none has, since the start. */
  shown(clusterId: string): Places | undefined {
    return this.#places.get(clusterId);
  }

  /** Gate of the machine that the last status of a cluster showed under a printer id; undefined: it showed none. */
  shownAs({ clusterId, printerId }: PrinterTarget): PlateGate | undefined {
    const { gates, onlyId } = this.shown(clusterId) ?? {};
    return printerId === null ? undefined : this.get(gates?.get(printerId === onlyId ? null : printerId) ?? '');
  }

  /** Gates of the machines of a cluster: those that its last status showed, or that were last seen there. */
  here(clusterId: string): PlateGate[] {
    const shown = this.shown(clusterId);
    if (!shown) return this.#index.in(clusterId);
    return [...new Set(shown.gates.values())].flatMap((gateId) => this.get(gateId) ?? []);
  }

  /** Gates of machines that have left a cluster which was not read since. */
  unreadIn(clusterId: string): PlateGate[] {
    return [...(this.#unreadBy.get(clusterId) ?? [])].flatMap((gateId) => this.get(gateId) ?? []);
  }

  /** Whether a gate was that of a place, until a status has shown its machine, which has another one. */
  isReplaced({ gateId, clusterId }: PlateGate): boolean {
    const shown = gateId === clusterId ? this.shown(clusterId) : undefined;
    return shown !== undefined && ![...shown.gates.values()].includes(gateId);
  }
}
