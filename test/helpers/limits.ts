import type { Clock } from '../../lib/time/clock';
import { Deadline } from '../../lib/time/deadline';
import { ManualClock } from './manual-clock';

/** Deadline for a test; unlimited by default. */
export const limit = (
  clock: Clock = new ManualClock(),
  { seconds = Infinity, signal }: { seconds?: number; signal?: AbortSignal } = {},
): Deadline => new Deadline(clock, { ms: seconds * 1000, parent: signal });
