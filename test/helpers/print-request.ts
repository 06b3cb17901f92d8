import type { PrintRequest } from '../../lib/print/print-request';
import type { Simulator } from '../../simulator';

/** Returns the source of a file in memory. */
export const inMemory =
  (text = 'G28\n', name = 'part.gcode'): PrintRequest['source'] =>
  () =>
    Promise.resolve({ kind: 'bytes', bytes: Buffer.from(text), name });

/** Returns the source of a job that is stored already. */
export const stored =
  (jobId: string): PrintRequest['source'] =>
  () =>
    Promise.resolve({ kind: 'stored', jobId });

/** Print of a small file at once, without a wait for its end. */
export const PRINT = {
  ...{ source: inMemory(), jobName: '', printKey: '', print: true, startNow: true, waitFor: 'dispatched' },
  ...{ compress: false, reuseUpload: true, dryRun: false },
  onProgress: () => undefined,
} satisfies Partial<PrintRequest>;

/** Counts a file's printings on all clusters, queued or finished. */
export function printingsOf({ world }: Simulator, jobName: string): number {
  const jobs = world.clusters().flatMap(({ queue, history }) => [...queue, ...history]);
  const stored = world.storedJobs().filter((job) => job.jobName === jobName);
  const ids = new Set<string | null>(stored.map(({ jobId }) => jobId));
  return jobs.filter(({ jobId }) => ids.has(jobId)).length;
}

/** Stores a file as another client of the first user does, uploaded unless changed. Returns its id. */
export function storeElsewhere(
  { world, users }: Simulator,
  jobName: string,
  { uploaded = true, organizationId = users[0]?.organizations[0]?.organizationId ?? '' } = {},
): string {
  const about = { jobName, fileSize: 1234, contentType: 'text/plain', origin: null, libraryProjectId: null };
  const user = { organizationId, userId: users[0]?.userId ?? '', sourceFileId: null };
  const job = world.register({ ...about, ...user });
  const arrived = { sha256: 'f'.repeat(64), printSeconds: 600, parsed: true, needs: [] };
  if (uploaded) world.stored(job, { size: job.fileSize, ...arrived });
  return job.jobId;
}
