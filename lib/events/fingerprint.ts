import { hash } from 'node:crypto';
import type { PrintJob } from '../service/print-job';
import { advance, openQuestions } from './advance';
import type { Checkpoint } from './checkpoint';
import { materialFacts } from './extruder-edges';
import type { Observation } from './observation';

/**
 * Digest of everything in an observation that makes events or describes the queue, except figures. After an observation
 * that left no open question, an equal fingerprint means no event, and the same jobs except for their figures.
 */
export function fingerprint({ status, jobs, history, faults, hostPrinterId, namingEnds }: Observation): string {
  const seen: unknown[] = [
    status.name,
    status.hostGuid,
    status.online,
    status.maintenanceDue,
    hostPrinterId,
    namingEnds,
  ];
  for (const printer of status.printers) {
    const { printerId, name, status: is, firmware } = printer;
    const found = printerId === null ? undefined : faults.get(printerId);
    seen.push(
      printerId,
      name,
      is,
      firmware.version,
      firmware.latest,
      firmware.updateStatus,
      found && [...found.keys()],
      materialFacts({ status, printer }),
    );
  }
  seen.push(jobs?.length);
  for (const job of status.jobs) pushJob(seen, job);
  seen.push(history?.length);
  for (const { clusterJobId, state, status: is, serviceState, timeElapsed, timeTotal, printerId } of history ?? [])
    seen.push(clusterJobId, state, is, serviceState, timeElapsed, timeTotal, printerId);
  return hash('sha256', JSON.stringify(seen), 'base64');
}

/** Whether a repeat of the observation would leave the checkpoint after it unchanged. */
export function isSettled(after: Checkpoint, seen: Observation): boolean {
  if (openQuestions(after, seen).length > 0) return false;
  const { checkpoint, drafts } = advance(after, seen);
  return drafts.length === 0 && JSON.stringify(checkpoint) === JSON.stringify(after);
}

/** Pushes each field by name, without a loop: this runs for every job of every poll, and costs half as much. */
function pushJob(seen: unknown[], job: PrintJob): void {
  seen.push(
    job.clusterJobId,
    job.jobId,
    job.clusterId,
    job.name,
    job.status,
    job.serviceState,
    job.state,
    job.started,
    job.printerId,
    job.printerName,
    job.assignedTo,
    job.owner,
    job.sentFrom,
    job.createdAt,
    job.deletedAt,
    job.estimatedTime,
    job.hasPreview,
    job.note,
    job.changesRequired,
    job.problems,
    job.statusMessage,
    job.statusDetail,
    // A missing figure is filled in from an earlier record, so which figures are missing matters.
    job.progress === null,
    job.timeElapsed === null,
    job.timeTotal === null,
    job.timeRemaining === null,
    job.materials.length,
  );
  // The GUID stands for all that is known of a material.
  for (const { guid, volume } of job.materials) seen.push(guid, volume);
}
