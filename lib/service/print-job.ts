import { JOB, TEXT } from '../rules/limits';
import { phrase, type Sentence } from '../words/sentence';
import { shown } from '../words/shown';
import { few, PrintingError, withoutDots } from './errors';
import { endsIn, fileExtension, findToolpath, isCompressible, toolpath } from './file-types';
import { type JobState, occupiesPrinter, stateOf } from './job-words';
import { amount, duration, estimate, flag, type Json, line, number, record, records, text, time } from './json-readers';
import { type MaterialNeed, readMaterialWords, usedOf } from './material';
import { isFlag, isNumber, isText, listOf, membersOf, orMissing, orNull, type Shape, shapeOf } from './shapes';

/**
 * A difference between printer and job that a person must resolve, or override if `overridable` (wire facts 8, 12.5).
 */
export interface ChangeRequired {
  type: string | null;
  /** Extruder, counted from 0. */
  index: number | null;
  originId: string | null;
  originName: string | null;
  targetId: string | null;
  targetName: string | null;
  overridable: boolean | null;
}

/** An impediment that keeps a job from printing, or that ended it (wire facts 8). */
export interface Problem {
  /** The service's key. */
  code: string | null;
  /** The service's word or number, as text. */
  severity: string | null;
  /** One sentence for people. */
  text: string;
}

/** Need of a print on one extruder. */
export interface JobMaterial extends MaterialNeed {
  /** Counted from 0 (left). */
  extruder: number | null;
}

/** One printing of a stored file (reference 3.2). Times in seconds, `progress` in percent with one decimal. */
export interface PrintJob {
  clusterJobId: string | null;
  jobId: string | null;
  clusterId: string | null;
  name: string | null;
  status: string | null;
  /** The service's coarse state (wire facts 12.3). */
  serviceState: string | null;
  state: JobState;
  progress: number | null;
  timeElapsed: number | null;
  timeTotal: number | null;
  timeRemaining: number | null;
  /** Whether it has begun, in the service's word; null if the service does not say it. */
  started: boolean | null;
  printerId: string | null;
  printerName: string | null;
  /** The member of a group that is to print it, by name or id. */
  assignedTo: string | null;
  owner: string | null;
  sentFrom: string | null;
  createdAt: string | null;
  deletedAt: string | null;
  /** Slicer's estimate. */
  estimatedTime: number | null;
  materials: JobMaterial[];
  /** Whether the service has a picture of the file. Its address is signed, and so a secret. */
  hasPreview: boolean;
  note: string | null;
  changesRequired: ChangeRequired[];
  problems: Problem[];
  /** A person's message about it, with a rejection or an approval. */
  statusMessage: string | null;
  /** The service's word for more about its status. */
  statusDetail: string | null;
}

const PRINT_JOBS = phrase`the print jobs`;

/** Reads a print job instance (wire facts 8). `clusterId` is the cluster it was read from, for a record without one. */
export function readPrintJob(wire: Json, clusterId: string | null = null): PrintJob {
  const [timeElapsed, timeTotal] = [duration(wire.time_elapsed), duration(wire.time_total)];
  const ratio = share(timeElapsed, timeTotal);
  const changesRequired = readChanges(wire.configuration_changes_required);
  const metadata = record(record(wire.source)?.metadata);
  const status = text(wire.status);
  const serviceState = text(wire.state);
  const state = stateOf({ status, serviceState }, ratio);
  return {
    clusterJobId: instanceId(wire),
    jobId: text(wire.cloud_job_id),
    clusterId: text(wire.cluster_id) ?? clusterId,
    name: text(wire.name),
    // Each field by its own name: a spread makes such a large object slow to build and to read.
    status,
    serviceState,
    state: state === 'waiting' && changesRequired.length > 0 ? 'attention' : state,
    progress: ratio === null ? null : Math.round(ratio * 1000) / 10,
    timeElapsed,
    timeTotal,
    timeRemaining: duration(wire.time_remaining),
    started: flag(wire.started),
    printerId: text(wire.printer_uuid) ?? text(wire.printed_on_uuid),
    printerName: text(wire.printer_name),
    assignedTo: line(wire.assigned_to),
    owner: text(wire.owner),
    sentFrom: text(wire.sent_from),
    createdAt: time(wire.created_at),
    deletedAt: time(wire.deleted_at),
    estimatedTime: estimate(record(metadata?.print)?.estimated_time),
    materials: readMaterials(wire.configuration, metadata?.extruders),
    hasPreview: text(wire.preview_url) !== null,
    note: text(record(wire.note)?.note) ?? text(wire.note),
    changesRequired,
    problems: readProblems(wire.impediments_to_printing),
    statusMessage: line(record(wire.status_message)?.body) ?? line(wire.status_message),
    statusDetail: line(wire.status_detail),
  };
}

/** The id of one printing. Older answers use other names for it (wire facts 7). */
export const instanceId = (wire: Json): string | null =>
  text(wire.uuid) ?? text(wire.job_instance_uuid) ?? text(wire.cluster_job_id);

/** Whether a record does not say which changes the job requires. An empty list says that it requires none. */
export const lacksChanges = ({ configuration_changes_required: changes }: Json): boolean =>
  changes === undefined || changes === null;

const isRecords = orMissing(listOf((value) => record(value) !== null));
const JOB_TEXTS = ['clusterJobId', 'jobId', 'clusterId', 'name', 'status', 'serviceState', 'printerId', 'printerName'];
const MORE_TEXTS = [
  'assignedTo',
  'owner',
  'sentFrom',
  'createdAt',
  'deletedAt',
  'note',
  'statusMessage',
  'statusDetail',
];
/** Whether a stored value is a job, maybe of an earlier version, which did not store every field. */
export const isStoredJob: Shape = shapeOf({
  ...membersOf(orMissing(orNull(isText)), ...JOB_TEXTS, ...MORE_TEXTS),
  ...membersOf(orMissing(orNull(isNumber)), 'progress', 'timeElapsed', 'timeTotal', 'timeRemaining', 'estimatedTime'),
  ...membersOf(isRecords, 'materials', 'changesRequired', 'problems'),
  ...{ state: isText, started: orMissing(orNull(isFlag)), hasPreview: orMissing(isFlag) },
});

/** Returns a stored job, with the fields that an earlier version did not store. */
export const storedJob = (stored: PrintJob): PrintJob => ({ ...readPrintJob({}), ...stored });

/** The elapsed share of the total time, 0 to 1; null if the times don't show it (wire facts, trap 22). */
function share(elapsed: number | null, total: number | null): number | null {
  if (elapsed === null || total === null || total === 0) return null;
  return Math.min(1, elapsed / total);
}

/**
 * Reads the materials of a job from its configuration, and completes them from its file's metadata where the answer has
 * them, which are more exact (wire facts 4.1 and 6.2). Skips extruders that the job does not use.
 */
function readMaterials(configuration: unknown, metadata: unknown): JobMaterial[] {
  const found = usedOf(jobMaterials(configuration)).filter((one) => one !== null);
  if (isNothing(metadata)) return found.filter(isNamed);
  const exact = jobMaterials(metadata);
  for (const [at, used] of usedOf(exact).entries()) {
    const place = found.findIndex(({ extruder }) => extruder === exact[at]?.extruder);
    const known = found[place];
    if (known && used) found[place] = completed(known, used);
    else if (known) found.splice(place, 1);
    else if (used) found.push(used);
  }
  return found.filter(isNamed);
}

const jobMaterials = (wire: unknown): JobMaterial[] => records(wire).slice(0, JOB.materials).map(readJobMaterial);

function readJobMaterial(wire: Json): JobMaterial {
  const material = record(wire.material);
  const { guid, brand, name: type, color } = readMaterialWords(material);
  const volume = amount(wire.estimated_material_volume);
  const weight = amount(material?.weight);
  return { extruder: number(wire.extruder_index), guid, brand, type, color, volume, weight };
}

/** The material with what a more exact source knows of it. */
const completed = (known: JobMaterial, exact: JobMaterial): JobMaterial => ({
  ...known,
  ...Object.fromEntries(Object.entries(exact).filter(([, value]) => value !== null)),
});

const isNamed = ({ guid, brand, type, color, volume, weight }: JobMaterial): boolean =>
  (guid ?? brand ?? type ?? color) !== null || (volume ?? 0) > 0 || (weight ?? 0) > 0;

/** Without lists in between: nearly every job has none. */
const readProblems = (wire: unknown): Problem[] =>
  isNothing(wire) ? [] : records(wire).slice(0, JOB.problems).map(readProblem);

const readChanges = (wire: unknown): ChangeRequired[] =>
  isNothing(wire) ? [] : records(wire).slice(0, JOB.changes).map(readChange);

const isNothing = (wire: unknown): boolean =>
  wire === undefined || wire === null || (Array.isArray(wire) && wire.length === 0);

function readProblem(wire: Json): Problem {
  const code = line(wire.translation_key);
  const severity = line(wire.severity) ?? line(number(wire.severity)?.toString());
  return { code, severity, text: String(describeProblem({ code })) };
}

function readChange(wire: Json): ChangeRequired {
  return {
    type: text(wire.type_of_change),
    index: number(wire.index),
    originId: text(wire.origin_id),
    originName: text(wire.origin_name),
    targetId: text(wire.target_id),
    targetName: text(wire.target_name),
    overridable: flag(wire.is_overridable),
  };
}

/**
 * Reads the jobs of a cluster's list, each once even if it is listed twice; skips entries that are not records. Throws the
 * errors of `few`.
 */
export function readPrintJobs(wire: unknown, clusterId: string | null = null): PrintJob[] {
  const jobs = few(wire, PRINT_JOBS).map((entry) => readPrintJob(entry, clusterId));
  const byId = new Map<PrintJob | string, PrintJob>();
  for (const job of jobs) {
    const key = job.clusterJobId ?? job;
    const known = byId.get(key);
    // The entry that says more: the printer is occupied.
    if (!known || (occupiesPrinter(job) && !occupiesPrinter(known))) byId.set(key, job);
  }
  return byId.size === jobs.length ? jobs : [...byId.values()];
}

/** Reads an optional single job. */
export function readOptionalPrintJob(wire: unknown, clusterId: string | null = null): PrintJob | null {
  const entry = record(wire);
  return entry && Object.keys(entry).length > 0 ? readPrintJob(entry, clusterId) : null;
}

const SHORTEST = 3;
const LONGEST = 255;
/** Device names; `con.gcode` is still the device. */
const DEVICE = /^(con|prn|aux|nul|com[1-9]|lpt[1-9])(\.|$)/i;
const FORBIDDEN = /[\\/:*?"<>|]/;
// oxlint-disable-next-line no-control-regex -- matches exactly those
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * The name of a stored toolpath: `wanted`, or the file's own if that is blank; always with the extension of the sent
 * file (reference 3.4). Throws INVALID_INPUT for a name that the service would reject (wire facts 4.1) and for one
 * whose extension contradicts the file's, UNSUPPORTED_FILE_TYPE for a file that is not a toolpath, unless its media
 * type is given.
 */
export function jobName(wanted: string | undefined, fileName: string, compress: boolean, mediaType?: string): string {
  const name = wanted?.trim() ? wanted : fileName;
  const own = toolpath(fileName, mediaType).extension;
  const packs = compress && isCompressible(fileName, mediaType);
  const sent = packs ? `${own}.gz` : own;
  const given = fileExtension(name);
  const isComplete = sent === '' || given === sent || (packs && endsIn(name, sent));
  const full = isComplete ? name : packs && given === own ? `${name}.gz` : findToolpath(name) ? null : name + sent;
  if (full === null)
    throw refusal(
      phrase`The job name "${name}" ends in ${given} but the file is sent as ${sent}: leave out the extension.`,
    );
  const reason = brokenRule(full);
  if (reason) throw refusal(phrase`The job name ${reason}: set another job name.`);
  return full;
}

/** Applies the same rules to the name of any other stored file. Throws INVALID_INPUT. */
export function checkFileName(name: string): void {
  const reason = brokenRule(name);
  if (reason) throw refusal(phrase`The file name ${reason}: give the file another name.`);
}

function brokenRule(name: string): Sentence | null {
  // Counts code points rather than UTF-16 units; a name beyond twice the limit needs no exact count.
  const length = name.length > 2 * LONGEST ? name.length : [...name].length;
  if (length < SHORTEST || length > LONGEST)
    return phrase`has ${length} characters and may have ${SHORTEST} to ${LONGEST}`;
  const quoted = JSON.stringify(name);
  if (/^\s/.test(name)) return phrase`${quoted} starts with a space`;
  if (name.startsWith('..')) return phrase`${quoted} starts with two dots`;
  if (FORBIDDEN.test(name)) return phrase`${quoted} contains one of \\ / : * ? " < > |`;
  if (CONTROL.test(name)) return phrase`${quoted} contains a control character`;
  if (DEVICE.test(name)) return phrase`${quoted} is a reserved device name`;
  if (fileExtension(name) === '') return phrase`${quoted} has no extension`;
  return null;
}

const refusal = (sentence: Sentence) => new PrintingError('INVALID_INPUT', sentence);

/** Describes the change as an instruction for the person at the printer; extruders are counted from 1. */
export function describeChange({ type, index, originId, originName, targetName }: ChangeRequired): Sentence {
  const extruder = index === null ? null : index + 1;
  switch (type) {
    case 'material_change':
    case 'material_insert': {
      const { name: loaded } = readMaterialWords({ guid: originId, material: originName });
      if (extruder === null) break;
      if (targetName === null) return phrase`Change the material of extruder ${extruder}.`;
      if (loaded === null) return phrase`Load ${targetName} in extruder ${extruder}.`;
      return phrase`Load ${targetName} instead of ${loaded} in extruder ${extruder}.`;
    }
    case 'print_core_change':
      if (extruder === null) break;
      if (targetName === null) return phrase`Change the print core of extruder ${extruder}.`;
      if (originName === null) return phrase`Insert print core ${targetName} in extruder ${extruder}.`;
      return phrase`Insert print core ${targetName} instead of ${originName} in extruder ${extruder}.`;
    case 'buildplate_change':
      if (targetName === null) return phrase`Change the build plate.`;
      if (originName === null) return phrase`Insert the build plate ${targetName}.`;
      return phrase`Insert the build plate ${targetName} instead of ${originName}.`;
    default:
  }
  return type === null
    ? phrase`The print requires a change at the printer.`
    : phrase`The print requires a change: ${type}.`;
}

/** Impediments whose keys are known (wire facts 8), as a clause. */
const KNOWN_PROBLEMS = new Map<string | null, Sentence>([
  ['does_not_fit_in_build_volume', phrase`The print does not fit in the printer`],
]);

const problemClause = ({ code }: Pick<Problem, 'code'>): Sentence =>
  KNOWN_PROBLEMS.get(code) ??
  (code === null ? phrase`The printer can’t print this job` : phrase`The printer can’t print this job: ${code}`);

/** Describes an impediment for people; the sentence names a key that is not known. */
export const describeProblem = (problem: Pick<Problem, 'code'>): Sentence => phrase`${problemClause(problem)}.`;

/** Number of impediments that a sentence names. */
const NAMED = 3;

/**
 * Why a job does not print, or did not end well, in one sentence: its impediments, what a person said, and the service's
 * detail. Null if the service names none of them.
 */
export function describeReason({ problems, statusMessage, statusDetail }: PrintJob): Sentence | null {
  const clauses = problems.slice(0, NAMED).map(problemClause);
  if (statusMessage !== null) clauses.push(phrase`“${shown(withoutDots(statusMessage), TEXT.quoted)}”`);
  if (statusDetail !== null) clauses.push(phrase`${withoutDots(statusDetail)}`);
  if (clauses.length === 0) return null;
  return phrase`${clauses.reduce((all, clause) => phrase`${all}; ${clause}`)}.`;
}
