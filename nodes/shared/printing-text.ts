import { isEndDecided } from '../../lib/service/job-words';
import type { PrintJob } from '../../lib/service/print-job';
import { left, percent, type StatusText } from './status';

/** Status text of an active print; `ahead`: number of jobs before it in the queue. */
export function printingText(job: PrintJob, ahead: number | null = null): StatusText {
  const values = { percent: percent(job.progress), left: left(job.timeRemaining) };
  if (isEndDecided(job)) return { fill: 'yellow', shape: 'dot', key: 'ended' };
  if (job.state === 'paused') return { fill: 'yellow', shape: 'dot', key: 'paused', values };
  if (job.state === 'attention' || job.state === 'approval') return { fill: 'yellow', shape: 'ring', key: 'attention' };
  if (job.state === 'waiting') {
    const key = ahead === null ? 'waiting' : 'waitingBehind';
    return { fill: 'blue', shape: 'ring', key, values: { ahead: String(ahead) } };
  }
  if (job.state === 'preparing') return { fill: 'blue', shape: 'dot', key: 'starting' };
  return { fill: 'blue', shape: 'dot', key: 'printing', values };
}
