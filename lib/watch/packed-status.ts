import type { ClusterStatus } from '../service/cluster-status';
import type { PrintJob } from '../service/print-job';

/**
 * A status kept as text without the names of its jobs' fields: thousands of clusters wait in memory for the moment that
 * one can't be read, and each has a dozen jobs.
 */
export type PackedStatus = string & { readonly packed: unique symbol };

const FIELDS = [
  'clusterJobId',
  'jobId',
  'clusterId',
  'name',
  'status',
  'state',
  'progress',
  'timeElapsed',
  'timeTotal',
  'timeRemaining',
  'printerId',
  'printerName',
  'owner',
  'sentFrom',
  'createdAt',
  'changesRequired',
] as const satisfies readonly (keyof PrintJob)[];

/** A job of the columns alone: no field of a PrintJob is left out. */
type Row = Record<(typeof FIELDS)[number], unknown>;

export function pack(status: ClusterStatus): PackedStatus {
  const rows = (jobs: readonly PrintJob[]) => jobs.map((job) => FIELDS.map((field) => job[field]));
  const { jobs, history, current, ...rest } = status;
  const at = current ? jobs.indexOf(current) : -1;
  return JSON.stringify([rest, rows(jobs), rows(history), at]) as PackedStatus;
}

export function unpack(packed: PackedStatus): ClusterStatus {
  const [rest, jobs, history, at] = JSON.parse(packed) as [
    Omit<ClusterStatus, 'jobs'>,
    unknown[][],
    unknown[][],
    number,
  ];
  const read = (rows: unknown[][]) =>
    rows.map((row) => Object.fromEntries(FIELDS.map((field, index) => [field, row[index]])) as Row as PrintJob);
  const list = read(jobs);
  return { ...rest, jobs: list, history: read(history), current: list[at] ?? null };
}
