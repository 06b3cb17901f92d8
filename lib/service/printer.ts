import { PRINTER, STATION } from '../rules/limits';
import { amount, flag, type Json, line, number, record, records, text, time } from './json-readers';
import { type MaterialWords, readMaterialWords } from './material';
import { isFlag, isNumber, isText, listOf, membersOf, orMissing, orNull, type Shape, shapeOf } from './shapes';

export interface Material extends MaterialWords {
  /** mm. */
  diameter: number | null;
  /** g/cm³. */
  density: number | null;
}

export const isStoredMaterial: Shape = shapeOf({
  ...membersOf(orMissing(orNull(isText)), 'guid', 'brand', 'name', 'color'),
  ...membersOf(orMissing(orNull(isNumber)), 'diameter', 'density'),
});

export interface Extruder {
  /** Counted from 0 (left). */
  index: number | null;
  printCore: string | null;
  /** °C now. */
  temperature: number | null;
  /** Estimated rest of the material, and a full spool of it, mm³. */
  volumeLeft: number | null;
  volumeFull: number | null;
  material: Material | null;
}

/** Slot of a material station. */
export interface Slot {
  /** Counted from 0. */
  index: number | null;
  /** Extruder that the slot feeds, counted from 0 (left); null: none. */
  extruder: number | null;
  /** Print core that the slot serves. */
  printCore: string | null;
  /** Whether the extruder can print with the material of the slot. */
  compatible: boolean | null;
  material: Material | null;
  /** Rest of the material, from 0 to 1. */
  remaining: number | null;
}

interface AirFilter {
  status: string | null;
  /** Time in use, and its limit, seconds. */
  age: number | null;
  limit: number | null;
}

export interface Fault {
  code: string | null;
  message: string | null;
  severity: string | null;
  at: string | null;
}

/** A printer in ClusterStatus (reference 3.1). */
export interface Printer {
  printerId: string | null;
  name: string | null;
  model: string | null;
  status: string | null;
  /** The service's word for more about its status. */
  statusDetail: string | null;
  enabled: boolean | null;
  maintenanceRequired: boolean | null;
  /** The `clusterJobId` of the job that has claimed the printer. */
  reservedBy: string | null;
  firmware: { version: string | null; latest: string | null; updateStatus: string | null };
  extruders: Extruder[];
  /** Slots of the material station; empty without one. */
  slots: Slot[];
  buildPlate: { type: string | null; temperature: number | null } | null;
  chamber: { temperature: number | null } | null;
  airFilter: AirFilter | null;
  faults: Fault[];
  /** Errors alone: they keep the printer from printing. */
  errors: Fault[];
}

const isBays = listOf(
  shapeOf({
    ...membersOf(
      orMissing(orNull(isNumber)),
      'index',
      'extruder',
      'temperature',
      'volumeLeft',
      'volumeFull',
      'remaining',
    ),
    ...{ printCore: orMissing(orNull(isText)), material: orMissing(orNull(isStoredMaterial)) },
  }),
);
const isFaults = listOf(shapeOf(membersOf(orMissing(orNull(isText)), 'code', 'message', 'severity', 'at')));
/** Whether a stored value is a printer. */
export const isStoredPrinter: Shape = shapeOf({
  ...membersOf(orMissing(orNull(isText)), 'printerId', 'name', 'model', 'status', 'statusDetail', 'reservedBy'),
  ...membersOf(orMissing(orNull(isFlag)), 'enabled', 'maintenanceRequired'),
  ...membersOf(isBays, 'extruders', 'slots'),
  ...membersOf(orMissing(orNull(shapeOf({}))), 'buildPlate', 'chamber', 'airFilter'),
  ...membersOf(isFaults, 'faults', 'errors'),
  firmware: shapeOf(membersOf(orMissing(orNull(isText)), 'version', 'latest', 'updateStatus')),
});

/** Severities of faults that are known to keep a printer from printing. */
const BLOCKING = new Set(['blocking', 'critical', 'error', 'fatal']);

/** The first error, or fault of such a severity, that keeps a printer from printing. */
export const blockingFault = ({ errors, faults }: Printer): Fault | undefined =>
  errors[0] ?? faults.find(({ severity }) => severity !== null && BLOCKING.has(severity.toLowerCase()));

/** The service's word for a firmware update under way (wire facts 12.4). */
export const UPDATING = 'update_in_progress';

/** Why a printer itself accepts no print, apart from its jobs and its connection; null: it does. The first of several. */
export function refusalOf(printer: Printer): 'disabled' | 'fault' | 'maintenance' | 'updating' | null {
  const { status, enabled, maintenanceRequired, firmware } = printer;
  if (enabled === false || status === 'disabled') return 'disabled';
  if (status === 'error' || blockingFault(printer)) return 'fault';
  if (status === 'maintenance' || maintenanceRequired === true) return 'maintenance';
  return firmware.updateStatus === UPDATING ? 'updating' : null;
}

/** The service lists the printers of a group, and the parts of a printer, in no fixed order. Another one is no change. */
export function inOrder<T>(listed: readonly T[], keyOf: (one: T) => string | number): readonly T[] {
  const compare = (one: string | number, other: string | number) => (one < other ? -1 : one > other ? 1 : 0);
  return listed.length < 2 ? listed : [...listed].sort((one, other) => compare(keyOf(one), keyOf(other)));
}

/** Printers whose answer has an empty configuration: they are known to have no extruder. */
const withoutExtruders = new WeakSet<Printer>();

/** Whether an answer has stated that a printer has no extruder; one that lacks the configuration leaves its list empty, too. */
export const hasNoExtruder = (printer: Printer): boolean => withoutExtruders.has(printer);

/** Reads a printer object (wire facts 6.1). */
export function readPrinter(wire: Json): Printer {
  const plate = record(wire.build_plate);
  const chamber = record(wire.chamber);
  const printer: Printer = {
    printerId: text(wire.uuid),
    name: text(wire.friendly_name) ?? text(wire.unique_name),
    model: text(wire.machine_variant),
    status: text(wire.status),
    statusDetail: line(wire.status_detail),
    enabled: flag(wire.enabled),
    maintenanceRequired: flag(wire.maintenance_required),
    reservedBy: text(wire.reserved_by),
    firmware: {
      version: text(wire.firmware_version),
      latest: text(wire.latest_available_firmware),
      updateStatus: text(wire.firmware_update_status),
    },
    extruders: records(wire.configuration).slice(0, PRINTER.extruders).map(readExtruder),
    slots: records(record(wire.material_station)?.material_slots).slice(0, STATION.slots).map(readSlot),
    buildPlate: plate && { type: text(plate.type), temperature: number(plate.temperature) },
    chamber: chamber && { temperature: number(chamber.temperature) },
    airFilter: readAirFilter(record(wire.air_manager)),
    faults: allFaults(readFaults(wire)),
    errors: faultRecords(wire.errors).map(readFault),
  };
  if (Array.isArray(wire.configuration) && wire.configuration.length === 0) withoutExtruders.add(printer);
  return printer;
}

function readExtruder(wire: Json): Extruder {
  return {
    index: number(wire.extruder_index),
    printCore: text(wire.print_core_id),
    temperature: number(wire.temperature),
    volumeLeft: amount(wire.estimated_material_volume),
    volumeFull: amount(wire.original_material_volume),
    material: readMaterial(record(wire.material)),
  };
}

/** Reads a slot of a material station (wire facts 6.2): -1 is the extruder of a free slot, and an unknown rest. */
function readSlot(wire: Json): Slot {
  const remaining = amount(wire.material_remaining);
  return {
    index: number(wire.slot_index),
    extruder: amount(wire.extruder_index),
    printCore: text(wire.print_core_id),
    compatible: flag(wire.compatible),
    material: wire.material_empty === true ? null : readMaterial(record(wire.material)),
    remaining: remaining === null ? null : Math.min(1, remaining),
  };
}

/** Reads the air manager; the service counts its filter's age in hours (wire facts 6.1). */
function readAirFilter(wire: Json | null): AirFilter | null {
  if (!wire || wire.supported === false) return null;
  const seconds = (hours: unknown) => {
    const found = amount(hours);
    return found === null ? null : Math.round(found * 3600);
  };
  return { status: text(wire.filter_status), age: seconds(wire.filter_age), limit: seconds(wire.filter_max_age) };
}

/** Reads a material; null for an empty bay. */
function readMaterial(wire: Json | null): Material | null {
  if (wire === null) return null;
  const { guid, brand, name, color } = readMaterialWords(wire);
  if (guid === null && brand === null && name === null && color === null) return null;
  return { guid, brand, name, color, diameter: amount(wire.diameter), density: amount(wire.density) };
}

/** A fault or an error as listed; it has a `uuid` or a code. */
export interface ListedFault {
  uuid: string | null;
  fault: Fault;
}

/** The faults and the errors of a printer; null for a list that the answer lacks. */
export interface FaultLists {
  faults: readonly ListedFault[] | null;
  errors: readonly ListedFault[] | null;
}

export const readFaults = (wire: Json): FaultLists => ({
  faults: listedFaults(wire.faults),
  errors: listedFaults(wire.errors),
});

function listedFaults(wire: unknown): ListedFault[] | null {
  if (!Array.isArray(wire)) return null;
  const found: ListedFault[] = [];
  for (const entry of faultRecords(wire)) {
    const listed = { uuid: text(entry.uuid), fault: readFault(entry) };
    const { uuid, fault } = listed;
    const isOmitted = uuid === null ? fault.code === null : found.some((other) => other.uuid === uuid);
    if (!isOmitted) found.push(listed);
  }
  return found;
}

/** Both lists, each fault once. */
function allFaults({ faults, errors }: FaultLists): Fault[] {
  const found = new Map<string, Fault>();
  for (const { uuid, fault } of [...(faults ?? []), ...(errors ?? [])]) {
    const key = uuid ?? fault.code ?? '';
    if (!found.has(key)) found.set(key, fault);
  }
  return [...found.values()];
}

const faultRecords = (wire: unknown): Json[] => records(wire).slice(0, PRINTER.faults);

const readFault = (wire: Json): Fault => ({
  code: text(wire.code),
  message: text(wire.message),
  severity: text(wire.severity),
  at: time(wire.timestamp),
});

/** A pending maintenance task of a printer (reference 3.5, query `maintenance`). */
export interface MaintenanceTask {
  isDue: boolean | null;
  /** Due date, as predicted by the service. */
  dueDate: string | null;
  code: string | null;
  type: string | null;
  /** Interval of a recurring task, seconds. */
  interval: number | null;
}

/** Reads a pending task (wire facts 13.2). */
export function readMaintenanceTask(wire: Json): MaintenanceTask {
  const rule = record(wire.task_rule);
  const details = record(rule?.task_details);
  return {
    isDue: flag(wire.is_due),
    dueDate: time(wire.due_date),
    code: text(rule?.code),
    type: text(details?.type),
    interval: number(record(details?.value)?.interval),
  };
}
