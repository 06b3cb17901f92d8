import { iso } from '../world/clock';
import { maintenanceTasks } from '../world/maintenance';
import type { Cluster, User } from '../world/state';

type Wire = Record<string, unknown>;

/** Records of all tasks with their due dates (wire facts 13.2); `now` in real ms. */
export function pendingMaintenance(cluster: Cluster, now: number): Wire[] {
  return maintenanceTasks(cluster, now).map(({ code, interval, dueAt, isDue }) => ({
    is_due: isDue,
    due_date: iso(dueAt),
    task_rule: { code, task_details: { type: 'time_based', value: { interval } } },
  }));
}

/** Records of completed tasks, newest first (wire facts 13.2). */
export function completedMaintenance(cluster: Cluster, users: User[]): Wire[] {
  return cluster.maintenance.done.map(({ codes, userId, at }) => ({
    completed_at: iso(at),
    task_codes: codes,
    user_id: userId,
    username: users.find((user) => user.userId === userId)?.username,
  }));
}
