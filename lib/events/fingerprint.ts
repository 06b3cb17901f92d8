import { hash } from 'node:crypto';
import type { PrintJob } from '../service/print-job';
import { advance, openQuestions } from './advance';
import type { Checkpoint } from './checkpoint';
import type { Observation } from './observation';

/**
 * Stands for all of an observation that events are made of and for all that is said of the queue, but for figures: after
 * one that left nothing open, another with the same fingerprint brings no event, and its jobs are the same but for theirs.
 */
export function fingerprint({ status, jobs, history, faults, hostPrinterId }: Observation): string {
  const seen: unknown[] = [status.name, status.hostGuid, status.online, hostPrinterId];
  for (const { printerId, name, status: is, firmware } of status.printers) {
    const found = printerId === null ? undefined : faults.get(printerId);
    seen.push(
      printerId,
      name,
      is,
      firmware.version,
      firmware.latest,
      firmware.updateStatus,
      found && [...found.keys()],
    );
  }
  seen.push(jobs?.length);
  for (const job of status.jobs) pushJob(seen, job);
  seen.push(history?.length);
  for (const { clusterJobId, state, status: is, timeElapsed, timeTotal } of history ?? [])
    seen.push(clusterJobId, state, is, timeElapsed, timeTotal);
  return hash('sha256', JSON.stringify(seen), 'base64');
}

/** Whether the same observation once more would bring nothing to the checkpoint after it. */
export function isSettled(after: Checkpoint, seen: Observation): boolean {
  if (openQuestions(after, seen).length > 0) return false;
  const { checkpoint, drafts } = advance(after, seen);
  return drafts.length === 0 && JSON.stringify(checkpoint) === JSON.stringify(after);
}

/** Each field by its name, and no loop: this is done with every job in every poll, and costs half as much so. */
function pushJob(seen: unknown[], job: PrintJob): void {
  seen.push(
    job.clusterJobId,
    job.jobId,
    job.clusterId,
    job.name,
    job.status,
    job.state,
    job.printerId,
    job.printerName,
    job.owner,
    job.sentFrom,
    job.createdAt,
    job.changesRequired,
    // What one lacks is filled in from an earlier one: with less in it, it is another.
    job.progress === null,
    job.timeElapsed === null,
    job.timeTotal === null,
    job.timeRemaining === null,
  );
}
