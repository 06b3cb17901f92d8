import { isPlateWaiting } from '../events/printer-edges';
import { isUnderWay, type PrintJob } from '../service/print-job';

/** Whether a job has begun on its printer: the printer heats, prints, or waits for a clear plate. */
export const hasBegun = (job: PrintJob): boolean =>
  isUnderWay(job) || job.status === 'pre_print' || isPlateWaiting(job) || (job.timeElapsed ?? 0) > 0;
