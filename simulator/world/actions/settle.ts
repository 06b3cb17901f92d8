import type { SimulatorClock } from '../clock';
import type { Ids } from '../ids';
import { sceneOf } from '../scene';
import type { Action, Cluster, User } from '../state';
import { JOB_ACTIONS, refuseJobAction } from './job-actions';
import { PRINTER_ACTIONS } from './printer-actions';

/** Ends the actions that are due at this virtual time, which applies their effect. */
export function settle(cluster: Cluster, at: number, { clock, ids, users }: Settling): void {
  for (const action of cluster.actions) {
    if (action.ended || action.endsAt === null || action.endsAt > at) continue;
    // An offline printer never reports the end (wire facts 15.40).
    if (!cluster.online) {
      action.endsAt = null;
      continue;
    }
    action.ended = true;
    if (action.outcome !== 'success') continue;
    const user = users.find(({ userId }) => userId === action.userId) ?? null;
    const about = { cluster, at, now: clock.real(at), ids, user };
    const possible = action.kind === 'printer' ? printerAction(action, about) : jobAction(action, about);
    if (!possible) action.outcome = 'failed';
  }
}

export interface Settling {
  clock: SimulatorClock;
  ids: Ids;
  users: readonly User[];
}

interface About {
  cluster: Cluster;
  at: number;
  now: number;
  ids: Ids;
  /** The user who dispatched the action. */
  user: User | null;
}

function printerAction(action: Action, about: About): boolean {
  const printer = about.cluster.printers.find(({ uuid }) => uuid === action.target);
  if (!printer) return false;
  PRINTER_ACTIONS[action.name]?.apply?.(printer, about, action.data);
  if (action.name === 'get_webcam_snapshot') action.scene = sceneOf(about.cluster, printer, about);
  return true;
}

/** Checks the job's state again, since it may have changed after the dispatch. */
function jobAction(action: Action, about: About): boolean {
  const job = about.cluster.queue.find(({ uuid }) => uuid === action.target);
  if (!job || refuseJobAction(job, action.name) !== undefined) return false;
  JOB_ACTIONS[action.name]!.apply(job, about, action.data);
  return true;
}
