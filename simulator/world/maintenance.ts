import { modelOf } from './models';
import { invalidValue } from '../http/refusals';
import type { Cluster } from './state';

const HOUR = 3600;

/** Tasks and their intervals in seconds. The codes start with the model (wire facts 13.2). */
const TASKS = [
  { code: 'clean_build_plate', interval: 7 * 24 * HOUR },
  { code: 'clean_print_cores', interval: 30 * 24 * HOUR },
  { code: 'lubricate_axles', interval: 90 * 24 * HOUR },
  { code: 'clean_fans', interval: 365 * 24 * HOUR },
];

const tasksOf = (cluster: Cluster): typeof TASKS =>
  TASKS.map(({ code, interval }) => ({ code: `${modelOf(cluster).id}_${code}`, interval }));

/** Throws invalidValue for a task that this printer doesn't have. */
export function checkTaskCodes(cluster: Cluster, codes: string[]): void {
  const known = tasksOf(cluster).map(({ code }) => code);
  const unknown = codes.find((code) => !known.includes(code));
  if (unknown !== undefined) throw invalidValue('Maintenance', 'task_codes', `must be of ${known.join(', ')}`, unknown);
}

/** Returns all tasks with their due dates; times in real ms, intervals in seconds. */
export function maintenanceTasks(
  cluster: Cluster,
  now: number,
): { code: string; interval: number; dueAt: number; isDue: boolean }[] {
  const { since, done, due } = cluster.maintenance;
  return tasksOf(cluster).map(({ code, interval }) => {
    const last = done.find(({ codes }) => codes.includes(code))?.at ?? since;
    const dueAt = due.includes(code) ? now : last + interval * 1000;
    return { code, interval, dueAt, isDue: dueAt <= now };
  });
}
