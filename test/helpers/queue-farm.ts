import type { CallOptions } from '../../lib/account/api-client';
import { Dispatcher } from '../../lib/print/dispatcher';
import { JobListReader } from '../../lib/print/job-list-reader';
import { LocalChanges } from '../../lib/queue/records/records';
import { PrintQueue } from '../../lib/queue/print-queue';
import type { AddRequest, QueueEvent, QueueItem } from '../../lib/queue/model/types';
import type { QueueRules } from '../../lib/queue/model/rules';
import { readCluster, readClusterStatus } from '../../lib/service/cluster';
import { PrintingError } from '../../lib/service/errors';
import type { EndpointName } from '../../lib/service/paths';
import type { SignInState, SignInWatch } from '../../lib/sign-in/sign-in-state';
import type { Scope } from '../../lib/state/store';
import { isoTime } from '../../lib/time/clock';
import { underDeadline, type Deadline } from '../../lib/time/deadline';
import type { ObservationListener, Watcher } from '../../lib/watch/watcher';
import { phrase } from '../../lib/words/sentence';
import { ManualClock } from './manual-clock';
import { RULES } from '../lib/queue/items';
import { ScriptedService } from './scripted-service';
import { SharedMemory, SharedRuntime } from './shared-memory';

export const SCOPE: Scope = ['account', 'service', 'workspace'];
const CLUSTERS = ['C1', 'C2'];
const SECOND = 1000;

/** Two printers that print what they get, in one minute. */
class Farm extends ScriptedService {
  readonly prints: { clusterId: string; uuid: string; jobId: string; at: number }[] = [];
  /** Whether prints get no answer, or one that got lost. */
  isSilent = false;
  isLossy = false;
  /** Clusters that refuse prints, and stored jobs that are gone. */
  readonly refusing = new Set<string>();
  readonly gone = new Set<string>();
  /** Whether what is sent stays out of sight. */
  isHidden = false;
  /** Members of the statuses that differ, by cluster. */
  readonly changes = new Map<string, object>();
  /** Metadata of the stored jobs, by id. */
  readonly metadata = new Map<string, object>();

  readonly #unanswered: (() => void)[] = [];

  constructor(private readonly clock: ManualClock) {
    super();
  }

  status(clusterId: string) {
    const own = this.prints.filter((print) => print.clusterId === clusterId && !this.isHidden);
    const isPrinting = ({ at }: { at: number }) => this.clock.monotonic() - at < 60 * SECOND;
    const job = (print: { uuid: string; jobId: string; at: number }) => ({
      ...{ uuid: print.uuid, cloud_job_id: print.jobId, time_total: 60 },
      status: isPrinting(print) ? 'printing' : 'finished',
      time_elapsed: Math.min(60, (this.clock.monotonic() - print.at) / SECOND),
    });
    return {
      is_online: true,
      printers: [{ uuid: 'P', status: own.some(isPrinting) ? 'printing' : 'idle', enabled: true }],
      print_jobs: own.filter(isPrinting).map(job),
      recently_completed: own.filter((print) => !isPrinting(print)).map(job),
      ...this.changes.get(clusterId),
    };
  }

  protected override outcome(endpoint: EndpointName, { ids }: CallOptions): unknown {
    const clusterId = ids?.cluster_id ?? '';
    const jobId = ids?.job_id ?? 'job';
    if (this.gone.has(jobId) && endpoint !== 'clusterStatus')
      throw new PrintingError('NOT_FOUND', phrase`Gone.`, { statusCode: 404, outcome: 'refused' });
    if (endpoint === 'storedJob')
      return { job_id: jobId, job_name: jobId, status: 'uploaded', metadata: this.metadata.get(jobId) };
    if (endpoint === 'clusterStatus') return this.status(clusterId);
    if (endpoint !== 'print') throw new Error(endpoint);
    if (this.refusing.has(clusterId))
      throw new PrintingError('NOT_ACCEPTED', phrase`Too busy.`, { statusCode: 409, outcome: 'refused' });
    const uuid = `print-${this.prints.length + 1}`;
    this.prints.push({ clusterId, uuid, jobId, at: this.clock.monotonic() });
    if (this.isLossy) throw new PrintingError('NETWORK', phrase`Reset.`, { outcome: 'unknown' });
    const answer = { job_id: jobId, job_instance_uuid: uuid, status: 'queued' };
    return this.isSilent ? new Promise((resolve) => this.#unanswered.push(() => resolve(answer))) : answer;
  }

  /** Answers what got no answer so far. */
  answer(): void {
    this.isSilent = false;
    for (const answer of this.#unanswered.splice(0)) answer();
  }
}

/** A sign-in; the workspace is unknown without it. */
export class Account implements SignInWatch {
  state: SignInState = 'signed-in';
  readonly #listeners = new Set<() => void>();

  get usable(): boolean {
    return this.state === 'signed-in';
  }

  get scope(): Scope {
    return this.usable ? SCOPE : ['account', 'service', ''];
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  become(state: SignInState): void {
    this.state = state;
    for (const listener of this.#listeners) listener();
  }
}

export interface Runtime {
  memory: SharedRuntime;
  queue: PrintQueue;
  events: QueueEvent[];
  listeners: Set<ObservationListener>;
}

/** Runtimes with one queue, on a shared store and at two printers. */
export class QueueFarm {
  readonly clock = new ManualClock();
  readonly shared = new SharedMemory(this.clock);
  readonly farm = new Farm(this.clock);
  readonly account = new Account();
  runtimes: Runtime[] = [];

  start(rules: Partial<QueueRules> = {}, account = this.account): Runtime {
    const { farm } = this;
    const memory = new SharedRuntime(this.shared);
    this.shared.runtimes.add(memory);
    const listeners = new Set<ObservationListener>();
    const watcher = {
      clusterList: { last: new Map(CLUSTERS.map((id) => [id, readCluster({ cluster_id: id, status: 'active' })])) },
      hold: () => () => undefined,
      onObservation: (listener: ObservationListener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      follow: () => new Promise(() => undefined),
    } as unknown as Watcher;
    const jobListReader = new JobListReader(farm);
    const { store } = memory;
    const queue = new PrintQueue({
      ...{ queueId: 'queue', name: 'Queue', rules: { ...RULES, printers: CLUSTERS, ...rules } },
      ...{ service: farm, store, watcher, jobListReader, clock: memory.clock, localChanges: LocalChanges.of(store) },
      scope: () => Promise.resolve(account.scope),
      signIn: account,
      dispatcher: new Dispatcher({ service: farm, jobListReader, clock: memory.clock, warn: () => undefined }),
      jobControl: { run: () => Promise.reject(new Error('unused')) },
      uploads: { send: () => Promise.reject(new Error('unused')) },
      ...{ topic: ['account', 'service'], runtimeName: `runtime ${this.runtimes.length + 1}`, interval: 60 * SECOND },
    });
    const events: QueueEvent[] = [];
    queue.subscribe((received) => events.push(...received));
    const runtime = { memory, queue, events, listeners };
    this.runtimes.push(runtime);
    return runtime;
  }

  async close(): Promise<void> {
    const closed = Promise.all(this.runtimes.map(({ queue }) => queue.close()));
    await this.clock.advance(60 * SECOND);
    await closed;
    for (const { memory } of this.runtimes) memory.kill();
  }

  /** Lets time pass; every runtime receives each poll. */
  async pass(seconds: number): Promise<void> {
    for (let left = seconds; left > 0; left -= 10) {
      await this.clock.advance(10 * SECOND);
      for (const clusterId of CLUSTERS) {
        const receivedAt = isoTime(this.clock.now());
        const identity = readCluster({ cluster_id: clusterId, friendly_name: clusterId, status: 'active' });
        const status = readClusterStatus(this.farm.status(clusterId), { clusterId, receivedAt, identity });
        for (const { listeners } of this.runtimes) for (const listener of listeners) listener(clusterId, status);
      }
    }
    await this.clock.advance(SECOND);
  }

  /** Runs an operation of a person. Throws its errors. */
  async ask<T>({ queue, memory }: Runtime, work: (queue: PrintQueue, deadline: Deadline) => Promise<T>): Promise<T> {
    const asked = underDeadline(memory.clock, { ms: 60 * SECOND }, (deadline) => work(queue, deadline));
    asked.catch(() => undefined);
    await this.clock.advance(5 * SECOND);
    return asked;
  }

  add(runtime: Runtime, queueKey: string, changes: Partial<AddRequest> = {}): ReturnType<PrintQueue['add']> {
    const request = { source: null, jobId: 'job', jobName: '', queueKey, onProgress: () => undefined, ...changes };
    return this.ask(runtime, (queue, deadline) => queue.add({ ...request, deadline }));
  }

  list(runtime: Runtime): Promise<QueueItem[]> {
    return this.ask(runtime, (queue) => queue.list({ from: 0, limit: 10 }));
  }
}
