import { list, record } from '../service/json-readers';
import type { JobState } from '../service/job-words';
import { isStoredJob, type PrintJob, storedJob } from '../service/print-job';
import { isStoredMaterial, type Material } from '../service/printer';
import {
  isCount,
  isFlag,
  isNumber,
  isText,
  listOf,
  mapOf,
  membersOf,
  oneOf,
  orMissing,
  orNull,
  type Shape,
  shapeOf,
} from '../service/shapes';
import type { EndType } from './print-event';

/** A print that makes no progress, or made none until the last observation. */
export interface Standstill {
  /** Its elapsed time, s. */
  at: number;
  /** Lived time at which it began to stand there, or to be watched again; null while its time does not count. */
  from: number | null;
  /** Time for which it stood there before, lived ms. */
  stood: number;
  /** How long it had stood there at the last observation that counted, minutes. */
  minutes: number;
  /** Where it stood in the observation before, to which it returns after a single odd answer. */
  before?: Omit<Standstill, 'before'>;
}

/** A job that has not ended, as last observed. */
export interface KnownJob {
  id: string;
  /** Last known state; `unknown` only if no other has been observed. */
  state: JobState;
  /** Its state is unknown, so no event was derived from it yet. */
  silent: boolean;
  /** Whether it was observed under way, so that `job.started` isn't repeated. */
  started: boolean;
  aborting: boolean;
  /** It was seen paused, and not printing since; absent otherwise, and in checkpoints of before this was followed. */
  paused?: true;
  /** Highest observed progress, percent. */
  progress: number;
  /** Lived time at which it first was missing from a reachable cluster's lists; null while it is listed. */
  missingFrom: number | null;
  /** Lived time at which its record, which is to say how it ended, first could not be read; null while there is no need to. */
  unreadFrom: number | null;
  /** Number of events per recurring edge, by type and observed facts; absent without any. */
  edges?: Record<string, number>;
  /** Absent until it is seen printing, and in checkpoints of before standstills were followed. */
  standstill?: Standstill;
  job: PrintJob;
}

/** An end that became an event, or existed at the first observation. */
export interface Ended {
  id: string;
  type: EndType;
  at: string;
  /** Kept for the latest ends only. */
  job: PrintJob | null;
}

/** The material in an extruder or in a slot of a material station, and the events that it caused. */
export interface MaterialCheckpoint {
  index: number;
  material: Material | null;
  /** Number of spools so far, which identifies the present one. */
  loads: number;
  /** Parts that were missing in the last observation; missing once more, they count as removed. */
  removing: ('printCore' | 'material')[];
  /** Lowest estimate of the rest of the present spool, percent; null if unknown. */
  left: number | null;
}

/** Contents of an extruder. `material` is none while it holds what a material station has loaded. */
export interface ExtruderCheckpoint extends MaterialCheckpoint {
  printCore: string | null;
  /** Number of other print cores so far, which identifies the present one; absent without any. */
  cores?: number;
  /** Print that is known to need more than is left. */
  shortFor: string | null;
  /** The material that the station loaded last; absent before the first. */
  loaded?: Material;
}

/** Contents of a slot. */
export interface SlotCheckpoint extends MaterialCheckpoint {
  /** Extruder that it feeds; null: none. */
  extruder: number | null;
}

/** A plate that was not cleared after a print. */
export interface PlateCheckpoint {
  /** The print. */
  id: string;
  /** Lived time at which it was first seen to wait; null if it waited at the first observation of the queue. */
  from: number | null;
  /** Its wait at the last event or change, whole minutes. */
  minutes: number;
  /** Whether the last queue lacked its job. A second one without it proves that the plate was cleared. */
  missing?: true;
}

export interface PrinterCheckpoint {
  id: string;
  status: string | null;
  /** Keys of the faults in the last observation that listed any. */
  faults: string[];
  /** The same of the errors; absent in checkpoints in which `faults` held those of both lists. */
  errors?: string[];
  /** Codes of those whose key is a uuid; absent without any, and in checkpoints of before they were stored. */
  codes?: Record<string, string>;
  /** Firmware versions that have become an event. */
  firmware: string[];
  extruders: ExtruderCheckpoint[];
  /** Slots of its material station; absent without one, and in checkpoints of before they were followed. */
  slots?: SlotCheckpoint[];
}

/** The state with which the next observation of a cluster is compared: plain JSON (reference 6). */
export interface Checkpoint {
  version: 2;
  /**
   * Number of events so far that are identified by the time of their observation; distinguishes events of the same
   * time.
   */
  count: number;
  /**
   * Time since the first observation, as lived by the processes that watched, up to the last observation; ms. Ages are
   * differences of it: no date of an answer or of a wall clock counts (ADR 32).
   */
  lived: number;
  /** Date of the first observation, as its answer stated it. Part of ids, so it never changes. */
  since: string;
  /** Date at which the watch began, by the earliest account: the date of an answer, or of its arrival, minus the time lived. */
  begun: string;
  /** Number of moves to another cluster id so far, which tells two moves apart; absent without any. */
  moves?: number;
  /** Newest date of a job in the first lists, blank if they were empty twice; null as long as that is unknown. */
  newestAtFirst: string | null;
  /** Whether a reachable cluster has ever shown the lists. */
  jobsSeen: boolean;
  historySeen: boolean;
  /** Machines that have named an end in one of the longer words (`machineOf`); absent in older checkpoints. */
  namingEnds: readonly string[];
  name: string | null;
  hostGuid: string | null;
  online: boolean | null;
  /** The last answer differed from `online`; the same answer once more makes an event (wire facts, trap 17). */
  onlineDoubted: boolean;
  hostPrinterId: string | null;
  hostPrinterName: string | null;
  printers: PrinterCheckpoint[];
  jobs: KnownJob[];
  /** Oldest first. */
  ended: Ended[];
  plates: PlateCheckpoint[];
  /** Whether maintenance is due, and how often it became due; null if unknown. */
  maintenance: { isDue: boolean | null; count: number };
}

/** Version of the checkpoints of clusters and of the list. */
export const VERSION = 2;

const isTextOrNull = orNull(isText);
const isNumberOrNull = orNull(isNumber);
const BAY = {
  ...membersOf(isNumber, 'index', 'loads'),
  removing: listOf(oneOf('printCore', 'material')),
  material: orNull(isStoredMaterial),
  left: isNumberOrNull,
};

const isPrinter = shapeOf({
  ...{ id: isText, status: isTextOrNull, faults: listOf(isText), errors: orMissing(listOf(isText)) },
  codes: orMissing(mapOf(isText)),
  firmware: listOf(isText),
  extruders: listOf(
    shapeOf({
      ...BAY,
      ...membersOf(isTextOrNull, 'printCore', 'shortFor'),
      ...{ cores: orMissing(isCount), loaded: orMissing(isStoredMaterial) },
    }),
  ),
  slots: orMissing(listOf(shapeOf({ ...BAY, extruder: isNumberOrNull }))),
});

const isKnownJob = shapeOf({
  ...membersOf(isText, 'id', 'state'),
  ...membersOf(isFlag, 'silent', 'started', 'aborting'),
  ...membersOf(orMissing(isNumberOrNull), 'missingFrom', 'unreadFrom'),
  ...{ paused: orMissing(oneOf(true)), progress: isNumber, edges: orMissing(mapOf(isNumber)), job: isStoredJob },
});

const isPlate = shapeOf({
  id: isText,
  from: orMissing(isNumberOrNull),
  minutes: isNumber,
  missing: orMissing(oneOf(true)),
});

/** Whether a stored value is a checkpoint, maybe of an earlier version, which did not store every field. */
export const isCheckpoint: Shape = shapeOf({
  version: oneOf(VERSION),
  count: isCount,
  since: isText,
  ...{ lived: orMissing(isNumber), begun: orMissing(isText), moves: orMissing(isCount) },
  newestAtFirst: orMissing(isTextOrNull),
  ...membersOf(isFlag, 'jobsSeen', 'historySeen', 'onlineDoubted'),
  namingEnds: orMissing(listOf(isText)),
  ...membersOf(isTextOrNull, 'name', 'hostGuid', 'hostPrinterId', 'hostPrinterName'),
  online: orNull(isFlag),
  printers: listOf(isPrinter),
  jobs: listOf(isKnownJob),
  ended: listOf(shapeOf({ ...membersOf(isText, 'id', 'type', 'at'), job: orNull(isStoredJob) })),
  plates: orMissing(listOf(isPlate)),
  maintenance: orMissing(shapeOf({ isDue: orNull(isFlag), count: isCount })),
});

/** Returns a stored checkpoint, or null for a value of another version or shape. */
export function readCheckpoint(stored: unknown): Checkpoint | null {
  if (!isCheckpoint(stored)) return null;
  const checkpoint = stored as Partial<Checkpoint> & { since: string };
  const { jobs, ended, plates, namingEnds } = checkpoint as Checkpoint;
  const { lived = 0, begun = checkpoint.since, newestAtFirst = null } = checkpoint;
  const withJob = <T extends { job: PrintJob | null }>(entry: T): T =>
    entry.job ? { ...entry, job: storedJob(entry.job) } : entry;
  return {
    ...(checkpoint as Checkpoint),
    ...{ lived, begun, newestAtFirst },
    namingEnds: list(namingEnds) as string[],
    jobs: (list(jobs) as KnownJob[]).map((job) => withReadStandstill(withLivedAbsence(withJob(job), lived))),
    ended: (list(ended) as Ended[]).map(withJob),
    plates: (list(plates) as PlateCheckpoint[]).map((plate) => withLivedWait(plate, lived)),
  };
}

/** A record with a lived time, or of before there were any, with a date. */
type Dated<T, Lived extends keyof T, Date extends string> = Omit<T, Lived> &
  Partial<Pick<T, Lived>> &
  Partial<Record<Date, string | null>>;

/** A job that was missing by its date begins to be missing again. */
function withLivedAbsence(job: Dated<KnownJob, 'missingFrom' | 'unreadFrom', 'missingSince'>, lived: number): KnownJob {
  const { missingSince, ...known } = job;
  const { missingFrom = typeof missingSince === 'string' ? lived : null, unreadFrom = null } = job;
  return { ...known, missingFrom, unreadFrom };
}

/** Omits a standstill in another form. */
function withReadStandstill({ standstill, ...job }: KnownJob): KnownJob {
  const read = readStandstill(standstill);
  const before = read && readStandstill(standstill?.before);
  return read ? { ...job, standstill: { ...read, ...(before && { before }) } } : job;
}

function readStandstill(stored: unknown): Omit<Standstill, 'before'> | null {
  const { at, from, stood, minutes } = record(stored) ?? {};
  const areNumbers = [at, from ?? 0, stood, minutes].every((value) => typeof value === 'number');
  return areNumbers ? ({ at, from: from ?? null, stood, minutes } as Standstill) : null;
}

function withLivedWait(plate: Dated<PlateCheckpoint, 'from', 'since'>, lived: number): PlateCheckpoint {
  const { since, ...known } = plate;
  const { from = typeof since === 'string' ? lived - plate.minutes * 60_000 : null } = plate;
  return { ...known, from };
}
