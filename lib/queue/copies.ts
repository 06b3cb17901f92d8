import type { ItemState } from './queue-api';
import type { Attempt, AttemptState, ItemRecord } from './queue-item';

/** Numbers of copies by state, as in QueueItem. */
export interface CopyCounts {
  total: number;
  waiting: number;
  active: number;
  good: number;
  rejected: number;
  failed: number;
  held: number;
  unknown: number;
}

const OPEN: readonly AttemptState[] = ['assigned', 'dispatched', 'printing', 'unknown'];

/** Whether an attempt occupies its printer. */
export const isOpen = ({ state }: Attempt): boolean => OPEN.includes(state);

export const openAttempts = ({ prints }: ItemRecord): Attempt[] => prints.filter(isOpen);

/** The latest attempt of a copy. */
export const lastAttempt = ({ prints }: ItemRecord, copy: number): Attempt | undefined =>
  prints.findLast((attempt) => attempt.copy === copy);

/** Copies that wait, in the order in which they are printed. */
export function waitingCopies(record: ItemRecord): number[] {
  const { copies, touched, front } = record;
  const first = front.filter((copy) => touched[copy] === undefined && copy <= copies);
  const others: number[] = [];
  for (let copy = 1; copy <= copies; copy++)
    if (touched[copy] === undefined && !first.includes(copy)) others.push(copy);
  return [...first, ...others];
}

/** Copies in a state other than waiting. */
export const copiesIn = ({ touched }: ItemRecord, ...states: ItemRecord['touched'][number][]): number[] =>
  Object.entries(touched).flatMap(([copy, state]) => (states.includes(state) ? Number(copy) : []));

/** Counts of records, which never change: each round of the planner needs those of all items. */
const counted = new WeakMap<ItemRecord, Readonly<CopyCounts>>();

export function countCopies(record: ItemRecord): Readonly<CopyCounts> {
  const known = counted.get(record);
  if (known) return known;
  const counts = countOf(record);
  counted.set(record, counts);
  return counts;
}

function countOf(record: ItemRecord): CopyCounts {
  const { copies, touched, prints } = record;
  const counts = { good: 0, failed: 0, held: 0, unknown: 0, active: 0, cancelled: 0 };
  const states = Object.values(touched);
  for (const state of states) counts[state]++;
  const { cancelled: _cancelled, ...shown } = counts;
  return {
    total: copies,
    ...shown,
    waiting: copies - states.length,
    rejected: prints.filter(({ state }) => state === 'rejected').length,
  };
}

/** Whether a dispatch of the item is under way. */
export const isBeingSent = (record: ItemRecord): boolean => record.prints.some(({ state }) => state === 'assigned');

/** Whether an attempt's job can neither begin nor be removed without a person. */
export const isStuck = ({ state, recall }: Attempt): boolean => state === 'dispatched' && (recall?.isStuck ?? false);

/** Whether every copy has ended: good, failed or cancelled. */
export function hasEnded(record: ItemRecord): boolean {
  const { waiting, active, held, unknown } = countCopies(record);
  return waiting + active + held + unknown === 0;
}

/**
 * State of an item (print queue, 4). `canBePlanned`: a printer could take it, and its file is there; only the planner
 * knows that.
 */
export function itemStateOf(record: ItemRecord, canBePlanned = true): ItemState {
  const { waiting, held, unknown, failed } = countCopies(record);
  // Most items only wait.
  const active =
    record.prints.length > 0 &&
    copiesIn(record, 'active').some((copy) => {
      const attempt = lastAttempt(record, copy);
      return !attempt || !isStuck(attempt);
    });
  if (active) return 'active';
  const isKept = record.isHeld || record.awaitsApproval;
  if (waiting > 0 && !isKept && canBePlanned && !record.files.every(({ isGone }) => isGone)) return 'waiting';
  const isBlocked = unknown > 0 || record.prints.some(isStuck) || (waiting > 0 && !isKept);
  if (isBlocked) return 'blocked';
  if (held > 0 || waiting > 0) return 'held';
  if (failed > 0) return 'failed';
  return copiesIn(record, 'cancelled').length > 0 ? 'cancelled' : 'finished';
}
