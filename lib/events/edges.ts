import { readMilestones } from '../rules/limits';
import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';
import type { EventBuilder, EventDraft, EventType, PrintEvent, Step } from './print-event';

/** Most recurring edges stored per subject. */
const EDGES_KEPT = 20;

/**
 * The recurring edges of a job. Observed facts identify them, so that an edge that is found again
 * after its checkpoint was lost has the same id. A number is appended only if the same facts occur a second time.
 */
export class RecurringEdges {
  constructor(
    private readonly subject: string,
    private counts: Record<string, number> | undefined,
    private readonly builder: EventBuilder,
  ) {}

  get all(): Record<string, number> | undefined {
    return this.counts;
  }

  add(type: EventType, facts: string, details: Partial<PrintEvent>): void {
    const name = `${type}/${facts}`;
    const counts = this.counts ?? {};
    const before = counts[name] ?? 0;
    // The latest edge is last.
    const others = Object.entries(counts).filter(([other]) => other !== name);
    this.counts = Object.fromEntries([...others, [name, before + 1] as const].slice(-EDGES_KEPT));
    this.builder.once(type, [this.subject, facts, ...(before > 0 ? [before + 1] : [])].join('/'), details);
  }

  /** The facts of the latest edge of a type. */
  last(type: EventType): string | undefined {
    return Object.keys(this.counts ?? {})
      .findLast((name) => name.startsWith(`${type}/`))
      ?.slice(type.length + 1);
  }
}

/** Reads a setting such as `25,50,75` into rising numbers; blank means none. Throws NOT_CONFIGURED. */
export function parseMilestones(setting: string): number[] {
  const milestones = readMilestones(setting);
  if (milestones) return milestones;
  throw new PrintingError(
    'NOT_CONFIGURED',
    phrase`The milestones are not valid: write percentages above 0 and up to 100, separated by commas, such as 25,50,75.`,
  );
}

/** The highest milestone after `from`, up to and including `to`. */
export const milestone = (from: number, to: number, milestones: readonly number[]): number | null =>
  milestones.reduce<number | null>((best, m) => (m > from && m <= to && m > (best ?? 0) ? m : best), null);

/** The thresholds at which steps become events of one subscriber (reference 3.3). */
export interface Thresholds extends Record<Step['of'], unknown> {
  /** Percentages of progress, rising. */
  milestones: readonly number[];
  /** Share of a full spool below which material is low, percent; 0: none. */
  lowMaterial: number;
  /** Time after which a plate that was not cleared is reported, minutes; 0: never. */
  plateWait: number;
  /** Time without progress after which a print is reported as stalled, minutes; 0: never. */
  stalled: number;
}

/** The threshold that a step passes: the highest milestone, or the subscriber's only one; null without one. */
export function passed({ of, from, to }: Step, thresholds: Thresholds): number | null {
  if (of === 'milestones') return milestone(from, to, thresholds.milestones);
  const threshold = thresholds[of];
  if (threshold <= 0) return null;
  // Material falls below its threshold; a wait or a standstill reaches it.
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
