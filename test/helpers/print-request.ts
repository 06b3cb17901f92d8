import type { PrintRequest } from '../../lib/print/print-request';
import type { Simulator } from '../../simulator';

/** Returns the source of a file in memory. */
export const inMemory =
  (text = 'G28\n', name = 'part.gcode'): PrintRequest['source'] =>
  () =>
    Promise.resolve({ kind: 'bytes', bytes: Buffer.from(text), name });

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
