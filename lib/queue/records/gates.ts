import { isOver } from '../../service/job-words';
import type { ClusterStatus } from '../../service/cluster';
import { newerValue, PrintingError } from '../../service/errors';
import { list, record } from '../../service/json-readers';
import type { PrintJob } from '../../service/print-job';
import type { Printer } from '../../service/printer';
import type { Key } from '../../state/store';
import type { Clock } from '../../time/clock';
import { allToTheirEnds, eachInTurn } from '../../time/concurrency';
import { phrase } from '../../words/sentence';
import {
  acceptedBy,
  closedBy,
  confirmed,
  damagedGate,
  holding,
  isCleared,
  isFollowed,
  isLastPrint,
  judgesOf,
  type JudgedPrint,
  type Judgement,
  knows,
  mayHavePrinted,
  named,
  newGate,
  observed,
  type Outcome,
  type PlateGate,
  type PlateVerdict,
  settledBy,
  type Sight,
  tellsOfPrint,
  verdictOf,
} from '../model/gate';
import { gateIdOf, isNil, type Machine, MachineIndex, machineOf, printerIdOf } from '../model/machine';
import type { PrinterTarget } from '../model/types';
import { type QueueStore, Records } from './records';
import { isOnline, type Sightings } from './sightings';
import { gateOf, isNewer, laterOf, readGate, type StoredGate } from './stored-gates';

interface PlateGatesDeps {
  store: QueueStore;
  clock: Clock;
  sightings: Sightings;
  /** Interval of the shared polls, ms. */
  interval: number;
  /** Host printer of a group, by the account's list; null: not known. */
  hostOf: (clusterId: string) => string | null;
  /** Whether an attempt of the queue names a machine by one of its ids or, where it was alone, by its cluster. */
  isNamed: (id: string) => boolean;
  /** The print of the queue at a printer whose copy waits for its verdict, the latest; null: there is none. */
  awaitedAt: (printer: PrinterTarget) => string | null;
  /** Whether a mark in another cluster's checkpoint says that a gate of a machine was written. */
  isMarked: (machine: string) => boolean;
  /** Leaves a mark that a gate of these machines was written. */
  mark: (clusterId: string, machines: readonly string[]) => void;
  /** Called after a gate has changed, here or at another runtime. */
  changed: () => void;
}

/** A print of unknown outcome that a person settled, or of which nobody saw the printer. */
interface Settled {
  id: string;
  /** Prints that had begun on each machine when its outcome became unknown, by gate; null: not known. */
  begun: Readonly<Record<string, number>> | null;
  /** Whether a member of a group could have taken it. */
  couldTake: (printer: PrinterTarget) => boolean;
}

/** Where a print was sent and, if its outcome was unknown, the machines that were there then. */
type PossiblyTaken = PrinterTarget & { begun?: Settled['begun'] | undefined };

/** What a status shows of one machine; several printers without an id of their own count as one. */
interface Shown {
  gateId: string;
  /** Its gate; undefined at its first sight. */
  gate: PlateGate | undefined;
  machine: Machine;
  printers: Printer[];
}

/** What was seen of a machine and is not written yet. */
interface Unwritten {
  sights: Sight[];
  /** The gate with all of it. */
  gate: PlateGate;
  writing: Promise<void> | null;
}

/** The plate gates of the account's machines, which all its queues share. */
export class PlateGates {
  readonly #deps: PlateGatesDeps;
  readonly #records: Records<PlateGate>;
  readonly #index = new MachineIndex<PlateGate>(({ ended }) => ended !== null && !isCleared(ended, 'printer'));
  /** Gates of the printers of each cluster, as its last status showed them. */
  readonly #shown = new Map<string, ReadonlyMap<string | null, string>>();
  /** Ids of the only printers of their clusters, as last seen. */
  readonly #onlyIds = new Map<string, string | null>();
  readonly #unwritten = new Map<string, Unwritten>();
  /** Gates that name the prints that wait for their verdicts, as they were last. */
  readonly #held = new WeakMap<PrinterTarget, PlateGate>();
  /** Of the names of machines. */
  readonly #prefix: string;
  /** Gates of a newer version. */
  readonly #newer = new Set<string>();
  /** Prints that may have ended on machines after these left their group, by gate, until that is written. */
  readonly #unsettled = new Map<string, Set<string>>();

  constructor(deps: PlateGatesDeps) {
    this.#deps = deps;
    this.#prefix = JSON.stringify(deps.store.scope);
    this.#records = new Records<PlateGate>({
      store: deps.store,
      keyOf: (gateId) => deps.store.keyOf('queue-plate', gateId),
      read: (gateId, value) => gateOf(gateId, value, deps.clock.now()),
      isLeftAlone: isNewer,
      isLasting: true,
      changed: (before, after) => this.#changed(before, after),
    });
  }

  get all(): PlateGate[] {
    return this.#records.all;
  }

  /** The gate of a printer; undefined before its first sight, and while something seen of it is not written. */
  of(clusterId: string, printerId: string | null): PlateGate | undefined {
    const gateId = this.#shown.get(clusterId)?.get(printerId) ?? this.#placed({ clusterId, printerId })?.gateId;
    const isBehind = gateId === undefined || this.#unwritten.has(gateId) || this.#unsettled.has(gateId);
    return isBehind ? undefined : this.#records.get(gateId);
  }

  /** Why some gate could not be read; null: each was. */
  get unseen(): PrintingError | null {
    return this.#records.unseen;
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
        await this.#records.update(gate.gateId, (current) => current ?? this.#records.get(gate.gateId));
        if (oldKey) await this.#deps.store.update(oldKey, () => undefined);
      }
    } catch {
      // The store can't be written now.
    }
  }

  /** Reads a gate again that another runtime or queue has changed; `words`: its key without kind and scope. */
  async reload([gateId, ...others]: readonly string[]): Promise<void> {
    if (gateId !== undefined && others.length === 0) await this.#update(gateId, (current) => current);
  }

  /**
   * Follows the printers of a cluster. Rejects if a change can't be written; the next status tries again.
   * @param requestedAt when the status was requested, monotonic, ms
   */
  async observe(status: ClusterStatus, requestedAt = this.#deps.clock.monotonic()): Promise<void> {
    const { sightings } = this.#deps;
    const { clusterId, online, stale, printers } = status;
    if (online === false) sightings.miss(this.#nameOf(clusterId), []);
    if (online === false || stale) return;
    const [only] = printers;
    if (printers.length === 1) this.#onlyIds.set(clusterId, only?.printerId ?? null);
    const before = this.#shown.get(clusterId);
    const shown = this.#recognise(status);
    const left = this.#leftOf(clusterId, before, shown);
    sightings.miss(
      this.#nameOf(clusterId),
      shown.map(({ gateId }) => this.#nameOf(gateId)),
    );
    const isPlain = printers.length === 1 && left.length === 0;
    const unplaced = isPlain ? NONE_UNPLACED : this.#unplaced(status, shown);
    this.#noteUnsettled(left, unplaced);
    const work = this.#unsettled.size === 0 ? [] : [this.#settleLeft(clusterId)];
    const replaced: PlateGate[] = [];
    for (const one of shown) {
      const { gateId, gate } = one;
      if (sightings.isOutdated(this.#nameOf(gateId), requestedAt) || this.#newer.has(gateId)) continue;
      const areOnline = one.printers.every((printer) => isOnline(status, printer));
      const sight = this.#sightOf(one, status, unplaced, requestedAt, areOnline);
      if (gate && gate.gateId !== gateId) replaced.push(gate);
      const known = gate?.gateId === gateId ? gate : gate && { ...gate, gateId };
      const following = known ? this.#follow(known, sight) : areOnline ? this.#meet(one, sight) : null;
      if (following) work.push(following);
    }
    if (work.length > 0) await allToTheirEnds(work);
    for (const { gateId } of replaced) await this.#forget(gateId);
  }

  /** Begins the gate of a machine at its first sight. Rejects while the store can't be read or written. */
  async #meet({ gateId, machine }: Shown, sight: Sight): Promise<void> {
    await this.#follow(newGate(gateId, sight, await this.#isLost(machine)), sight);
  }

  /** The machines of a status, and their gates. */
  #recognise(status: ClusterStatus): Shown[] {
    const { clusterId } = status;
    const hostId = this.#deps.hostOf(clusterId);
    const found: Shown[] = [];
    const places = new Map<string | null, string>();
    for (const printer of status.printers) {
      const machine = machineOf(printer, status, hostId);
      const gate = this.#index.find(machine);
      // A gate that knows a place alone may be that of several machines: each continues it on its own.
      const hasIds = machine.ownId !== null || machine.hostGuid !== null;
      const isPlaceOnly = hasIds && gate?.ownIds.length === 0 && gate.hostGuid !== machine.hostGuid;
      const isNew = !gate || (isPlaceOnly && gate.gateId !== gateIdOf(machine));
      const gateId = isNew ? gateIdOf(machine) : gate.gateId;
      const known = found.find((one) => one.gateId === gateId);
      if (known) known.printers.push(printer);
      else found.push({ gateId, gate, machine, printers: [printer] });
      places.set(printerIdOf(printer, status), gateId);
    }
    if (places.size > 0) this.#shown.set(clusterId, places);
    return found;
  }

  /** Gates of machines that the status before showed in a cluster, and that were seen nowhere since. */
  #leftOf(
    clusterId: string,
    before: ReadonlyMap<string | null, string> | undefined,
    shown: readonly Shown[],
  ): string[] {
    if (!before || shown.length === 0) return NO_GATES;
    const isShown = (id: string) => shown.some(({ gateId, gate }) => gateId === id || gate?.gateId === id);
    return [...before.values()].filter((id) => !isShown(id) && this.#records.get(id)?.clusterId === clusterId);
  }

  /** A print that ended in a group without anyone seeing where may lie on a machine that has left it since. */
  #noteUnsettled(left: readonly string[], unplaced: ReadonlyMap<PrintJob, readonly string[]>): void {
    for (const gateId of left)
      for (const [{ clusterJobId }, knowing] of unplaced)
        if (clusterJobId !== null && knowing.length === 0)
          this.#unsettled.set(gateId, (this.#unsettled.get(gateId) ?? new Set()).add(clusterJobId));
  }

  /** Closes the gates after such prints. Rejects if that can't be written: then the next status tries again. */
  async #settleLeft(clusterId: string): Promise<void> {
    const now = this.#deps.clock.now();
    for (const [gateId, ids] of this.#unsettled) {
      if (this.#records.get(gateId)?.clusterId !== clusterId) continue;
      const noted = [...ids];
      await this.#update(gateId, (gate) => gate && noted.reduce((after, id) => settledBy(after, id, now), gate));
      for (const id of noted) ids.delete(id);
      if (ids.size === 0) this.#unsettled.delete(gateId);
    }
    this.#deps.changed();
  }

  #sightOf(
    { gateId, machine, printers }: Shown,
    status: ClusterStatus,
    unplaced: ReadonlyMap<PrintJob, readonly string[]>,
    requestedAt: number,
    areOnline: boolean,
  ): Sight {
    const { clusterId, name } = status;
    const isAlone = status.printers.length === 1;
    const isHere = (job: PrintJob) =>
      (job.printerId !== null && printers.some(({ printerId }) => printerId === job.printerId)) ||
      (unplaced.get(job)?.includes(gateId) ?? false);
    const here = (all: readonly PrintJob[]) => (isAlone ? all : all.filter(isHere));
    const jobs = here(status.jobs);
    const isBusy = printers.some(isBusyPrinter);
    const { sightings, interval, clock } = this.#deps;
    const isUnlisted = isBusy && !jobs.some(tellsOfPrint);
    const seen = { clusterId: this.#nameOf(clusterId), requestedAt, isOnline: areOnline, isUnlisted };
    const found = sightings.see(this.#nameOf(gateId), seen, { interval, now: clock.monotonic() });
    // Each field by its own name: spreads make such an object slow to build, and each status needs one.
    return {
      clusterId,
      printerId: printerIdOf(printers[0] as Printer, status),
      clusterName: name,
      ownId: machine.ownId,
      hostGuid: machine.hostGuid,
      jobs,
      history: here(status.history),
      unplaced: unplaced.size === 0 ? NONE : [...unplaced].flatMap(([job, gates]) => (gates.length === 0 ? [job] : [])),
      isBusy,
      isIdle: printers.every((printer) => printer.status === 'idle'),
      isElsewhere: (id) => this.#isElsewhere(id, gateId),
      hasGap: found.hasGap,
      wasUnlisted: found.wasUnlisted,
      isLongUnlisted: found.isLongUnlisted,
      at: Date.parse(status.receivedAt),
    };
  }

  /** Prints of a group that have ended without a printer, and the gates that know them nevertheless. */
  #unplaced({ jobs, history }: ClusterStatus, shown: readonly Shown[]): Map<PrintJob, readonly string[]> {
    const found = new Map<PrintJob, readonly string[]>();
    for (const job of [...history, ...jobs]) {
      const { clusterJobId, printerId } = job;
      if (printerId !== null || clusterJobId === null) continue;
      const knowing = shown.filter(({ gate }) => gate !== undefined && knows(gate, clusterJobId));
      const hasEnded = history.includes(job) || isOver(job);
      // A member that has left its group since has taken the print's plate along.
      if (knowing.length > 0 || (hasEnded && mayHavePrinted(job) && !this.#isElsewhere(clusterJobId)))
        found.set(
          job,
          knowing.map(({ gateId }) => gateId),
        );
    }
    return found;
  }

  /** Whether the gate of a machine, or of another one than this, knows a print. */
  #isElsewhere(id: string, gateId?: string): boolean {
    return this.all.some((gate) => gate.gateId !== gateId && knows(gate, id));
  }

  /** Whether a machine without a gate had one, which was lost. Rejects while the store can't be read. */
  async #isLost(machine: Machine): Promise<boolean> {
    const { store, isNamed, isMarked } = this.#deps;
    const { ownId, hostGuid, clusterId } = machine;
    const marked = list(record(await store.get(store.checkpointKey(clusterId)))?.gates);
    if ([ownId, hostGuid, gateIdOf(machine)].some((id) => id !== null && marked.includes(id))) return true;
    if ([ownId, hostGuid].some((id) => id !== null && (isNamed(id) || isMarked(id)))) return true;
    if (this.#mayBeClosedHost(machine)) return true;
    // Of a group, the others may be meant.
    if (this.#index.in(clusterId).length > 0) return false;
    return isNamed(clusterId) || (await store.get(store.keyOf('queue-printer', clusterId))) !== undefined;
  }

  /** Whether a new member may be the host of its group under another id, and the host's plate is not clear. */
  #mayBeClosedHost({ possibleGuid, clusterId }: Machine): boolean {
    const host = possibleGuid === null ? undefined : this.#index.withGuid(possibleGuid);
    if (!host?.ended || isCleared(host.ended, 'confirm')) return false;
    return !this.#here(clusterId).some(({ gateId }) => gateId === host.gateId);
  }

  /**
   * Applies what was seen of a machine; null: it changes nothing. Rejects if it can't be written: then it is written with the
   * next status.
   */
  #follow(gate: PlateGate, sight: Sight): Promise<void> | null {
    const { gateId } = gate;
    const unwritten = this.#unwritten.get(gateId);
    const before = unwritten?.gate ?? gate;
    const after = observed(before, sight);
    const isStored = this.#records.get(gateId) !== undefined;
    if (after === before && isStored && !unwritten) return null;
    const now: Unwritten = unwritten ?? { sights: [], gate: after, writing: null };
    if (after !== before || !isStored) now.sights.push(sight);
    now.gate = after;
    this.#unwritten.set(gateId, now);
    return (now.writing ??= this.#write(gate, now).finally(() => (now.writing = null)));
  }

  async #write(first: PlateGate, unwritten: Unwritten): Promise<void> {
    const { gateId } = first;
    const { sights } = unwritten;
    do {
      let applied = 0;
      await this.#update(gateId, (current) => {
        applied = sights.length;
        return sights.reduce(observed, current ?? first);
      });
      sights.splice(0, applied);
    } while (sights.length > 0);
    this.#unwritten.delete(gateId);
    this.#deps.changed();
  }

  /**
   * Closes the gate of the machine on which a print of the queue has ended; of a group without a known one, those of all
   * members. Resolves when that is durable.
   * @param begun of a print that nobody saw on a machine: those that were there when its outcome became unknown. Some of a group
   * may have left since, and the one that is left lists all prints of its group.
   */
  async close(target: PrinterTarget, id: string, outcome: Outcome, begun: Settled['begun'] = null): Promise<void> {
    const gate = this.#showing(target, id) ?? this.#aim(target);
    if (!gate) return this.settle(target, { id, begun, couldTake: () => true });
    const now = this.#deps.clock.now();
    await this.#update(gate.gateId, (current) => closedBy(current ?? gate, id, outcome, now));
    const possible = Object.entries(begun ?? {});
    if (possible.length < 2) return;
    for (const [gateId, count] of possible)
      await this.#update(gateId, (one) => {
        const isOver = one && one.ended?.id !== id && isFollowed(one, id, count);
        return isOver ? one : one && settledBy(one, id, now);
      });
  }

  /** Closes the gate of the machine that showed a print; if none did, of every one that could have taken it. */
  async settle(target: PrinterTarget, { id, begun, couldTake }: Settled): Promise<void> {
    const there = this.#there(target.clusterId, begun);
    const gate = this.#showing(target, id) ?? this.#named(target) ?? (there.length === 1 ? there[0] : undefined);
    const all = gate ? [gate] : there.filter(couldTake);
    const now = this.#deps.clock.now();
    const isOver = (one: PlateGate) => isFollowed(one, id, begun?.[one.gateId] ?? Infinity);
    // Without a plate that waits for it, the part would wait for its verdict for ever.
    const isTaken = all.every(isOver);
    for (const one of all)
      await this.#update(one.gateId, (current) => {
        const before = current ?? one;
        if (!isOver(before)) return settledBy(before, id, now);
        return isTaken ? acceptedBy(before, id) : before;
      });
    if (there.length > 0) return;
    // Nobody has seen the printer yet: whatever appears there is closed.
    const unseen = unseenGate({ clusterId: target.clusterId, printerId: null }, now);
    await this.#update(unseen.gateId, (current) => settledBy(current ?? unseen, id, now));
  }

  /**
   * Finds the gate of a print whose copy waits for its verdict, and has it name the print: one in the place of a lost or damaged
   * record does not know it. Resolves with the verdict if others have followed the print; null: it lies there, or nobody has
   * seen its machine since. Rejects if the gate can't be written.
   * @param print its machine, and those that could have taken it; the same object as long as nothing changes
   * @param names all names of the print, its id first
   */
  async hold(print: PossiblyTaken, names: readonly string[]): Promise<ReturnType<typeof verdictOf>> {
    const known = this.#held.get(print);
    if (known && this.#records.get(known.gateId) === known && !this.#isReplaced(known)) return null;
    // A gate that can't be read now may know it.
    if (this.unseen) return null;
    const [id = ''] = names;
    const now = this.#deps.clock.now();
    const held = (gate: PlateGate) => (verdictOf(gate, names) ? gate : holding(gate, id, now));
    const verdicts: ReturnType<typeof verdictOf>[] = [];
    for (const gate of this.#gatesFor(print, names)) {
      const { gateId } = gate;
      if (this.#newer.has(gateId) || this.#unwritten.has(gateId)) return null;
      if (held(gate) !== gate) await this.#update(gateId, (current) => held(current ?? gate));
      const after = this.#records.get(gateId) ?? gate;
      verdicts.push(verdictOf(after, names));
      if (verdicts.at(-1) === null) this.#held.set(print, after);
    }
    return verdicts.includes(null) ? null : (verdicts[0] ?? null);
  }

  /** Names the settled print on the plate of the machine that has shown its end. Rejects if that can't be written. */
  async name(target: PrinterTarget, key: string, id: string): Promise<void> {
    const gate = this.#aim(target);
    if (gate && named(gate, key, id) !== gate)
      await this.#update(gate.gateId, (current) => named(current ?? gate, key, id));
  }

  /** The gates that a print without a verdict may have closed: the one that knows it, or else those that could have taken it. */
  #gatesFor({ begun = null, ...target }: PossiblyTaken, names: readonly string[]): PlateGate[] {
    const here = this.#here(target.clusterId);
    // A place whose printer has a gate of its own is no machine.
    const all = [...here, ...this.all.filter((gate) => !this.#isReplaced(gate))];
    const isLast = ({ printing, ended }: PlateGate) => names.includes((printing ?? ended)?.id ?? '');
    const isKnown = (gate: PlateGate) => names.some((name) => knows(gate, name));
    const found = all.find(isLast) ?? all.find(isKnown) ?? this.#named(target);
    if (found) return [found];
    const there = this.#there(target.clusterId, begun);
    return target.printerId === null || there.length === 1 ? there : [];
  }

  /** Whether a gate was that of a place, until a status has shown its machine, which has another one. */
  #isReplaced({ gateId, clusterId }: PlateGate): boolean {
    const shown = gateId === clusterId ? this.#shown.get(clusterId) : undefined;
    return shown !== undefined && ![...shown.values()].includes(gateId);
  }

  /** Number of prints that have begun on the machines of a cluster, and on others that were there, by gate. */
  begunOn(clusterId: string, others: readonly string[] = []): Record<string, number> {
    const all = [...this.#here(clusterId), ...others.flatMap((gateId) => this.#records.get(gateId) ?? [])];
    return Object.fromEntries(all.map(({ gateId, begun }) => [gateId, begun]));
  }

  /**
   * Records a clear plate and a verdict on its last print, also while the printer is offline. Throws NOT_FOUND for an unknown
   * printer, and NOT_ACCEPTED for a verdict on another print.
   * @param judged what the queue knows of a print, by its id
   */
  async confirm(
    target: PrinterTarget,
    verdict: Judgement,
    judged: (id: string) => Omit<JudgedPrint, 'known'>,
  ): Promise<void> {
    const now = this.#deps.clock.now();
    const gate = this.#awaitingUnseen(target, now) ?? this.#targetOf(target);
    if (this.#newer.has(gate.gateId)) throw newerValue('queue-plate');
    await this.#update(gate.gateId, (current) => {
      const before = current ?? gate;
      const id = before.ended?.id ?? '';
      // One print may have closed several gates, but only a print that has a name of its own.
      const others = judgesOf(before) === id ? this.all.filter(({ gateId }) => gateId !== before.gateId) : [];
      const known = verdictOn(id, [before, ...others]);
      return confirmed(before, verdict, { ...judged(id), known }, now);
    });
  }

  /** The verdicts on all prints, by the id of the print: of several gates, the latest. */
  verdicts(): Map<string, PlateVerdict> {
    const found = new Map<string, PlateVerdict>();
    for (const { verdicts } of this.all)
      for (const verdict of verdicts)
        if (verdict.at >= (found.get(verdict.id)?.at ?? 0)) found.set(verdict.id, verdict);
    return found;
  }

  /** A gate for a print that waits for its verdict, at a machine whose gate was lost, and that was not seen since. */
  #awaitingUnseen(target: PrinterTarget, now: number): PlateGate | undefined {
    const awaited = this.#here(target.clusterId).length === 0 ? this.#deps.awaitedAt(target) : null;
    return awaited === null ? undefined : holding(unseenGate(target, now), awaited, now);
  }

  /** A message may name the only printer of a cluster by its own id, or leave it out. */
  #targetOf({ clusterId, printerId }: PrinterTarget): PlateGate {
    const here = this.#here(clusterId);
    const only = here.find((gate) => gate.printerId === null) ?? (here.length === 1 ? here[0] : undefined);
    const onlyId = this.#onlyIds.get(clusterId);
    const named = this.#named({ clusterId, printerId });
    const isOther = printerId !== null && only?.printerId === null && onlyId !== undefined && printerId !== onlyId;
    if (!named && isOther)
      throw new PrintingError('NOT_FOUND', phrase`Another printer is at this place: check msg.printerId.`);
    const found = named ?? (only?.printerId === null || printerId === null ? only : undefined);
    if (found) return found;
    const sentence =
      here.length > 0
        ? phrase`The printer is a group: set msg.printerId to the printer whose plate is clear.`
        : phrase`The queue has not seen this printer yet: check msg.clusterId.`;
    throw new PrintingError(here.length > 0 ? 'INVALID_INPUT' : 'NOT_FOUND', sentence);
  }

  /** Gates of the machines of a cluster: those that its last status showed, or that were last seen there. */
  #here(clusterId: string): PlateGate[] {
    const shown = this.#shown.get(clusterId);
    if (!shown) return this.#index.in(clusterId);
    return [...new Set(shown.values())].flatMap((gateId) => this.#records.get(gateId) ?? []);
  }

  /** Gates of the machines that were in a cluster when a doubt began, wherever they are now; else those of the cluster. */
  #there(clusterId: string, begun: Settled['begun']): PlateGate[] {
    const then = Object.keys(begun ?? {}).flatMap((gateId) => this.#records.get(gateId) ?? []);
    return then.length > 0 ? then : this.#here(clusterId);
  }

  /** The gate of the machine that showed a print, which may have moved to another cluster since. */
  #showing({ clusterId }: PrinterTarget, id: string): PlateGate | undefined {
    const here = [...this.#here(clusterId), ...this.#index.in(clusterId)];
    return here.find((gate) => knows(gate, id)) ?? this.all.find((gate) => isLastPrint(gate, id));
  }

  /** The gate of the printer with this id, also of one that its cluster does not show any more. */
  #named({ clusterId, printerId }: PrinterTarget): PlateGate | undefined {
    if (printerId === null) return undefined;
    const all = [...this.#here(clusterId), ...this.#index.in(clusterId)];
    return all.find((gate) => gate.printerId === printerId || gate.ownIds.includes(printerId));
  }

  /** The gate that an attempt means. */
  #aim({ clusterId, printerId }: PrinterTarget): PlateGate | undefined {
    const here = this.#here(clusterId);
    return this.#named({ clusterId, printerId }) ?? (here.length === 1 ? here[0] : undefined);
  }

  /** The only gate at a place. */
  #placed({ clusterId, printerId }: PrinterTarget): PlateGate | undefined {
    const found = this.#index.in(clusterId).filter((gate) => gate.printerId === printerId);
    return found.length === 1 ? found[0] : undefined;
  }

  async #update(gateId: string, change: (gate: PlateGate | undefined) => PlateGate | undefined): Promise<void> {
    await this.#records.update(gateId, (stored) => {
      // A record that the store has lost is written anew.
      const current = stored ?? this.#records.get(gateId);
      return change(current) ?? current;
    });
  }

  /** Deletes a gate that others continue. Never rejects: it does no harm. */
  async #forget(gateId: string): Promise<void> {
    const key: Key = this.#deps.store.keyOf('queue-plate', gateId);
    await this.#deps.store.update(key, () => undefined).catch(() => undefined);
    this.#records.forget(gateId);
  }

  #changed(before: PlateGate | undefined, after: PlateGate | undefined): void {
    this.#index.update(before, after);
    if (after) {
      const { gateId, ownIds, hostGuid } = after;
      this.#deps.mark(after.clusterId, [
        ...new Set([gateId, ...ownIds.slice(-1), ...(hostGuid === null ? [] : [hostGuid])]),
      ]);
    }
    this.#deps.changed();
  }

  /** Name of a machine or a cluster among those of all accounts in this process. */
  #nameOf(id: string): string {
    return this.#prefix + id;
  }
}

/** A closed gate of a machine that nobody has seen. */
function unseenGate({ clusterId, printerId }: PrinterTarget, now: number): PlateGate {
  const ownId = printerId === null || isNil(printerId) ? null : printerId;
  const gateId = gateIdOf({ ownId, hostGuid: null, clusterId });
  return damagedGate({ gateId, ownIds: ownId === null ? [] : [ownId], hostGuid: null, clusterId, printerId }, now);
}

const NONE: readonly PrintJob[] = [];
const NO_GATES: string[] = [];
const NONE_UNPLACED: ReadonlyMap<PrintJob, readonly string[]> = new Map();

/** Whether the printer's own status is that of a print, so that a missing job proves nothing. */
const isBusyPrinter = ({ status }: Printer): boolean => status === 'printing' || status === 'pre_print';

/** Last verdict of a person on a print at one of the gates. */
const verdictOn = (id: string, gates: readonly PlateGate[]): PlateVerdict | undefined =>
  gates
    .flatMap(({ verdicts }) => verdicts.filter((verdict) => verdict.id === id && verdict.at > 0))
    .reduce<PlateVerdict | undefined>((last, verdict) => (last && last.at >= verdict.at ? last : verdict), undefined);
