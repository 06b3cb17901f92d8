import { changesFor, misfit } from './matching';
import type { Cluster } from './state';
import { enter, isActive } from './virtual-printer';

/**
 * Compares the jobs that have not begun with the printers; call it when either changes. In a group, the printer that
 * needs the fewest changes counts.
 */
export function compareJobs(cluster: Cluster, at: number): void {
  for (const job of cluster.queue) {
    if (isActive(job) && job.status !== 'wait_user_action') continue;
    const printers = cluster.printers.filter(({ uuid }) => !isActive(job) || uuid === job.printerUuid);
    const [fewest = []] = printers
      .map((printer) => changesFor(cluster, printer, job))
      .sort((one, other) => one.length - other.length);
    const changes = [...(job.demanded ?? []), ...fewest];
    const freed = job.changes.length > 0 && changes.length === 0;
    job.changes = changes;
    if (job.status === 'wait_approval') continue;
    const waiting = misfit(cluster, job) ? 'error' : 'queued';
    // The job starts from now on, not from the time of its arrival.
    if (isActive(job) ? freed : freed || job.status !== waiting) enter(job, isActive(job) ? job.status : waiting, at);
  }
}
