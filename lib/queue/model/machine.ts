import type { ClusterStatus } from '../../service/cluster';
import type { Printer } from '../../service/printer';

/** What identifies a machine wherever it appears (print queue, rule 3): alone, in a group, under another cluster id. */
export interface Machine {
  /** Id of the printer itself, which a factory reset changes; null: it has none of its own. */
  ownId: string | null;
  /** GUID of its electronics, where the status is known to speak of them. */
  hostGuid: string | null;
  /** GUID that may be that of its electronics, because nobody knows which member of the group is the host. */
  possibleGuid: string | null;
  /** Where it is: the last resort without both ids. */
  clusterId: string;
  /** Whether it is the only printer of its cluster. */
  isAlone: boolean;
  /** Whether it is known not to be the host of its group. */
  isGuest: boolean;
}

/** The id of printers that have none of their own (wire facts, trap 14). */
const NIL = /^[{]?0{8}-0{4}-0{4}-0{4}-0{12}[}]?$/;

export const isNil = (id: string): boolean => NIL.test(id);

/** Id of a printer in its cluster: null for the only one. */
export const printerIdOf = (printer: Printer, { printers }: { printers: readonly Printer[] }): string | null =>
  printers.length === 1 ? null : printer.printerId;

/**
 * The machine of a printer. The GUID of a cluster is that of its only printer, of a group's host, and of all members
 * without an id of their own.
 * @param listedHost the host printer of a group, by the list, which may be older than the status; null: not known
 */
export function machineOf(
  printer: Printer,
  { clusterId, hostGuid, printers }: ClusterStatus,
  listedHost: string | null,
): Machine {
  const { printerId } = printer;
  const ownId = printerId === null || isNil(printerId) ? null : printerId;
  const isAlone = printers.length === 1;
  const isHostKnown = printers.some((one) => one.printerId === listedHost);
  const isHost = isAlone || ownId === null || ownId === listedHost;
  return {
    ownId,
    hostGuid: isHost ? hostGuid : null,
    possibleGuid: isHost || isHostKnown ? null : hostGuid,
    clusterId,
    isAlone,
    isGuest: !isHost && isHostKnown,
  };
}

/** Name under which the gate of a machine is saved from its first sight on, whatever becomes of its ids. */
export const gateIdOf = ({ ownId, hostGuid, clusterId }: Pick<Machine, 'ownId' | 'hostGuid' | 'clusterId'>): string =>
  ownId ?? hostGuid ?? clusterId;

/** What a gate knows of its machine. */
interface Known {
  gateId: string;
  ownIds: readonly string[];
  hostGuid: string | null;
  clusterId: string;
  /** Null: the only printer of its cluster. */
  printerId: string | null;
}

interface MachineIndexOptions<T> {
  /** Whether a gate is closed: of several that fit, this one counts. */
  isClosed: (gate: T) => boolean;
  /** Whether a plate is clear for everybody, and no print is under way there. */
  isClear: (gate: T) => boolean;
}

/** Finds gates by the ids of their machines. */
export class MachineIndex<T extends Known> {
  readonly #byOwnId = new Map<string, Set<T>>();
  readonly #byGuid = new Map<string, Set<T>>();
  readonly #byCluster = new Map<string, Set<T>>();

  constructor(private readonly options: MachineIndexOptions<T>) {}

  /** Call after each change of a gate. */
  update(before: T | undefined, after: T | undefined): void {
    for (const [index, idsOf] of [
      [this.#byOwnId, ({ ownIds }: T) => ownIds],
      [this.#byGuid, ({ hostGuid }: T) => (hostGuid === null ? [] : [hostGuid])],
      [this.#byCluster, ({ clusterId }: T) => [clusterId]],
    ] as const) {
      for (const id of before ? idsOf(before) : []) {
        const others = index.get(id);
        others?.delete(before as T);
        if (others?.size === 0) index.delete(id);
      }
      for (const id of after ? idsOf(after) : []) index.set(id, (index.get(id) ?? new Set<T>()).add(after as T));
    }
  }

  /** Gates of machines that were last seen in a cluster. */
  in(clusterId: string): T[] {
    return [...(this.#byCluster.get(clusterId) ?? [])];
  }

  /** The gate of the machine with this GUID; of several, a closed one. */
  withGuid(guid: string): T | undefined {
    return this.#one(this.#byGuid.get(guid));
  }

  /** Whether a printer with this id is known, and only by other gates than `gateId`. */
  isOther(ownId: string, gateId: string): boolean {
    const found = [...(this.#byOwnId.get(ownId) ?? [])];
    return found.length > 0 && found.every((gate) => gate.gateId !== gateId);
  }

  /** The gate of a machine; undefined: none is known. */
  find(machine: Machine): T | undefined {
    const { ownId, hostGuid } = machine;
    const byId = ownId === null ? undefined : this.#one(this.#byOwnId.get(ownId));
    const byGuid = hostGuid === null ? undefined : this.withGuid(hostGuid);
    return byId ?? byGuid ?? this.#one(this.#inPlace(machine));
  }

  /** Gates that may be those of a machine by its place alone, because not all ids are known. */
  #inPlace({ ownId, hostGuid, clusterId, isAlone, isGuest }: Machine): readonly T[] {
    const here = this.in(clusterId);
    const isEitherUnknown = (gate: T) => gate.hostGuid === null || (hostGuid === null && !isGuest);
    const nameless = here.filter(({ ownIds }) => ownIds.length === 0);
    const fitting = ownId === null ? nameless : nameless.filter(isEitherUnknown);
    if (fitting.length > 0 || !isAlone || here.length !== 1) return fitting;
    if (ownId === null) return here;
    // The printer that is left of a group may be another one than the member with this gate: a clear plate proves nothing.
    return here.filter((gate) => isEitherUnknown(gate) && (gate.printerId === null || !this.options.isClear(gate)));
  }

  #one(found: Iterable<T> | undefined): T | undefined {
    let first: T | undefined;
    for (const gate of found ?? []) {
      if (this.options.isClosed(gate)) return gate;
      first ??= gate;
    }
    return first;
  }
}
