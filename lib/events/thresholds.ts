import { milestone } from './milestones';
import type { EventDraft, PrintEvent, Step } from './print-event';

/** The thresholds at which steps become events of one subscriber (reference 3.3). */
export interface Thresholds extends Record<Step['of'], unknown> {
  /** Percentages of progress, rising. */
  milestones: readonly number[];
  /** Share of a full spool below which material is low, percent; 0: none. */
  lowMaterial: number;
  /** Time after which a plate that was not cleared is reported, minutes; 0: never. */
  plateWait: number;
}

/** Thresholds of a subscriber without settings: no step becomes an event. */
export const NO_THRESHOLDS: Thresholds = { milestones: [], lowMaterial: 0, plateWait: 0 };

/** The threshold that a step passes: the highest milestone, or the subscriber's only one; null without one. */
export function passed({ of, from, to }: Step, thresholds: Thresholds): number | null {
  if (of === 'milestones') return milestone(from, to, thresholds.milestones);
  const threshold = thresholds[of];
  if (threshold <= 0) return null;
  // Material falls below its threshold; a wait reaches it.
  const isPassed = of === 'lowMaterial' ? from >= threshold && to < threshold : from < threshold && to >= threshold;
  return isPassed ? threshold : null;
}

/** The events of `drafts` for a subscriber with these thresholds. */
export function eventsFor(drafts: readonly EventDraft[], thresholds: Thresholds): PrintEvent[] {
  return drafts.flatMap(({ event, step }) => {
    if (!step) return [event];
    const threshold = passed(step, thresholds);
    if (threshold === null) return [];
    const value = step.of === 'lowMaterial' ? { ...(event.value as object), below: threshold } : threshold;
    return [{ ...event, id: `${event.id}/${threshold}`, value }];
  });
}
