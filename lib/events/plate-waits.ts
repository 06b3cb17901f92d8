import type { PrintJob } from '../service/print-job';
import type { Ended, PlateCheckpoint } from './checkpoint';
import { ofJob, type EventBuilder } from './event-builder';
import { passed, type Thresholds } from './thresholds';

/** Whether a print ended and its plate was not cleared yet (wire facts 12.2). */
export const isPlateWaiting = ({ status }: PrintJob): boolean => status === 'wait_cleanup';

/**
 * Returns the plates that wait to be cleared after an observation, and adds the steps of their waits (reference 3.3). A
 * plate that waited at the first observation causes no event: the time of its print's end is unknown.
 */
export function followPlates(
  before: readonly PlateCheckpoint[] | undefined,
  jobs: readonly PrintJob[] | null,
  { ended, at, builder }: { ended: readonly Ended[]; at: string; builder: EventBuilder | null },
): PlateCheckpoint[] {
  if (!jobs) return [...(before ?? [])];
  return jobs.filter(isPlateWaiting).flatMap((job): PlateCheckpoint[] => {
    const id = job.clusterJobId;
    if (id === null) return [];
    const known = before?.find((plate) => plate.id === id);
    if (known) return [followPlate(known, job, at, builder)];
    const since = before && builder ? (ended.find((end) => end.id === id)?.at ?? null) : null;
    return [{ id, since, minutes: 0 }];
  });
}

function followPlate(
  before: PlateCheckpoint,
  job: PrintJob,
  at: string,
  builder: EventBuilder | null,
): PlateCheckpoint {
  const plate = waitingPlate(before, at);
  if (plate !== before) builder?.step('plate.awaiting', plate.id, stepOf(before, plate), ofJob(job));
  return plate;
}

/** The plate at a later time, if it still waits. */
export function waitingPlate(plate: PlateCheckpoint, at: string): PlateCheckpoint {
  if (plate.since === null) return plate;
  const minutes = Math.floor((Date.parse(at) - Date.parse(plate.since)) / 60_000);
  return minutes > plate.minutes ? { ...plate, minutes } : plate;
}

/** Whether the wait of a plate has reached the threshold of a subscriber. */
export const isPlateDue = (before: PlateCheckpoint, after: PlateCheckpoint, thresholds: Thresholds): boolean =>
  passed(stepOf(before, after), thresholds) !== null;

const stepOf = (before: PlateCheckpoint, after: PlateCheckpoint) =>
  ({ of: 'plateWait', from: before.minutes, to: after.minutes }) as const;
