import type { ClusterStatus } from '../../service/cluster';
import { PrintingError } from '../../service/errors';
import { isEndDecided, isOver, isPlateWaiting } from '../../service/job-words';
import type { PrintJob } from '../../service/print-job';
import type { Printer } from '../../service/printer';
import { phrase } from '../../words/sentence';
import { hasBegun } from './item';
import type { QueueRules } from './rules';

/**
 * Plate gate of a printer: facts about the prints that ended there, shared by all queues of the account. Whether it is
 * open depends on the queue's mode (`isClear`). Saved under `['queue-plate', ...scope, clusterId, printerId]`. Times in
 * ms since 1970.
 */
export interface PlateGate {
  version: 1;
  clusterId: string;
  printerId: string | null;
  clusterName: string | null;
  /** Identity of the machine, which outlives its cluster id. */
  hostGuid: string | null;
  /** Number of prints that closed it: part of the ids of its events. */
  closings: number;
  /** Print that is under way there. */
  printing: { id: string; missingSince: number | null } | null;
  /** Print that ended there last. */
  ended: EndedPrint | null;
  /** Whether the printer has ever shown the cleanup state. */
  hasShownCleanup: boolean;
  /** Ids of jobs that are known to have ended, oldest first. */
  known: readonly string[];
  /** Verdicts of people on the parts, oldest first. */
  verdicts: readonly PlateVerdict[];
}

export interface EndedPrint {
  /** Id of the printing. */
  id: string;
  /** `earlier`: before the first sight of the printer. */
  outcome: 'finished' | 'failed' | 'aborted' | 'vanished' | 'earlier';
  at: number;
  cleanup: 'unseen' | 'seen' | 'over';
  /** Whether the printer had shown the cleanup state before this print. */
  hadShownCleanup: boolean;
  clearedAt: number | null;
}

interface PlateVerdict {
  /** Id of the printing. */
  id: string;
  good: boolean;
  at: number;
}

/** Whether the plate is known to be clear (print queue, rule 3). A printer without a gate was not seen yet. */
export function isClear({ printing, ended }: PlateGate, mode: QueueRules['gate']): boolean {
  if (printing) return false;
  return !ended || isCleared(ended, mode);
}

/** Whether the plate waits to be cleared: no print is under way. */
export const isPlateToClear = (gate: PlateGate, mode: QueueRules['gate']): boolean =>
  !gate.printing && !isClear(gate, mode);

/** Whether the plate of an ended print is clear. */
export function isCleared(
  { outcome, cleanup, hadShownCleanup, clearedAt }: EndedPrint,
  mode: QueueRules['gate'],
): boolean {
  if (clearedAt !== null) return true;
  if (mode === 'confirm') return false;
  if (outcome === 'earlier') return true;
  if (mode === 'automatic') return outcome === 'finished';
  return cleanup === 'over' || (cleanup === 'unseen' && outcome === 'finished' && hadShownCleanup);
}

/** Ends and verdicts that a gate remembers: more than the service lists. */
const KNOWN_KEPT = 60;
const VERDICTS_KEPT = 10;

type Outcome = EndedPrint['outcome'];

/** Id of a printer in its cluster: null for the only one. */
export const printerIdOf = (printer: Printer, { printers }: { printers: readonly Printer[] }): string | null =>
  printers.length === 1 ? null : printer.printerId;

/** Jobs on a printer; in a group, a job without a printer belongs to none. */
const onPrinter = (jobs: readonly PrintJob[], printerId: string | null): PrintJob[] =>
  printerId === null ? [...jobs] : jobs.filter((job) => job.printerId === printerId);

/**
 * The gate after a status of its cluster; the same object if nothing changed. Null before the first sight: the printer
 * was never seen online.
 */
export function observed(
  before: PlateGate | null,
  status: ClusterStatus,
  printer: Printer,
  now: number,
): PlateGate | null {
  if (status.online === false || status.stale) return before;
  const printerId = printerIdOf(printer, status);
  const jobs = onPrinter(status.jobs, printerId);
  const past = onPrinter(status.history, printerId);
  let gate = before && {
    ...before,
    clusterName: status.name ?? before.clusterName,
    hostGuid: status.hostGuid ?? before.hostGuid,
  };
  gate ??= firstSight(status, printerId, past, jobs.some(isPrinting), now);
  for (const job of [...past].reverse()) gate = withPast(gate, job, now);
  // The end of a print is decided before its printer is free, and before it asks for a clear plate.
  for (const job of jobs.filter(isCoolingDown)) gate = withPast(gate, job, now);
  const cleanup = jobs.find(isPlateWaiting);
  if (cleanup) gate = withCleanup(gate, cleanup, now);
  gate = withPrinting(gate, jobs.find(isPrinting) ?? null, { isBusy: isBusy(printer), now });
  const isOver = gate.ended?.cleanup === 'seen' && cleanup?.clusterJobId !== gate.ended.id;
  if (gate.ended && isOver && printer.status === 'idle' && !gate.printing)
    gate = { ...gate, ended: { ...gate.ended, cleanup: 'over' } };
  return before && JSON.stringify(gate) === JSON.stringify(before) ? before : gate;
}

/** Closes the gate after a print that the queue knows to have ended there. */
export function closedBy(gate: PlateGate, id: string, outcome: Outcome, at: number): PlateGate {
  if (gate.ended?.id === id) return withOutcome(gate, outcome);
  return gate.known.includes(id) ? gate : closed(gate, id, outcome, at);
}

/**
 * The gate after a person confirmed a clear plate, and judged the part on it. Throws NOT_ACCEPTED while the printer
 * prints: the part of the print before is out of reach then.
 */
export function confirmed(gate: PlateGate, good: boolean, now: number): PlateGate {
  const { ended, printing, verdicts } = gate;
  if (printing)
    throw new PrintingError(
      'NOT_ACCEPTED',
      phrase`The printer is printing, so its plate can't be clear: wait for the end.`,
    );
  if (!ended) return gate;
  const last = verdicts.find(({ id }) => id === ended.id);
  // A part that was rejected stays so: its copy may be printing again.
  const isNews = !last || (last.good && !good);
  const others = verdicts.filter((verdict) => verdict !== last);
  const after = [...others, { id: ended.id, good, at: now }].slice(-VERDICTS_KEPT);
  if (!isNews && ended.clearedAt !== null) return gate;
  return { ...gate, ended: { ...ended, clearedAt: ended.clearedAt ?? now }, verdicts: isNews ? after : verdicts };
}

/** Whether the printer's own status is that of a print, so that a missing job proves nothing. */
const isBusy = ({ status }: Printer): boolean => status === 'printing' || status === 'pre_print';

/** A job that occupies the plate; one that waits for a clear plate has ended. */
const isPrinting = (job: PrintJob): boolean => job.clusterJobId !== null && hasBegun(job) && !isOver(job);

/** A job that is still listed although its end is decided, and does not wait for a clear plate yet. */
const isCoolingDown = (job: PrintJob): boolean => isEndDecided(job) && !isPlateWaiting(job);

function firstSight(
  { clusterId, name, hostGuid }: ClusterStatus,
  printerId: string | null,
  past: readonly PrintJob[],
  isPrintingNow: boolean,
  now: number,
): PlateGate {
  const gate: PlateGate = {
    version: 1,
    clusterId,
    printerId,
    clusterName: name,
    hostGuid,
    closings: 0,
    printing: null,
    ended: null,
    hasShownCleanup: false,
    known: past.flatMap(({ clusterJobId }) => clusterJobId ?? []).reverse(),
    verdicts: [],
  };
  const [last] = past;
  // A print that is found under way is an ordinary one.
  return last && !isPrintingNow ? closed(gate, last.clusterJobId ?? '', 'earlier', now) : gate;
}

function withPast(gate: PlateGate, job: PrintJob, now: number): PlateGate {
  const id = job.clusterJobId;
  if (id === null) return gate;
  const outcome = outcomeOf(job);
  if (gate.ended?.id === id && gate.ended.outcome !== 'earlier') return withOutcome(gate, outcome);
  if (gate.known.includes(id)) return gate;
  // A print that failed may have begun although its record shows no time.
  const mayLieThere = job.state === 'finished' || job.state === 'failed';
  const printed = hasBegun(job) || mayLieThere || gate.printing?.id === id;
  return printed ? closed(gate, id, outcome, now) : { ...gate, known: [...gate.known, id].slice(-KNOWN_KEPT) };
}

function withCleanup(gate: PlateGate, job: PrintJob, now: number): PlateGate {
  const id = job.clusterJobId;
  if (id === null) return gate;
  const after = gate.ended?.id === id ? withLeft(gate, job) : closed(gate, id, outcomeOf(job), now);
  const ended = after.ended && { ...after.ended, cleanup: 'seen' as const };
  return { ...after, hasShownCleanup: true, ended };
}

function withPrinting(
  gate: PlateGate,
  job: PrintJob | null,
  { isBusy, now }: { isBusy: boolean; now: number },
): PlateGate {
  const { printing: before } = gate;
  const id = job?.clusterJobId;
  if (id) {
    const ended = before && before.id !== id ? closed(gate, before.id, 'vanished', now) : gate;
    const after = before?.id === id || ended.ended?.id === id ? ended : takenOff(ended, now);
    // It was only out of sight.
    const isBack = after.ended?.id === id;
    const known = isBack ? after.known.filter((other) => other !== id) : after.known;
    return { ...after, known, ended: isBack ? null : after.ended, printing: { id, missingSince: null } };
  }
  if (!before || isBusy) return gate;
  // A single odd answer is no proof.
  if (before.missingSince === null) return { ...gate, printing: { ...before, missingSince: now } };
  return { ...closed(gate, before.id, 'vanished', now), printing: null };
}

function closed(gate: PlateGate, id: string, outcome: Outcome, at: number): PlateGate {
  const { hasShownCleanup: hadShownCleanup } = gate;
  const ended: EndedPrint = { id, outcome, at, cleanup: 'unseen', hadShownCleanup, clearedAt: null };
  const known = gate.known.includes(id) ? gate.known : [...gate.known, id].slice(-KNOWN_KEPT);
  const printing = gate.printing?.id === id ? null : gate.printing;
  return { ...takenOff(gate, at), closings: gate.closings + 1, printing, ended, known };
}

/** Records that a person took the part off, and did not reject it: another print follows. */
function takenOff(gate: PlateGate, now: number): PlateGate {
  const { ended, verdicts } = gate;
  if (!ended || ended.outcome === 'earlier' || verdicts.some(({ id }) => id === ended.id)) return gate;
  return { ...gate, verdicts: [...verdicts, { id: ended.id, good: true, at: now }].slice(-VERDICTS_KEPT) };
}

/** Corrects the outcome of the last print: a later status may know it better. */
function withOutcome(gate: PlateGate, outcome: Outcome): PlateGate {
  const { ended } = gate;
  if (!ended || outcome === 'vanished' || ended.outcome === 'earlier') return gate;
  return { ...gate, ended: { ...ended, outcome } };
}

/** Corrects the outcome by a job that waits for its plate: its time says less than an outcome that is known. */
const withLeft = (gate: PlateGate, job: PrintJob): PlateGate =>
  isEndDecided(job) || gate.ended?.outcome === 'vanished' ? withOutcome(gate, outcomeOf(job)) : gate;

const outcomeOf = ({ state }: PrintJob): Outcome =>
  state === 'finished' || state === 'failed' || state === 'aborted' ? state : 'vanished';
