import type { ClusterStatus } from '../service/cluster-status';
import type { PrintJob } from '../service/print-job';

/** A status as text without the names of its jobs' fields; the history, which rarely changes, by itself. */
export const packHistory = ({ history, clusterId }: ClusterStatus): string =>
  JSON.stringify(rowsOf(history, clusterId));

export function packRest(status: ClusterStatus): string {
  const { jobs, history: _history, current, ...rest } = status;
  return JSON.stringify([rest, rowsOf(jobs, status.clusterId), current ? jobs.indexOf(current) : -1]);
}

type Rest = Omit<ClusterStatus, 'jobs' | 'history' | 'current'>;

export function unpackStatus(packedHistory: string, packedRest: string): ClusterStatus {
  const [rest, rows, at] = JSON.parse(packedRest) as [Rest, Row[], number];
  const jobs = jobsOf(rows, rest.clusterId);
  const history = jobsOf(JSON.parse(packedHistory) as Row[], rest.clusterId);
  return { ...rest, jobs, history, current: jobs[at] ?? null };
}

/** Both in one, for the store. */
export const statusText = (packedHistory: string, packedRest: string): string => `[${packedHistory},${packedRest}]`;

/** What `statusText` gave; null for anything else. */
export function readStatusText(text: string): ClusterStatus | null {
  const [history, rest, ...others] = JSON.parse(text) as unknown[];
  return others.length > 0 ? null : unpackStatus(JSON.stringify(history), JSON.stringify(rest));
}

/** Nearly all jobs are their cluster's own. */
const OWN = 0;

/** Each field by its name, and no loop: this is done with a dozen jobs, and costs half as much so. */
const rowOf = (job: PrintJob, clusterId: string) =>
  [
    job.clusterJobId,
    job.jobId,
    job.clusterId === clusterId ? OWN : job.clusterId,
    job.name,
    job.status,
    job.state,
    job.progress,
    job.timeElapsed,
    job.timeTotal,
    job.timeRemaining,
    job.printerId,
    job.printerName,
    job.owner,
    job.sentFrom,
    job.createdAt,
    job.changesRequired,
  ] as const;

type Row = ReturnType<typeof rowOf>;

const rowsOf = (jobs: readonly PrintJob[], clusterId: string): Row[] => jobs.map((job) => rowOf(job, clusterId));

const jobsOf = (rows: readonly Row[], clusterId: string): PrintJob[] => rows.map((row) => jobOf(row, clusterId));

function jobOf(row: Row, own: string): PrintJob {
  const [clusterJobId, jobId, clusterId, name, status, state, progress, timeElapsed, timeTotal, timeRemaining] = row;
  const [, , , , , , , , , , printerId, printerName, owner, sentFrom, createdAt, changesRequired] = row;
  return {
    clusterJobId,
    jobId,
    clusterId: clusterId === OWN ? own : clusterId,
    name,
    status,
    state,
    progress,
    timeElapsed,
    timeTotal,
    timeRemaining,
    printerId,
    printerName,
    owner,
    sentFrom,
    createdAt,
    changesRequired,
  };
}
