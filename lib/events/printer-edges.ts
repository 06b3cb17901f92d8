import { STATUS_LIST } from '../rules/limits';
import { isPlateWaiting } from '../service/job-words';
import type { Checkpoint, PlateCheckpoint, PrinterCheckpoint } from './checkpoint';
import { passed, type Thresholds } from './edges';
import { followMaterials } from './extruder-edges';
import { followFaults } from './faults';
import { isReachable, type Observation } from './observation';
import { type EventBuilder, ofJob } from './print-event';

type TrackedState = Pick<Checkpoint, 'online' | 'onlineDoubted' | 'hostPrinterId' | 'hostPrinterName' | 'printers'>;

/** Firmware versions stored per printer, so that each becomes an event once. */
const VERSIONS_KEPT = 20;

/**
 * Returns the state of a cluster's printers after an observation, and adds the events of their edges (reference 3.3).
 */
export function followPrinters(
  before: Checkpoint | null,
  seen: Observation,
  builder: EventBuilder | null,
): TrackedState {
  const hostPrinterId = seen.hostPrinterId ?? before?.hostPrinterId ?? null;
  const named = seen.status.printers.find(({ printerId }) => printerId !== null && printerId === hostPrinterId);
  const kept = before?.hostPrinterId === hostPrinterId ? before.hostPrinterName : null;
  const hostPrinterName = named?.name ?? kept;
  const host = { printerId: hostPrinterId, printerName: hostPrinterName };

  const known = new Map((before?.printers ?? []).map((printer) => [printer.id, printer]));
  const online = followOnline(before, seen.status.online, (now) =>
    builder?.edge(now ? 'printer.online' : 'printer.offline', hostPrinterId ?? '', {
      ...host,
      previous: !now,
      value: now,
    }),
  );
  // Ids repeat only for printers without an id of their own (trap 14): the first one represents all.
  const done = new Set<string>();
  for (const printer of seen.status.printers) {
    if (printer.printerId === null || done.has(printer.printerId)) continue;
    done.add(printer.printerId);
    known.set(printer.printerId, followPrinter(known.get(printer.printerId), printer, seen, builder));
  }
  // The printers that are listed no more give way, the first ones first.
  for (const id of known.keys()) if (known.size > STATUS_LIST && !done.has(id)) known.delete(id);
  return { ...online, hostPrinterId, hostPrinterName, printers: [...known.values()] };
}

/** Adds an event after two equal answers in a row; a missing answer is no information. */
function followOnline(before: Checkpoint | null, now: boolean | null, edge: (now: boolean) => void) {
  const known = before?.online ?? null;
  if (now === null) return { online: known, onlineDoubted: before?.onlineDoubted ?? false };
  if (known === null || now === known) return { online: now, onlineDoubted: false };
  if (!before?.onlineDoubted) return { online: known, onlineDoubted: true };
  edge(now);
  return { online: now, onlineDoubted: false };
}

function followPrinter(
  before: PrinterCheckpoint | undefined,
  printer: Observation['status']['printers'][number],
  seen: Observation,
  builder: EventBuilder | null,
): PrinterCheckpoint {
  const id = printer.printerId ?? '';
  const edges = before ? builder : null;
  const ids = { printerId: id, printerName: printer.name };

  const previous = before?.status ?? null;
  if (previous !== null && printer.status !== null && printer.status !== previous) {
    edges?.edge('printer.status', `${id}/${printer.status}`, { ...ids, previous, value: printer.status });
  }

  const faults = followFaults(before, seen.faults.get(id) ?? { faults: null, errors: null });
  for (const [key, fault] of faults.appeared)
    edges?.edge('printer.fault', `${id}/${key}`, { ...ids, value: fault }, fault.at);

  const { version, latest, updateStatus } = printer.firmware;
  let firmware = before?.firmware ?? [];
  // An answer that names neither the version nor its state does not tell whether the latest one is installed.
  const isKnown = !before || (version ?? updateStatus) !== null;
  const isNewer = isKnown && latest !== version && updateStatus !== 'up_to_date';
  if (latest !== null && isNewer && !firmware.includes(latest)) {
    edges?.once('firmware.available', `${id}/${latest}`, { ...ids, previous: version, value: latest });
    firmware = [...firmware, latest].slice(-VERSIONS_KEPT);
  }

  return {
    id,
    status: printer.status ?? previous,
    ...faults.known,
    firmware,
    ...followMaterials(before, { status: seen.status, printer }, edges),
  };
}

/** Returns whether maintenance of a cluster is due, and adds the event when it becomes due. */
export function followMaintenance(
  before: Checkpoint['maintenance'] | undefined,
  { status: { maintenanceDue }, hostPrinterId }: Observation,
  builder: EventBuilder | null,
): Checkpoint['maintenance'] {
  const { isDue, count } = before ?? { isDue: null, count: 0 };
  if (maintenanceDue === null || maintenanceDue === isDue) return { isDue, count };
  if (!maintenanceDue || isDue === null) return { isDue: maintenanceDue, count };
  builder?.once('maintenance.due', `${builder.counted('')}-${count + 1}`, { printerId: hostPrinterId });
  return { isDue: true, count: count + 1 };
}

/**
 * Returns the plates that wait to be cleared after an observation, and adds the steps of their waits (reference 3.3). A
 * plate that waited at the first observation of the queue causes no event: nobody saw its wait begin.
 */
export function followPlates(
  before: Checkpoint | null,
  seen: Observation,
  builder: EventBuilder | null,
): PlateCheckpoint[] {
  const { jobs, lived, arrived } = seen;
  const known = before?.plates ?? [];
  // The queue of an offline printer proves nothing.
  if (!jobs || !isReachable(seen)) return [...known];
  const after = new Map<string, PlateCheckpoint>();
  for (const job of jobs) {
    const id = job.clusterJobId;
    // A job that is listed twice has one plate.
    if (id === null || after.has(id)) continue;
    const last = known.find((plate) => plate.id === id);
    // Without its word, a job does not show whether its plate still waits.
    if (last && job.status === null) after.set(id, last);
    if (!isPlateWaiting(job)) continue;
    const plate = last ? waitingPlate(last, lived) : { id, from: before?.jobsSeen ? arrived : null, minutes: 0 };
    if (last && plate.minutes > last.minutes) builder?.step('plate.awaiting', id, stepOf(last, plate), ofJob(job));
    const { missing: _back, ...present } = plate;
    after.set(id, plate.missing ? present : plate);
  }
  const listed = new Set(jobs.map(({ clusterJobId }) => clusterJobId));
  for (const plate of known)
    if (!plate.missing && !listed.has(plate.id)) after.set(plate.id, { ...plate, missing: true });
  return [...after.values()];
}

/** The plate at a later moment of lived time, if it still waits. */
export function waitingPlate(plate: PlateCheckpoint, lived: number): PlateCheckpoint {
  if (plate.from === null) return plate;
  const minutes = Math.floor((lived - plate.from) / 60_000);
  return minutes > plate.minutes ? { ...plate, minutes } : plate;
}

/** Whether the wait of a plate has reached the threshold of a subscriber. */
export const isPlateDue = (before: PlateCheckpoint, after: PlateCheckpoint, thresholds: Thresholds): boolean =>
  passed(stepOf(before, after), thresholds) !== null;

const stepOf = (before: PlateCheckpoint, after: PlateCheckpoint) =>
  ({ of: 'plateWait', from: before.minutes, to: after.minutes }) as const;
