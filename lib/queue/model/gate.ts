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
  /** Number before its first closing, if it replaces a record that was lost or could not be read; absent: it replaces none. */
  replacesUpTo?: number;
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
  /** Several printers without ids of their own share it, or did when a part came onto a plate that nobody has cleared since. */
  isShared?: true | undefined;
  /** Its record could not be read, and no status has shown the machine since: its history is older than the gate. */
  isBlind?: true;
  /** Clusters that the machine has left since a print could have ended there unseen; absent: none. */
  unread?: UnreadClusters | undefined;
}

/** Clusters that nobody has read since a machine left them, and the time of the status that showed it elsewhere. */
interface UnreadClusters {
  clusterIds: readonly string[];
  since: number;
  /** Whether a print had the time to end there unseen; absent: no. */
  wasUnwatched?: boolean | undefined;
}

export interface CurrentPrint {
  id: string;
  /** When the first status lacked it; null while it is shown. */
  missingSince: number | null;
  /** Whether only the printer's own status shows it. */
  isUnlisted: boolean;
  /** Whether a printer that shares the gate was seen to print as well; absent: none was. */
  hasOthers?: true | undefined;
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
  /** Row of the table before anyone cleared the plate. */
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

/** Ids and place of a gate's machine. */
export type PlateIds = Pick<PlateGate, 'gateId' | 'ownIds' | 'hostGuid' | 'clusterId' | 'printerId'>;

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

/** The closing after the print that ended last; null: nothing has ended there, or it is back. */
export function lastClosing({ ended, closings, verdicts }: PlateGate): Closing | null {
  if (!ended) return null;
  const { id, at, clearedAt, stage, hasShownCleanup } = ended;
  const row = rowOf({ ...ended, clearedAt: null, stage: hasShownCleanup ? 'cleanup' : stage });
  const verdict = verdicts.find((one) => one.id === id && one.at > 0);
  return { number: closings, row, at, clearedAt, good: verdict?.good ?? null };
}

// Its prints

/** Whether a machine has shown a print. */
export const knows = ({ printing, ended, known }: PlateGate, id: string): boolean =>
  printing?.id === id || ended?.id === id || known.includes(id);

/** Whether a gate replaces a lost or damaged record, and nothing has shown since what closed it. */
export const replacesLost = ({ ended }: PlateGate): boolean => ended?.source === 'lost' || ended?.source === 'damaged';

/** Whether a print that may have ended there was followed by another one on the same plate. */
export const isFollowed = ({ printing, begun, isShared }: PlateGate, id: string, begunBefore: number): boolean =>
  !isShared && (begun > begunBefore || (printing !== null && printing.id !== id));

/** Whether a machine has shown this print last. A history at its first sight may list the prints of others. */
export const isLastPrint = ({ printing, ended }: PlateGate, id: string): boolean =>
  printing?.id === id || (ended?.id === id && !UNSURE.includes(ended.source));

// Its closing and opening

/** Sources after which nobody knows for certain which print has ended. */
export const UNSURE: readonly Source[] = ['lost', 'damaged', 'earlier'];

/** Sources after which nothing is awaited from the printer. */
const SETTLED: readonly Source[] = ['settled', ...UNSURE];

/** Ends and verdicts that a gate remembers: more than the service lists. */
export const KNOWN_KEPT = 12;
export const VERDICTS_KEPT = 3;

/** Closings that a gate remembers for queues that are not planned: each write carries them. */
const PAST_KEPT = 5;

/** Closes the gate after a print. One that is closed already after a print of another printer that shares it stays closed. */
export function closed(
  gate: PlateGate,
  id: string,
  { outcome, source, at }: Pick<EndedPrint, 'outcome' | 'source' | 'at'>,
): PlateGate {
  // Of several printers, another one may have shown it.
  const hadShownCleanup = gate.hasShownCleanup && !gate.isShared;
  // A print that the printer's status alone has shown so far is that of the first job that tells of its end.
  const isCurrent = gate.printing?.id === id || (source === 'job' && gate.printing?.isUnlisted === true);
  // A print beside it may have vanished meanwhile.
  const mayHidePart = isCurrent && gate.printing?.hasOthers === true;
  const isSettled = mayHidePart || SETTLED.includes(source);
  const ended: EndedPrint = {
    ...{ id, outcome, at },
    source: mayHidePart ? 'settled' : source,
    stage: isSettled ? 'idle' : 'cleanup',
    ...{ hasShownCleanup: false, hadShownCleanup, hasGap: false, clearedAt: null },
  };
  const known = gate.known.includes(id) ? gate.known : [...gate.known, id].slice(-KNOWN_KEPT);
  const begun = isCurrent || isSettled ? gate.begun : gate.begun + 1;
  const printing = isCurrent ? null : gate.printing;
  const { ended: other } = gate;
  if (gate.isShared && other && !NO_PART.includes(rowOf(other)))
    return { ...gate, begun, printing, ended: besides(other, ended), known };
  // The print only explains the closing in place of a lost record: the plate was not cleared since.
  const isSameClosing = replacesLost(gate) && other?.clearedAt === null && !isCurrent && (isSettled || other.at === at);
  if (isSameClosing) return { ...gate, begun, printing, ended: { ...ended, at: other.at }, known };
  const last = lastClosing(gate);
  const past = last ? { past: [...(gate.past ?? []), last].slice(-PAST_KEPT) } : {};
  return { ...takenOff(gate), ...past, closings: gate.closings + 1, begun, printing, ended, known };
}

/** Rows of a plate on which no part of a print lies that the gate has seen. */
const NO_PART: readonly PlateRow[] = ['confirmed', 'withHistory'];

/** The end of a print on one of the plates of a shared gate: it opens nothing that the part on another one closes. */
function besides(other: EndedPrint, ended: EndedPrint): EndedPrint {
  if (other.outcome !== 'finished' || rowOf(other) === 'unknown') return { ...ended, source: 'settled', stage: 'idle' };
  return { ...ended, hasGap: ended.hasGap || rowOf(other) !== 'finishedAndCleared' };
}

/** Records that a person took the part off, and did not reject it: another print follows. */
export function takenOff(gate: PlateGate): PlateGate {
  const { ended } = gate;
  return !ended || gate.isShared || UNSURE.includes(ended.source) ? gate : acceptedBy(gate, ended.id);
}

/** Records that a person took the part of such a print off for the next one, and did not reject it. */
export function acceptedBy(gate: PlateGate, id: string): PlateGate {
  const { verdicts } = gate;
  if (verdicts.some((verdict) => verdict.id === id)) return gate;
  return { ...gate, verdicts: [...verdicts, { id, good: true, at: 0 }].slice(-VERDICTS_KEPT) };
}

/** Leaves only these of the clusters that nobody has read since the machine left them; undefined: none. */
export function withUnreadOnly({ unread: _, ...gate }: PlateGate, unread?: UnreadClusters): PlateGate {
  return !unread || unread.clusterIds.length === 0 ? gate : { ...gate, unread };
}
