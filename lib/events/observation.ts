import { readClusterStatus, statusRecord, type ClusterStatus, type StatusContext } from '../service/cluster';
import { namesEnd } from '../service/job-words';
import { instanceId, lacksChanges, readPrintJobs, type PrintJob } from '../service/print-job';
import { type FaultLists, readFaults } from '../service/printer';
import { records, text } from '../service/json-readers';
import { machineOf, withNamedEnd } from './job-edges';

/** One status answer, prepared for events: the status, and facts that it doesn't show. */
export interface Observation {
  status: ClusterStatus;
  /** Time of the observation, if its status is older. */
  at?: string;
  /**
   * Lived time (`Checkpoint.lived`) at which it was asked for, and at which its answer arrived. The answer shows a moment
   * between them: what begins with it counts from its arrival, so that no wait seems longer than it is.
   */
  lived: number;
  arrived: number;
  /** The same, of the first poll that failed since the last observation that was delivered; absent without any. */
  staleFrom?: number | undefined;
  /** Null if the answer lacks this list, so that absence from it is meaningless. */
  jobs: PrintJob[] | null;
  history: PrintJob[] | null;
  /** Queued jobs whose record lacks the changes that they require, by id. */
  withoutChanges: ReadonlySet<string>;
  /** By printer. */
  faults: ReadonlyMap<string, FaultLists>;
  hostPrinterId: string | null;
  /** Machines that have named the end of a print in one of the longer words, now or before (reference 3.3). */
  namingEnds: readonly string[];
}

interface ObservationContext extends StatusContext {
  hostPrinterId?: string | null;
  /** Machines that have named an end before. */
  namingEnds?: readonly string[];
  lived: number;
  arrived: number;
  staleFrom?: number | undefined;
}

/** Reads the `data` of a status answer; null if it isn't one. */
export function observe(data: unknown, context: ObservationContext): Observation | null {
  const wire = statusRecord(data);
  if (!wire) return null;
  const status = readClusterStatus(wire, context);
  const { print_jobs: jobs, recently_completed: history } = wire;
  const faults = new Map<string, FaultLists>();
  for (const printer of records(wire.printers)) {
    const id = text(printer.uuid);
    if (id !== null && !faults.has(id)) faults.set(id, readFaults(printer));
  }
  const past = Array.isArray(history) ? wholeHistory(history, status) : null;
  const { namingEnds: known = [] } = context;
  const isNaming = status.jobs.some(namesEnd) || past?.some(namesEnd);
  const namingEnds = isNaming ? together(known, machinesNaming([...status.jobs, ...(past ?? [])])) : known;
  const named = (listed: PrintJob[]) =>
    namingEnds.length === 0 ? listed : listed.map((job) => withNamedEnd(job, namingEnds));
  // Nothing under way is replaced, so that `current` remains one of the jobs.
  status.jobs = named(status.jobs);
  status.history = named(status.history);
  return {
    status,
    lived: context.lived,
    arrived: context.arrived,
    staleFrom: context.staleFrom,
    jobs: Array.isArray(jobs) && !status.stale ? status.jobs : null,
    history: past && (past.length === status.history.length ? status.history : named(past)),
    withoutChanges: new Set(
      records(jobs)
        .filter(lacksChanges)
        .flatMap((job) => instanceId(job) ?? []),
    ),
    faults,
    hostPrinterId: context.hostPrinterId ?? status.printers[0]?.printerId ?? null,
    namingEnds,
  };
}

const machinesNaming = (jobs: readonly PrintJob[]): string[] => jobs.filter(namesEnd).map(machineOf);

/** Machines of one cluster that are remembered; more than any group has. */
const MACHINES = 100;

/** All machines of both lists, each once. */
export const together = (some: readonly string[], others: readonly string[]): readonly string[] =>
  others.every((machine) => some.includes(machine)) ? some : [...new Set([...some, ...others])].slice(-MACHINES);

/** The status holds at most ten jobs of the history; this returns all. */
const wholeHistory = (history: unknown[], { history: latest, clusterId }: ClusterStatus): PrintJob[] =>
  history.length === latest.length ? latest : readPrintJobs(history, clusterId);

/** Time of the observation, by the service's clock if reported. */
export const timeOf = ({ at, status }: Observation): string => at ?? status.generatedAt ?? status.receivedAt;

/** Whether absence is meaningful: an offline cluster's lists are stale or empty (wire facts, trap 15). */
export const isReachable = ({ status }: Observation): boolean => status.online !== false;
