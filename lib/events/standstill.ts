import type { PrintJob } from '../service/print-job';
import type { Standstill } from './checkpoint';
import { passed, type Thresholds } from './edges';
import { isReachable, type Observation } from './observation';

/** Elapsed time of a print that is expected to make progress, s; null for any other job, and at the end of its time. */
const placeOf = ({ state, timeElapsed, progress }: PrintJob): number | null =>
  state === 'printing' && (progress ?? 0) < 100 ? timeElapsed : null;

/**
 * Returns the standstill of a print after an observation that shows `job` (reference 3.3); undefined as long as it was not
 * seen printing. Its time does not count while the job is missing, its printer offline or no progress expected, or polls
 * fail. `last`: lived time of the observation before.
 */
export function followStandstill(
  before: Standstill | undefined,
  job: PrintJob | undefined,
  seen: Observation,
  last: number,
): Standstill | undefined {
  const { lived: now, arrived, staleFrom: until = now } = seen;
  const at = job && isReachable(seen) ? placeOf(job) : null;
  if (at === null) return before && stopped(before, last);
  if (!before) return { at, from: arrived, stood: 0, minutes: 0 };
  if (at === before.at) return running(until < now ? stopped(before, until) : before, arrived);

  const { before: earlier } = before;
  const left = { at: before.at, from: null, stood: stoodUntil(before, last), minutes: before.minutes };
  // A single odd answer, or the way back from one, neither ends a standstill nor begins one.
  if (earlier?.at === at) return { ...running(earlier, arrived), before: left };
  const hasRisen = at > before.at || (earlier !== undefined && at > earlier.at);
  return hasRisen ? { at, from: arrived, stood: 0, minutes: 0, before: left } : { ...before, at, before: left };
}

/** How long it stood until a moment of lived time, ms. */
const stoodUntil = ({ from, stood }: Standstill, at: number): number =>
  from === null ? stood : stood + Math.max(0, at - from);

const stopped = (one: Standstill, at: number): Standstill =>
  one.from === null ? one : { ...one, stood: stoodUntil(one, at), from: null };

const running = (one: Standstill, from: number): Standstill => (one.from === null ? { ...one, from } : one);

/** The standstill with the minutes that it has lasted at a moment of lived time. */
export function lasting(one: Standstill, now: number): Standstill {
  const minutes = stoodUntil(one, now) / 60_000;
  return minutes > one.minutes ? { ...one, minutes } : one;
}

/** The step from a standstill to the same one at a later moment. */
export const standstillStep = (before: Standstill, after: Standstill) =>
  ({ of: 'stalled', from: before.minutes, to: after.minutes }) as const;

/** Whether a standstill has reached the threshold of a subscriber. */
export const isStallDue = (before: Standstill, after: Standstill, thresholds: Thresholds): boolean =>
  passed(standstillStep(before, after), thresholds) !== null;
