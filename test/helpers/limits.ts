import type { Clock } from '../../lib/time/clock';
import { Deadline } from '../../lib/time/deadline';
import { ManualClock } from './manual-clock';

/** A deadline for a test: no limit where none is given. */
export const limit = (
  clock: Clock = new ManualClock(),
  { seconds = Infinity, signal }: { seconds?: number; signal?: AbortSignal } = {},
): Deadline => new Deadline(clock, { ms: seconds * 1000, parent: signal });
