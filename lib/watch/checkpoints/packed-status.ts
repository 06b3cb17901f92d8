import type { ClusterStatus } from '../../service/cluster-status';
import type { PrintJob } from '../../service/print-job';

type Rest = Omit<ClusterStatus, 'jobs' | 'history' | 'current'>;

/** What of a status moves from poll to poll, as text: all but the jobs, and of those the figures. */
export function packFigures({ jobs, history: _history, current, ...rest }: ClusterStatus): string {
  return JSON.stringify([rest, jobs.map(figuresOf), current ? jobs.indexOf(current) : -1]);
}

/** The status with these figures of its jobs. */
export function unpackFigures(
  text: string,
  { jobs: still, history }: Pick<ClusterStatus, 'jobs' | 'history'>,
): ClusterStatus {
  const [rest, rows, at] = JSON.parse(text) as [Rest, Figures[], number];
  const jobs = still.map((job, nth) => withFigures(job, rows[nth]));
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
