import { newerValue, PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import { phrase } from '../../words/sentence';
import {
  acceptedBy,
  isFollowed,
  isLastPrint,
  knows,
  type Outcome,
  type PlateGate,
  type PlateVerdict,
  replacesLost,
} from '../model/gate';
import { closedBy, damagedGate, named, settledBy } from '../model/gate-sights';
import { confirmed, holding, judgesOf, type JudgedPrint, type Judgement, verdictOf } from '../model/gate-verdicts';
import { gateIdOf, isNil } from '../model/machine';
import { type Attempt, machinesOf, type PrinterTarget } from '../model/types';
import type { GateRecords } from './gate-records';
import type { PlateGates } from './gates';

interface PrintedPlatesDeps {
  records: GateRecords;
  gates: Pick<PlateGates, 'isBehind'>;
  clock: Clock;
  /** The print of the queue at a printer whose copy waits for its verdict, the latest; null: there is none. */
  awaitedAt: (printer: PrinterTarget) => string | null;
}

/** A print of the queue, as its attempt records it. */
type SentPrint = Pick<Attempt, 'clusterId' | 'printerId' | 'startedAt' | 'machines' | 'begun'>;

/** The way from a print of the queue to the plate on which its part lies, and to the verdict on it. */
export class PrintedPlates {
  readonly #records: GateRecords;
  readonly #gates: PrintedPlatesDeps['gates'];
  readonly #clock: Clock;
  readonly #awaitedAt: PrintedPlatesDeps['awaitedAt'];
  /** Gates that name the prints that wait for their verdicts, as they were last. */
  readonly #held = new WeakMap<SentPrint, PlateGate>();

  constructor({ records, gates, clock, awaitedAt }: PrintedPlatesDeps) {
    this.#records = records;
    this.#gates = gates;
    this.#clock = clock;
    this.#awaitedAt = awaitedAt;
  }

  // A print

  /** Number of prints that have begun on the machines of a cluster, and on others that were there, by gate. */
  begunOn(clusterId: string, others: readonly string[] = []): Record<string, number> {
    const all = [...this.#records.here(clusterId), ...this.#withIds(others)];
    return Object.fromEntries(all.map(({ gateId, begun }) => [gateId, begun]));
  }

  /**
   * Closes the gate of the machine on which a print has ended; of a group without a known one, those of all members. Resolves
   * when that is durable.
   * @param names all names of the print, its id first
   */
  async close(print: SentPrint, names: readonly string[], outcome: Outcome): Promise<void> {
    const found = this.#find(print, names);
    const [gate] = found;
    if (!gate || found.length > 1) return this.settle(print, names);
    const [id = ''] = names;
    const now = this.#clock.now();
    const possible = machinesOf(print);
    const wasSeen = print.startedAt !== null && (print.printerId !== null || possible.length === 1);
    await this.#records.update(gate.gateId, (current) => closedBy(current ?? gate, id, outcome, now, wasSeen));
    const isSeen = print.printerId !== null || print.startedAt !== null || gate.printerId !== null;
    if (isSeen || possible.length < 2) return;
    // A printer that is left alone lists all prints of its group, also those of members that have left it.
    for (const gateId of possible)
      await this.#records.update(gateId, (one) => {
        const isOver = one && one.ended?.id !== id && isFollowed(one, id, begunBefore(print, gateId));
        return isOver ? one : one && settledBy(one, id, now);
      });
  }

  /**
   * Closes the gate of the machine that has printed a print of unknown outcome; if nobody knows which has, of every one that
   * could have taken it. Resolves when that is durable.
   * @param couldTake whether a member of a group suits the print
   */
  async settle(
    print: SentPrint,
    names: readonly string[],
    couldTake: (printer: PrinterTarget) => boolean = () => true,
  ): Promise<void> {
    const [id = ''] = names;
    const found = this.#find(print, names);
    const all = found.length > 1 ? found.filter(couldTake) : found;
    const now = this.#clock.now();
    const isOver = (one: PlateGate) => isFollowed(one, id, begunBefore(print, one.gateId));
    // Without a plate that waits for it, the part would wait for its verdict for ever.
    const isTaken = all.every(isOver);
    for (const one of all)
      await this.#records.update(one.gateId, (current) => {
        const before = current ?? one;
        if (!isOver(before)) return settledBy(before, id, now);
        return isTaken ? acceptedBy(before, id) : before;
      });
    if (found.length > 0) return;
    // These machines were not seen since their records were lost.
    for (const unseen of unseenGates(print, now))
      await this.#records.update(unseen.gateId, (current) => settledBy(current ?? unseen, id, now));
  }

  /**
   * Has the gate of a print whose copy waits for its verdict name the print: one in the place of a lost or damaged record does
   * not know it. Resolves with the verdict if others have followed the print; null: it lies there, or nobody has seen its
   * machine since. Rejects if the gate can't be written.
   * @param print the same object as long as nothing changes
   * @param names all names of the print, its id first
   */
  async hold(print: SentPrint, names: readonly string[]): Promise<ReturnType<typeof verdictOf>> {
    const known = this.#held.get(print);
    if (known && this.#records.get(known.gateId) === known && !this.#records.isReplaced(known)) return null;
    // A gate that can't be read now may know it.
    if (this.#records.unseen) return null;
    const [id = ''] = names;
    const now = this.#clock.now();
    const held = (gate: PlateGate) => (verdictOf(gate, names) ? gate : holding(gate, id, now));
    const verdicts: ReturnType<typeof verdictOf>[] = [];
    for (const gate of this.#find(print, names)) {
      const { gateId } = gate;
      if (this.#records.isNewer(gateId) || this.#gates.isBehind(gateId)) return null;
      if (held(gate) !== gate) await this.#records.update(gateId, (current) => held(current ?? gate));
      const after = this.#records.get(gateId) ?? gate;
      verdicts.push(verdictOf(after, names));
      if (verdicts.at(-1) === null) this.#held.set(print, after);
    }
    return verdicts.includes(null) ? null : (verdicts[0] ?? null);
  }

  /**
   * Names a settled print on the plate of the printer that has shown its end. Rejects if that can't be written.
   * @param key its name so far
   */
  async name(printer: PrinterTarget, key: string, id: string): Promise<void> {
    const [gate, ...others] = this.#find({ ...printer, startedAt: null }, []);
    if (gate && others.length === 0 && named(gate, key, id) !== gate)
      await this.#records.update(gate.gateId, (current) => named(current ?? gate, key, id));
  }

  /**
   * The gates of the machines on which a print may lie. One where something shows which, by the first of these that applies:
   *
   * 1. the machine has shown it under one of its names, and no other print since;
   * 2. the machine has shown it, and other prints since;
   * 3. the machine has the printer id that the attempt names, by its gate, or by the last status while its gate can't be written.
   *
   * In each, a machine in the print's cluster precedes one elsewhere. If none applies, the machines that may have taken it:
   *
   * 4. those that the attempt stores, wherever they are now;
   * 5. if it stores none, those of its cluster.
   *
   * If the attempt names a printer or stores machines, and no gate of these is known, it was lost: then only machines whose gates
   * replace a lost record.
   */
  #find(print: SentPrint, names: readonly string[]): PlateGate[] {
    const { clusterId, printerId } = print;
    const here = [...this.#records.here(clusterId), ...this.#records.index.in(clusterId)];
    // A place whose printer has a gate of its own is no machine.
    const all = [...here, ...this.#records.all].filter((gate) => !this.#records.isReplaced(gate));
    const found =
      all.find((gate) => names.some((name) => isLastPrint(gate, name))) ??
      all.find((gate) => names.some((name) => knows(gate, name))) ??
      all.find((gate) => isNamed(gate, print)) ??
      this.#records.shownAs(print);
    if (found) return [found];
    const machines = machinesOf(print);
    const stored = this.#withIds(machines);
    const possible = stored.length > 0 ? stored : this.#records.here(clusterId);
    const isLost = printerId !== null || (machines.length > 0 && stored.length === 0);
    return isLost ? possible.filter(replacesLost) : possible;
  }

  #withIds(gateIds: readonly string[]): PlateGate[] {
    return gateIds.flatMap((gateId) => this.#records.get(gateId) ?? []);
  }

  // A verdict

  /**
   * Records a clear plate and a verdict on its last print, also while the printer is offline. Throws NOT_FOUND for an unknown
   * printer, and NOT_ACCEPTED for a verdict on another print.
   * @param judged what the queue knows of a print, by its id
   * @param isTrial whether nothing is recorded
   */
  async confirm(
    target: PrinterTarget,
    verdict: Judgement,
    judged: (id: string) => Omit<JudgedPrint, 'known'>,
    isTrial = false,
  ): Promise<void> {
    const now = this.#clock.now();
    const gate = this.#awaitingUnseen(target, now) ?? this.#meantBy(target);
    if (this.#records.isNewer(gate.gateId)) throw newerValue('queue-plate');
    const change = (current: PlateGate | undefined) => {
      const before = current ?? gate;
      const id = before.ended?.id ?? '';
      // One print may have closed several gates, but only a print that has a name of its own.
      const { all } = this.#records;
      const others = judgesOf(before) === id ? all.filter(({ gateId }) => gateId !== before.gateId) : [];
      const known = verdictOn(id, [before, ...others]);
      return confirmed(before, verdict, { ...judged(id), known }, now);
    };
    if (isTrial) change(this.#records.get(gate.gateId));
    else await this.#records.update(gate.gateId, change);
  }

  /** A gate for a print that waits for its verdict, at a machine whose gate was lost, and that was not seen since. */
  #awaitingUnseen(target: PrinterTarget, now: number): PlateGate | undefined {
    const awaited = this.#records.here(target.clusterId).length === 0 ? this.#awaitedAt(target) : null;
    return awaited === null ? undefined : holding(unseenGate(target, now), awaited, now);
  }

  /** The gate of the printer that a message names. It may name the only printer of a cluster by its own id, or leave it out. */
  #meantBy({ clusterId, printerId }: PrinterTarget): PlateGate {
    const here = this.#records.here(clusterId);
    const only = here.find((gate) => gate.printerId === null) ?? (here.length === 1 ? here[0] : undefined);
    const onlyId = this.#records.shown(clusterId)?.onlyId;
    const all = [...here, ...this.#records.index.in(clusterId)];
    const meant = all.find((gate) => isNamed(gate, { clusterId, printerId }));
    const isOther = printerId !== null && only?.printerId === null && onlyId !== undefined && printerId !== onlyId;
    if (!meant && isOther)
      throw new PrintingError('NOT_FOUND', phrase`Another printer is at this place: check msg.printerId.`);
    const found = meant ?? (only?.printerId === null || printerId === null ? only : undefined);
    if (found) return found;
    const sentence =
      here.length > 0
        ? phrase`The printer is a group: set msg.printerId to the printer whose plate is clear.`
        : phrase`The queue has not seen this printer yet: check msg.clusterId.`;
    throw new PrintingError(here.length > 0 ? 'INVALID_INPUT' : 'NOT_FOUND', sentence);
  }

  /** The verdicts on all prints, by the id of the print: of several gates, the latest. */
  verdicts(): Map<string, PlateVerdict> {
    const found = new Map<string, PlateVerdict>();
    for (const { verdicts } of this.#records.all)
      for (const verdict of verdicts)
        if (verdict.at >= (found.get(verdict.id)?.at ?? 0)) found.set(verdict.id, verdict);
    return found;
  }
}

/** Whether the gate is that of the printer with this id; one without an id of its own is known by its cluster. */
const isNamed = (gate: PlateGate, { clusterId, printerId }: PrinterTarget): boolean =>
  printerId !== null &&
  (gate.ownIds.includes(printerId) || (gate.clusterId === clusterId && gate.printerId === printerId));

/** Prints that had begun on a machine when the outcome of a print became unknown. */
const begunBefore = ({ begun }: SentPrint, gateId: string): number => begun?.[gateId] ?? Infinity;

/** Closed gates of the machines that may have taken a print; if nobody knows them, of whatever appears in its cluster. */
function unseenGates(print: SentPrint, now: number): PlateGate[] {
  const machines = machinesOf(print);
  const { clusterId, printerId } = print;
  if (printerId !== null || machines.length === 0) return [unseenGate({ clusterId, printerId }, now)];
  const isAlone = machines.length === 1;
  return machines.map((gateId) => {
    const ownIds = gateId === clusterId ? [] : [gateId];
    return damagedGate({ gateId, ownIds, hostGuid: null, clusterId, printerId: isAlone ? null : gateId }, now);
  });
}

/** A closed gate of a printer that nobody has seen. */
function unseenGate({ clusterId, printerId }: PrinterTarget, now: number): PlateGate {
  const ownId = printerId === null || isNil(printerId) ? null : printerId;
  const gateId = gateIdOf({ ownId, hostGuid: null, clusterId });
  return damagedGate({ gateId, ownIds: ownId === null ? [] : [ownId], hostGuid: null, clusterId, printerId }, now);
}

/** Last verdict of a person on a print at one of the gates. */
const verdictOn = (id: string, gates: readonly PlateGate[]): PlateVerdict | undefined =>
  gates
    .flatMap(({ verdicts }) => verdicts.filter((verdict) => verdict.id === id && verdict.at > 0))
    .reduce<PlateVerdict | undefined>((last, verdict) => (last && last.at >= verdict.at ? last : verdict), undefined);
