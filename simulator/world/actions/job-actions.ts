import { compareJobs } from '../compare-jobs';
import type { Ids } from '../ids';
import { newJob } from '../new-job';
import { saying } from '../status-message';
import type { Cluster, PrintJob, User } from '../state';
import { end, enter, isActive } from '../virtual-printer';
import { field, isWhole, type ActionRule } from './rule';

interface JobAction extends ActionRule {
  /** States that permit the action. */
  from: PrintJob['status'][];
  /** Checks further conditions; returns a sentence if one fails. */
  refuse?: (job: PrintJob) => string | undefined;
  apply: (
    job: PrintJob,
    about: { cluster: Cluster; at: number; now: number; ids: Ids; user: User | null },
    data: Data,
  ) => void;
}

type Data = Record<string, unknown>;

const quantity = field(
  'quantity',
  'must be a whole number from 1 to 100',
  (value) => isWhole(value) && Number(value) >= 1 && Number(value) <= 100,
  true,
);
const message = field(
  'message',
  'must be a string of at most 1000 characters',
  (value) => typeof value === 'string' && value.length <= 1000,
  true,
);

/** Actions on print jobs, with their conditions (wire facts 13.1). */
export const JOB_ACTIONS: Record<string, JobAction> = {
  pause: {
    ...rule(['printing']),
    apply: (job, { at }) => enter(job, 'pausing', at),
  },
  resume: {
    ...rule(['paused']),
    apply: (job, { at }) => enter(job, 'resuming', at),
  },
  abort: {
    ...rule(['pre_print', 'printing', 'pausing', 'paused', 'resuming'], ['quantity']),
    check: quantity,
    apply: (job, { at }) => enter(job, 'aborting', at),
  },
  remove: {
    ...rule(['queued', 'error', 'sent_to_printer']),
    apply(job, { cluster, at, now }) {
      end(cluster, job, 'removed', at);
      job.deletedAt = now;
    },
  },
  force: {
    ...rule(['queued']),
    refuse: ({ changes }) =>
      changes.every((change) => change.is_overridable) ? undefined : 'A change that is required can not be overridden.',
    apply(job, { at }) {
      job.force = true;
      job.held = false;
      enter(job, 'queued', at);
    },
  },
  move: {
    ...rule(['queued', 'wait_approval'], ['list', 'to_position']),
    check(data) {
      field('list', 'must be queued', (value) => value === 'queued', true)(data);
      field('to_position', 'must be a whole number from 0', isWhole)(data);
    },
    apply(job, { cluster }, { to_position: position }) {
      const waiting = cluster.queue.filter((other) => !isActive(other) && other !== job);
      waiting.splice(Number(position), 0, job);
      cluster.queue = [...cluster.queue.filter(isActive), ...waiting];
    },
  },
  duplicate: {
    fields: ['quantity'],
    capability: 'print_job_action_duplicate',
    from: ['queued', 'sent_to_printer', 'pre_print', 'printing', 'pausing', 'paused', 'resuming', 'post_print'],
    check: quantity,
    apply(job, { cluster, at, now, ids }, { quantity: count = 1 }) {
      for (let copy = 0; copy < Number(count); copy++)
        cluster.queue.push(newJob(job, { uuid: ids.uuid(), since: at, createdAt: now, visibleAt: at }));
      compareJobs(cluster, at);
    },
  },
  approve: {
    ...rule(['wait_approval'], ['message']),
    check: message,
    apply(job, { cluster, at, now, user }, { message: text }) {
      if (typeof text === 'string') job.message = saying(text, user, now);
      enter(job, 'queued', at);
      compareJobs(cluster, at);
    },
  },
  reject: {
    ...rule(['wait_approval'], ['message']),
    check: message,
    apply(job, { cluster, at, now, user }, { message: text }) {
      job.message = saying(typeof text === 'string' ? text : 'Rejected.', user, now);
      end(cluster, job, 'rejected', at);
    },
  },
};

function rule(from: PrintJob['status'][], fields: string[] = []): Pick<JobAction, 'from' | 'fields' | 'capability'> {
  return { from, fields, capability: 'print_job_action' };
}

/** Returns why the job's state doesn't permit the action; `undefined` if it does. */
export function refuseJobAction(job: PrintJob, name: string): string | undefined {
  const { from, refuse } = JOB_ACTIONS[name]!;
  if (!from.includes(job.status)) return `The print job is ${job.status}, not ${from.join(' or ')}.`;
  return refuse?.(job);
}
