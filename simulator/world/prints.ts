import { recordNotFound, Refusal } from '../http/refusals';
import { compareJobs } from './compare-jobs';
import { wordsAt } from './job-stages';
import { changesFor, makeChanges } from './matching';
import { newJob, type Order } from './new-job';
import { saying } from './status-message';
import type { Cluster, Impediment, PrintJob, StoredJob, User } from './state';
import { activeJob, end, endEarly, enter, hasBegun, isActive, leavePlate } from './virtual-printer';
import type { ClusterRef } from './world-base';
import { Printers } from './printers';

/** Longest queue of waiting jobs on a cluster. */
export const QUEUE_LENGTH = 10;

/** Details of a job in the service's words (wire facts 8). */
export interface JobDetails {
  impediments?: Impediment[];
  statusDetail?: string;
  statusMessage?: string;
  /** Name of the message's author; null for a deleted user. Default: the first user. */
  user?: string | null;
}

/** Events on print jobs, besides the service's actions. */
export class Prints extends Printers {
  /** Sends a stored job to a cluster (call 10). */
  print(cluster: Cluster, stored: StoredJob, userId: string, startNow: boolean): PrintJob {
    if (this.fileStatus(stored) !== 'uploaded')
      throw new Refusal(409, 'jobNotUploaded', 'The file of this job was not uploaded.');
    if (!cluster.online || !cluster.authorized)
      throw new Refusal(409, 'printerInactive', 'The printer is offline or inactive.');
    const waiting = cluster.queue.filter((job) => !isActive(job)).length;
    const queues = cluster.capabilities.includes('queue') || cluster.capabilities.length === 0;
    if (!queues && cluster.queue.length > 0)
      throw new Refusal(409, 'printerNotAcceptingJobs', 'The printer accepts one job at a time and is busy.');
    if (!cluster.printers.some(({ enabled }) => enabled))
      throw new Refusal(409, 'printerNotAcceptingJobs', 'The printer accepts no jobs now.');
    if (waiting >= QUEUE_LENGTH) throw new Refusal(409, 'printerQueueFull', 'The queue of the printer is full.');
    const owner = this.state.users.find((user) => user.userId === userId);
    return this.enqueue(cluster, {
      jobId: stored.jobId,
      name: stored.jobName,
      contentType: stored.contentType,
      timeTotal: stored.printSeconds,
      needs: stored.needs ?? [],
      ...(stored.target ? { target: stored.target } : {}),
      sentFrom: 'cloud',
      held: !startNow,
      owner: owner ? { userId, name: owner.name } : null,
      visibleAt: this.clock.virtual() + this.options.printVisibleAfter,
    });
  }

  /**
   * Starts or queues somebody else's print: at the printer itself, from the local network, or through the service by
   * another user. `held` jobs wait in the queue until their release.
   */
  printLocally(
    ref: ClusterRef,
    about: { name: string; seconds: number; from?: 'usb' | 'network' | 'cloud'; held?: boolean },
  ): PrintJob {
    const { userId, name } = this.state.users.at(-1)!;
    return this.enqueue(this.cluster(ref), {
      jobId: null,
      name: about.name,
      timeTotal: about.seconds,
      needs: [],
      sentFrom: about.from ?? 'usb',
      held: about.held ?? false,
      owner: about.from === 'cloud' ? { userId, name } : null,
      visibleAt: this.clock.virtual(),
    });
  }

  private enqueue(cluster: Cluster, { visibleAt, ...order }: Order & Pick<PrintJob, 'visibleAt'>): PrintJob {
    const at = this.clock.virtual();
    const dispatch = order.jobId === null ? 'queued' : cluster.dispatch;
    const demanded = order.jobId === null ? [] : cluster.requiredChanges;
    const about = { uuid: this.ids.uuid(), since: at, createdAt: this.clock.now(), visibleAt };
    const job = newJob({ ...order, demanded }, about);
    if (dispatch === 'wait_approval') job.status = dispatch;
    cluster.queue.push(job);
    compareJobs(cluster, at);
    if (dispatch === 'failed') end(cluster, job, 'not dispatched', at);
    this.options.changed();
    return job;
  }

  /** Sets what the service says about a job that is listed or has ended, or about the first of the queue. */
  setJobDetails(ref: ClusterRef, details: JobDetails, uuid?: string): void {
    const job = uuid === undefined ? this.busyJob(this.cluster(ref)) : this.printJob(uuid, ref);
    const { impediments, statusDetail, statusMessage } = details;
    if (impediments !== undefined) job.impediments = impediments;
    if (statusDetail !== undefined) job.detail = statusDetail;
    if (statusMessage !== undefined) job.message = saying(statusMessage, this.person(details.user), this.clock.now());
    this.options.changed();
  }

  /** Returns a user by name, by default the first; null for null, who is a deleted one. */
  private person(username: string | null = this.state.users[0]!.username): User | null {
    if (username === null) return null;
    const user = this.state.users.find((other) => other.username === username);
    if (!user) throw recordNotFound('User');
    return user;
  }

  /** Sets the note of a job, which the service keeps, also of an offline printer; an empty one removes it. */
  setJobNote(ref: ClusterRef, note: string, uuid: string): void {
    const cluster = this.cluster(ref);
    for (const { queue, history } of [cluster, cluster.lastReport ?? cluster])
      for (const job of [...queue, ...history]) if (job.uuid === uuid) job.note = note === '' ? null : note;
    this.options.changed();
  }

  // Manual actions on print jobs. Without `uuid`, they apply to the first job in a suitable state.

  pause(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['printing'], (job, at) => enter(job, 'pausing', at));
  }

  resume(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['paused'], (job, at) => enter(job, 'resuming', at));
  }

  /** Stops the progress of a print, which goes on in every other respect: its nozzle is blocked, say. */
  stall(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['printing'], (job, at) => {
      enter(job, 'printing', at);
      job.stalled = true;
    });
  }

  /** Lets a print that stalled make progress again. */
  unstall(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['printing', 'pausing', 'paused', 'resuming'], (job, at) => {
      if (job.status === 'printing') enter(job, 'printing', at);
      delete job.stalled;
    });
  }

  abort(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, wordsAt('sent', 'printing'), (job, at) => enter(job, 'aborting', at));
  }

  /**
   * Fails the print; with a code, the printer also shows that fault. A print that has begun passes through the long
   * words, where the printer has them.
   */
  fail(ref: ClusterRef, uuid?: string, code?: string, details: JobDetails = {}): void {
    this.change(ref, uuid, wordsAt('sent', 'printing', 'ending'), (job, at, cluster) => {
      if (code !== undefined) this.addFault(ref, { code });
      if (cluster.endWords === 'long' && hasBegun(job)) endEarly(cluster, job, 'failed', at);
      else end(cluster, job, 'fault', at);
      this.setJobDetails(ref, details, job.uuid);
    });
  }

  /** Makes the printer of a print that was aborted or failed ask a person something, and show it as a fault. */
  ask(ref: ClusterRef, uuid?: string, code = 'ATTENTION_REQUIRED'): void {
    this.change(ref, uuid, ['aborted_post_print', 'failed_post_print'], (job, at) => {
      this.addFault(ref, { code });
      enter(job, job.status === 'failed_post_print' ? 'failed_wait_user_action' : 'aborted_wait_user_action', at);
    });
  }

  /** Answers what a printer asks after such a print, and clears its faults. */
  answer(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['aborted_wait_user_action', 'failed_wait_user_action'], (job, at, cluster) => {
      this.clearFaults(ref);
      const printer = cluster.printers.find((other) => other.uuid === job.printerUuid)!;
      leavePlate(cluster, printer, job, at);
    });
  }

  /** Clears the build plate after a print that waits for it. */
  clean(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['wait_cleanup', 'aborted_wait_cleanup', 'failed_wait_cleanup'], (job, at, cluster) => {
      end(cluster, job, 'cleaned', at);
      for (const printer of cluster.printers) if (printer.left === job.uuid) printer.left = null;
    });
  }

  /** Clears the plate of one printer, from 1, whether or not a print waits for it. */
  clearPlate(ref: ClusterRef, number = 1): void {
    const cluster = this.cluster(ref);
    const printer = this.printer(cluster, number);
    const job = activeJob(cluster, printer);
    if (job) this.clean(ref, job.uuid);
    Object.assign(printer, { left: null, uncleared: false });
    this.options.changed();
  }

  /** Removes a waiting job from the queue, as a person at the printer does. */
  removeJob(ref: ClusterRef, uuid?: string): void {
    const waiting = ['queued', 'wait_approval', 'error', 'sent_to_printer', 'wait_user_action'];
    this.change(ref, uuid, waiting, (job, at, cluster) => {
      end(cluster, job, 'removed', at);
      job.deletedAt = this.clock.now();
    });
  }

  approve(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['wait_approval'], (job, at, cluster) => {
      enter(job, 'queued', at);
      compareJobs(cluster, at);
    });
  }

  reject(ref: ClusterRef, uuid?: string, message = 'Rejected.', username?: string | null): void {
    this.change(ref, uuid, ['wait_approval'], (job, at, cluster) => {
      job.message = saying(message, this.person(username), this.clock.now());
      end(cluster, job, 'rejected', at);
    });
  }

  /** Makes the changes that a waiting job requires, and releases a held one. */
  release(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['queued', 'wait_user_action'], (job, at, cluster) => {
      const printer = cluster.printers.find((other) => other.uuid === job.printerUuid) ?? cluster.printers[0]!;
      makeChanges(printer, changesFor(cluster, printer, job));
      job.demanded = [];
      job.held = false;
      enter(job, job.status, at);
      compareJobs(cluster, at);
    });
  }

  /** Removes the job from all lists, the history and the log. */
  vanish(ref: ClusterRef, uuid?: string): void {
    const cluster = this.cluster(ref);
    const job = uuid === undefined ? this.busyJob(cluster) : this.printJob(uuid, ref);
    if (isActive(job)) end(cluster, job, 'removed', this.clock.virtual());
    cluster.queue = cluster.queue.filter((other) => other !== job);
    cluster.history = cluster.history.filter((other) => other !== job);
    cluster.log = cluster.log.filter((ended) => ended.uuid !== job.uuid);
    this.options.changed();
  }

  private change(
    ref: ClusterRef,
    uuid: string | undefined,
    from: string[],
    apply: (job: PrintJob, at: number, cluster: Cluster) => void,
  ): void {
    const cluster = this.cluster(ref);
    const candidates = uuid === undefined ? cluster.queue : [this.printJob(uuid, ref)];
    const job = candidates.find(({ status }) => from.includes(status));
    if (!job) throw new Refusal(409, 'conflict', `No print job is in a state for this: ${from.join(', ')}.`);
    apply(job, this.clock.virtual(), cluster);
    this.options.changed();
  }

  private busyJob(cluster: Cluster): PrintJob {
    const job = cluster.queue[0];
    if (!job) throw recordNotFound('PrintJob');
    return job;
  }
}
