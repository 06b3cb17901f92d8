import type { SimulatorClock } from './clock';
import { Ids } from './ids';
import { newCluster } from './models';
import { heardNow, type Moment } from './records';
import { recordNotFound, Refusal } from './refusals';
import type { Cluster, Dispatch, PrinterFault, PrintJob, RequiredChange, State, StoredJob } from './state';
import { advance, cleanedStatus, end, enter, isActive } from './virtual-printer';

/** A cluster by its id, or by its number in the list, from 1. */
export type ClusterRef = string | number;

/** More jobs than this can't wait on one cluster. */
export const QUEUE_LENGTH = 10;

export interface WorldOptions {
  clock: SimulatorClock;
  /** Virtual ms until lists show a new print (wire facts 7). */
  printVisibleAfter: number;
  /** Real ms until the record of a stored job says `uploaded`. */
  uploadConfirmDelay: number;
  changed: () => void;
  /** The bytes of a removed file can go. */
  dropBytes: (key: string) => void;
}

/** The virtual printers and stored files, and all that can happen to them besides the calls of the service. */
export class World {
  private readonly clock: SimulatorClock;
  private readonly ids: Ids;

  constructor(
    private readonly state: State,
    private readonly options: WorldOptions,
  ) {
    this.clock = options.clock;
    this.ids = new Ids(state.seed, state);
  }

  /** Now, for the records. */
  moment(): Moment {
    return { at: this.clock.virtual(), now: this.clock.now(), ids: this.ids };
  }

  /** The clusters of all workspaces (or one), as of now. Live objects: to look at, not to change. */
  clusters(organizationId?: string): Cluster[] {
    const at = this.clock.virtual();
    for (const cluster of this.state.clusters) advance(cluster, at);
    return this.state.clusters.filter(
      (cluster) => organizationId === undefined || cluster.organizationId === organizationId,
    );
  }

  /** One cluster as of now; throws recordNotFound. */
  cluster(ref: ClusterRef, organizationId?: string): Cluster {
    const clusters = this.clusters(organizationId);
    const found = typeof ref === 'number' ? clusters[ref - 1] : clusters.find(({ clusterId }) => clusterId === ref);
    if (!found) throw recordNotFound('Cluster');
    return found;
  }

  /** A printing that is waiting, running or in history; throws recordNotFound. */
  printJob(uuid: string, ref?: ClusterRef): PrintJob {
    const clusters = ref === undefined ? this.clusters() : [this.cluster(ref)];
    const found = clusters.flatMap(({ queue, history }) => [...queue, ...history]).find((job) => job.uuid === uuid);
    if (!found) throw recordNotFound('PrintJob');
    return found;
  }

  /** Skips virtual seconds. */
  advance(seconds: number): void {
    this.clock.skip(seconds);
    this.options.changed();
  }

  // Stored files

  storedJobs(organizationId?: string): StoredJob[] {
    return this.state.storedJobs.filter((job) => organizationId === undefined || job.organizationId === organizationId);
  }

  /** Throws recordNotFound. */
  storedJob(jobId: string, organizationId?: string): StoredJob {
    const found = this.storedJobs(organizationId).find((job) => job.jobId === jobId);
    if (!found) throw recordNotFound('PrintJob');
    return found;
  }

  isUploaded(job: StoredJob): boolean {
    return job.uploadedAt !== null && job.uploadedAt <= this.clock.now();
  }

  register(
    about: Pick<StoredJob, 'organizationId' | 'userId' | 'jobName' | 'fileSize' | 'contentType' | 'origin'>,
  ): StoredJob {
    const job: StoredJob = {
      ...about,
      jobId: this.ids.cloudId(),
      key: this.ids.uuid(),
      createdAt: this.clock.now(),
      arrivedAt: null,
      uploadedAt: null,
      sha256: null,
      printSeconds: 0,
      parsed: false,
    };
    this.state.storedJobs.push(job);
    this.options.changed();
    return job;
  }

  /** The bytes are all there. */
  arrived(job: StoredJob, about: Pick<StoredJob, 'sha256' | 'printSeconds' | 'parsed'>): void {
    const now = this.clock.now();
    Object.assign(job, about, { arrivedAt: now, uploadedAt: now + this.options.uploadConfirmDelay });
    this.options.changed();
  }

  /** As a person does in the library of the service. */
  removeStoredJob(jobId: string): void {
    const job = this.storedJob(jobId);
    this.state.storedJobs = this.state.storedJobs.filter((other) => other !== job);
    this.options.dropBytes(job.key);
    this.options.changed();
  }

  // Prints

  /** Call 10: sends a stored job to a cluster. */
  print(cluster: Cluster, stored: StoredJob, userId: string, startNow: boolean): PrintJob {
    if (!this.isUploaded(stored))
      throw new Refusal(409, 'jobNotUploaded', 'The file of this job was not uploaded yet.');
    if (!cluster.online || !cluster.authorized)
      throw new Refusal(409, 'printerInactive', 'The printer is offline or inactive.');
    const waiting = cluster.queue.filter((job) => !isActive(job)).length;
    const queues = cluster.capabilities.includes('queue') || cluster.capabilities.length === 0;
    if (!queues && cluster.queue.length > 0)
      throw new Refusal(409, 'printerNotAcceptingJobs', 'The printer takes one job at a time and is busy.');
    if (!cluster.printers.some(({ enabled }) => enabled))
      throw new Refusal(409, 'printerNotAcceptingJobs', 'The printer takes no jobs now.');
    if (waiting >= QUEUE_LENGTH) throw new Refusal(409, 'printerQueueFull', 'The queue of the printer is full.');
    const owner = this.state.users.find((user) => user.userId === userId);
    return this.enqueue(cluster, {
      jobId: stored.jobId,
      name: stored.jobName,
      timeTotal: stored.printSeconds,
      sentFrom: 'cloud',
      held: !startNow,
      owner: owner ? { userId, name: owner.name } : null,
      visibleAt: this.clock.virtual() + this.options.printVisibleAfter,
    });
  }

  /** Someone starts a print at the printer itself. */
  printLocally(ref: ClusterRef, about: { name: string; seconds: number; from?: 'usb' | 'network' }): PrintJob {
    return this.enqueue(this.cluster(ref), {
      jobId: null,
      name: about.name,
      timeTotal: about.seconds,
      sentFrom: about.from ?? 'usb',
      held: false,
      owner: null,
      visibleAt: this.clock.virtual(),
    });
  }

  private enqueue(
    cluster: Cluster,
    about: Pick<PrintJob, 'jobId' | 'name' | 'timeTotal' | 'sentFrom' | 'held' | 'owner' | 'visibleAt'>,
  ): PrintJob {
    const at = this.clock.virtual();
    const dispatch = about.jobId === null ? 'queued' : cluster.dispatch;
    const job: PrintJob = {
      ...about,
      uuid: this.ids.uuid(),
      status: dispatch === 'wait_approval' ? 'wait_approval' : 'queued',
      since: at,
      printed: 0,
      createdAt: this.clock.now(),
      printerUuid: null,
      force: false,
      changes: about.jobId === null ? [] : structuredClone(cluster.requiredChanges),
      message: null,
    };
    cluster.queue.push(job);
    if (dispatch === 'failed') end(cluster, job, 'failed', at);
    this.options.changed();
    return job;
  }

  // What people do to print jobs. Without `uuid`: to the job that the cluster's printers are busy with.

  pause(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['printing'], (job, at) => enter(job, 'pausing', at));
  }

  resume(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['paused'], (job, at) => enter(job, 'resuming', at));
  }

  abort(ref: ClusterRef, uuid?: string): void {
    const running = ['sent_to_printer', 'pre_print', 'printing', 'pausing', 'paused', 'resuming'];
    this.change(ref, uuid, running, (job, at) => enter(job, 'aborting', at));
  }

  /** The print fails; with a code, the printer shows that fault too. */
  fail(ref: ClusterRef, uuid?: string, code?: string): void {
    const running = [
      'sent_to_printer',
      'pre_print',
      'printing',
      'pausing',
      'paused',
      'resuming',
      'aborting',
      'post_print',
    ];
    this.change(ref, uuid, running, (job, at, cluster) => {
      if (code !== undefined) this.addFault(ref, { code });
      end(cluster, job, 'failed', at);
    });
  }

  /** Someone clears the build plate. */
  clean(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['wait_cleanup'], (job, at, cluster) => end(cluster, job, cleanedStatus(job), at));
  }

  approve(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['wait_approval'], (job, at) => enter(job, 'queued', at));
  }

  reject(ref: ClusterRef, uuid?: string, message = 'Rejected.'): void {
    this.change(ref, uuid, ['wait_approval'], (job, at, cluster) => {
      job.message = message;
      end(cluster, job, 'failed', at);
    });
  }

  /** A person makes the changes that a waiting job requires, or forces it, or lets a held one go. */
  release(ref: ClusterRef, uuid?: string): void {
    this.change(ref, uuid, ['queued'], (job, at) => {
      job.changes = [];
      job.held = false;
      enter(job, 'queued', at);
    });
  }

  /** The job is gone without a trace: no list, no history, no record. */
  vanish(ref: ClusterRef, uuid?: string): void {
    const cluster = this.cluster(ref);
    const job = uuid === undefined ? this.busyJob(cluster) : this.printJob(uuid, ref);
    if (isActive(job)) end(cluster, job, 'aborted', this.clock.virtual());
    cluster.queue = cluster.queue.filter((other) => other !== job);
    cluster.history = cluster.history.filter((other) => other !== job);
    this.options.changed();
  }

  // What happens to printers

  setOnline(ref: ClusterRef, online: boolean): void {
    const cluster = this.cluster(ref);
    if (cluster.online === online) return;
    cluster.lastHeard = online ? null : heardNow(cluster, this.moment());
    cluster.online = online;
    this.options.changed();
  }

  /** Whether the cluster takes part in the account (`status` active or inactive, wire facts 5). */
  setAuthorized(ref: ClusterRef, authorized: boolean): void {
    this.update(ref, { authorized });
  }

  /** Whether its printers take new jobs. */
  setEnabled(ref: ClusterRef, enabled: boolean): void {
    const cluster = this.cluster(ref);
    for (const printer of cluster.printers) Object.assign(printer, { enabled, freeSince: this.clock.virtual() });
    this.options.changed();
  }

  /** Another printer status than the job's (`error`, `unreachable`, `maintenance`, …); null: none. Running jobs go on. */
  setTrouble(ref: ClusterRef, trouble: string | null): void {
    const cluster = this.cluster(ref);
    for (const printer of cluster.printers) Object.assign(printer, { trouble, freeSince: this.clock.virtual() });
    this.options.changed();
  }

  addFault(ref: ClusterRef, about: { code: string; message?: string; severity?: string }): PrinterFault {
    const fault: PrinterFault = {
      uuid: this.ids.uuid(),
      code: about.code,
      message: about.message ?? about.code.toLowerCase().replaceAll('_', ' '),
      severity: about.severity ?? 'warning',
      at: this.clock.now(),
    };
    this.cluster(ref).printers[0]!.faults.push(fault);
    this.options.changed();
    return fault;
  }

  clearFaults(ref: ClusterRef): void {
    for (const printer of this.cluster(ref).printers) printer.faults = [];
    this.options.changed();
  }

  setFirmware(ref: ClusterRef, firmware: Partial<Cluster['firmware']>): void {
    const cluster = this.cluster(ref);
    this.update(ref, { firmware: { ...cluster.firmware, ...firmware } });
  }

  setCleaning(ref: ClusterRef, cleaning: Cluster['cleaning']): void {
    this.update(ref, { cleaning });
  }

  setRecentHistory(ref: ClusterRef, recentHistory: boolean): void {
    this.update(ref, { recentHistory });
  }

  setCapabilities(ref: ClusterRef, capabilities: string[]): void {
    this.update(ref, { capabilities });
  }

  /** What becomes of prints from now on: queued, awaiting approval, or failed at once. */
  setDispatch(ref: ClusterRef, dispatch: Dispatch): void {
    this.update(ref, { dispatch });
  }

  /** What a person must change before prints sent from now on can start; an empty list: nothing. */
  setRequiredChanges(ref: ClusterRef, requiredChanges: RequiredChange[] = [MATERIAL_CHANGE]): void {
    this.update(ref, { requiredChanges });
  }

  setName(ref: ClusterRef, friendlyName: string | null): void {
    this.update(ref, { friendlyName });
  }

  /** A new printer in the account; its id. Without a workspace: the first one. */
  addCluster(options: { name?: string; model?: string; printers?: number; organizationId?: string } = {}): string {
    const owner = {
      organizationId: options.organizationId ?? this.state.organizations[0]!.organizationId,
      userId: this.state.users[0]!.userId,
    };
    const cluster = newCluster(this.ids, owner, this.state.clusters.length + 1, options, this.clock.virtual());
    this.state.clusters.push(cluster);
    this.options.changed();
    return cluster.clusterId;
  }

  removeCluster(ref: ClusterRef): void {
    const cluster = this.cluster(ref);
    this.state.clusters = this.state.clusters.filter((other) => other !== cluster);
    this.options.changed();
  }

  /** Disconnected from the account and connected again: another cluster_id, the same host_guid. Gives the new id. */
  rebind(ref: ClusterRef): string {
    const clusterId = this.ids.cloudId();
    this.update(ref, { clusterId });
    return clusterId;
  }

  private update(ref: ClusterRef, values: Partial<Cluster>): void {
    Object.assign(this.cluster(ref), values);
    this.options.changed();
  }

  private change(
    ref: ClusterRef,
    uuid: string | undefined,
    from: string[],
    take: (job: PrintJob, at: number, cluster: Cluster) => void,
  ): void {
    const cluster = this.cluster(ref);
    const candidates = uuid === undefined ? cluster.queue : [this.printJob(uuid, ref)];
    const job = candidates.find(({ status }) => from.includes(status));
    if (!job) throw new Refusal(409, 'conflict', `No print job is in a state for this: ${from.join(', ')}.`);
    take(job, this.clock.virtual(), cluster);
    this.options.changed();
  }

  private busyJob(cluster: Cluster): PrintJob {
    const job = cluster.queue[0];
    if (!job) throw recordNotFound('PrintJob');
    return job;
  }
}

const MATERIAL_CHANGE: RequiredChange = {
  type_of_change: 'material_change',
  index: 0,
  origin_id: '00000000-0000-4000-a000-000000000001',
  origin_name: 'Generic PLA',
  target_id: '00000000-0000-4000-a000-000000000002',
  target_name: 'Generic ABS',
  is_overridable: true,
};
