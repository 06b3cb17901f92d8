import { TEXT } from './limits';

/**
 * Reads a setting such as `25,50,75` into rising percentages above 0 and up to 100; blank means none, null is a fault.
 */
export function readMilestones(setting: string): number[] | null {
  if (setting.length > TEXT.setting) return null;
  if (setting.trim() === '') return [];
  const parts = setting.split(',').map((part) => part.trim());
  const milestones = parts.map((part) => (/^\d+(\.\d+)?$/.test(part) ? Number(part) : NaN));
  if (!milestones.every((milestone) => milestone > 0 && milestone <= 100)) return null;
  return [...new Set(milestones)].sort((a, b) => a - b);
}
