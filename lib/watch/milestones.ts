import { PrintingError } from '../service/errors';
import type { Happening, PrintEvent } from './events';

/** Reads a setting such as `25,50,75` into rising numbers; blank means none. Throws NOT_CONFIGURED. */
export function parseMilestones(setting: string): number[] {
  if (setting.trim() === '') return [];
  const parts = setting.split(',').map((part) => part.trim());
  const milestones = parts.map((part) => (/^\d+(\.\d+)?$/.test(part) ? Number(part) : NaN));
  if (!milestones.every((milestone) => milestone > 0 && milestone <= 100)) {
    throw new PrintingError(
      'NOT_CONFIGURED',
      'The milestones are not usable: write percentages over 0 and up to 100 with commas between, such as 25,50,75.',
    );
  }
  return [...new Set(milestones)].sort((a, b) => a - b);
}

/** The highest milestone passed on the way, `to` included. */
export const milestone = (from: number, to: number, milestones: readonly number[]): number | null =>
  milestones.reduce<number | null>((best, m) => (m > from && m <= to && m > (best ?? 0) ? m : best), null);

/** The events of `happenings` for somebody with these milestones. */
export function eventsFor(happenings: readonly Happening[], milestones: readonly number[]): PrintEvent[] {
  return happenings.flatMap(({ event, step }) => {
    if (!step) return [event];
    const value = milestone(step.from, step.to, milestones);
    return value === null ? [] : [{ ...event, id: `${event.id}/${value}`, value }];
  });
}
