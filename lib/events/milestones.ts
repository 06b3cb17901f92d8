import { readMilestones } from '../rules/limits';
import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

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
