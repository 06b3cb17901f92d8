import { PrintingError } from '../../service/errors';
import type { FileFacts } from '../../toolpath/facts';
import type { JobEnd } from '../../watch/views/job-end-waiter';
import { phrase, type Sentence } from '../../words/sentence';
import {
  addedOf,
  awaitsVerdict,
  type ChangeContext,
  copiesIn,
  hasEnded,
  isBeingSent,
  isOpen,
  isStuck,
  isUnnamed,
  itemStateOf,
  lastAttempt,
  type LivedContext,
  mayStart,
  openAttempts,
  waitingCopies,
  withItemEvent,
  withPrintEvent,
} from './item';
import type { Judgement } from './gate-verdicts';
import { goodPartsOf, isNeeded, owing, owingInFront, perPrintOf, withPerPrint } from './parts';
import type { QueueRules } from './rules';
import {
  type Attempt,
  type CopyState,
  type ItemChanges,
  type ItemFile,
  type ItemRecord,
  machinesOf,
  type NamedCopy,
  type Recall,
  type Settlement,
  type UsedMaterial,
} from './types';
import { recordedUse, usedOf } from './usage';

// Changes of an item. Each returns the same record if nothing changes; those of people throw QUEUE_ITEM_BUSY.

interface NewItem {
  itemId: string;
  queueKey: string | null;
  name: string | null;
  files: readonly ItemFile[];
  rank: string;
  changes: ItemChanges;
  awaitsApproval: boolean;
}

export function newItem({ changes, rank, ...given }: NewItem, context: LivedContext): ItemRecord {
  const { awaitsApproval, files } = given;
  const { wanted, perPrint = 1, copies = 1 } = changes;
  if (wanted !== undefined && changes.copies !== undefined) throw notBoth();
  if (wanted === undefined && (changes.perPrint !== undefined || areOfParts(files))) throw withoutWanted();
  const record: ItemRecord = {
    version: 1,
    ...given,
    orderId: changes.orderId ?? null,
    owner: changes.owner ?? null,
    costCode: changes.costCode ?? null,
    require: changes.require ?? null,
    priority: changes.priority ?? 0,
    rank,
    createdAt: context.now,
    createdLived: context.lived,
    waitsSince: context.now,
    notBefore: changes.notBefore ?? null,
    deadline: changes.deadlineAt ?? null,
    isHeld: changes.held ?? false,
    isRemoved: false,
    ...(wanted !== undefined && { parts: { wanted, perPrint } }),
    copies: wanted === undefined ? copies : Math.ceil(wanted / perPrint),
    touched: {},
    front: [],
    prints: [],
    ends: 0,
    endedAt: null,
    isOverdue: false,
    blocked: { is: false, count: 0 },
    outbox: [],
  };
  const queued = withItemEvent(record, context, 'item.queued');
  return awaitsApproval ? withItemEvent(queued, context, 'item.approval') : queued;
}

/** Changes of an item, with the files of its alternatives. */
type ItemUpdate = Omit<ItemChanges, 'alternatives'> & { alternatives?: readonly ItemFile[] | undefined };

/** `rank`: place behind the items of a new priority. */
export function updated(record: ItemRecord, changes: ItemUpdate, rank: string, context: ChangeContext): ItemRecord {
  const { copies, require, priority, alternatives } = changes;
  const parts = partsAfter(record, changes);
  const isLater = changes.held === true || (changes.notBefore ?? 0) > context.now;
  if (isBeingSent(record) && (copies !== undefined || require !== undefined || isLater)) throw busy();
  // An attempt names its file by its place.
  if (alternatives && openAttempts(record).some(({ state, file }) => state === 'assigned' || file > 0)) throw busy();
  const least =
    copies === undefined ? 0 : Object.keys(record.touched).reduce((most, copy) => Math.max(most, Number(copy)), 0);
  if (copies !== undefined && copies < least) {
    const sentence = phrase`The item can't have fewer than ${least} copies, as that many were begun: remove the item instead.`;
    throw new PrintingError('QUEUE_ITEM_BUSY', sentence);
  }
  const isMoved = priority !== undefined && priority !== record.priority;
  const isMore =
    (copies ?? 0) > record.copies || (parts !== undefined && parts.wanted > (record.parts?.wanted ?? Infinity));
  const changed: ItemRecord = {
    ...record,
    // A person who wants more of a removed item wants it again.
    isRemoved: record.isRemoved && !isMore,
    ...defined({
      ...{ orderId: changes.orderId, owner: changes.owner, costCode: changes.costCode, require, copies, priority },
      ...{ notBefore: changes.notBefore, deadline: changes.deadlineAt, isHeld: changes.held },
    }),
    ...(isMoved && { rank, added: addedOf(record) }),
    ...(parts && { parts }),
    ...(alternatives && {
      files: [...record.files.slice(0, 1), ...alternatives],
      // The facts of their files go with them.
      prints: record.prints.map((attempt) =>
        isOpen(attempt) || attempt.file === 0 ? attempt : { ...attempt, file: 0, used: usedOf(record, attempt) },
      ),
    }),
    ...(record.isHeld && changes.held === false && { waitsSince: context.now }),
    ...(changes.deadlineAt !== undefined && lateness(record, changes.deadlineAt)),
  };
  const after = parts ? withPerPrint(changed) : changed;
  return concluded(JSON.stringify(after) === JSON.stringify(record) ? record : after, context);
}

/** Whether an item is overdue with another deadline: it is told once, and again only for a later one than before. */
function lateness(record: ItemRecord, deadline: number | null): Partial<ItemRecord> {
  if (deadline === record.deadline) return {};
  const { toldDeadline = -Infinity } = record;
  const told = record.isOverdue ? Math.max(toldDeadline, record.deadline ?? -Infinity) : toldDeadline;
  return { isOverdue: deadline !== null && deadline <= told, ...(told > -Infinity && { toldDeadline: told }) };
}

/** Parts that an item wants after an update; undefined: it owes copies. Throws INVALID_INPUT for a property of the other kind. */
function partsAfter(
  { parts }: ItemRecord,
  { copies, wanted, perPrint, alternatives = [] }: ItemUpdate,
): ItemRecord['parts'] {
  if (parts && copies !== undefined) throw notBoth();
  if (!parts && (wanted !== undefined || perPrint !== undefined || areOfParts(alternatives))) throw withoutWanted();
  return parts && { ...parts, wanted: wanted ?? parts.wanted, perPrint: perPrint ?? parts.perPrint };
}

const areOfParts = (files: readonly ItemFile[]): boolean => files.some(({ perPrint }) => perPrint !== undefined);

const notBoth = (): PrintingError =>
  new PrintingError(
    'INVALID_INPUT',
    phrase`An item of parts has no number of copies: leave msg.copies out, as msg.wanted decides it.`,
  );

const withoutWanted = (): PrintingError =>
  new PrintingError(
    'INVALID_INPUT',
    phrase`An item of copies has no parts: add an item with msg.wanted, and msg.perPrint beside it.`,
  );

/** Adds the consequence of the item's copies: what its parts need, its end, or its reopening. */
function concluded(before: ItemRecord, context: ChangeContext): ItemRecord {
  const record = owing(before);
  const hasEndedNow = hasEnded(record);
  // Enough parts are good after all, for example because fewer are wanted.
  const isEndedAnew = record !== before && before.endedAt !== null && itemStateOf(record) !== itemStateOf(before);
  if (hasEndedNow === (record.endedAt !== null) && !(hasEndedNow && isEndedAnew)) return record;
  if (!hasEndedNow) {
    const reopened: ItemRecord = { ...record, endedAt: null, isRemoved: false };
    return withItemEvent(reopened, context, 'item.reopened', record.ends);
  }
  const after: ItemRecord = { ...record, endedAt: context.now, ends: record.ends + 1 };
  const state = itemStateOf(after);
  const type = state === 'cancelled' ? 'item.cancelled' : state === 'failed' ? 'item.failed' : 'item.finished';
  return withItemEvent(after, context, type, after.ends);
}

export function heldBack(record: ItemRecord): ItemRecord {
  if (record.isHeld || hasEnded(record)) return record;
  if (isBeingSent(record)) throw busy();
  return { ...record, isHeld: true };
}

/** Releases whatever holds the item: the hold, the approval, its aborted copies. */
export function released(record: ItemRecord, context: ChangeContext): ItemRecord {
  const held = copiesIn(record, 'held');
  if (!record.isHeld && !record.awaitsApproval && held.length === 0) return record;
  const free: ItemRecord = { ...record, waitsSince: context.now, isHeld: false, awaitsApproval: false };
  return concluded(withCopies(free, held, null), context);
}

/**
 * Revives the failed copies; their earlier failures no longer count. Forgets the refusals of the service, and requests
 * the removal of a stuck job again.
 */
export function retried(record: ItemRecord, context: ChangeContext, print?: NamedCopy): ItemRecord {
  if (print) return retriedCopy(record, print, context);
  const failed = copiesIn(record, 'failed');
  const isRevived = new Set(failed);
  const prints = record.prints.map((attempt) => {
    const { recall } = attempt;
    if (recall?.why === 'changes' && attempt.state === 'recalled') return { ...attempt, recall: null };
    if (recall && isStuck(attempt)) return { ...attempt, recall: { ...recall, isStuck: false } };
    return isRevived.has(attempt.copy) && attempt.counts ? { ...attempt, counts: false } : attempt;
  });
  const files = record.files.map((file) => (file.isGone ? { ...file, isGone: false } : file));
  const isChanged = prints.some((attempt, at) => attempt !== record.prints[at]) || record.files.some((f) => f.isGone);
  if (failed.length === 0 && !isChanged) return record;
  return concluded(withCopies({ ...record, waitsSince: context.now, files, prints }, failed, null), context);
}

/** Records that a person wants the item to be tried at once where the service refused it a moment ago. */
export const triedAgain = (record: ItemRecord): ItemRecord => ({ ...record, tries: (record.tries ?? 0) + 1 });

/** Revives one failed copy. Throws NOT_ACCEPTED if it has not failed, or another attempt of it was the last. */
function retriedCopy(record: ItemRecord, { copy, attempt }: NamedCopy, context: ChangeContext): ItemRecord {
  const isMeant = attempt === null || lastAttempt(record, copy)?.attempt === attempt;
  if (record.touched[copy] !== 'failed' || !isMeant)
    throw new PrintingError('NOT_ACCEPTED', phrase`This print of the item is not a failed one any more.`);
  const prints = record.prints.map((one) => (one.copy === copy && one.counts ? { ...one, counts: false } : one));
  return concluded(withCopy({ ...record, waitsSince: context.now, prints }, copy, null), context);
}

/**
 * Cancels the copies that have not begun, and those that failed, also after the item's end. A print under way goes on; a job that
 * waits in a printer is recalled.
 */
export function removed(record: ItemRecord, context: ChangeContext): ItemRecord {
  if (record.endedAt !== null && copiesIn(record, 'failed').length === 0) return record;
  if (isBeingSent(record)) throw busy();
  const others = [...waitingCopies(record), ...copiesIn(record, 'held', 'failed')];
  // An item that failed ends anew.
  const cancelled = withCopies({ ...record, isRemoved: true, endedAt: null }, others, 'cancelled');
  return concluded(cancelled, context);
}

/** The attempts of unknown outcome that a person settles. */
export const inDoubt = (
  { prints }: ItemRecord,
  { copy, attempt = null }: Pick<Settlement, 'copy' | 'attempt'>,
): Attempt[] =>
  prints.filter(
    (one) =>
      one.state === 'unknown' && (copy === null || one.copy === copy) && (attempt === null || one.attempt === attempt),
  );

/** Records a person's verdict on the copies of unknown outcome. Throws NOT_ACCEPTED if there is none. */
export function settled(
  record: ItemRecord,
  verdict: Settlement,
  context: ChangeContext & { rules: Pick<QueueRules, 'retries' | 'gate'> },
): ItemRecord {
  const open = inDoubt(record, verdict);
  if (open.length === 0)
    throw new PrintingError(
      'NOT_ACCEPTED',
      phrase`No copy of the item has an unknown outcome, so there is nothing to settle.`,
    );
  return open.reduce((after, attempt) => settledAs(after, attempt, verdict.outcome, context), record);
}

/** Identifies an attempt in its item. One that is taken back leaves its number to the next one. */
export type AttemptOf = Pick<Attempt, 'copy' | 'attempt' | 'clusterId' | 'assignedAt'>;

type EndContext = ChangeContext & { rules: Pick<QueueRules, 'retries' | 'gate'> };

/** A copy that is to be printed on a printer. */
interface AssignedPrint {
  copy: number;
  file: number;
  clusterId: string;
  clusterName: string | null;
  printerId: string | null;
}

/** An end of an attempt, and its figures. */
interface AttemptEnd {
  outcome: Exclude<JobEnd['outcome'], 'ended'>;
  /** ms since 1970. */
  at: number;
  /** The member of a group that printed it; null: not known, or alone. */
  printerId: string | null;
  seconds: number | null;
  cost: number | null;
  used: readonly UsedMaterial[];
  /** Why it did not end well; null if the service does not say it. */
  reason: Sentence | null;
}

export const findAttempt = (record: ItemRecord, of: AttemptOf): Attempt | undefined =>
  record.prints.find(
    ({ copy, attempt, clusterId, assignedAt }) =>
      copy === of.copy && attempt === of.attempt && clusterId === of.clusterId && assignedAt === of.assignedAt,
  );

/** Facts about the machines of a print. */
interface MachineContext {
  /** Plate gates of the machines that may have taken an open print of a cluster. */
  machinesAt: (clusterId: string) => readonly string[];
  /** Number of prints that have begun on the machines of a cluster, and on others that were there, by plate gate. */
  begunOn: (clusterId: string, others?: readonly string[]) => Readonly<Record<string, number>>;
}

/** Assigns a waiting copy; the record itself if the copy does not wait. */
export function assigned(record: ItemRecord, print: AssignedPrint, { now }: ChangeContext): ItemRecord {
  const { copy } = print;
  if (record.touched[copy] !== undefined || copy > record.copies) return record;
  const attempt: Attempt = {
    ...print,
    ...(record.parts && { perPrint: perPrintOf(record, print.file) }),
    attempt: record.prints.reduce((most, other) => (other.copy === copy ? Math.max(most, other.attempt) : most), 0) + 1,
    clusterJobId: null,
    state: 'assigned',
    assignedAt: now,
    hasLeft: false,
    dispatchedAt: null,
    startedAt: null,
    endedAt: null,
    seconds: null,
    cost: null,
    told: [],
    counts: false,
    recall: null,
    settledAs: null,
  };
  return owing(withCopy({ ...record, prints: [...record.prints, attempt] }, copy, 'active'));
}

/**
 * Records that the call of an attempt leaves, and when: its answer may be lost. A call that is repeated leaves anew. Returns the
 * record itself if the attempt was taken back, or its item must wait.
 */
export function leaving(record: ItemRecord, of: AttemptOf, { now, lived }: LivedContext): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'assigned' || !mayStart(record, now) || !isNeeded(record, found)) return record;
  return withAttempt(record, found, { hasLeft: true, dispatchedLived: lived });
}

/** Deletes an attempt of which nothing was sent: the copy waits again. */
export function unassigned(record: ItemRecord, of: AttemptOf, context: ChangeContext): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'assigned') return record;
  const prints = record.prints.filter((other) => other !== found);
  return owedAgain({ ...record, prints }, of.copy, context);
}

/** Records that the service has the print. */
export function dispatched(
  record: ItemRecord,
  of: AttemptOf,
  clusterJobId: string | null,
  context: LivedContext,
): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found) || found.state === 'printing') return record;
  const isKnown = found.state === 'dispatched' && found.clusterJobId === (clusterJobId ?? found.clusterJobId);
  if (isKnown) return record;
  const after = withAttempt(record, found, {
    clusterJobId: clusterJobId ?? found.clusterJobId,
    ...dispatchTimes(found, context),
    state: 'dispatched',
  });
  return withPrintEvent(withCopy(after, of.copy, 'active'), context, 'print.dispatched', found);
}

/** When an attempt was dispatched: the first record of it decides. */
const dispatchTimes = ({ dispatchedAt, dispatchedLived }: Attempt, { now, lived }: LivedContext) =>
  dispatchedAt === null ? { dispatchedAt: now, dispatchedLived: lived } : { dispatchedAt, dispatchedLived };

/** Records that it is unknown whether the print exists, or whether it began. */
export function unknown(record: ItemRecord, of: AttemptOf, context: LivedContext & MachineContext): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found) || found.state === 'unknown') return record;
  const before = machinesFor(found, context);
  const begun = context.begunOn(found.clusterId, before);
  // The gates of some may be lost.
  const machines = [...new Set([...before, ...Object.keys(begun)])];
  // If nobody knows when its call has left, it was now at the latest.
  const { dispatchedLived = context.lived } = found;
  const changed = withAttempt(record, found, { state: 'unknown', machines, begun, dispatchedLived });
  const after = withCopy(changed, of.copy, 'unknown');
  return withPrintEvent(after, context, 'print.unknown', found);
}

/** Records that the print has begun on its printer. */
export function started(
  record: ItemRecord,
  of: AttemptOf,
  { clusterJobId, printerId }: Pick<Attempt, 'clusterJobId' | 'printerId'>,
  context: LivedContext,
): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found)) return record;
  if (found.state === 'printing')
    return found.printerId === null && printerId !== null
      ? withAttempt(record, found, placeOf(found, printerId, found.machines))
      : record;
  const known = dispatched(record, of, clusterJobId, context);
  const now = findAttempt(known, of) as Attempt;
  const times = { startedAt: now.startedAt ?? context.now, startedLived: now.startedLived ?? context.lived };
  const changed = { ...times, ...placeOf(now, printerId, now.machines), recall: null };
  const after = withAttempt(known, now, { ...changed, state: 'printing' });
  return withPrintEvent(withCopy(after, of.copy, 'active'), context, 'print.started', now);
}

/** Where a print is: on the member of a group that a status names, or on one of the machines that could take it. */
function placeOf(
  attempt: Attempt,
  shown: string | null,
  machines: Attempt['machines'],
): Pick<Attempt, 'printerId' | 'machines'> {
  const printerId = shown ?? attempt.printerId;
  return { printerId, machines: printerId === null ? machines : undefined };
}

/** Machines that an attempt stores; of an open one, its reservation does. */
function machinesFor(attempt: Attempt, { machinesAt }: Pick<MachineContext, 'machinesAt'>): readonly string[] {
  const stored = machinesOf(attempt);
  return stored.length > 0 ? stored : machinesAt(attempt.clusterId);
}

/** Records the end of a print, and its consequence for the copy. */
export function ended(
  record: ItemRecord,
  of: AttemptOf,
  end: AttemptEnd,
  context: EndContext & Pick<MachineContext, 'machinesAt'>,
): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found)) return record;
  const { outcome, at, used, ...more } = end;
  const figures = { ...more, ...placeOf(found, more.printerId, machinesFor(found, context)) };
  const counts = outcome === 'failed';
  const use = recordedUse(record, found.file, used);
  const changed = withAttempt(record, found, {
    ...{ state: outcome, endedAt: at, ...figures, ...(use && { used: use }) },
    ...{ counts, recall: null },
  });
  const after = withPrintEvent(changed, context, `print.${outcome}`, found, at);
  return concluded(withCopyAfter(after, found.copy, outcome, context), context);
}

/** Records that a job was removed from its printer before it began. */
export function recalled(record: ItemRecord, of: AttemptOf, context: ChangeContext): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found)) return record;
  const changed = withAttempt(record, found, { state: 'recalled', endedAt: context.now });
  const after = withPrintEvent(changed, context, 'print.recalled', found);
  return owedAgain(after, of.copy, context);
}

/** Records why a dispatched job is to be removed, or that it can't be. */
export function recallWanted(record: ItemRecord, of: AttemptOf, recall: Recall | null): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'dispatched' || JSON.stringify(found.recall) === JSON.stringify(recall)) return record;
  return withAttempt(record, found, { recall });
}

/** Records a person's verdict on an attempt of unknown outcome. */
function settledAs(
  record: ItemRecord,
  of: AttemptOf,
  outcome: 'printed' | 'not-printed',
  context: EndContext,
): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'unknown') return record;
  const marked = withAttempt(record, found, { settledAs: outcome });
  if (outcome === 'not-printed') return recalled(marked, of, context);
  const figures = { seconds: null, cost: null, used: [], reason: null };
  const end = { outcome: 'finished', at: context.now, printerId: null, ...figures } as const;
  // It has stored its machines since it came in doubt.
  return ended(marked, of, end, { ...context, machinesAt: () => [] });
}

/** Records the name of a print that a person has settled as printed. */
export function named(record: ItemRecord, of: AttemptOf, clusterJobId: string): ItemRecord {
  const found = findAttempt(record, of);
  return found && isUnnamed(found) ? withAttempt(record, found, { clusterJobId }) : record;
}

/**
 * Records that the print of an attempt showed up although it counted as not printed: it becomes the copy's print if the
 * copy still waits, and is an extra one otherwise.
 */
export function showedUp(record: ItemRecord, of: AttemptOf, clusterJobId: string, context: LivedContext): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'recalled') return record;
  const isWaiting = record.touched[of.copy] === undefined && of.copy <= record.copies;
  const known = withAttempt(record, found, { clusterJobId });
  if (!isWaiting) return withPrintEvent(known, context, 'print.extra', found);
  const revived = withAttempt(known, found, {
    ...{ clusterJobId, state: 'dispatched', endedAt: null, settledAs: null },
    // The time for its start begins with its sight, where no answer has dated its dispatch.
    ...dispatchTimes(found, context),
  });
  // It decides about the copy now, and not the attempts that have followed it.
  const decides = findAttempt(revived, of) as Attempt;
  const prints = [...revived.prints.filter((other) => other !== decides), decides];
  return concluded(withCopy({ ...revived, prints }, of.copy, 'active'), context);
}

/**
 * Records how many parts of a print are good. A copy is good with one of them, and owed again without. The rejection of an item
 * of copies stays, as its copy may be printing again; parts may be corrected either way.
 */
export function judged(
  record: ItemRecord,
  of: AttemptOf,
  verdict: Pick<Judgement, 'good' | 'parts'>,
  context: ChangeContext,
): ItemRecord {
  const found = findAttempt(record, of);
  if (!found) return record;
  const { perPrint = 1, state } = found;
  const { good, parts = good && ENDED_WELL.includes(state) ? perPrint : 0 } = verdict;
  if (!ENDED_WELL.includes(state)) return counted(record, found, parts, context);
  if (state === 'rejected' && !record.parts) return record;
  if (goodPartsOf(record, found) === parts && !awaitsVerdict(record, found)) return record;
  const after = parts > 0 ? acceptedParts(record, found, parts) : rejectedParts(record, found, context);
  return concluded(owingInFront(after), context);
}

const ENDED_WELL: readonly Attempt['state'][] = ['finished', 'rejected'];

/** Counts good parts of a print that did not finish: its copy stays as it is. */
function counted(record: ItemRecord, found: Attempt, parts: number, context: ChangeContext): ItemRecord {
  const isOver = found.state === 'failed' || found.state === 'aborted';
  // A print in doubt is not judged before it is known to have ended, except for parts that somebody has in the hand.
  if (!isOver && !(found.state === 'unknown' && parts > 0)) return record;
  if (found.goodParts === parts) return record;
  return concluded(withAttempt(record, found, { goodParts: parts }), context);
}

function acceptedParts(record: ItemRecord, found: Attempt, parts: number): ItemRecord {
  const { copy, perPrint = 1, state, goodParts } = found;
  // A plate without a count is whole.
  const isPlain = parts === perPrint && state === 'finished' && goodParts === undefined;
  const after = isPlain ? record : withAttempt(record, found, { state: 'finished', goodParts: parts });
  const now = record.touched[copy];
  // A later attempt decides about its copy.
  const isLast = lastAttempt(record, copy) === found;
  return isLast || now === undefined || now === 'dropped' ? withCopy(after, copy, 'good') : after;
}

function rejectedParts(record: ItemRecord, found: Attempt, context: ChangeContext): ItemRecord {
  const { copy, goodParts } = found;
  const none = goodParts === undefined ? {} : { goodParts: 0 };
  const changed = withAttempt(record, found, { state: 'rejected', ...none });
  const after = withPrintEvent(changed, context, 'print.rejected', found);
  const now = record.touched[copy];
  const isOwed = (now === 'active' || now === 'good') && lastAttempt(record, copy) === found;
  if (!isOwed) return after;
  const front = [...after.front.filter((other) => other !== copy), copy];
  return withCopy({ ...after, front }, copy, isGivenUp(after) ? 'cancelled' : null);
}

/** Records whether only a person can help. */
export function withBlocked(record: ItemRecord, is: boolean, context: ChangeContext): ItemRecord {
  if (record.blocked.is === is) return record;
  const count = record.blocked.count + (is ? 1 : 0);
  const after: ItemRecord = { ...record, blocked: { is, count, ...(is && { at: context.now }) } };
  const type = is ? 'item.blocked' : 'item.unblocked';
  return withItemEvent(after, context, type, count);
}

/** Whether an item has a deadline, and is not known to miss it or a later one. */
export const mayBeLate = ({ deadline, endedAt, isOverdue }: ItemRecord): boolean =>
  deadline !== null && endedAt === null && !isOverdue;

/** Records that the deadline passed, or can't be met. */
export const overdue = (record: ItemRecord, context: ChangeContext): ItemRecord =>
  record.isOverdue
    ? record
    : withItemEvent({ ...record, isOverdue: true }, context, 'item.overdue', record.deadline ?? 0);

/** Records that the service no longer has a file of the item. */
export const withoutFile = (record: ItemRecord, file: number): ItemRecord => ({
  ...record,
  files: record.files.map((one, at) => (at === file ? { ...one, isGone: true } : one)),
});

/** Records that the service has a file of the item after all. */
export const withFileBack = (record: ItemRecord, jobId: string): ItemRecord =>
  record.files.some((file) => file.jobId === jobId && file.isGone)
    ? { ...record, files: record.files.map((file) => (file.jobId === jobId ? { ...file, isGone: false } : file)) }
    : record;

/** Records the service's facts about a file. */
export const withFacts = (record: ItemRecord, jobId: string, facts: FileFacts): ItemRecord => ({
  ...record,
  files: record.files.map((file) => (file.jobId === jobId ? { ...file, facts } : file)),
});

/** The copy waits again, or is cancelled with its item. */
const owedAgain = (record: ItemRecord, copy: number, context: ChangeContext): ItemRecord =>
  concluded(withCopy(record, copy, isGivenUp(record) ? 'cancelled' : null), context);

/** Whether a person removed the item, and some copy has not ended yet. */
const isGivenUp = ({ isRemoved, endedAt }: ItemRecord): boolean => isRemoved && endedAt === null;

function withCopyAfter(
  record: ItemRecord,
  copy: number,
  outcome: AttemptEnd['outcome'],
  { rules }: EndContext,
): ItemRecord {
  // With the mode `confirm` its plate decides.
  if (outcome === 'finished') return withCopy(record, copy, rules.gate === 'confirm' ? 'active' : 'good');
  if (record.isRemoved) return withCopy(record, copy, 'cancelled');
  if (outcome === 'aborted') return withCopy(record, copy, 'held');
  const tries = record.prints.filter((attempt) => attempt.copy === copy && attempt.counts).length;
  return withCopy(record, copy, tries > rules.retries ? 'failed' : null);
}

/** The record with the state of a copy; null: it waits. */
const withCopy = (record: ItemRecord, copy: number, state: CopyState | null): ItemRecord =>
  withCopies(record, [copy], state);

/** The record with the state of copies, of which there may be thousands; null: they wait. */
function withCopies(record: ItemRecord, copies: readonly number[], state: CopyState | null): ItemRecord {
  const changed = new Set(copies);
  const others = Object.entries(record.touched).filter(([copy]) => !changed.has(Number(copy)));
  const touched = state === null ? others : [...others, ...copies.map((copy) => [copy, state] as const)];
  const front = state === 'good' ? record.front.filter((other) => !changed.has(other)) : record.front;
  return { ...record, front, touched: Object.fromEntries(touched) };
}

function withAttempt(record: ItemRecord, found: Attempt, changed: Partial<Attempt>): ItemRecord {
  const prints = record.prints.map((attempt) =>
    attempt.copy === found.copy && attempt.attempt === found.attempt ? { ...attempt, ...changed } : attempt,
  );
  return { ...record, prints };
}

const defined = <T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

const busy = (): PrintingError =>
  new PrintingError('QUEUE_ITEM_BUSY', phrase`A copy of the item is being sent to a printer: try again in a moment.`);
