import { readClusterStatus, statusRecord, type ClusterStatus, type StatusContext } from '../service/cluster-status';
import { readPrintJobs, type PrintJob } from '../service/print-job';
import { readFaults, type Fault } from '../service/printer';
import { records, text } from '../service/json-readers';

/** One status answer as events are made of it: the status, and what it does not show. */
export interface Observation {
  status: ClusterStatus;
  /** When it was made, where the status is of before. */
  at?: string;
  /** Null where the answer had no such list: it then says nothing of who is missing. */
  jobs: PrintJob[] | null;
  history: PrintJob[] | null;
  /** Faults by printer and by what tells them apart. A printer without either list of the answer is missing. */
  faults: Map<string, Map<string, Fault>>;
  hostPrinterId: string | null;
}

/** Reads the `data` of a status answer; null where it is none. */
export function observe(data: unknown, context: StatusContext & { hostPrinterId?: string | null }): Observation | null {
  const wire = statusRecord(data);
  if (!wire) return null;
  const status = readClusterStatus(wire, context);
  const { print_jobs: jobs, recently_completed: history } = wire;
  const faults = new Map<string, Map<string, Fault>>();
  for (const printer of records(wire.printers)) {
    const id = text(printer.uuid);
    const found = readFaults(printer);
    if (id !== null && found && !faults.has(id)) faults.set(id, found);
  }
  return {
    status,
    jobs: Array.isArray(jobs) ? status.jobs : null,
    history: Array.isArray(history) ? wholeHistory(history, status) : null,
    faults,
    hostPrinterId: context.hostPrinterId ?? status.printers[0]?.printerId ?? null,
  };
}

/** The status has no more than ten of them. */
const wholeHistory = (history: unknown[], { history: latest, clusterId }: ClusterStatus): PrintJob[] =>
  history.length === latest.length ? latest : readPrintJobs(history, clusterId);

/** When the observation was made, by the service's clock where it says. */
export const timeOf = ({ at, status }: Observation): string => at ?? status.generatedAt ?? status.receivedAt;

/** Whether absence means anything: an offline cluster's lists are old or empty (wire facts, trap 15). */
export const isReachable = ({ status }: Observation): boolean => status.online !== false;
