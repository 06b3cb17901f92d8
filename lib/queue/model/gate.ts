import { PrintingError } from '../../service/errors';
import { isEndDecided, isOver, isPlateWaiting, occupiesPrinter } from '../../service/job-words';
import type { PrintJob } from '../../service/print-job';
import { phrase } from '../../words/sentence';
import { firstNumber, hasBegun } from './item';
import type { QueueRules } from './rules';

/**
 * Plate gate of a machine: facts about the prints that ended there, shared by all queues of the account. Each queue judges
 * them by its own mode (`plateOf`). Saved under `['queue-plate', ...scope, gateId]`. Times in ms since 1970.
 */
export interface PlateGate {
  version: 2;
  /** What first identified the machine (`gateIdOf`). */
  gateId: string;
  /** Ids of the printer itself, the present one last; empty: it has none of its own. */
  ownIds: readonly string[];
  /** GUID of the machine's electronics. */
  hostGuid: string | null;
  /** Where it was last seen. */
  clusterId: string;
  /** Null: the only printer of its cluster. */
  printerId: string | null;
  clusterName: string | null;
  /**
   * Number of its last closing, part of the ids of its events. They count from the time of the first sight (`firstNumber`), so
   * that a gate in the place of a lost or damaged one repeats no number.
   */
  closings: number;
  /** Number of prints that have begun there, as far as anything has shown them. */
  begun: number;
  /** Print that is under way there. */
  printing: CurrentPrint | null;
  /** Print that ended there last. */
  ended: EndedPrint | null;
  /** The closings before the last one, oldest first, for queues that were not planned then; absent before there are any. */
  past?: readonly Closing[];
  /** Whether the printer has ever shown the cleanup state. */
  hasShownCleanup: boolean;
  /** Ids of jobs that are known to have ended, oldest first. */
  known: readonly string[];
  /** Verdicts of people on the parts, oldest first. */
  verdicts: readonly PlateVerdict[];
  /** Its record could not be read, and no status has shown the machine since: its history is older than the gate. */
  isBlind?: true;
  /** Clusters that the machine has left since a print could have ended there unseen; absent: none. */
  unread?: UnreadClusters | undefined;
}

/** Clusters that nobody has read since a machine left them, and the time of the status that showed it elsewhere. */
interface UnreadClusters {
  clusterIds: readonly string[];
  since: number;
}

interface CurrentPrint {
  id: string;
  /** When the first status lacked it; null while it is shown. */
  missingSince: number | null;
  /** Whether only the printer's own status shows it. */
  isUnlisted: boolean;
}

export interface EndedPrint {
  /** Id of the printing. */
  id: string;
  outcome: Outcome;
  source: Source;
  at: number;
  stage: Stage;
  /** Whether the printer has shown the cleanup state of this print, and whether it had shown one before. */
  hasShownCleanup: boolean;
  hadShownCleanup: boolean;
  /** Whether nobody watched for a while between the print, or its cleanup, and the idle printer. */
  hasGap: boolean;
  clearedAt: number | null;
}

/** A closing of a gate, and its opening, as a queue reports them. */
export interface Closing {
  number: number;
  /** What was known of the plate before anyone cleared it. */
  row: PlateRow;
  at: number;
  /** When a person cleared it; null: nobody did. */
  clearedAt: number | null;
  /** Verdict of a person; null: none. */
  good: boolean | null;
}

/** How a print ended. */
export type Outcome = 'finished' | 'failed' | 'aborted' | 'unknown';

/**
 * What the end is known by. `vanished`: its job left the lists. `status`: the printer's status alone showed the print.
 * `settled`: a person's word, or an end of which nobody saw the printer. `lost`, `damaged`: the record of the gate was.
 * `earlier`: the history at the first sight.
 */
export type Source = 'job' | 'vanished' | 'status' | 'settled' | 'lost' | 'damaged' | 'earlier';

/** `leaving`: its end is named, and the printer is still occupied. `cleanup`: from then until the printer is idle. */
export type Stage = 'leaving' | 'cleanup' | 'idle';

export interface PlateVerdict {
  /** Id of the printing. */
  id: string;
  good: boolean;
  /** Number of good parts, if a person has counted them; absent: all with `good`, none without. */
  parts?: number;
  /** 0: nobody has said it, but another print followed. */
  at: number;
}

/** What a status shows of a machine. */
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
  /** Whether the gate of another machine knows a print: the list of a printer that was in a group has the others' prints. */
  isElsewhere: (id: string) => boolean;
  /** Whether it was not watched without a gap since the status before. */
  hasGap: boolean;
  /** Whether the status before showed a print, too, of which no job told, and whether that has lasted for long. */
  wasUnlisted: boolean;
  isLongUnlisted: boolean;
  /** Whether it has come from another cluster that was not read since it was last seen there. */
  isFromUnread: boolean;
  /** Whether the service does not know a cluster any more: nobody will ever read what has ended there. */
  isGone: (clusterId: string) => boolean;
  /** Time of the status, and of its receipt: two queues receive the same. */
  at: number;
}

/** What a status of a cluster shows of a machine that has left it. */
export interface Farewell {
  clusterId: string;
  jobs: readonly PrintJob[];
  history: readonly PrintJob[];
  /** Ended jobs of which nothing shows the printer. */
  unplaced: readonly PrintJob[];
  at: number;
}

// The decision

/** `pc`: closed until a person confirms the plate with `plate-cleared`. */
export type Plate = 'open' | 'closed' | 'pc';
type Mode = QueueRules['gate'];
type Row = readonly [confirm: Plate, printer: Plate, automatic: Plate];

/** The truth table of the plate gate (print queue, rule 3). */
const TABLE = {
  underWay: ['closed', 'closed', 'closed'],
  finishedInCleanup: ['pc', 'closed', 'open'],
  unfinishedInCleanup: ['pc', 'closed', 'pc'],
  finishedAndCleared: ['pc', 'open', 'open'],
  finishedUnseen: ['pc', 'pc', 'open'],
  unfinishedAndCleared: ['pc', 'open', 'pc'],
  unknown: ['pc', 'pc', 'pc'],
  untouched: ['open', 'open', 'open'],
  withHistory: ['pc', 'open', 'open'],
  confirmed: ['open', 'open', 'open'],
} as const satisfies Record<string, Row>;
const COLUMNS: readonly Mode[] = ['confirm', 'printer', 'automatic'];

export type PlateRow = keyof typeof TABLE;
export const PLATE_ROWS: readonly string[] = Object.keys(TABLE);

/** Whether the plate of a machine is clear for a queue with this mode. Everything that is not known is closed. */
export function plateOf(
  { printing, ended, unread }: Pick<PlateGate, 'printing' | 'ended' | 'unread'>,
  mode: Mode,
): Plate {
  const row = printing ? 'underWay' : unread ? 'unknown' : ended ? rowOf(ended) : 'untouched';
  return TABLE[row][COLUMNS.indexOf(mode)] ?? 'closed';
}

function rowOf(ended: EndedPrint): PlateRow {
  const { outcome, source, stage, hasShownCleanup, hadShownCleanup, hasGap, clearedAt } = ended;
  const isFinished = outcome === 'finished';
  // A person may be faster than the printer, whose status may take long to show the rest.
  if (clearedAt !== null) return 'confirmed';
  if (stage === 'leaving') return 'underWay';
  if (source === 'earlier') return 'withHistory';
  if (source !== 'job') return 'unknown';
  if (stage !== 'idle') return isFinished ? 'finishedInCleanup' : 'unfinishedInCleanup';
  if (isFinished) return !hasGap && (hasShownCleanup || hadShownCleanup) ? 'finishedAndCleared' : 'finishedUnseen';
  return !hasGap && hasShownCleanup ? 'unfinishedAndCleared' : 'unknown';
}

/** Whether the plate waits to be cleared: no print is under way, and the gate is closed. */
export const isPlateToClear = (gate: PlateGate, mode: Mode): boolean =>
  !gate.printing && plateOf(gate, mode) !== 'open';

/** Whether the plate of an ended print is clear, whatever has begun there since. */
export const isCleared = (ended: EndedPrint, mode: Mode): boolean =>
  plateOf({ printing: null, ended }, mode) === 'open';

/** Whether a plate has to be cleared in this mode, or had to be. */
export const hadToBeCleared = ({ row }: Closing, mode: Mode): boolean => TABLE[row][COLUMNS.indexOf(mode)] !== 'open';

// The facts

/** Ends and verdicts that a gate remembers: more than the service lists. */
const KNOWN_KEPT = 12;
const VERDICTS_KEPT = 3;
/** Closings that a gate remembers for queues that are not planned: each write carries them. */
const PAST_KEPT = 5;
/** The same for the ids of its printer, of which a factory reset makes another one. */
const IDS_KEPT = 10;

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
  if (isLost) return closed(gate, past[0]?.clusterJobId ?? 'lost', { outcome: 'unknown', source: 'lost', at });
  // A print that is found under way is an ordinary one.
  const isUnderWay = isBusy || jobs.some(isPrinting);
  const last = isUnderWay ? undefined : past[0];
  return last ? closed(gate, last.clusterJobId ?? '', { outcome: 'unknown', source: 'earlier', at }) : gate;
}

/** Ids and place of a gate's machine. */
export type PlateIds = Pick<PlateGate, 'gateId' | 'ownIds' | 'hostGuid' | 'clusterId' | 'printerId'>;

/** A closed gate in place of a record that can't be read; `rest`: what can be read of it. */
export function damagedGate(rest: PlateIds, at: number): PlateGate {
  const gate: PlateGate = {
    version: 2,
    ...rest,
    ...{ clusterName: null, closings: firstNumber(at), begun: 0, printing: null, ended: null, hasShownCleanup: false },
    ...{ known: [], verdicts: [], isBlind: true },
  };
  return closed(gate, 'damaged', { outcome: 'unknown', source: 'damaged', at });
}

/** The gate after a status that shows its machine; the same object if nothing changed. */
export function observed(before: PlateGate, sight: Sight): PlateGate {
  const { jobs, history, isElsewhere, at } = sight;
  // Most statuses change nothing: then each step returns the gate that it got.
  let gate = withHistory(withPlace(withUnread(before, sight), sight), sight);
  for (const job of history.toReversed()) if (!isOthers(gate, job, isElsewhere)) gate = withPast(gate, job, at);
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
 * the plate concerns the last of them.
 */
function withHistory(gate: PlateGate, { history, unplaced }: Sight): PlateGate {
  if (!gate.isBlind) return gate;
  const { isBlind: _, ended, ...others } = gate;
  const past = idsOf([...history, ...unplaced]);
  const last = past.at(-1);
  const seen: PlateGate = { ...others, ended, known: [...past, ...gate.known.filter((id) => !past.includes(id))] };
  if (ended?.clearedAt !== null || last === undefined || ended.id === last) return seen;
  // A print for which a copy waits may have been followed by others.
  const isFollowed = ended.source === 'damaged' || past.includes(ended.id);
  return isFollowed ? { ...takenOff(seen), ended: { ...ended, id: last, source: 'damaged' } } : seen;
}

/** Ids of ended jobs, oldest first. */
const idsOf = (past: readonly PrintJob[]): string[] => past.flatMap(({ clusterJobId }) => clusterJobId ?? []).reverse();

/** What the clusters show that the machine has left can be read until the service does not know them any more. */
function withUnread(gate: PlateGate, { clusterId, isFromUnread, isGone, at }: Sight): PlateGate {
  const isNew = isFromUnread && gate.clusterId !== clusterId;
  if (!gate.unread && !isNew) return gate;
  const { clusterIds = [], since = at } = gate.unread ?? {};
  const left = [...new Set(isNew ? [...clusterIds, gate.clusterId] : clusterIds)];
  const still = left.filter((id) => id !== clusterId && !isGone(id));
  if (!isNew && still.length === clusterIds.length) return gate;
  return withoutUnread(gate, still, isNew ? at : since);
}

function withoutUnread({ unread: _, ...gate }: PlateGate, clusterIds: readonly string[], since: number): PlateGate {
  return clusterIds.length === 0 ? gate : { ...gate, unread: { clusterIds, since } };
}

/**
 * The gate after a status of a cluster that its machine has left. The part of a print that ended there unwatched may lie on
 * its plate.
 */
export function withFarewell(before: PlateGate, { clusterId, jobs, history, unplaced, at }: Farewell): PlateGate {
  const { unread } = before;
  const others = unread?.clusterIds.filter((id) => id !== clusterId) ?? [];
  let gate = unread && others.length < unread.clusterIds.length ? withoutUnread(before, others, unread.since) : before;
  const isOwn = ({ printerId }: PrintJob) => printerId !== null && gate.ownIds.includes(printerId);
  for (const job of [...history.toReversed(), ...jobs]) if (isOwn(job)) gate = withPast(gate, job, at);
  for (const { clusterJobId } of unplaced) if (clusterJobId !== null) gate = settledBy(gate, clusterJobId, at);
  const isNews = gate.ended !== null && gate.ended.id !== before.ended?.id;
  return isNews && gate.ended ? { ...gate, ended: { ...gate.ended, hasGap: true } } : gate;
}

function withPlace(gate: PlateGate, sight: Sight): PlateGate {
  const { clusterId, printerId } = sight;
  const clusterName = sight.clusterName ?? gate.clusterName;
  const hostGuid = sight.hostGuid ?? gate.hostGuid;
  const ownIds = withId(gate.ownIds, sight.ownId);
  const isSamePlace = clusterId === gate.clusterId && printerId === gate.printerId && clusterName === gate.clusterName;
  const isSame = isSamePlace && hostGuid === gate.hostGuid && ownIds === gate.ownIds;
  return isSame ? gate : { ...gate, ownIds, hostGuid, clusterId, printerId, clusterName };
}

const withId = (ids: readonly string[], id: string | null): readonly string[] =>
  id === null || ids.at(-1) === id ? ids : [...ids.filter((other) => other !== id), id].slice(-IDS_KEPT);

/** Closes the gate after a print that the queue knows to have ended there. */
export function closedBy(gate: PlateGate, id: string, outcome: Outcome, at: number): PlateGate {
  const source = outcome === 'unknown' ? 'vanished' : 'job';
  if (gate.ended?.id === id) return outcome === 'unknown' ? gate : withOutcome(gate, outcome);
  return gate.known.includes(id) ? gate : closed(gate, id, { outcome, source, at });
}

/**
 * Closes the gate after a print that may have ended there, unless another one has begun since: a person took the part off
 * for it.
 */
export function settledBy(gate: PlateGate, id: string, at: number): PlateGate {
  if (gate.ended?.id === id && gate.ended.clearedAt === null) return withSource(gate, 'settled');
  if (gate.printing || gate.known.includes(id)) return gate;
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

/** Whether a machine has shown a print. */
export const knows = ({ printing, ended, known }: PlateGate, id: string): boolean =>
  printing?.id === id || ended?.id === id || known.includes(id);

/** Whether a gate replaces a lost or damaged record, and nothing has shown since what closed it. */
export const replacesLost = ({ ended }: PlateGate): boolean => ended?.source === 'lost' || ended?.source === 'damaged';

/** Whether a print that may have ended there was followed by another one. */
export const isFollowed = ({ printing, begun }: PlateGate, id: string, begunBefore: number): boolean =>
  begun > begunBefore || (printing !== null && printing.id !== id);

/** Whether a machine has shown this print last. A history at its first sight may list the prints of others. */
export const isLastPrint = ({ printing, ended }: PlateGate, id: string): boolean =>
  printing?.id === id || (ended?.id === id && !UNSURE.includes(ended.source));

/** Records that a person took the part of such a print off for the next one, and did not reject it. */
export function acceptedBy(gate: PlateGate, id: string): PlateGate {
  const { verdicts } = gate;
  if (verdicts.some((verdict) => verdict.id === id)) return gate;
  return { ...gate, verdicts: [...verdicts, { id, good: true, at: 0 }].slice(-VERDICTS_KEPT) };
}

/**
 * The verdict on a print whose copy waits for one, as far as its gate decides it: somebody took the part off for another print,
 * or cleared a plate of which nobody knew the print. Null: the part may lie there still.
 * @param names all names of the print
 */
export function verdictOf(
  { printing, ended, known, verdicts }: PlateGate,
  names: readonly string[],
): Pick<PlateVerdict, 'good' | 'parts'> | null {
  // The printer's status alone may show the same print again.
  if (printing) return printing.isUnlisted || names.includes(printing.id) ? null : { good: true };
  if (!ended) return null;
  const isLast = names.includes(ended.id);
  if (ended.clearedAt !== null && (isLast || UNSURE.includes(ended.source)))
    return verdicts.find(({ id }) => id === ended.id) ?? { good: true };
  const isFollowed = !UNSURE.includes(ended.source) || known.some((id) => names.includes(id));
  return !isLast && isFollowed ? { good: true } : null;
}

/** The gate of the machine on which a print lies whose copy waits for a verdict: it names that print, whatever it knew before. */
export function holding(gate: PlateGate, id: string, at: number): PlateGate {
  const { printing, ended, known } = gate;
  if (printing || (ended?.id === id && !UNSURE.includes(ended.source))) return gate;
  if (!ended) return closed(gate, id, { outcome: 'finished', source: 'settled', at });
  return {
    ...gate,
    ended: { ...ended, id, source: 'settled' },
    known: [...known.filter((other) => other !== id), id].slice(-KNOWN_KEPT),
  };
}

/**
 * What names the last print on a plate, as long as none is under way: the id of the printing or, where nobody knows it, one
 * that is new with each closing. A verdict that names it can't concern another print. Null: nothing has ended there.
 */
export function judgesOf(gate: Pick<PlateGate, 'printing' | 'ended' | 'closings' | 'unread'>): string | null {
  const { printing, ended, closings, unread } = gate;
  if (printing) return null;
  if (unread && isUnreadAlone(gate)) return ['unread', closings, unread.since].join('/');
  if (!ended) return null;
  const { id, source, at } = ended;
  return id === '' || UNNAMED.includes(source) ? [id || source, closings, at].join('/') : id;
}

/** Id of the last print on a plate that waits to be cleared; null: none is known, or a person has cleared it already. */
export const printToClear = (gate: Pick<PlateGate, 'ended' | 'unread'>): string | null =>
  isUnreadAlone(gate) ? null : (gate.ended?.id ?? null);

/** Whether a plate is not clear only because of what the machine may have printed in a cluster that was not read since. */
const isUnreadAlone = ({ ended, unread }: Pick<PlateGate, 'ended' | 'unread'>): boolean =>
  unread !== undefined && ended?.clearedAt !== null;

/** Sources after which the id of the printing is not known. */
const UNNAMED: readonly Source[] = ['status', 'lost', 'damaged'];

/** A person's verdict on the last print that ended on a plate. */
export interface Judgement {
  good: boolean;
  /** Number of good parts; undefined: all with `good`, none without. */
  parts?: number | undefined;
  /** Names that the print may have; null: the verdict names none. */
  names: readonly string[] | null;
}

/** Facts about the print that a verdict judges. */
export interface JudgedPrint {
  /** Number of parts; null: the print is not of this queue, which then counts none. */
  perPrint: number | null;
  /** Parts that count as good without a number: none of a print that did not finish. */
  whole: number;
  /** Whether a rejection can be taken back, because parts are counted and not copies. */
  isCorrectable: boolean;
  /** The verdict on it so far, at whichever gate that was given. */
  known: PlateVerdict | undefined;
}

/**
 * The gate after a person confirmed a clear plate, and judged the part on it. The same verdict again only clears the plate,
 * and another one corrects it. Throws NOT_ACCEPTED while the printer prints, because the part of the print before is out of
 * reach then, and if the verdict names another print, or one that was judged otherwise; INVALID_INPUT for more parts than the
 * print has.
 */
export function confirmed(
  before: PlateGate,
  { names, ...given }: Judgement,
  { perPrint, whole, isCorrectable, known }: JudgedPrint,
  now: number,
): PlateGate {
  const { ended, printing, verdicts } = before;
  if (printing)
    throw new PrintingError(
      'NOT_ACCEPTED',
      phrase`The printer is printing, so its plate can't be clear: wait for the end.`,
    );
  if (names && !names.includes(judgesOf(before) ?? '')) throw anotherPrint();
  const isOfUnread = names !== null && isUnreadAlone(before);
  // A verdict that names a print does not concern what may have been printed since.
  const gate = before.unread && (names === null || isOfUnread) ? withoutUnread(before, [], 0) : before;
  if (!ended || isOfUnread) return gate;
  const parts = perPrint === null ? undefined : given.parts;
  const good = parts === undefined ? given.good : parts > 0;
  if (perPrint !== null && (parts ?? 0) > perPrint)
    throw new PrintingError(
      'INVALID_INPUT',
      phrase`The property goodParts must be at most ${perPrint}, as the print has no more parts.`,
    );
  const isSame = known !== undefined && countOf(known, whole) === countOf({ good, parts }, whole);
  if (names && known && !isSame)
    throw new PrintingError(
      'NOT_ACCEPTED',
      phrase`The print was judged otherwise already: to correct that, clear the plate without naming the print.`,
    );
  // The part of a copy that was rejected stays so: the copy may be printing again.
  const isNews = !known || (!isSame && (isCorrectable || (known.good && !good)));
  const own = verdicts.find(({ id }) => id === ended.id);
  if (!isNews && own && ended.clearedAt !== null) return gate;
  const verdict = isNews ? { good, ...(parts === undefined ? {} : { parts }) } : known;
  // A clock that was set back does not make a later verdict the earlier one.
  const at = isNews ? Math.max(now, (known?.at ?? 0) + 1) : known.at;
  const others = verdicts.filter((other) => other !== own);
  const after = isNews || !own ? [...others, { ...verdict, id: ended.id, at }].slice(-VERDICTS_KEPT) : verdicts;
  return { ...gate, ended: { ...ended, clearedAt: ended.clearedAt ?? now }, verdicts: after };
}

/** Number of good parts of a verdict; `whole`: with `good` alone. */
const countOf = ({ good, parts }: Pick<Judgement, 'good' | 'parts'>, whole: number): number =>
  parts ?? (good ? whole : 0);

const anotherPrint = (): PrintingError =>
  new PrintingError(
    'NOT_ACCEPTED',
    phrase`Another print has ended on this plate since, or none has: look at the printer again.`,
  );

/** Whether a job that has ended may have left something on a plate. */
export const mayHavePrinted = (job: PrintJob): boolean =>
  // A print that failed may have begun although its record shows no time.
  hasBegun(job) || job.state === 'finished' || (job.state === 'failed' && job.started !== false);

/** A job that occupies the plate; one that waits for a clear plate has ended. */
const isPrinting = (job: PrintJob): boolean => job.clusterJobId !== null && hasBegun(job) && !isOver(job);

/** Whether a job explains why its printer is busy. */
export const tellsOfPrint = (job: PrintJob): boolean =>
  job.state === 'preparing' || occupiesPrinter(job) || isPlateWaiting(job);

/** A job that is still listed although its end is decided, and does not wait for a clear plate yet. */
const isCoolingDown = (job: PrintJob): boolean => isEndDecided(job) && !isPlateWaiting(job);

/** Whether a listed job is the last print, and is still leaving its printer. */
const isEndOf = ({ ended }: PlateGate, job: PrintJob): boolean =>
  ended !== null && job.clusterJobId === ended.id && isCoolingDown(job);

/** Whether a print that this gate does not know has ended on another machine. */
const isOthers = (
  { known, ended, printing }: PlateGate,
  { clusterJobId: id }: PrintJob,
  isElsewhere: Sight['isElsewhere'],
) => id !== null && ended?.id !== id && printing?.id !== id && !known.includes(id) && isElsewhere(id);

function withPast(gate: PlateGate, job: PrintJob, at: number): PlateGate {
  const id = job.clusterJobId;
  if (id === null) return gate;
  if (gate.ended?.id === id && gate.ended.source !== 'earlier') return withOutcome(gate, outcomeOf(job));
  if (gate.known.includes(id)) return gate;
  const isKnownToPrint = gate.printing?.id === id;
  return isKnownToPrint || mayHavePrinted(job)
    ? closed(gate, id, { outcome: outcomeOf(job), source: 'job', at })
    : gate;
}

function withCleanup(gate: PlateGate, job: PrintJob, at: number): PlateGate {
  const id = job.clusterJobId;
  if (id === null) return gate;
  const isLast = gate.ended?.id === id && gate.ended.source !== 'earlier';
  // Its time says less than an outcome that is known.
  const isNews = isEndDecided(job) || gate.ended?.outcome === 'unknown';
  const after = !isLast
    ? closed(gate, id, { outcome: outcomeOf(job), source: 'job', at })
    : isNews
      ? withOutcome(gate, outcomeOf(job))
      : gate;
  return { ...withSource(after, 'job'), hasShownCleanup: true };
}

function withPrinting(gate: PlateGate, sight: Sight): PlateGate {
  const { jobs, isBusy, at } = sight;
  const { printing: before } = gate;
  const id = jobs.find(isPrinting)?.clusterJobId;
  if (id && before?.id === id && before.missingSince === null) return gate;
  if (id && isOutdated(gate, id, at)) return gate;
  if (id) {
    // The printer's own status may show a print before the lists do.
    const isContinued = before?.id === id || (before?.isUnlisted ?? false);
    const ended =
      before && !isContinued ? closed(gate, before.id, { outcome: 'unknown', source: 'vanished', at }) : gate;
    // It was only out of sight.
    const isBack = ended.ended?.id === id;
    // Another print can only begin on a plate from which the part was taken off.
    const after = before?.id === id || isBack ? ended : withoutUnread(takenOff(ended), [], 0);
    const known = isBack ? after.known.filter((other) => other !== id) : after.known;
    const begun = isContinued || isBack ? after.begun : after.begun + 1;
    const printing = { id, missingSince: null, isUnlisted: false };
    return { ...after, begun, known, ended: isBack ? null : after.ended, printing };
  }
  if (isBusy && !before) {
    const isOfJob = jobs.some((job) => tellsOfPrint(job) || isEndOf(gate, job));
    if (isOfJob || (gate.ended && isTail(gate.ended, sight))) return gate;
    const printing = { id: `unlisted-${gate.closings + 1}`, missingSince: null, isUnlisted: true };
    return { ...withoutUnread(gate, [], 0), begun: gate.begun + 1, printing };
  }
  // While the printer prints, a missing job proves nothing.
  if (!before || isBusy) return gate;
  // A single odd answer is no proof.
  if (before.missingSince === null) return { ...gate, printing: { ...before, missingSince: at } };
  if (before.missingSince === at) return gate;
  return closed(gate, before.id, { outcome: 'unknown', source: before.isUnlisted ? 'status' : 'vanished', at });
}

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
  if (jobs.some(isPlateWaiting)) {
    const stage = { stage: 'cleanup', hasShownCleanup: true, hasGap: false } as const;
    return { ...gate, ended: { ...ended, ...stage } };
  }
  if (jobs.some((job) => isEndOf(gate, job))) return { ...gate, ended: { ...ended, stage: 'leaving', hasGap: false } };
  if (ended.stage === 'idle') return gate;
  return { ...gate, ended: { ...ended, stage: isIdle ? 'idle' : 'cleanup', hasGap: ended.hasGap || hasGap } };
}

/** Sources after which nobody knows for certain which print has ended. */
const UNSURE: readonly Source[] = ['lost', 'damaged', 'earlier'];

/** Sources after which nothing is awaited from the printer. */
const SETTLED: readonly Source[] = ['settled', ...UNSURE];

function closed(
  gate: PlateGate,
  id: string,
  { outcome, source, at }: Pick<EndedPrint, 'outcome' | 'source' | 'at'>,
): PlateGate {
  const { hasShownCleanup: hadShownCleanup } = gate;
  const isSettled = SETTLED.includes(source);
  const ended: EndedPrint = {
    ...{ id, outcome, source, at },
    stage: isSettled ? 'idle' : 'cleanup',
    ...{ hasShownCleanup: false, hadShownCleanup, hasGap: false, clearedAt: null },
  };
  const known = gate.known.includes(id) ? gate.known : [...gate.known, id].slice(-KNOWN_KEPT);
  // A print that the printer's status alone has shown so far is that of the first job that tells of its end.
  const isCurrent = gate.printing?.id === id || (source === 'job' && gate.printing?.isUnlisted === true);
  const begun = isCurrent || isSettled ? gate.begun : gate.begun + 1;
  const printing = isCurrent ? null : gate.printing;
  const last = lastClosing(gate);
  const past = last ? { past: [...(gate.past ?? []), last].slice(-PAST_KEPT) } : {};
  return { ...takenOff(gate), ...past, closings: gate.closings + 1, begun, printing, ended, known };
}

/** The closing after the print that ended last; null: nothing has ended there, or it is back. */
export function lastClosing({ ended, closings, verdicts }: PlateGate): Closing | null {
  if (!ended) return null;
  const { id, at, clearedAt, stage, hasShownCleanup } = ended;
  const row = rowOf({ ...ended, clearedAt: null, stage: hasShownCleanup ? 'cleanup' : stage });
  const verdict = verdicts.find((one) => one.id === id && one.at > 0);
  return { number: closings, row, at, clearedAt, good: verdict?.good ?? null };
}

/** Records that a person took the part off, and did not reject it: another print follows. */
function takenOff(gate: PlateGate): PlateGate {
  const { ended } = gate;
  return !ended || UNSURE.includes(ended.source) ? gate : acceptedBy(gate, ended.id);
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

const outcomeOf = ({ state }: PrintJob): Outcome =>
  state === 'finished' || state === 'failed' || state === 'aborted' ? state : 'unknown';
