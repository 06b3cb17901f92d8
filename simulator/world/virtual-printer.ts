import { isAt } from './job-stages';
import { changesFor } from './matching';
import { useMaterial } from './spools';
import { loadFor, unload } from './station';
import type { BadEnd, Cluster, EndStatus, Printer, PrintJob } from './state';

/**
 * Simulates print jobs as a function of virtual time: there are no timers; `advance` computes all changes since its
 * last call. Durations are virtual seconds.
 */
export const PHASE_SECONDS = {
  sent_to_printer: 5,
  pre_print: 90,
  pausing: 3,
  resuming: 3,
  aborting: 10,
  post_print: 60,
  /** Time until automatic cleaning is complete. */
  wait_cleanup: 300,
} as const;

const HISTORY_KEPT = 100;

/** Whether the job is at its printer. */
export const isActive = (job: PrintJob): boolean => !isAt(job, 'waiting', 'over');

/** Whether the printer has started to work on an active job. */
export const hasBegun = (job: PrintJob): boolean => isActive(job) && !isAt(job, 'sent');

/** Whether the job's plate waits for a person (wire facts 12.2). */
export const awaitsCleanup = ({ status }: PrintJob): boolean => status.endsWith('wait_cleanup');

/** End that the job's word already states; `undefined` while the word leaves it open. */
const statedEnd = ({ status }: PrintJob): BadEnd | undefined =>
  (['aborted', 'failed'] as const).find((end) => status.startsWith(end));

/** Whether the job comes through the service instead of being started at the printer. */
const isRemote = ({ sentFrom }: PrintJob): boolean => sentFrom === 'cloud' || sentFrom === 'reprint';

/** Ended print whose part is still on the plate. */
export const leftJob = (cluster: Cluster, printer: Printer): PrintJob | undefined =>
  cluster.history.find(({ uuid, printed }) => uuid === printer.left && printed > 0);

/** Printing time so far in seconds, at most the total. */
export function elapsed(job: PrintJob, at: number): number {
  const running = job.status === 'printing' && !job.stalled ? Math.max(0, at - job.since) / 1000 : 0;
  return Math.min(job.timeTotal, job.printed + running);
}

/** Whether the job would start on a free printer, or wait at one until it is changed. */
export const isReady = (cluster: Cluster, job: PrintJob): boolean =>
  job.status === 'queued' && !job.held && (cluster.mismatch === 'wait_user_action' || isUnhindered(job));

const isUnhindered = ({ force, changes }: PrintJob): boolean => force || changes.length === 0;

export const activeJob = (cluster: Cluster, printer: Printer): PrintJob | undefined =>
  cluster.queue.find((job) => isActive(job) && job.printerUuid === printer.uuid);

/** Advances the cluster to this virtual time. */
export function advance(cluster: Cluster, at: number): void {
  for (;;) {
    const next = upcoming(cluster).reduce<Step | undefined>((a, b) => (a && a.at <= b.at ? a : b), undefined);
    if (!next || next.at > at) return;
    next.apply();
  }
}

/** How a job ends. `cleaned`: its print is over, and the plate is clear. */
type End = 'cleaned' | 'removed' | 'rejected' | 'not dispatched' | 'file gone' | 'fault';

/** The service's word for the end of a job (wire facts 12.2). */
function statusAfter(how: End, job: PrintJob): EndStatus {
  if (how === 'cleaned') return statusAfterCleanup(job);
  return how === 'removed' ? 'aborted' : 'failed';
}

/** The service's word after cleaning. After `wait_cleanup`, a partial print was aborted (wire facts 12.2). */
const statusAfterCleanup = (job: PrintJob): EndStatus =>
  statedEnd(job) ?? (job.printed < job.timeTotal ? 'aborted' : 'finished');

/** Moves a job to the history. */
export function end(cluster: Cluster, job: PrintJob, how: End, at: number): void {
  const status = statusAfter(how, job);
  const printer = cluster.printers.find(({ uuid }) => uuid === job.printerUuid);
  if (printer && isActive(job)) {
    if (awaitsCleanup(job)) printer.uncleared = false;
    else awaitCleanup(printer, job, at);
    printer.freeSince = at;
    // The part remains until the next print starts, so that later pictures show it.
    printer.left = job.uuid;
  }
  enter(job, status, at);
  cluster.queue = cluster.queue.filter((other) => other !== job);
  cluster.history = [job, ...cluster.history].slice(0, HISTORY_KEPT);
}

/** Ends the printing before its time, with a certain end; the printer cools down. */
export function endEarly(cluster: Cluster, job: PrintJob, how: BadEnd, at: number): void {
  const printer = cluster.printers.find(({ uuid }) => uuid === job.printerUuid);
  enter(job, `${how}_post_print`, at);
  if (printer) heat(printer, 0, at);
}

/** Ends the work on a print; the part is still on the plate. */
function awaitCleanup(printer: Printer, job: PrintJob, at: number): void {
  const how = statedEnd(job);
  enter(job, how === undefined ? 'wait_cleanup' : `${how}_wait_cleanup`, at);
  printer.uncleared = job.printed > 0 || printer.uncleared === true;
  useMaterial(printer, job);
  unload(printer);
  heat(printer, 0, at);
}

/** Changes the status, and keeps the printing time so far. */
export function enter(job: PrintJob, status: PrintJob['status'], at: number): void {
  job.printed = elapsed(job, at);
  if (status === 'printing') job.startedAt ??= at;
  job.status = status;
  job.since = at;
}

/** Starts heating or cooling from the current temperature. */
export function heat(printer: Printer, target: 0 | 1, at: number): void {
  printer.warmth = { level: warmth(printer, at), target, since: at };
}

/** Temperature from 0 (room) to 1 (printing). */
export function warmth(printer: Printer, at: number): number {
  const { level, target, since } = printer.warmth;
  const seconds = Math.max(0, at - since) / 1000;
  // Heating fits into its phase; cooling takes several times as long.
  const pace = target === 1 ? PHASE_SECONDS.pre_print / 4 : PHASE_SECONDS.pre_print * 2;
  return target + (level - target) * Math.exp(-seconds / pace);
}

interface Step {
  at: number;
  apply: () => void;
}

function upcoming(cluster: Cluster): Step[] {
  const steps: Step[] = [];
  for (const printer of cluster.printers) {
    const job = activeJob(cluster, printer);
    if (job) steps.push(...phaseEnd(cluster, printer, job));
    else if (printer.enabled && printer.trouble === null) {
      const first = cluster.queue.find((other) => isReady(cluster, other) && canStart(cluster, printer, other));
      if (first) steps.push(start(printer, first));
    }
  }
  return steps;
}

/** Whether this printer can start the job: the service reaches it, and the job waits for no other of its group. */
const canStart = (cluster: Cluster, printer: Printer, job: PrintJob): boolean =>
  (cluster.online || !isRemote(job)) &&
  (!isUnhindered(job) || job.force || changesFor(cluster, printer, job).length === 0);

function start(printer: Printer, job: PrintJob): Step {
  const at = Math.max(printer.freeSince, job.since, job.visibleAt);
  return {
    at,
    apply: () => {
      job.printerUuid = printer.uuid;
      if (printer.uncleared) job.overPart = true;
      Object.assign(printer, { left: null, uncleared: false });
      enter(job, 'sent_to_printer', at);
    },
  };
}

function phaseEnd(cluster: Cluster, printer: Printer, job: PrintJob): Step[] {
  const after = (seconds: number, apply: (at: number) => void): Step[] => {
    const at = job.since + seconds * 1000;
    return [{ at, apply: () => apply(at) }];
  };
  switch (job.status) {
    case 'sent_to_printer': {
      // An interrupted transfer begins anew when the printer is back.
      if (!cluster.online && isRemote(job)) return [];
      const since = isRemote(job) ? Math.max(job.since, cluster.onlineSince ?? 0) : job.since;
      const at = since + PHASE_SECONDS.sent_to_printer * 1000;
      return [{ at, apply: () => arrive(cluster, printer, job, at) }];
    }
    case 'wait_user_action':
      return isUnhindered(job) ? after(0, (at) => begin(printer, job, at)) : [];
    case 'pre_print':
      return after(PHASE_SECONDS.pre_print, (at) => enter(job, 'printing', at));
    case 'printing':
      if (job.stalled) return [];
      return after(job.timeTotal - job.printed, (at) => {
        enter(job, 'post_print', at);
        heat(printer, 0, at);
      });
    case 'pausing':
      return after(PHASE_SECONDS.pausing, (at) => enter(job, 'paused', at));
    case 'resuming':
      return after(PHASE_SECONDS.resuming, (at) => enter(job, 'printing', at));
    case 'aborting':
      return after(PHASE_SECONDS.aborting, (at) => {
        if (cluster.endWords === 'long') endEarly(cluster, job, 'aborted', at);
        else leavePlate(cluster, printer, job, at);
      });
    case 'post_print':
    case 'aborted_post_print':
    case 'failed_post_print':
      return after(PHASE_SECONDS.post_print, (at) => leavePlate(cluster, printer, job, at));
    case 'wait_cleanup':
    case 'aborted_wait_cleanup':
    case 'failed_wait_cleanup':
      if (cluster.cleaning === 'manual') return [];
      return after(PHASE_SECONDS.wait_cleanup, (at) => end(cluster, job, 'cleaned', at));
    default:
      return [];
  }
}

/** Leaves the plate to a person, or ends the print where the printer doesn't show that. */
export function leavePlate(cluster: Cluster, printer: Printer, job: PrintJob, at: number): void {
  if (cluster.cleaning === 'none') end(cluster, job, 'cleaned', at);
  else awaitCleanup(printer, job, at);
}

/** Ends the transfer of the file. */
function arrive(cluster: Cluster, printer: Printer, job: PrintJob, at: number): void {
  if (job.fileGone) return end(cluster, job, 'file gone', at);
  job.changes = [...(job.demanded ?? []), ...changesFor(cluster, printer, job)];
  if (isUnhindered(job)) return begin(printer, job, at);
  enter(job, 'wait_user_action', at);
}

function begin(printer: Printer, job: PrintJob, at: number): void {
  enter(job, 'pre_print', at);
  loadFor(printer, job);
  heat(printer, 1, at);
}
