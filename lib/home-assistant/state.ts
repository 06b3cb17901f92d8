import type { ClusterStatus } from '../service/cluster';
import type { JobState } from '../service/job-words';
import {
  blockingFault,
  type Extruder,
  type Fault,
  inOrder,
  type Material,
  type Printer,
  type Slot,
  UPDATING,
} from '../service/printer';
import { isoTime, isTime } from '../time/clock';
import { shown } from '../words/shown';

/** Longest state that Home Assistant accepts, characters. */
const LONGEST = 255;

/** States of a printer; automations depend on these words. */
export const STATES: readonly string[] = [
  ...['offline', 'error', 'maintenance', 'updating', 'idle'],
  ...([
    ...(['waiting', 'approval', 'attention', 'preparing', 'printing', 'paused'] as const),
    ...(['finishing', 'finished', 'failed', 'aborted', 'unknown'] as const),
  ] satisfies JobState[]),
];

/** The service's word for a firmware that needs no update (wire facts 12.4). */
const UP_TO_DATE = 'up_to_date';

/** The service's words for a printer that does not answer its host (wire facts 12.1). */
const SILENT: readonly (string | null)[] = ['unreachable', 'booting'];

/** States in which a print gets nearer to its end. */
const MOVING: readonly JobState[] = ['preparing', 'printing', 'finishing'];

/** Shortest difference of two predictions of an end that counts, ms. */
const MINUTE = 60_000;

/** Least difference of two temperatures that counts, °C. */
const DEGREE = 1;

/** State of a printer as Home Assistant gets it: the fields of its JSON. Every field may be null. */
export interface DeviceState {
  state: string;
  job: string | null;
  /** Whole percent. */
  progress: number | null;
  /** Whole minutes. */
  time_left: number | null;
  ends_at: string | null;
  waiting_jobs: number;
  connection: boolean | null;
  problem: boolean | null;
  /** Attribute of `problem`. */
  problem_text: string | null;
  maintenance_due: boolean | null;
  firmware: { installed_version: string; latest_version?: string } | null;
  plate_temperature?: number | null;
  chamber_temperature?: number | null;
  /** Attribute of `state`, for a group of printers. */
  members?: { name: string | null; status: string | null; materials: (string | null)[] }[];
  [figure: `material_${number}` | `material_left_${number}` | `temperature_${number}`]: string | number | null;
}

/** A state with what later ones are compared with. */
export interface SentState {
  state: DeviceState;
  /** `clusterJobId` of the print that `ends_at` belongs to. */
  print: string | null;
}

/**
 * The state of a printer to send, given the one sent before (null: none). A figure that has hardly moved keeps the value
 * that was sent, so that an equal JSON means that nothing which is shown has changed.
 */
export function deviceState(status: ClusterStatus, before: SentState | null): SentState {
  const { current, online, stale, jobs, receivedAt } = status;
  const printers = inOrder(status.printers, ({ printerId, name }) => `${printerId} ${name}`);
  const problems = printers.flatMap(problemsOf);
  const print = current?.clusterJobId ?? null;
  const moves = current !== null && MOVING.includes(current.state);
  const left = current?.timeRemaining ?? null;
  const isSilent = stale || online === false;
  const sentEnd = before?.print === print ? before.state.ends_at : null;
  const state: DeviceState = {
    state: stateOf(status),
    job: short(current?.name ?? null),
    progress: whole(current?.progress ?? null),
    time_left: left === null ? null : Math.round(left / 60),
    // An offline printer's figures may stand still.
    ends_at:
      !moves || left === null ? null : (isSilent && sentEnd) || endOf(Date.parse(receivedAt) + left * 1000, sentEnd),
    waiting_jobs: jobs.filter(({ state: of }) => of === 'waiting').length,
    connection: stale && online !== false ? null : online,
    problem: printers.length === 0 ? null : problems.length > 0,
    problem_text: short(problems.join(' ') || null),
    maintenance_due: status.maintenanceDue,
    firmware: firmwareOf(printers[0]),
  };
  const [printer] = printers;
  if (printers.length === 1 && printer) Object.assign(state, figuresOf(printer, before?.state ?? null));
  if (printers.length > 1) state.members = printers.map(memberOf);
  return { state, print };
}

function stateOf({ online, printers, current }: ClusterStatus): string {
  if (online === false) return 'offline';
  const every = (fits: (printer: Printer) => boolean) => printers.length > 0 && printers.every(fits);
  if (every(({ status }) => SILENT.includes(status))) return 'offline';
  if (every((printer) => printer.status === 'error' || blockingFault(printer) !== undefined)) return 'error';
  if (every(({ firmware }) => firmware.updateStatus === UPDATING)) return 'updating';
  if (every(({ status }) => status === 'maintenance')) return 'maintenance';
  return current?.state ?? 'idle';
}

/** The predicted end in whole seconds; the one that was sent while the two are less than a minute apart. */
function endOf(predicted: number, sent: string | null): string | null {
  if (!isTime(predicted)) return null;
  if (sent !== null && Math.abs(Date.parse(sent) - predicted) < MINUTE) return sent;
  return isoTime(Math.round(predicted / 1000) * 1000);
}

function figuresOf(printer: Printer, sent: DeviceState | null): Partial<DeviceState> {
  const figures: Record<string, string | number | null> = {};
  const warm = (key: string, now: number | null) => {
    const before = (sent as Record<string, unknown> | null)?.[key];
    const stays = typeof before === 'number' && now !== null && Math.abs(now - before) < DEGREE;
    figures[key] = stays ? before : now === null ? null : Math.round(now * 10) / 10;
  };
  const load = (index: number | null, material: Material | null, left: number | null) => {
    if (!isPlace(index)) return;
    figures[`material_${index + 1}`] = short(wordsOf(material));
    figures[`material_left_${index + 1}`] = material && whole(left === null ? null : left * 100);
  };
  if (printer.slots.length > 0)
    byIndex(printer.slots).forEach(({ index, material, remaining }: Slot) => load(index, material, remaining));
  else byIndex(printer.extruders).forEach((extruder) => load(extruder.index, extruder.material, shareOf(extruder)));
  for (const { index, temperature } of byIndex(printer.extruders))
    if (isPlace(index)) warm(`temperature_${index + 1}`, temperature);
  if (printer.buildPlate) warm('plate_temperature', printer.buildPlate.temperature);
  if (printer.chamber) warm('chamber_temperature', printer.chamber.temperature);
  return figures;
}

/** Most places of a printer: extruders, or slots of its station. */
const PLACES = 50;
const isPlace = (index: number | null): index is number =>
  index !== null && Number.isInteger(index) && index >= 0 && index < PLACES;

const shareOf = ({ volumeLeft, volumeFull }: Extruder): number | null =>
  volumeLeft !== null && volumeFull ? Math.min(1, volumeLeft / volumeFull) : null;

const whole = (value: number | null): number | null => (value === null ? null : Math.round(value));

const short = (text: string | null): string | null => (text === null ? null : shown(text, LONGEST));

const wordsOf = (material: Material | null): string | null =>
  material && ([material.brand, material.name, material.color].filter(Boolean).join(' ') || material.guid);

const problemsOf = ({ faults, errors }: Printer): string[] => [
  ...new Set([...errors, ...faults].map(({ message, code }: Fault) => message ?? code ?? '?')),
];

const firmwareOf = (printer: Printer | undefined): DeviceState['firmware'] => {
  const installed = short(printer?.firmware.version ?? null);
  const isLatest = printer?.firmware.updateStatus === UP_TO_DATE;
  const latest = isLatest ? installed : short(printer?.firmware.latest ?? null);
  return installed === null
    ? null
    : { installed_version: installed, ...(latest !== null && { latest_version: latest }) };
};

const byIndex = <T extends { index: number | null }>(parts: readonly T[]): readonly T[] =>
  inOrder(parts, ({ index }) => index ?? -1);

const memberOf = ({ name, status, extruders, slots }: Printer) => ({
  name: short(name),
  status,
  materials: byIndex<Slot | Extruder>(slots.length > 0 ? slots : extruders).map(({ material }) =>
    short(wordsOf(material)),
  ),
});
