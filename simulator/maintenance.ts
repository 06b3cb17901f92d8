import { iso } from './clock';
import { modelOf } from './models';
import { invalidValue } from './refusals';
import type { Cluster, User } from './state';

type Wire = Record<string, unknown>;

const HOUR = 3600;

/** What has to be done how often, in seconds. The codes begin with the model (wire facts 13.2). */
const TASKS = [
  { code: 'clean_build_plate', interval: 7 * 24 * HOUR },
  { code: 'clean_print_cores', interval: 30 * 24 * HOUR },
  { code: 'lubricate_axles', interval: 90 * 24 * HOUR },
  { code: 'clean_fans', interval: 365 * 24 * HOUR },
];

const tasksOf = (cluster: Cluster): typeof TASKS =>
  TASKS.map(({ code, interval }) => ({ code: `${modelOf(cluster).id}_${code}`, interval }));

/** Throws invalidValue for a task that this printer does not have. */
export function checkTaskCodes(cluster: Cluster, codes: string[]): void {
  const known = tasksOf(cluster).map(({ code }) => code);
  const unknown = codes.find((code) => !known.includes(code));
  if (unknown !== undefined) throw invalidValue('Maintenance', 'task_codes', `must be of ${known.join(', ')}`, unknown);
}

/** Wire facts 13.2: every task, with when it is due; `now` in real ms. */
export function pendingMaintenance(cluster: Cluster, now: number): (Wire & { is_due: boolean })[] {
  const { since, done, due } = cluster.maintenance;
  return tasksOf(cluster).map(({ code, interval }) => {
    const last = done.find(({ codes }) => codes.includes(code))?.at ?? since;
    const next = due.includes(code) ? now : last + interval * 1000;
    return {
      is_due: next <= now,
      due_date: iso(next),
      task_rule: { code, task_details: { type: 'time_based', value: { interval } } },
    };
  });
}

/** Wire facts 13.2: what was done, the newest first. */
export function completedMaintenance(cluster: Cluster, users: User[]): Wire[] {
  return cluster.maintenance.done.map(({ codes, userId, at }) => ({
    completed_at: iso(at),
    task_codes: codes,
    user_id: userId,
    username: users.find((user) => user.userId === userId)?.username,
  }));
}
