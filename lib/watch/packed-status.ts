import type { ClusterStatus } from '../service/cluster-status';
import type { PrintJob } from '../service/print-job';

type Rest = Omit<ClusterStatus, 'jobs' | 'history' | 'current'>;

/** A status but its history, as text without the names of its jobs' fields. */
export function packStatus(status: ClusterStatus): string {
  const { jobs, history: _history, current, ...rest } = status;
  const rows = jobs.map((job) => rowOf(job, status.clusterId));
  return JSON.stringify([rest, rows, current ? jobs.indexOf(current) : -1]);
}

export function unpackStatus(text: string, history: PrintJob[]): ClusterStatus {
  const [rest, rows, at] = JSON.parse(text) as [Rest, Row[], number];
  const jobs = rows.map((row) => jobOf(row, rest.clusterId));
  return { ...rest, jobs, history, current: jobs[at] ?? null };
}

/** Nearly all jobs are their cluster's own. */
const OWN = 0;

/** Each field by its name, and no loop: this is done with every job in every poll, and costs half as much so. */
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
