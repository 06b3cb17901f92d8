import type { ClusterStatus } from '../../service/cluster';
import type { PrintJob } from '../../service/print-job';

type Rest = Omit<ClusterStatus, 'jobs' | 'history' | 'current'>;

/** Packs the volatile part of a status as text: everything but the jobs, and the figures of each job. */
export function packFigures({ jobs, history: _history, current, ...rest }: ClusterStatus): string {
  return JSON.stringify([rest, jobs.map(figuresOf), current ? jobs.indexOf(current) : -1]);
}

/** Restores the status from its packed figures and its stable jobs. */
export function unpackFigures(
  text: string,
  { jobs: stable, history }: Pick<ClusterStatus, 'jobs' | 'history'>,
): ClusterStatus {
  const [rest, rows, at] = JSON.parse(text) as [Rest, Figures[], number];
  const jobs = stable.map((job, nth) => withFigures(job, rows[nth]));
  return { ...rest, jobs, history, current: jobs[at] ?? null };
}

const figuresOf = ({ progress, timeElapsed, timeTotal, timeRemaining }: PrintJob) =>
  [progress, timeElapsed, timeTotal, timeRemaining] as const;

type Figures = ReturnType<typeof figuresOf>;

const withFigures = (job: PrintJob, figures: Figures | undefined): PrintJob => {
  if (!figures) return job;
  const [progress, timeElapsed, timeTotal, timeRemaining] = figures;
  return { ...job, progress, timeElapsed, timeTotal, timeRemaining };
};
