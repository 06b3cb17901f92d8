import type { PrintJob } from '../../lib/service/print-job';
import { left, percent, type StatusText } from './status';

/** How a print under way looks under a node. */
export function printingText(job: PrintJob): StatusText {
  const values = { percent: percent(job.progress), left: left(job.timeRemaining) };
  if (job.state === 'paused') return { fill: 'yellow', shape: 'dot', key: 'paused', values };
  if (job.state === 'attention' || job.state === 'approval') return { fill: 'yellow', shape: 'ring', key: 'attention' };
  return { fill: 'blue', shape: 'dot', key: 'printing', values };
}
