import { isEndDecided, isOver, isPlateWaiting, occupiesPrinter } from '../../service/job-words';
import type { PrintJob } from '../../service/print-job';
import {
  closed,
  type CurrentPrint,
  type EndedPrint,
  KNOWN_KEPT,
  knows,
  type Outcome,
  type PlateGate,
  type PlateIds,
  replacesLost,
  type Source,
  takenOff,
  withUnreadOnly,
} from './gate';
import { firstNumber, hasBegun } from './item';

/** Ids of its printer that a gate remembers: a factory reset makes another one. */
const IDS_KEPT = 10;

// How a plate gate (`gate.ts`) follows what is seen of its machine: the statuses of its cluster, those of a cluster that it has
// left, and the ends of a queue's own prints.

/** The part of a status that concerns one machine. */
export interface Sight {
  clusterId: string;
  /** Null: the only printer of its cluster. */
  printerId: string | null;
  clusterName: string | null;
  ownId: string | null;
  hostGuid: string | null;
  /** Its jobs, and its ended jobs, the latest first. */
  jobs: readonly PrintJob[];
  history: readonly PrintJob[];
  /** Ended jobs of its group of which nothing shows the printer. */
  unplaced: readonly PrintJob[];
  /** Whether the printer's own status is that of a print. */
  isBusy: boolean;
  isIdle: boolean;
  /** Whether several printers without ids of their own share the gate. */
  isShared: boolean;
  /** Whether the gate of another machine knows a print: the list of a printer that was in a group has the others' prints. */
  isElsewhere: (id: string) => boolean;
  /** Whether it was not watched without a gap since the status before. */
  hasGap: boolean;
  /** Whether the status before showed a print, too, of which no job told, and whether that has lasted for long. */
  wasUnlisted: boolean;
  isLongUnlisted: boolean;
  /** Whether it has come from another cluster that was not read since it was last seen there. */
  isFromUnread: boolean;
  /** Whether this process has read it before, and the last status is older than one without a gap may be. */
  wasUnwatched: boolean;
  /** Whether the service does not know a cluster any more: nobody will ever read what has ended there. */
  isGone: (clusterId: string) => boolean;
  /** Time of the status, and of its receipt: two queues receive the same. */
  at: number;
}

/** The part of a cluster's status that concerns a machine that has left the cluster. */
export interface Farewell {
  clusterId: string;
  jobs: readonly PrintJob[];
  history: readonly PrintJob[];
  /** Ended jobs of which nothing shows the printer. */
  unplaced: readonly PrintJob[];
  at: number;
}

/**
 * The gate of a machine that has none yet.
 * @param isLost whether something shows that it had one
 */
export function newGate(gateId: string, sight: Sight, isLost: boolean): PlateGate {
  const { clusterId, printerId, clusterName, ownId, hostGuid, jobs, history, unplaced, isBusy, at } = sight;
  const ownIds = ownId === null ? [] : [ownId];
  const past = [...history, ...unplaced];
  const gate: PlateGate = {
    version: 2,
    ...{ gateId, ownIds, hostGuid, clusterId, printerId, clusterName },
    ...{ closings: firstNumber(at), begun: 0, printing: null, ended: null, hasShownCleanup: false },
    known: idsOf(past),
    verdicts: [],
  };
  if (isLost) {
    const id = past[0]?.clusterJobId ?? 'lost';
    return closed({ ...gate, replacesUpTo: gate.closings }, id, { outcome: 'unknown', source: 'lost', at });
  }
  // A print that is found under way is an ordinary one.
  const isUnderWay = isBusy || jobs.some(isPrinting);
  const last = isUnderWay ? undefined : past[0];
  return last ? closed(gate, last.clusterJobId ?? '', { outcome: 'unknown', source: 'earlier', at }) : gate;
}

/** A closed gate in place of a record that can't be read; `rest`: what can be read of it. */
export function damagedGate(rest: PlateIds, at: number): PlateGate {
  const closings = firstNumber(at);
  const gate: PlateGate = {
    version: 2,
    ...rest,
    ...{ clusterName: null, closings, replacesUpTo: closings, begun: 0, printing: null, ended: null },
    ...{ hasShownCleanup: false, known: [], verdicts: [], isBlind: true },
  };
  return closed(gate, 'damaged', { outcome: 'unknown', source: 'damaged', at });
}

// A status

/** The gate after a status that shows its machine; the same object if nothing changed. */
export function observed(before: PlateGate, sight: Sight): PlateGate {
  const { jobs, history, isElsewhere, at } = sight;
  const mayBeOlder = before.clusterId === sight.clusterId ? isNever : lastElsewhere(before, history);
  // Most statuses change nothing: then each step returns the gate that it got.
  let gate = withHistory(withPlace(withUnread(before, sight), sight), sight);
  for (const job of history.toReversed())
    if (!isOthers(gate, job, isElsewhere))
      gate = withPast(gate, job, at, (now) => mayBeOlder(now) || isListedBehind(now, job, history));
  // The end of a print is decided before its printer is free, and before it asks for a clear plate.
  for (const job of jobs) if (isCoolingDown(job)) gate = withPast(gate, job, at);
  for (const job of jobs) if (isPlateWaiting(job)) gate = withCleanup(gate, job, at);
  gate = withPrinting(gate, sight);
  for (const { clusterJobId } of sight.unplaced) if (clusterJobId !== null) gate = settledBy(gate, clusterJobId, at);
  gate = withStage(gate, sight);
  return gate === before || JSON.stringify(gate) === JSON.stringify(before) ? before : gate;
}

/**
 * After a damage, the ended jobs of the first status are known: none of them is news that could open the gate. The verdict on
 * the plate concerns the last of them. If a person has cleared the plate before that status, each of them is news: nothing
 * shows whether it ended before, not even that it was sent before.
 */
function withHistory(gate: PlateGate, { history, unplaced }: Sight): PlateGate {
  if (!gate.isBlind) return gate;
  const { isBlind: _, ended, ...others } = gate;
  if (ended?.clearedAt !== null) return { ...others, ended };
  const past = idsOf([...history, ...unplaced]);
  const last = past.at(-1);
  const seen: PlateGate = { ...others, ended, known: [...past, ...gate.known.filter((id) => !past.includes(id))] };
  if (last === undefined || ended.id === last) return seen;
  // A print for which a copy waits may have been followed by others.
  const isFollowed = ended.source === 'damaged' || past.includes(ended.id);
  return isFollowed ? { ...takenOff(seen), ended: { ...ended, id: last, source: 'damaged' } } : seen;
}

/** Ids of ended jobs, oldest first. */
const idsOf = (past: readonly PrintJob[]): string[] => past.flatMap(({ clusterJobId }) => clusterJobId ?? []).reverse();

/**
 * The clusters that the machine has left can be read until the service no longer knows them. If a print had the time to end in one
 * of those unseen, nothing will ever show it: a plate that was clear is not.
 */
function withUnread(gate: PlateGate, { clusterId, isFromUnread, wasUnwatched, isGone, at }: Sight): PlateGate {
  const isNew = isFromUnread && gate.clusterId !== clusterId;
  if (!gate.unread && !isNew) return gate;
  const before = gate.unread ?? { clusterIds: [], since: at };
  const all = isNew ? [...before.clusterIds, gate.clusterId] : before.clusterIds;
  const left = [...new Set(all)].filter((id) => id !== clusterId);
  const clusterIds = left.filter((id) => !isGone(id));
  const mayHaveMissed = before.wasUnwatched === true || (isNew && wasUnwatched);
  const isClear = !gate.printing && gate.ended?.clearedAt !== null;
  if (mayHaveMissed && isClear && clusterIds.length < left.length)
    return closed(withUnreadOnly(gate), '', { outcome: 'unknown', source: 'lost', at });
  if (!isNew && clusterIds.length === before.clusterIds.length) return gate;
  const since = isNew ? at : before.since;
  return withUnreadOnly(gate, { clusterIds, since, ...(mayHaveMissed && { wasUnwatched: true }) });
}

function withPlace(gate: PlateGate, sight: Sight): PlateGate {
  const { clusterId, printerId } = sight;
  const clusterName = sight.clusterName ?? gate.clusterName;
  const hostGuid = sight.hostGuid ?? gate.hostGuid;
  const ownIds = withId(gate.ownIds, sight.ownId);
  const isSamePlace = clusterId === gate.clusterId && printerId === gate.printerId && clusterName === gate.clusterName;
  const isWaiting = gate.printing !== null || gate.ended?.clearedAt === null;
  const isShared = sight.isShared || (gate.isShared === true && isWaiting);
  const isSame =
    isSamePlace && hostGuid === gate.hostGuid && ownIds === gate.ownIds && isShared === (gate.isShared ?? false);
  return isSame
    ? gate
    : { ...gate, ownIds, hostGuid, clusterId, printerId, clusterName, isShared: isShared || undefined };
}

const withId = (ids: readonly string[], id: string | null): readonly string[] =>
  id === null || ids.at(-1) === id ? ids : [...ids.filter((other) => other !== id), id].slice(-IDS_KEPT);

/** Whether the history lists a print as an older one than one that is known to have ended. */
const isListedBehind = ({ known }: PlateGate, job: PrintJob, history: readonly PrintJob[]): boolean =>
  history.slice(0, history.indexOf(job)).some(({ clusterJobId: id }) => id !== null && known.includes(id));

const isNever = (): boolean => false;

/** Returns whether the last print of a gate is one that a cluster's history lacks: it may have ended in another cluster since. */
function lastElsewhere({ ended: last }: PlateGate, history: readonly PrintJob[]): (gate: PlateGate) => boolean {
  const isElsewhere = last?.clearedAt === null && !history.some(({ clusterJobId }) => clusterJobId === last.id);
  return isElsewhere ? ({ ended }) => ended?.id === last.id : isNever;
}

/** @param mayBeOlder whether a print that nobody saw may have ended before the last one that is known */
function withPast(
  gate: PlateGate,
  job: PrintJob,
  at: number,
  mayBeOlder: (gate: PlateGate) => boolean = isNever,
): PlateGate {
  const id = job.clusterJobId;
  if (id === null) return gate;
  if (gate.ended?.id === id && gate.ended.source !== 'earlier') return withOutcome(gate, outcomeOf(job));
  if (gate.known.includes(id)) return gate;
  if (gate.printing?.id === id) return closed(gate, id, { outcome: outcomeOf(job), source: 'job', at });
  if (!mayHavePrinted(job)) return gate;
  // On a shared gate, an older print may lie on another plate than the last one.
  if (mayBeOlder(gate) && !gate.isShared) return withOlder(gate, id, at);
  return closed(gate, id, { outcome: outcomeOf(job), source: 'job', at });
}

/**
 * The gate after a print that nobody saw, and that may be older than the last one: the history lists it behind one that is known
 * to have ended, or that of another cluster lists it. So its end opens nothing, and it is no verdict on the last print.
 */
function withOlder(gate: PlateGate, id: string, at: number): PlateGate {
  const { ended, printing } = gate;
  const isWaiting = ended?.clearedAt === null && ended.source !== 'earlier';
  if (!printing && !isWaiting) return closed(gate, id, { outcome: 'unknown', source: 'settled', at });
  const known = [...gate.known, id].slice(-KNOWN_KEPT);
  if (printing || ended?.source !== 'job') return { ...gate, known };
  return { ...gate, known, ended: { ...ended, source: 'settled' } };
}

/** Whether a print that this gate does not know has ended on another machine. */
const isOthers = (
  { known, ended, printing }: PlateGate,
  { clusterJobId: id }: PrintJob,
  isElsewhere: Sight['isElsewhere'],
) => id !== null && ended?.id !== id && printing?.id !== id && !known.includes(id) && isElsewhere(id);

function withCleanup(gate: PlateGate, job: PrintJob, at: number): PlateGate {
  const id = job.clusterJobId;
  if (id === null) return gate;
  const { ended, known } = gate;
  const isLast = ended?.id === id && ended.source !== 'earlier';
  const isWaiting = ended?.clearedAt === null && ended.source !== 'earlier';
  // It has closed the gate already, and another print has done so since.
  if (!isLast && known.includes(id) && (gate.isShared || isWaiting))
    return gate.hasShownCleanup ? gate : { ...gate, hasShownCleanup: true };
  // Its time says less than an outcome that is known.
  const isNews = isEndDecided(job) || gate.ended?.outcome === 'unknown';
  const after = !isLast
    ? closed(gate, id, { outcome: outcomeOf(job), source: 'job', at })
    : isNews
      ? withOutcome(gate, outcomeOf(job))
      : gate;
  return { ...(gate.isShared ? after : withSource(after, 'job')), hasShownCleanup: true };
}

function withPrinting(gate: PlateGate, sight: Sight): PlateGate {
  const { jobs, isBusy, at } = sight;
  const { printing: before } = gate;
  const isBefore = ({ clusterJobId }: PrintJob) => clusterJobId === before?.id;
  const prints = jobs.filter(isPrinting);
  const id = (prints.find(isBefore) ?? prints[0])?.clusterJobId;
  const hasOthers = gate.isShared === true && prints.length > 1;
  if (id && before?.id === id && before.missingSince === null && (!hasOthers || before.hasOthers)) return gate;
  if (id && isOutdated(gate, id, at)) return gate;
  if (id) {
    // The printer's own status may show a print before the lists do.
    const isContinued = before?.id === id || (before?.isUnlisted ?? false);
    const ended =
      before && !isContinued ? closed(gate, before.id, { outcome: 'unknown', source: 'vanished', at }) : gate;
    // It was only out of sight.
    const isBack = ended.ended?.id === id;
    // Another print can only begin on a plate from which the part was taken off.
    const after = before?.id === id || isBack ? ended : withUnreadOnly(takenOff(ended));
    const known = isBack ? after.known.filter((other) => other !== id) : after.known;
    const begun = isContinued || isBack ? after.begun : after.begun + 1;
    const printing: CurrentPrint = { id, missingSince: null, isUnlisted: false };
    if (hasOthers || (isContinued && before?.hasOthers)) printing.hasOthers = true;
    return { ...after, begun, known, ended: isBack ? withoutEnd(after) : after.ended, printing };
  }
  if (isBusy && !before) {
    const isOfJob = jobs.some((job) => tellsOfPrint(job) || isEndOf(gate, job));
    const isExplained = isOfJob || (gate.ended && isTail(gate.ended, sight));
    if (isExplained && !jobs.some(isNameless)) return gate;
    const printing = { id: unlistedId(gate), missingSince: null, isUnlisted: true };
    return { ...withUnreadOnly(gate), begun: gate.begun + 1, printing };
  }
  // While the printer prints, a missing job proves nothing.
  if (!before || isBusy) return gate;
  // A single odd answer is no proof.
  if (before.missingSince === null) return { ...gate, printing: { ...before, missingSince: at } };
  if (before.missingSince === at) return gate;
  return closed(gate, before.id, { outcome: 'unknown', source: before.isUnlisted ? 'status' : 'vanished', at });
}

/** The last end once its print is seen to go on: null, or on a shared gate one that stands for the parts on the other plates. */
const withoutEnd = ({ isShared, ended }: PlateGate): EndedPrint | null =>
  isShared && ended ? { ...ended, id: '', source: 'settled', stage: 'idle' } : null;

/** Id of a print of which no job tells. */
const unlistedId = ({ closings }: PlateGate): string => `unlisted-${closings + 1}`;

/**
 * Whether a status shows a print that is known to have ended since: a runtime that could not write for a while applies what it
 * saw before others saw the end. A print that only left the lists may come back.
 */
const isOutdated = ({ ended, known }: PlateGate, id: string, at: number): boolean =>
  ended !== null && known.includes(id) && (ended.id !== id || ended.source === 'job') && at <= ended.at;

/** Whether the printer's status may lag behind the end of its last print: after a cleanup, not for two polls. */
const isTail = ({ stage, hasShownCleanup }: EndedPrint, { hasGap, wasUnlisted, isLongUnlisted }: Sight): boolean =>
  stage !== 'idle' && !hasGap && !(hasShownCleanup ? wasUnlisted : isLongUnlisted);

/** Follows the printer from the end of its last print until it is idle. */
function withStage(gate: PlateGate, { jobs, isIdle, hasGap }: Sight): PlateGate {
  const { ended, printing } = gate;
  if (!ended || printing) return gate;
  const isOwn = ({ clusterJobId }: PrintJob) => !gate.isShared || clusterJobId === ended.id;
  if (jobs.some((job) => isPlateWaiting(job) && isOwn(job))) {
    const hadGap = gate.isShared === true && ended.hasGap;
    return { ...gate, ended: { ...ended, stage: 'cleanup', hasShownCleanup: true, hasGap: hadGap } };
  }
  if (jobs.some((job) => isEndOf(gate, job))) return { ...gate, ended: { ...ended, stage: 'leaving', hasGap: false } };
  if (ended.stage === 'idle') return gate;
  return { ...gate, ended: { ...ended, stage: isIdle ? 'idle' : 'cleanup', hasGap: ended.hasGap || hasGap } };
}

/** Corrects the outcome of the last print: a later status may know it better. */
function withOutcome(gate: PlateGate, outcome: Outcome): PlateGate {
  const { ended } = gate;
  if (!ended || outcome === 'unknown') return gate;
  const source = ended.source === 'vanished' ? 'job' : ended.source;
  if (outcome === ended.outcome && source === ended.source) return gate;
  return { ...gate, ended: { ...ended, outcome, source } };
}

const withSource = (gate: PlateGate, source: Source): PlateGate =>
  gate.ended && gate.ended.source !== source ? { ...gate, ended: { ...gate.ended, source } } : gate;

// A print out of sight

/** The gate after a status that lists a print of its machine, and does not show the machine: nobody may ever see it print. */
export function withHidden(gate: PlateGate, job: PrintJob, history: readonly PrintJob[], at: number): PlateGate {
  const { clusterJobId: id } = job;
  // After a damage, nobody knows whether an ended print is older than the gate.
  if (history.includes(job))
    return gate.isBlind ? gate : withPast(gate, job, at, (now) => isListedBehind(now, job, history));
  if (gate.printing || (id !== null && knows(gate, id))) return gate;
  const printing = { id: id ?? unlistedId(gate), missingSince: null, isUnlisted: id === null };
  return { ...withUnreadOnly(id === null ? gate : takenOff(gate)), begun: gate.begun + 1, printing };
}

// A farewell

/**
 * The gate after a status of a cluster that its machine has left. The part of a print that ended there unwatched may lie on
 * its plate.
 */
export function withFarewell(before: PlateGate, { clusterId, jobs, history, unplaced, at }: Farewell): PlateGate {
  const { unread } = before;
  const others = unread?.clusterIds.filter((id) => id !== clusterId) ?? [];
  let gate =
    unread && others.length < unread.clusterIds.length
      ? withUnreadOnly(before, { ...unread, clusterIds: others })
      : before;
  const isOwn = ({ printerId }: PrintJob) => printerId !== null && gate.ownIds.includes(printerId);
  const mayBeOlder = lastElsewhere(before, history);
  for (const job of [...history.toReversed(), ...jobs]) if (isOwn(job)) gate = withPast(gate, job, at, mayBeOlder);
  for (const { clusterJobId } of unplaced) if (clusterJobId !== null) gate = settledBy(gate, clusterJobId, at);
  const isNews = gate.ended !== null && gate.ended.id !== before.ended?.id;
  return isNews && gate.ended ? { ...gate, ended: { ...gate.ended, hasGap: true } } : gate;
}

// The ends of a queue's own prints

/**
 * Closes the gate after a print that the queue knows to have ended there. A gate follows each status before the attempts do. If a
 * print was seen to begin on the machine and its gate does not know it, the print is older than the gate, which replaces a lost or
 * damaged record: a plate that was cleared since stays clear.
 * @param wasSeen whether a status has shown that the print had begun on this machine
 */
export function closedBy(gate: PlateGate, id: string, outcome: Outcome, at: number, wasSeen: boolean): PlateGate {
  const source = outcome === 'unknown' ? 'vanished' : 'job';
  if (gate.ended?.id === id) return outcome === 'unknown' ? gate : withOutcome(gate, outcome);
  if (gate.known.includes(id)) return gate;
  const isIdle = !gate.isBlind && !gate.printing;
  const isClearedSince = wasSeen && replacesLost(gate) && isIdle && gate.ended?.clearedAt !== null;
  return isClearedSince
    ? { ...gate, known: [...gate.known, id].slice(-KNOWN_KEPT) }
    : closed(gate, id, { outcome, source, at });
}

/**
 * Closes the gate after a print that may have ended there, unless another one has begun since: a person took the part off
 * for it.
 */
export function settledBy(gate: PlateGate, id: string, at: number): PlateGate {
  if (gate.ended?.id === id && gate.ended.clearedAt === null) return withSource(gate, 'settled');
  if ((gate.printing && !gate.isShared) || gate.known.includes(id)) return gate;
  return closed(gate, id, { outcome: 'finished', source: 'settled', at });
}

/**
 * The gate once the service has named the print that a person has settled, and that ended there: a plate that was cleared for
 * it stays clear. The end of that print was not watched.
 */
export function named(gate: PlateGate, key: string, id: string): PlateGate {
  const { ended, printing, known, verdicts, begun } = gate;
  if (printing || ended?.id !== key || known.includes(id)) return gate;
  return {
    ...gate,
    begun: begun + 1,
    ended: { ...ended, id, source: 'job', hasGap: true },
    known: [...known, id].slice(-KNOWN_KEPT),
    verdicts: verdicts.map((verdict) => (verdict.id === key ? { ...verdict, id } : verdict)),
  };
}

// Jobs

/** Whether a job that has ended may have left something on a plate. */
export const mayHavePrinted = (job: PrintJob): boolean =>
  // A print that failed may have begun although its record shows no time.
  hasBegun(job) || job.state === 'finished' || (job.state === 'failed' && job.started !== false);

/** A job that occupies the plate; one that waits for a clear plate has ended. */
const isPrinting = (job: PrintJob): boolean => job.clusterJobId !== null && hasBegun(job) && !isOver(job);

/** Whether a job has a print on the plate but no id: no later status can tell what has become of it. */
export const isNameless = (job: PrintJob): boolean => job.clusterJobId === null && isOnPlate(job);

/** Whether a job explains why its printer is busy, and tells later what has become of the print. */
export const tellsOfPrint = (job: PrintJob): boolean =>
  job.clusterJobId !== null && (job.state === 'preparing' || isOnPlate(job));

/** Whether a job has a print on the plate, whatever its end. */
export const isOnPlate = (job: PrintJob): boolean =>
  occupiesPrinter(job) || isPlateWaiting(job) || (hasBegun(job) && !isOver(job));

/** A job that is still listed although its end is decided, and does not wait for a clear plate yet. */
const isCoolingDown = (job: PrintJob): boolean => isEndDecided(job) && !isPlateWaiting(job);

/** Whether a listed job is the last print, and is still leaving its printer. */
const isEndOf = ({ ended }: PlateGate, job: PrintJob): boolean =>
  ended !== null && job.clusterJobId === ended.id && isCoolingDown(job);

const outcomeOf = ({ state }: PrintJob): Outcome =>
  state === 'finished' || state === 'failed' || state === 'aborted' ? state : 'unknown';
