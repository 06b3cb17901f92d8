import type { JobEnd } from '../watch/views/watch';
import { isOpen, lastAttempt } from './copies';
import { concluded, withPrintEvent, type ChangeContext } from './item-events';
import type { Attempt, CopyState, ItemRecord, Recall } from './queue-item';
import type { QueueRules } from './queue-rules';

/** Identifies an attempt in its item. */
export type AttemptOf = Pick<Attempt, 'copy' | 'attempt'>;

type EndContext = ChangeContext & { rules: Pick<QueueRules, 'retries' | 'gate'> };

/** A copy that is to be printed on a printer. */
export interface AssignedPrint {
  copy: number;
  file: number;
  clusterId: string;
  clusterName: string | null;
  printerId: string | null;
}

/** An end of an attempt, and its figures. */
export interface AttemptEnd {
  outcome: Exclude<JobEnd['outcome'], 'ended'>;
  /** ms since 1970. */
  at: number;
  seconds: number | null;
  cost: number | null;
}

export const findAttempt = (record: ItemRecord, of: AttemptOf): Attempt | undefined =>
  record.prints.find(({ copy, attempt }) => copy === of.copy && attempt === of.attempt);

/** Assigns a waiting copy; the record itself if the copy does not wait. */
export function assigned(record: ItemRecord, print: AssignedPrint, { now }: ChangeContext): ItemRecord {
  const { copy } = print;
  if (record.touched[copy] !== undefined || copy > record.copies) return record;
  const attempt: Attempt = {
    ...print,
    attempt: (lastAttempt(record, copy)?.attempt ?? 0) + 1,
    clusterJobId: null,
    state: 'assigned',
    assignedAt: now,
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
  return withCopy({ ...record, prints: [...record.prints, attempt] }, copy, 'active');
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
  context: ChangeContext,
): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found) || found.state === 'printing') return record;
  const isKnown = found.state === 'dispatched' && found.clusterJobId === (clusterJobId ?? found.clusterJobId);
  if (isKnown) return record;
  const changed = { clusterJobId: clusterJobId ?? found.clusterJobId, dispatchedAt: found.dispatchedAt ?? context.now };
  const after = withAttempt(record, found, { ...changed, state: 'dispatched' });
  return withPrintEvent(withCopy(after, of.copy, 'active'), context, 'print.dispatched', found);
}

/** Records that it is unknown whether the print exists, or whether it began. */
export function unknown(record: ItemRecord, of: AttemptOf, context: ChangeContext): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found) || found.state === 'unknown') return record;
  const after = withCopy(withAttempt(record, found, { state: 'unknown' }), of.copy, 'unknown');
  return withPrintEvent(after, context, 'print.unknown', found);
}

/** Records that the print has begun on its printer. */
export function started(
  record: ItemRecord,
  of: AttemptOf,
  { clusterJobId, printerId }: Pick<Attempt, 'clusterJobId' | 'printerId'>,
  context: ChangeContext,
): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found) || found.state === 'printing') return record;
  const known = dispatched(record, of, clusterJobId, context);
  const now = findAttempt(known, of) as Attempt;
  const changed = { printerId: printerId ?? now.printerId, startedAt: now.startedAt ?? context.now, recall: null };
  const after = withAttempt(known, now, { ...changed, state: 'printing' });
  return withPrintEvent(withCopy(after, of.copy, 'active'), context, 'print.started', now);
}

/** Records the end of a print, and its consequence for the copy. */
export function ended(record: ItemRecord, of: AttemptOf, end: AttemptEnd, context: EndContext): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found)) return record;
  const { outcome, at, seconds, cost } = end;
  const counts = outcome === 'failed';
  const changed = withAttempt(record, found, { state: outcome, endedAt: at, seconds, cost, counts, recall: null });
  const after = withPrintEvent(changed, context, `print.${outcome}`, found, at);
  return concluded(withCopyAfter(after, found.copy, outcome, context), context);
}

/** Records that a job was removed from its printer before it began. */
export function recalled(record: ItemRecord, of: AttemptOf, context: ChangeContext): ItemRecord {
  const found = findAttempt(record, of);
  if (!found || !isOpen(found)) return record;
  const changed = withAttempt(record, found, { state: 'recalled', endedAt: context.now });
  const after = withPrintEvent(changed, context, 'print.recalled', found);
  return concluded(owedAgain(after, of.copy, context), context);
}

/** Records why a dispatched job is to be removed, or that it can't be. */
export function recallWanted(record: ItemRecord, of: AttemptOf, recall: Recall | null): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'dispatched' || JSON.stringify(found.recall) === JSON.stringify(recall)) return record;
  return withAttempt(record, found, { recall });
}

/** Records a person's verdict on an attempt of unknown outcome. */
export function settledAs(
  record: ItemRecord,
  of: AttemptOf,
  outcome: 'printed' | 'not-printed',
  context: EndContext,
): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'unknown') return record;
  const marked = withAttempt(record, found, { settledAs: outcome });
  if (outcome === 'not-printed') return recalled(marked, of, context);
  return ended(marked, of, { outcome: 'finished', at: context.now, seconds: null, cost: null }, context);
}

/**
 * Records that the print of an attempt showed up although it counted as not printed: it becomes the copy's print if the
 * copy still waits, and is an extra one otherwise.
 */
export function showedUp(record: ItemRecord, of: AttemptOf, clusterJobId: string, context: ChangeContext): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'recalled') return record;
  const isWaiting = record.touched[of.copy] === undefined && of.copy <= record.copies;
  const known = withAttempt(record, found, { clusterJobId });
  if (!isWaiting) return withPrintEvent(known, context, 'print.extra', found);
  const revived = withAttempt(known, found, { clusterJobId, state: 'dispatched', endedAt: null, settledAs: null });
  return concluded(withCopy(revived, of.copy, 'active'), context);
}

/** Records whether the part of a finished print is good. Only a copy that awaits it, or a good one, can be rejected. */
export function judged(record: ItemRecord, of: AttemptOf, good: boolean, context: ChangeContext): ItemRecord {
  const found = findAttempt(record, of);
  if (found?.state !== 'finished') return record;
  const copyState = record.touched[of.copy];
  if (good) return copyState === 'active' ? concluded(withCopy(record, of.copy, 'good'), context) : record;
  const changed = withAttempt(record, found, { state: 'rejected' });
  const after = withPrintEvent(changed, context, 'print.rejected', found);
  const isOwed = copyState === 'active' || copyState === 'good';
  if (!isOwed) return after;
  const front = [...after.front.filter((copy) => copy !== of.copy), of.copy];
  return concluded(owedAgain({ ...after, front }, of.copy, context), context);
}

/** The copy waits again, or is cancelled with its item. */
function owedAgain(record: ItemRecord, copy: number, context: ChangeContext): ItemRecord {
  return record.isRemoved && record.endedAt === null
    ? concluded(withCopy(record, copy, 'cancelled'), context)
    : withCopy(record, copy, null);
}

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
export function withCopy(record: ItemRecord, copy: number, state: CopyState | null): ItemRecord {
  const { [copy]: _before, ...others } = record.touched;
  const front = state === 'good' ? record.front.filter((other) => other !== copy) : record.front;
  return { ...record, front, touched: state === null ? others : { ...others, [copy]: state } };
}

function withAttempt(record: ItemRecord, found: Attempt, changed: Partial<Attempt>): ItemRecord {
  const prints = record.prints.map((attempt) =>
    attempt.copy === found.copy && attempt.attempt === found.attempt ? { ...attempt, ...changed } : attempt,
  );
  return { ...record, prints };
}
