import { isOver } from '../../service/job-words';
import type { ClusterStatus } from '../../service/cluster';
import { list, record } from '../../service/json-readers';
import type { PrintJob } from '../../service/print-job';
import type { Printer } from '../../service/printer';
import type { Clock } from '../../time/clock';
import { allToTheirEnds } from '../../time/concurrency';
import { isCleared, knows, type PlateGate } from '../model/gate';
import {
  type Farewell,
  isOnPlate,
  withFarewell,
  withHidden,
  mayHavePrinted,
  newGate,
  observed,
  type Sight,
  isNameless,
  tellsOfPrint,
} from '../model/gate-sights';
import { gateIdOf, type Machine, machineOf, printerIdOf } from '../model/machine';
import type { PlacedMachine } from '../model/queue-record';
import type { PrinterTarget } from '../model/types';
import type { GateRecords } from './gate-records';
import type { QueueStore } from './records';
import { isOnline, type Sightings } from './sightings';

interface PlateGatesDeps {
  records: GateRecords;
  store: QueueStore;
  clock: Clock;
  sightings: Sightings;
  /** Interval of the shared polls, ms. */
  interval: number;
  /** Host printer of a group, by the account's list; null: not known. */
  hostOf: (clusterId: string) => string | null;
  /** Whether an attempt of the queue names a machine by one of its ids or, where it was alone, by its cluster. */
  isNamed: (id: string) => boolean;
  /** Whether the service does not know a cluster any more. */
  isGone: (clusterId: string) => boolean;
  /** Whether a mark in another cluster's checkpoint says that a gate of a machine was written. */
  isMarked: (machine: string) => boolean;
  /** Called once everything that was seen of a machine is written. */
  changed: () => void;
}

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

/** The plate gates of the account's machines, which all its queues share: they follow what statuses show. */
export class PlateGates {
  readonly #deps: PlateGatesDeps;
  readonly #records: GateRecords;
  readonly #unwritten = new Map<string, Unwritten>();
  /** The last statuses of machines in clusters that they had left, by gate, until these are written. */
  readonly #farewells = new Map<string, readonly Farewell[]>();
  /** Machines that the marks in the checkpoints of all clusters name, once they were needed. */
  #marked: Promise<ReadonlySet<string>> | undefined;
  /** Of the names of machines. */
  readonly #prefix: string;

  constructor(deps: PlateGatesDeps) {
    this.#deps = deps;
    this.#records = deps.records;
    this.#prefix = JSON.stringify(deps.store.scope);
  }

  get all(): PlateGate[] {
    return this.#records.all;
  }

  /** The gate of a printer; undefined before its first sight, and while something seen of it is not written. */
  of(clusterId: string, printerId: string | null): PlateGate | undefined {
    const gateId = this.idOf(clusterId, printerId);
    return gateId === undefined || this.isBehind(gateId) ? undefined : this.#records.get(gateId);
  }

  /** Whether the gate of a machine that was last seen in a cluster knows the end of a printing. */
  hasEnded(clusterId: string, clusterJobId: string): boolean {
    return this.all.some(
      (gate) => gate.clusterId === clusterId && (gate.ended?.id === clusterJobId || gate.known.includes(clusterJobId)),
    );
  }

  /** Id of the gate of a printer; undefined: no machine is known at this place. */
  idOf(clusterId: string, printerId: string | null): string | undefined {
    return this.#records.shown(clusterId)?.gates.get(printerId) ?? this.#lastSeenAt(clusterId, printerId);
  }

  /**
   * Gates of machines that the last status of a cluster lacks, although they may be there still; undefined while something seen
   * of one is not written.
   */
  missingIn(clusterId: string): (PlateGate | undefined)[] {
    return this.#records.missingIn(clusterId).map((gate) => (this.isBehind(gate.gateId) ? undefined : gate));
  }

  /** A printer with its gate; of a cluster that no status has shown since the start, all that were last seen there as well. */
  placed({ clusterId, printerId }: PrinterTarget): PlacedMachine[] {
    const gateId = this.idOf(clusterId, printerId);
    const known = gateId === undefined ? this.#records.index.in(clusterId) : [];
    return [{ clusterId, printerId, gateId }, ...known];
  }

  /** Gate of the printer that was last seen at a place; undefined: none was, or several were. */
  #lastSeenAt(clusterId: string, printerId: string | null): string | undefined {
    const [found, ...others] = this.#records.index.in(clusterId).filter((gate) => gate.printerId === printerId);
    return others.length === 0 ? found?.gateId : undefined;
  }

  /** Whether a gate was that of a place, whose machine has another one. */
  isReplaced(gate: PlateGate): boolean {
    return this.#records.isReplaced(gate);
  }

  /** Whether something that was seen of a machine is not written yet. */
  isBehind(gateId: string): boolean {
    return this.#unwritten.has(gateId);
  }

  /**
   * Follows the printers of a cluster. Rejects if a change can't be written; the next status tries again.
   * @param requestedAt when the status was requested, monotonic, ms
   */
  async observe(status: ClusterStatus, requestedAt = this.#deps.clock.monotonic()): Promise<void> {
    const { sightings } = this.#deps;
    const { clusterId, online, stale, printers } = status;
    if (online === false) sightings.miss(this.#nameOf(clusterId), []);
    // The lists of an offline printer may be old.
    if (online === false || stale) return;
    if (printers.length === 0) await this.#followHidden(status, requestedAt);
    const shown = this.#recognise(status, requestedAt);
    const left = this.#leftOf(clusterId, shown, requestedAt);
    sightings.miss(
      this.#nameOf(clusterId),
      shown.map(({ gateId }) => this.#nameOf(gateId)),
    );
    const isPlain = printers.length === 1 && left.length === 0;
    const unplaced = isPlain ? NONE_UNPLACED : this.#unplaced(status, shown);
    const work = left.map((gate) => this.#followLeft(gate, farewellOf(status, unplaced)));
    const replaced: PlateGate[] = [];
    for (const one of shown) {
      const { gateId, gate } = one;
      if (sightings.isOutdated(this.#nameOf(gateId), requestedAt) || this.#records.isNewer(gateId)) continue;
      if (this.#farewells.has(gateId)) work.push(this.#writeLeft(gateId));
      const areOnline = one.printers.every((printer) => isOnline(status, printer));
      const sight = this.#sightOf(one, status, unplaced, requestedAt, areOnline);
      if (gate && gate.gateId !== gateId) replaced.push(gate);
      const known = gate?.gateId === gateId ? gate : gate && { ...gate, gateId };
      const following = known ? this.#follow(known, sight) : areOnline ? this.#meet(one, sight) : null;
      if (following) work.push(following);
    }
    if (work.length > 0) await allToTheirEnds(work);
    for (const { gateId } of replaced) await this.#records.forget(gateId);
    if (shown.length > 0) sightings.read(this.#nameOf(clusterId), requestedAt);
  }

  /** Follows the prints of a status that shows no printer. Rejects if a change can't be written: the next status tries again. */
  async #followHidden({ clusterId, jobs, history, receivedAt }: ClusterStatus, requestedAt: number): Promise<void> {
    const here = this.#records.index.in(clusterId);
    const at = Date.parse(receivedAt);
    const prints = here.length === 0 ? [] : [...history.toReversed(), ...jobs.filter(isOnPlate)];
    for (const job of prints) {
      const { clusterJobId, printerId } = job;
      const named = here.filter(({ ownIds }) => printerId !== null && ownIds.includes(printerId));
      const isOthers = (gateId: string) => printerId !== null && this.#records.index.isOther(printerId, gateId);
      const [gate, ...others] = named.length > 0 ? named : here.filter(({ gateId }) => !isOthers(gateId));
      if (!gate || others.length > 0 || (clusterJobId && this.#isElsewhere(clusterJobId, gate.gateId))) continue;
      const { gateId } = gate;
      const seen = (before: PlateGate) => withHidden(before, job, history, at);
      const isKnown = seen(gate) === gate || this.isBehind(gateId) || this.#records.isNewer(gateId);
      if (isKnown || this.#deps.sightings.isOutdated(this.#nameOf(gateId), requestedAt)) continue;
      await this.#records.update(gateId, (current) => current && seen(current));
      this.#deps.changed();
    }
  }

  /** Begins the gate of a machine at its first sight. Rejects while the store can't be read or written. */
  async #meet({ gateId, machine }: Shown, sight: Sight): Promise<void> {
    await this.#follow(newGate(gateId, sight, await this.#isLost(machine)), sight);
  }

  /** The machines of a status, and their gates. */
  #recognise(status: ClusterStatus, requestedAt: number): Shown[] {
    const { clusterId } = status;
    const hostId = this.#deps.hostOf(clusterId);
    const found: Shown[] = [];
    const places = new Map<string | null, string>();
    for (const printer of status.printers) {
      const machine = machineOf(printer, status, hostId);
      const gate = this.#records.index.find(machine);
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
    const [only, ...others] = status.printers;
    const onlyId = others.length === 0 ? only?.printerId : undefined;
    const missing = this.#missingFrom(clusterId, found, requestedAt);
    if (places.size > 0) this.#records.show(clusterId, { gates: places, onlyId, missing });
    return found;
  }

  /** Machines that a status lacks, and that may be there still: a single odd list proves nothing. */
  #missingFrom(clusterId: string, shown: readonly Shown[], requestedAt: number): string[] {
    const { sightings } = this.#deps;
    const isMissing = (gate: PlateGate) => {
      const machine = this.#nameOf(gate.gateId);
      // One that was alone in an earlier process was replaced.
      const isMember = gate.printerId !== null || sightings.isSeen(machine);
      return (
        isMember && !isAmong(shown, gate) && sightings.isFirstWithout(this.#nameOf(clusterId), machine, requestedAt)
      );
    };
    return this.#records.index.in(clusterId).flatMap((gate) => (isMissing(gate) ? gate.gateId : []));
  }

  /**
   * Gates of machines that have left a cluster, and for which its status is the first since then: the cluster may have ended
   * their prints after it was read last. A cluster from which a machine has come, and that was not read since, may be the same
   * one under its former id.
   */
  #leftOf(clusterId: string, shown: readonly Shown[], requestedAt: number): PlateGate[] {
    const { sightings } = this.#deps;
    const { index } = this.#records;
    const isReadWithout = (id: string, gate: PlateGate) =>
      sightings.isReadWithout(this.#nameOf(id), this.#nameOf(gate.gateId));
    const found = new Set<PlateGate>();
    const add = (gates: readonly PlateGate[], isMeant: (gate: PlateGate) => boolean) => {
      for (const gate of gates)
        if (!isAmong(shown, gate) && !this.#records.isNewer(gate.gateId) && isMeant(gate)) found.add(gate);
    };
    const isCurrent = ({ gateId }: PlateGate) => !sightings.isOutdated(this.#nameOf(gateId), requestedAt);
    const hasMovedBefore = ({ gateId }: PlateGate) => !sightings.isBeforeMove(this.#nameOf(gateId), requestedAt);
    if (shown.length > 0) {
      add(index.in(clusterId), (gate) => isCurrent(gate) && !isReadWithout(clusterId, gate));
      add(this.#records.unreadIn(clusterId), hasMovedBefore);
    }
    for (const { gate } of shown)
      if (gate && gate.clusterId !== clusterId && !isReadWithout(gate.clusterId, gate)) {
        add(index.in(gate.clusterId), () => true);
        add(this.#records.unreadIn(gate.clusterId), hasMovedBefore);
      }
    return found.size === 0 ? NO_GATES : [...found];
  }

  /** Records what a cluster shows of a machine that has left it. Rejects if that can't be written: a later status tries again. */
  async #followLeft({ gateId }: PlateGate, farewell: Farewell): Promise<void> {
    const known = this.#records.get(gateId);
    const before = this.#farewells.get(gateId) ?? [];
    if (before.length === 0 && known && withFarewell(known, farewell) === known) return;
    // Later, the gates of other machines know its prints.
    this.#farewells.set(gateId, [...before, farewell]);
    await this.#writeLeft(gateId);
  }

  async #writeLeft(gateId: string): Promise<void> {
    const all = this.#farewells.get(gateId) ?? [];
    await this.#records.update(gateId, (gate) => gate && all.reduce(withFarewell, gate));
    const left = (this.#farewells.get(gateId) ?? []).filter((one) => !all.includes(one));
    if (left.length > 0) this.#farewells.set(gateId, left);
    else this.#farewells.delete(gateId);
    this.#deps.changed();
  }

  /** Whether nobody will ever read what has ended in a cluster that a machine has left, also under another id of the cluster. */
  #isGone(clusterId: string, gateId: string): boolean {
    const isAlone = () => this.#records.index.in(clusterId).every((gate) => gate.gateId === gateId);
    return this.#deps.isGone(clusterId) && isAlone() && !this.#farewells.has(gateId);
  }

  #sightOf(
    { gateId, gate, machine, printers }: Shown,
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
    // A printer that is left of a group lists the prints of its other members as well.
    const isOthers = ({ printerId }: PrintJob) =>
      printerId !== null && printerId !== machine.ownId && this.#records.index.isOther(printerId, gateId);
    const here = (all: readonly PrintJob[]) => all.filter(isAlone ? (job) => !isOthers(job) : isHere);
    const jobs = here(status.jobs);
    // A print without an id counts as one of which no job tells.
    const isBusy = printers.some(isBusyPrinter) || jobs.some(isNameless);
    const { sightings, interval, clock } = this.#deps;
    const isGone = (id: string) => this.#isGone(id, gateId);
    const isUnlisted = isBusy && !jobs.some(tellsOfPrint);
    const seen = { clusterId: this.#nameOf(clusterId), requestedAt, isOnline: areOnline, isUnlisted };
    const from = gate && gate.clusterId !== clusterId ? this.#nameOf(gate.clusterId) : undefined;
    const found = sightings.see(this.#nameOf(gateId), seen, { from, interval, now: clock.monotonic() });
    // Each field by its own name: spreads make such an object slow to build, and each status needs one.
    return {
      clusterId,
      printerId: printerIdOf(printers[0] as Printer, status),
      clusterName: name,
      ownId: machine.ownId,
      hostGuid: machine.hostGuid,
      jobs,
      history: here(status.history),
      unplaced: unknownOf(unplaced),
      isBusy,
      isIdle: printers.every((printer) => printer.status === 'idle'),
      isShared: printers.length > 1,
      isElsewhere: (id) => this.#isElsewhere(id, gateId),
      hasGap: found.hasGap,
      wasUnlisted: found.wasUnlisted,
      isLongUnlisted: found.isLongUnlisted,
      isFromUnread: found.isFromUnread,
      wasUnwatched: found.wasUnwatched,
      isGone,
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
    return this.#records.all.some((gate) => gate.gateId !== gateId && knows(gate, id));
  }

  /** Whether a machine without a gate had one, which was lost. Rejects while the store can't be read. */
  async #isLost(machine: Machine): Promise<boolean> {
    const { store, isNamed, isMarked } = this.#deps;
    const { ownId, hostGuid, clusterId } = machine;
    const marked = list(record(await store.get(store.checkpointKey(clusterId)))?.gates);
    if ([ownId, hostGuid, gateIdOf(machine)].some((id) => id !== null && marked.includes(id))) return true;
    const ids = [ownId, hostGuid].filter((id) => id !== null);
    if (ids.some((id) => isNamed(id) || isMarked(id))) return true;
    if (this.#mayBeClosedHost(machine)) return true;
    // Nothing loads the checkpoint of a former cluster id.
    const all = await this.#allMarked();
    if (ids.some((id) => all.has(id))) return true;
    // Of a group, the others may be meant.
    if (this.#records.index.in(clusterId).length > 0) return false;
    return isNamed(clusterId) || (await store.get(store.keyOf('queue-printer', clusterId))) !== undefined;
  }

  #allMarked(): Promise<ReadonlySet<string>> {
    return (this.#marked ??= this.#readMarks().catch((thrown: unknown) => {
      this.#marked = undefined;
      throw thrown;
    }));
  }

  /** Reads the marks in all checkpoints; one that can't be read has none. Rejects while none can be read. */
  async #readMarks(): Promise<ReadonlySet<string>> {
    const { store } = this.#deps;
    const marked = new Set<string>();
    for await (const { value } of store.entries(store.checkpointKey(), () => undefined))
      for (const machine of list(record(value)?.gates)) if (typeof machine === 'string') marked.add(machine);
    return marked;
  }

  /** Whether a new member may be the host of its group under another id, and the host's plate is not clear. */
  #mayBeClosedHost({ possibleGuid, clusterId }: Machine): boolean {
    const host = possibleGuid === null ? undefined : this.#records.index.withGuid(possibleGuid);
    if (!host?.ended || isCleared(host.ended, 'confirm')) return false;
    return !this.#records.here(clusterId).some(({ gateId }) => gateId === host.gateId);
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
      await this.#records.update(gateId, (current) => {
        applied = sights.length;
        return sights.reduce(observed, current ?? first);
      });
      sights.splice(0, applied);
    } while (sights.length > 0);
    this.#unwritten.delete(gateId);
    this.#deps.changed();
  }

  /** Name of a machine or a cluster among those of all accounts in this process. */
  #nameOf(id: string): string {
    return this.#prefix + id;
  }
}

/** Whether a status shows the machine of a gate. */
const isAmong = (shown: readonly Shown[], gate: PlateGate): boolean =>
  shown.some((one) => one.gate === gate || one.gateId === gate.gateId);

/** Of ended prints without a printer, those that no gate knows. */
const unknownOf = (unplaced: ReadonlyMap<PrintJob, readonly string[]>): readonly PrintJob[] =>
  unplaced.size === 0 ? NONE : [...unplaced].flatMap(([job, gates]) => (gates.length === 0 ? [job] : []));

const farewellOf = (
  { clusterId, jobs, history, receivedAt }: ClusterStatus,
  unplaced: ReadonlyMap<PrintJob, readonly string[]>,
): Farewell => ({ clusterId, jobs, history, unplaced: unknownOf(unplaced), at: Date.parse(receivedAt) });

const NONE: readonly PrintJob[] = [];
const NO_GATES: PlateGate[] = [];
const NONE_UNPLACED: ReadonlyMap<PrintJob, readonly string[]> = new Map();

/** Whether the printer's own status is that of a print, so that a missing job proves nothing. */
const isBusyPrinter = ({ status }: Printer): boolean => status === 'printing' || status === 'pre_print';
