import assert from 'node:assert/strict';
import type { ApiClient, CallOptions } from '../../lib/account/api-client';
import { Dispatcher } from '../../lib/print/dispatcher';
import { JobListReader } from '../../lib/print/job-list-reader';
import { LocalChanges } from '../../lib/queue/records/records';
import { PrintQueue } from '../../lib/queue/print-queue';
import type {
  AddRequest,
  ItemChanges,
  NamedCopy,
  PlateJudgement,
  QueueEvent,
  QueueExplanation,
  QueueItem,
} from '../../lib/queue/model/types';
import { type QueueRules, readRules } from '../../lib/queue/model/rules';
import { readCluster, readClusterStatus } from '../../lib/service/cluster';
import { PrintingError } from '../../lib/service/errors';
import type { Json } from '../../lib/service/json-readers';
import { readPrintJob } from '../../lib/service/print-job';
import type { EndpointName } from '../../lib/service/paths';
import type { SignInState, SignInWatch } from '../../lib/sign-in/sign-in-state';
import type { Key, PutOptions, Scope } from '../../lib/state/store';
import { isoTime } from '../../lib/time/clock';
import { underDeadline, type Deadline } from '../../lib/time/deadline';
import type { JobEnd } from '../../lib/watch/views/job-end-waiter';
import type { HoldListener } from '../../lib/watch/polling/poller';
import type { ObservationListener, Watcher } from '../../lib/watch/watcher';
import { phrase } from '../../lib/words/sentence';
import { ManualClock } from './manual-clock';
import { ScriptedService } from './scripted-service';
import { SharedMemory, SharedRuntime } from './shared-memory';

export const SCOPE: Scope = ['account', 'service', 'workspace'];
const RULES = readRules({ match: 'lenient', material: 'any', gate: 'automatic' });
const SECOND = 1000;

/** Words of a job, each from so many seconds after it was sent; '': the service does not show it. */
export type Life = readonly (readonly [second: number, word: string])[];

/** A print that lasts a minute. */
const MINUTE_LONG: Life = [
  [0, 'printing'],
  [60, 'finished'],
];

export interface FarmPrint {
  clusterId: string;
  uuid: string;
  jobId: string;
  /** Monotonic, ms. */
  at: number;
  life: Life;
}

export const refusal = (statusCode: number): PrintingError =>
  new PrintingError('NOT_ACCEPTED', phrase`Too busy.`, { statusCode, outcome: 'refused' });
export const lost = (): PrintingError => new PrintingError('NETWORK', phrase`Reset.`, { outcome: 'unknown' });

/** Status of a printer that has lost its connection. */
export const OFFLINE = { is_online: false, printers: [], print_jobs: [], recently_completed: [] };

/** Two printers that print what they get, in one minute. */
class Farm extends ScriptedService {
  /** Printers of the account, and what the list says about them. */
  readonly clusters = new Map<string, object>(['C1', 'C2'].map((id) => [id, {}]));
  /** Those that the list lacks although they are there. */
  readonly unlisted = new Set<string>();
  readonly prints: FarmPrint[] = [];
  /** Lives of the next prints; those after them last a minute. */
  readonly lives: Life[] = [];
  /** The fate of a dispatch. `unanswered`: until `answer`; `lost`, `absent`: without an answer, printed or not. */
  dispatch: 'accepted' | 'unanswered' | 'lost' | 'absent' = 'accepted';
  /** What becomes of a removal. `ignored`: answered, but the job stays; `lost`: without an answer, but removed. */
  removal: 'done' | 'refused' | 'ignored' | 'lost' | 'too late' = 'done';
  removals = 0;
  /** Clusters that refuse prints, or stored jobs that are refused; clusters that can't be read; stored jobs that are gone. */
  readonly refusing = new Map<string, PrintingError>();
  readonly unreadable = new Set<string>();
  readonly gone = new Set<string>();
  /** Records of jobs that no status shows any more, by id. */
  readonly records = new Map<string, Json>();
  /** Whether what is sent stays out of sight. */
  isHidden = false;
  /** Members of the statuses, and of their jobs in the queue, that differ, by cluster. */
  readonly changes = new Map<string, object>();
  readonly waiting = new Map<string, object>();
  /** Members of jobs whose word names their end, by cluster. */
  readonly ended = new Map<string, object>();
  /** Metadata of the stored jobs, by id. */
  readonly metadata = new Map<string, object>();
  /** Marks of written gates, by cluster. */
  readonly marks = new Map<string, readonly string[]>();
  /** Called before a read of a printer answers, and after the service has made a print. */
  onRead: () => unknown = () => undefined;
  onPrint: () => unknown = () => undefined;

  readonly #unanswered: (() => void)[] = [];

  constructor(private readonly clock: ManualClock) {
    super();
  }

  status(clusterId: string) {
    const shown = this.prints
      .filter((print) => print.clusterId === clusterId && !this.isHidden)
      .map((print) => ({ print, word: this.#wordOf(print) }))
      .filter(({ word }) => word !== '');
    const isOver = (word: string) => ['finished', 'failed', 'aborted'].includes(word);
    const job = ({ print, word }: (typeof shown)[number]) => {
      const [began] = print.life.find(([, other]) => other === 'printing') ?? [Infinity];
      const elapsed = Math.min(60, Math.max(0, this.#ageOf(print) - began));
      const waiting = word === 'queued' ? this.waiting.get(clusterId) : undefined;
      const ended = /^(failed|aborted)/.test(word) ? this.ended.get(clusterId) : undefined;
      const times = { time_total: 60, time_elapsed: elapsed };
      return { uuid: print.uuid, cloud_job_id: print.jobId, status: word, ...times, ...waiting, ...ended };
    };
    const jobs = shown.filter(({ word }) => !isOver(word));
    const isBusy = jobs.some(({ word }) => word !== 'queued');
    return {
      is_online: true,
      printers: [{ uuid: `P of ${clusterId}`, status: isBusy ? 'printing' : 'idle', enabled: true }],
      print_jobs: jobs.map(job),
      recently_completed: shown
        .filter(({ word }) => isOver(word))
        .map(job)
        .reverse()
        // As many as the service lists.
        .slice(0, 10),
      ...this.changes.get(clusterId),
    };
  }

  #ageOf = ({ at }: FarmPrint): number => (this.clock.monotonic() - at) / SECOND;

  #wordOf(print: FarmPrint): string {
    return print.life.findLast(([second]) => second <= this.#ageOf(print))?.[1] ?? '';
  }

  /** Shows another word of a print from now on. */
  become(print: FarmPrint | undefined, word: string): void {
    assert.ok(print);
    const age = this.#ageOf(print);
    print.life = [...print.life.filter(([second]) => second < age), [age, word]];
  }

  /** Starts a print that no queue has sent. */
  printByHand(clusterId: string, life: Life = MINUTE_LONG): void {
    const uuid = `by-hand-${this.prints.length + 1}`;
    this.prints.push({ clusterId, uuid, jobId: '', at: this.clock.monotonic(), life });
  }

  /** Prints of queues, in short form: `C1 job`. */
  get sent(): string[] {
    return this.prints.filter(({ jobId }) => jobId !== '').map(({ clusterId, jobId }) => `${clusterId} ${jobId}`);
  }

  protected override outcome(endpoint: EndpointName, { ids }: CallOptions): unknown {
    const clusterId = ids?.cluster_id ?? '';
    const jobId = ids?.job_id ?? 'job';
    if (this.gone.has(jobId) && endpoint !== 'clusterStatus')
      throw new PrintingError('NOT_FOUND', phrase`Gone.`, { statusCode: 404, outcome: 'refused' });
    if (endpoint === 'storedJob')
      return { job_id: jobId, job_name: jobId, status: 'uploaded', metadata: this.metadata.get(jobId) };
    if (endpoint === 'clusterStatus' && this.unreadable.has(clusterId)) throw lost();
    if (endpoint === 'clusterStatus' && !this.clusters.has(clusterId))
      throw new PrintingError('NOT_FOUND', phrase`Unknown.`, { statusCode: 404, outcome: 'refused' });
    if (endpoint === 'clusterStatus') return Promise.resolve(this.onRead()).then(() => this.status(clusterId));
    if (endpoint !== 'print') throw new Error(endpoint);
    const refused = this.refusing.get(clusterId) ?? this.refusing.get(jobId);
    if (refused) throw refused;
    if (this.dispatch === 'absent') throw lost();
    const uuid = `print-${this.prints.length + 1}`;
    this.prints.push({ clusterId, uuid, jobId, at: this.clock.monotonic(), life: this.lives.shift() ?? MINUTE_LONG });
    this.onPrint();
    if (this.dispatch === 'lost') throw lost();
    const answer = { job_id: jobId, job_instance_uuid: uuid, status: 'queued' };
    if (this.dispatch === 'accepted') return answer;
    return new Promise((resolve) => this.#unanswered.push(() => resolve(answer)));
  }

  /** Answers what got no answer so far. */
  answer(): void {
    this.dispatch = 'accepted';
    for (const answer of this.#unanswered.splice(0)) answer();
  }

  async remove(uuid: string): Promise<never> {
    this.removals++;
    const print = this.prints.find((one) => one.uuid === uuid);
    if (this.removal === 'done' || this.removal === 'lost') this.become(print, '');
    if (this.removal === 'too late') this.become(print, 'printing');
    if (this.removal === 'lost') throw lost();
    if (this.removal === 'refused' || this.removal === 'too late') throw refusal(409);
    return undefined as never;
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

interface Followed {
  clusterId: string;
  clusterJobId: string;
  /** Polls in a row that did not show it any more; -1: none has shown it. */
  missing: number;
  end: (end: JobEnd) => void;
}

/** A queue in a runtime, and the people who use it. */
export class Runtime {
  readonly events: QueueEvent[] = [];
  readonly warnings: string[] = [];
  /** Waits of the copies whose prints have begun, minutes. */
  readonly waits: number[] = [];
  readonly listeners = new Set<ObservationListener>();
  readonly followed = new Set<Followed>();
  /** Clusters that the queue keeps on the polls. */
  readonly held = new Set<string>();
  /** Of each of these, what receives polls without a status. */
  readonly holdListeners = new Map<string, HoldListener | null>();
  /** When the polls of a cluster began not to find it, and how many there were. */
  readonly #notFound = new Map<string, { since: number; count: number }>();
  readonly memory: SharedRuntime;
  readonly queue: PrintQueue;
  /** Whether it does not reach the service; polls by other runtimes still arrive. */
  isCutOff = false;
  /** Ends the subscription to `events`. */
  readonly end: () => void;
  readonly #clock: ManualClock;
  /** Reads the list of clusters, as it is now. */
  readonly readList: () => void;
  readonly #records: Farm['records'];

  constructor(
    { farm, clock, shared, runtimes }: QueueFarm,
    rules: Partial<QueueRules>,
    account: Account,
    queueId: string,
  ) {
    this.#clock = clock;
    this.#records = farm.records;
    this.memory = new SharedRuntime(shared);
    shared.runtimes.add(this.memory);
    const { listeners, followed, memory } = this;
    const { store } = memory;
    const listAll = () => {
      const ids = [...farm.clusters.keys()].filter((id) => !farm.unlisted.has(id));
      return new Map(ids.map((id) => [id, listed(farm, id)]));
    };
    let last = listAll();
    this.readList = () => void (last = listAll());
    const { held } = this;
    const watcher = {
      clusterList: {
        get last() {
          return last;
        },
        read: async () => (last = listAll()),
      },
      hold: (clusterId: string, listener: HoldListener | null = null) => {
        held.add(clusterId);
        this.holdListeners.set(clusterId, listener);
        return () => held.delete(clusterId);
      },
      markGate: (scope: Scope, clusterId: string, machines: readonly string[]) => {
        const marked = farm.marks.get(clusterId) ?? [];
        const all = [...new Set([...marked, ...machines])];
        if (all.length === marked.length) return;
        farm.marks.set(clusterId, all);
        void store.put(['checkpoint', ...scope, clusterId], { gates: all });
      },
      isGateMarked: (_: Scope, machine: string) =>
        [...shared.values('checkpoint').values()].some((saved) =>
          (saved as { gates?: string[] }).gates?.includes(machine),
        ),
      onObservation: (listener: ObservationListener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      follow: (clusterId: string, clusterJobId: string) =>
        new Promise<JobEnd>((end) => followed.add({ clusterId, clusterJobId, missing: -1, end })),
    } as unknown as Watcher;
    const service: Pick<ApiClient, 'call'> = {
      call: (endpoint, options) => (this.isCutOff ? Promise.reject(lost()) : farm.call(endpoint, options)),
    };
    const jobListReader = new JobListReader(service);
    this.queue = new PrintQueue({
      ...{ queueId, name: 'Queue', rules: { ...RULES, printers: ['C1', 'C2'], ...rules } },
      ...{ service, store, watcher, jobListReader, clock: memory.clock, localChanges: LocalChanges.of(store) },
      warn: (sentence) => this.warnings.push(String(sentence)),
      scope: () => Promise.resolve(account.scope),
      signIn: account,
      dispatcher: new Dispatcher({ service, jobListReader, clock: memory.clock, warn: () => undefined }),
      jobControl: { run: ({ clusterJobId = '' }) => farm.remove(clusterJobId) },
      uploads: { send: () => Promise.resolve({ jobId: 'job', jobName: 'job', fileSize: 100, raw: {} } as never) },
      ...{ topic: ['account', 'service'], runtimeName: `runtime ${runtimes.length + 1}`, interval: 60 * SECOND },
      meter: { attach: () => () => undefined, waited: (_, ms) => this.waits.push(Math.round(ms / 60_000)) },
    });
    this.end = this.queue.subscribe((received) => this.events.push(...received));
  }

  /** Runs `hook` before each update of the runtime's store; what it throws becomes the outcome. */
  beforeUpdates(hook: (key: Key, options?: PutOptions) => unknown): void {
    const { store } = this.memory;
    const update = store.update.bind(store);
    store.update = async (key, change, options) => {
      await hook(key, options);
      return update(key, change, options);
    };
  }

  /** Types of the received events that begin so. */
  types(kind = ''): string[] {
    return this.events.filter(({ type }) => type.startsWith(kind)).map(({ type }) => type);
  }

  /** Runs an operation of a person. Throws its errors. */
  async ask<T>(work: (queue: PrintQueue, deadline: Deadline) => Promise<T>): Promise<T> {
    const asked = underDeadline(this.memory.clock, { ms: 60 * SECOND }, (deadline) => work(this.queue, deadline));
    asked.catch(() => undefined);
    await this.#clock.advance(5 * SECOND);
    return asked;
  }

  async add(queueKey: string, changes: Partial<AddRequest> = {}): ReturnType<PrintQueue['add']> {
    const request = { source: null, jobId: 'job', jobName: '', queueKey, onProgress: () => undefined, ...changes };
    return this.ask((queue, deadline) => queue.add({ ...request, deadline }));
  }

  /** Holds, releases, retries or removes an item. */
  does(action: 'hold' | 'release' | 'retry' | 'remove', queueKey: string): Promise<QueueItem[]> {
    return this.ask((queue, deadline) => queue[action]({ queueKey }, deadline));
  }

  update(queueKey: string, changes: ItemChanges): Promise<QueueItem[]> {
    return this.ask((queue, deadline) => queue.update({ queueKey }, changes, deadline));
  }

  settle(
    queueKey: string,
    outcome: 'printed' | 'not-printed',
    copy: number | null = null,
    attempt: number | null = null,
  ): Promise<QueueItem[]> {
    return this.ask((queue, deadline) => queue.settle({ queueKey }, { outcome, copy, attempt }, deadline));
  }

  retry(queueKey: string, print: NamedCopy): Promise<QueueItem[]> {
    return this.ask((queue, deadline) => queue.retry({ queueKey }, deadline, print));
  }

  clear(good: boolean, clusterId = 'C1', printerId: string | null = null): Promise<QueueExplanation> {
    return this.ask((queue, deadline) => queue.plateCleared({ clusterId, printerId }, good, deadline));
  }

  /** Clears a plate, and says more about its print. */
  judge(good: boolean, about: PlateJudgement, clusterId = 'C1', printerId: string | null = null) {
    return this.ask((queue, deadline) => queue.plateCleared({ clusterId, printerId }, good, deadline, about));
  }

  pause(clusterId: string | null = null, printerId: string | null = null, until: number | null = null) {
    const printer = clusterId === null ? null : { clusterId, printerId };
    return this.ask((queue, deadline) => queue.pause({ printer, until, reason: null }, deadline));
  }

  resume(clusterId: string | null = null) {
    const printer = clusterId === null ? null : { clusterId, printerId: null };
    return this.ask((queue, deadline) => queue.resume(printer, deadline));
  }

  list(): Promise<QueueItem[]> {
    return this.ask((queue) => queue.list({ from: 0, limit: 100 }));
  }

  async item(queueKey: string): Promise<QueueItem> {
    const found = (await this.list()).find((other) => other.queueKey === queueKey);
    assert.ok(found, queueKey);
    return found;
  }

  /** State of an item, states of its prints, and its copies in the states that are not empty. */
  async outcome(queueKey: string): Promise<string> {
    const { state, prints, copies } = await this.item(queueKey);
    const { total: _total, ...counts } = copies;
    const shown = Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []));
    return `${state}: ${prints.map((print) => print.state).join(', ') || 'nothing'}; ${shown.join(', ')}`;
  }

  /** Codes of an item's reasons. */
  async codes(queueKey: string): Promise<string[]> {
    return (await this.item(queueKey)).waitingFor.map(({ code }) => code);
  }

  async printers(): Promise<QueueExplanation['printers']> {
    return (await this.ask((queue) => queue.explainQueue())).printers;
  }

  /** A poll that did not find a held cluster: after the second one in a row it is missing. */
  miss(clusterId: string): void {
    if (!this.held.has(clusterId)) return;
    const { since, count } = this.#notFound.get(clusterId) ?? { since: this.#clock.monotonic(), count: 0 };
    this.#notFound.set(clusterId, { since, count: count + 1 });
    if (count > 0) this.holdListeners.get(clusterId)?.missing(since);
  }

  poll(clusterId: string, status: ReturnType<typeof readClusterStatus>): void {
    this.#notFound.delete(clusterId);
    for (const listener of this.listeners) listener(clusterId, status, this.#clock.monotonic());
    for (const one of this.followed) {
      const isListed = [...status.jobs, ...status.history].some((job) => job.clusterJobId === one.clusterJobId);
      if (one.clusterId !== clusterId || status.online === false) continue;
      if (isListed) one.missing = 0;
      else if (one.missing >= 0) one.missing++;
      const job = this.#records.get(one.clusterJobId) ?? null;
      if (one.missing > 2) one.end({ outcome: 'ended', job: job && readPrintJob(job, clusterId) });
      const past = status.history.find(
        ({ clusterJobId, state }) => clusterJobId === one.clusterJobId && state === 'finished',
      );
      if (past) one.end({ outcome: 'finished', job: past });
    }
  }
}

/** A cluster in the list: its host is the first printer that it shows. */
const listed = (farm: Farm, clusterId: string) => {
  const [host] = (farm.status(clusterId) as { printers: { uuid: string }[] }).printers;
  return { ...identityOf(farm, clusterId), host: host ? { printerId: host.uuid, name: null } : null };
};

const identityOf = (farm: Farm, clusterId: string) =>
  readCluster({
    ...{ cluster_id: clusterId, friendly_name: clusterId, status: 'active' },
    ...farm.clusters.get(clusterId),
  });

/** Runtimes with one queue or several, on a shared store and at two printers. */
export class QueueFarm {
  readonly clock = new ManualClock();
  readonly shared = new SharedMemory(this.clock);
  readonly farm = new Farm(this.clock);
  readonly account = new Account();
  runtimes: Runtime[] = [];

  start(rules: Partial<QueueRules> = {}, { account = this.account, queueId = 'queue' } = {}): Runtime {
    const runtime = new Runtime(this, rules, account, queueId);
    this.runtimes.push(runtime);
    return runtime;
  }

  /** Starts a runtime, and lets it see its printers. */
  async begin(...given: Parameters<QueueFarm['start']>): Promise<Runtime> {
    const runtime = this.start(...given);
    await this.pass(20);
    return runtime;
  }

  /** Ends the process of a runtime. */
  kill(runtime: Runtime): void {
    runtime.memory.kill();
    this.runtimes = this.runtimes.filter((other) => other !== runtime);
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
      for (const clusterId of this.farm.clusters.keys()) this.poll(clusterId);
      for (const runtime of this.runtimes)
        for (const clusterId of runtime.held)
          if (!this.farm.clusters.has(clusterId) && !this.farm.unreadable.has(clusterId)) runtime.miss(clusterId);
    }
    await this.clock.advance(SECOND);
  }

  /** Shows the status of a cluster to every runtime. */
  poll(clusterId: string): void {
    if (this.farm.unreadable.has(clusterId)) return;
    const receivedAt = isoTime(this.clock.now());
    const identity = identityOf(this.farm, clusterId);
    const status = readClusterStatus(this.farm.status(clusterId), { clusterId, receivedAt, identity });
    for (const runtime of this.runtimes) runtime.poll(clusterId, status);
  }
}
