import { hash } from 'node:crypto';
import type { PrintJob } from '../service/print-job';
import type { FaultLists, Printer } from '../service/printer';
import { advance, openQuestions } from './advance';
import type { Checkpoint } from './checkpoint';
import { materialFacts } from './extruder-edges';
import type { Observation } from './observation';

/**
 * Digest of everything in an observation but its figures. After an observation that left no open question, an equal
 * fingerprint means no event, and the same status except for its figures (`Figures`).
 */
export function fingerprint(observation: Observation): string {
  const { status, jobs, history, withoutChanges, faults, hostPrinterId, namingEnds } = observation;
  const host = status.printers[0]?.printerId ?? null;
  const seen: unknown[] = [
    status.name,
    status.hostGuid,
    status.online,
    status.maintenanceDue,
    status.model,
    status.authorized,
    status.capabilities,
    status.note,
    status.displayStatus,
    status.stale,
    status.hasHistory,
    hostPrinterId,
    namingEnds,
  ];
  for (const printer of status.printers) {
    pushPrinter(seen, printer);
    const found = printer.printerId === null ? undefined : faults.get(printer.printerId);
    seen.push(keysOf(found?.faults), keysOf(found?.errors), materialFacts({ status, printer }));
  }
  seen.push(jobs?.length, [...withoutChanges]);
  for (const job of status.jobs) pushJob(seen, job, status.clusterId, host);
  seen.push(history?.length);
  for (const job of history ?? [])
    seen.push(
      job.clusterJobId,
      job.state,
      unless(job.status, job.state),
      job.serviceState,
      job.timeElapsed,
      job.timeTotal,
      unless(job.printerId, host),
      // The latest one divides what was there at the first answer from what is new.
      job.createdAt,
    );
  return hash('sha256', JSON.stringify(seen), 'base64');
}

const keysOf = (faults: FaultLists['faults'] | undefined) => faults?.map(({ uuid, fault }) => [uuid, fault.code]);

/** Stands for an expected word; no word that was read is a list. */
const EXPECTED: readonly never[] = [];

/** Returns the word, or a short mark in place of the expected one: a longer text takes longer to digest. */
const unless = (word: string | null, expected: string | null) => (word === expected ? EXPECTED : word);

/** Whether a repeat of the observation would leave the checkpoint after it unchanged. */
export function isSettled(after: Checkpoint, seen: Observation): boolean {
  if (openQuestions(after, seen).length > 0) return false;
  const { checkpoint, drafts } = advance(after, seen);
  return drafts.length === 0 && JSON.stringify(checkpoint) === JSON.stringify(after);
}

function pushPrinter(seen: unknown[], printer: Printer): void {
  const { firmware, buildPlate, airFilter } = printer;
  seen.push(
    printer.printerId,
    printer.name,
    printer.model,
    printer.status,
    printer.statusDetail,
    printer.enabled,
    printer.maintenanceRequired,
    printer.reservedBy,
    firmware.version,
    firmware.latest,
    firmware.updateStatus,
    buildPlate && [buildPlate.type],
    printer.chamber === null,
    airFilter && [airFilter.status, airFilter.limit],
    printer.faults,
    printer.errors,
  );
}

/** Pushes each field by name, without a loop: this runs for every job of every poll, and costs half as much. */
function pushJob(seen: unknown[], job: PrintJob, clusterId: string, host: string | null): void {
  seen.push(
    job.clusterJobId,
    job.jobId,
    unless(job.clusterId, clusterId),
    job.name,
    job.status,
    job.serviceState,
    job.state,
    job.started,
    unless(job.printerId, host),
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
