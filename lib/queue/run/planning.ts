import type { ApiClient } from '../../account/api-client';
import type { JobControl } from '../../control/job-control';
import type { Dispatcher } from '../../print/dispatcher';
import type { JobListReader } from '../../print/job-list-reader';
import { Ledger } from '../../print/ledger';
import type { ClusterStatus } from '../../service/cluster';
import type { PrintingError } from '../../service/errors';
import type { Lock } from '../../state/membership';
import type { StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';
import { closed, Deadline } from '../../time/deadline';
import { AGAIN, retryUntil } from '../../time/retry';
import { isGone } from '../../upload/send';
import type { Watcher } from '../../watch/watcher';
import type { Sentence } from '../../words/sentence';
import { isOpen } from '../model/item';
import { type AssignedPrint, mayBeLate, overdue, withBlocked, withFacts, withoutFile } from '../model/item-changes';
import { busyFollowed, observedEnds, oldForgotten, plateFollowed } from '../model/queue';
import { costOfFile, type QueueRules } from '../model/rules';
import { type Attempt, type ItemRecord, printingId } from '../model/types';
import { LateForecast } from '../plan/forecast';
import { refusedBy, RESERVED } from '../plan/inputs';
import type { Assignment } from '../plan/plan';
import { type ClusterViews, configurationOf } from '../plan/printers';
import { FactsReader, type QueueData } from '../records/data';
import { PLANNER } from '../records/store';
import type { QueueView } from '../view';
import { AttemptKeeper, lastObstacle, recall } from './attempts';
import { Dispatches } from './dispatch';

interface ConsequencesDeps {
  queueId: string;
  rules: QueueRules;
  clock: Clock;
  data: QueueData;
  view: QueueView;
  keeper: AttemptKeeper;
  failed: (thrown: unknown) => void;
}

/** Records the consequences that printers, plates and the time have for items, orders and the queue. */
class Consequences {
  readonly #deps: ConsequencesDeps;
  /** Verdicts that were applied. */
  readonly #judged = new Set<string>();

  readonly #lateForecast: LateForecast;

  constructor(deps: ConsequencesDeps) {
    this.#deps = deps;
    const { clock, data, view, failed } = deps;
    this.#lateForecast = new LateForecast({
      ...{ clock, failed, lateItems: () => view.lateItems() },
      isNeeded: () => data.withDeadline.all.length > 0,
      found: (itemId) => this.#overdue(itemId),
    });
  }

  /** Time until `ofPlan` is to be called again, ms; Infinity: after the next change. */
  get wait(): number {
    return this.#lateForecast.wait;
  }

  /** Applies the verdicts on plates, and reports the gates. Rejects if a change can't be written. */
  async ofPlates(): Promise<void> {
    const { data, rules, clock, queueId } = this.#deps;
    await this.#judge();
    const context = { queueId, now: clock.now() };
    const own = data.gates.all.filter(
      ({ clusterId }) => rules.printers.length === 0 || rules.printers.includes(clusterId),
    );
    await data.state.change(
      (state) => own.reduce((after, gate) => plateFollowed(after, gate, rules.gate, context), state),
      PLANNER,
    );
  }

  /** Records blocked and overdue items, ended orders, and an idle queue. Rejects if a change can't be written. */
  async ofPlan(): Promise<void> {
    const { data, view, clock, queueId, rules } = this.#deps;
    const context = { queueId, now: clock.now() };
    const { waiting, active, toBlock, toUnblock } = view.overview;
    for (const { itemId, blocked } of [...toBlock, ...toUnblock])
      await data.items.change(itemId, (now) => withBlocked(now, !blocked.is, null, context), PLANNER);
    for (const { itemId, deadline } of data.withDeadline.all)
      if ((deadline ?? Infinity) < context.now) await this.#overdue(itemId);
    const isBusy = waiting + active > 0;
    await data.state.change((state) => {
      const ended = observedEnds(busyFollowed(state, isBusy, context), data.items.all, rules.prices, context);
      return oldForgotten(ended, data.items.oldBefore, data.items.all);
    }, PLANNER);
    data.items.forget(data.state.record.oldBefore);
    void this.#lateForecast.look();
  }

  async #overdue(itemId: string): Promise<void> {
    const { data, queueId, clock } = this.#deps;
    const change = (record: ItemRecord) =>
      mayBeLate(record) ? overdue(record, { queueId, now: clock.now() }) : record;
    await data.items.change(itemId, change, PLANNER);
  }

  async #judge(): Promise<void> {
    const { data, queueId, keeper } = this.#deps;
    const fresh = new Map([...data.verdicts()].filter(([id, { good }]) => !this.#judged.has(`${id}/${good}`)));
    if (fresh.size === 0) return;
    const open = new Set<string>();
    for (const record of data.items.all)
      for (const attempt of record.prints) {
        const id = printingId(queueId, record.itemId, attempt);
        const verdict = fresh.get(id);
        if (verdict && attempt.state === 'finished') await keeper.judge(record.itemId, attempt, verdict.good);
        // The verdict came before the end of the print is known.
        else if (verdict && isOpen(attempt)) open.add(id);
      }
    for (const [id, { good }] of fresh) if (!open.has(id)) this.#judged.add(`${id}/${good}`);
  }
}

interface PlanningDeps {
  queueId: string;
  rules: QueueRules;
  clock: Clock;
  service: ApiClient;
  store: StateStore;
  data: QueueData;
  view: QueueView;
  views: ClusterViews;
  watcher: Pick<Watcher, 'follow'>;
  dispatcher: Dispatcher;
  jobListReader: JobListReader;
  jobControl: Pick<JobControl, 'run'>;
  /** The lease under which this runtime plans; null: none is needed. */
  lock: Lock | null;
  /** Plans again, and reports the change. */
  changed: () => void;
  /** Receives the failures of the store and of the service; `round` is to be called again. */
  failed: (thrown: unknown) => void;
  /** Whether nothing may be sent: the store can't be written, or the account is not signed in. */
  isStopped: () => boolean;
}

/** Shortest time between two rounds without a change, ms. */
const LEAST = 100;
/** Reads of a printer after a dispatch, until its print shows, ms. */
const LOOKS = { first: 5_000, longest: 20_000, within: 36_000 };

/** The planner of a queue during its tenure: settles what is open, then plans, sends and follows. */
export class Planning {
  readonly #deps: PlanningDeps;
  readonly #closing = new AbortController();
  readonly #deadline: Deadline;
  readonly #dispatches: Dispatches;
  readonly #keeper: AttemptKeeper;
  readonly #consequences: Consequences;
  readonly #facts: FactsReader;
  readonly #underWay = new Set<Promise<unknown>>();
  #isReady = false;
  #isRunning = false;
  #running: Promise<void> = Promise.resolve();
  #runsAgain = false;
  #disarm: () => void = () => undefined;

  constructor(deps: PlanningDeps) {
    this.#deps = deps;
    const { queueId, rules, clock, service, store, data, views, watcher } = deps;
    const { dispatcher, jobListReader, jobControl, lock } = deps;
    this.#deadline = new Deadline(clock, { parent: this.#closing.signal, lost: lock?.signal });
    const closing = this.#deadline;
    const ledger = new Ledger(store, data.scope, lock ? [lock] : []);
    const shared = { queueId, items: data.items, reservations: data.reservations };
    this.#dispatches = new Dispatches({
      ...{ ...shared, clock, dispatcher, jobListReader, closing },
      ledger: () => ledger,
      check: (record, print, deadline) => this.#check(record, print, deadline),
      mostOf: (clusterId) => Math.max(1, views.get(clusterId)?.printers.length ?? 1),
      refused: (record, print, error) => this.#refused(record, print, error),
    });
    this.#keeper = new AttemptKeeper({
      ...{ queueId, items: data.items, rules, watcher, gates: data.gates, dispatches: this.#dispatches },
      clock,
      signal: closing.signal,
      recall: (attempt) => recall({ jobControl, read: (id, deadline) => this.#read(id, deadline), closing }, attempt),
      configurationOf: (attempt) => this.#configurationOf(attempt),
      costOf: (record, { file }, seconds) => costOfFile(rules.prices, record.files[file]?.facts ?? null, seconds),
      failed: (thrown) => this.#failed(thrown),
    });
    this.#consequences = new Consequences({ ...deps, keeper: this.#keeper });
    this.#facts = new FactsReader({
      ...{ service, clock, closing },
      found: async (itemId, jobId, facts) => {
        await data.items.change(itemId, (record) => withFacts(record, jobId, facts), PLANNER);
      },
      failed: (thrown) => this.#failed(thrown),
    });
  }

  /** Settles the open dispatches of earlier tenures; planning begins after that. Never rejects. */
  async start(): Promise<void> {
    const { data } = this.#deps;
    const open = data.open.all.flatMap((record) =>
      record.prints.filter(({ state }) => state === 'assigned').map((attempt) => ({ itemId: record.itemId, attempt })),
    );
    try {
      await data.reservations.restore(this.#deps.queueId, data.open.all);
      await Promise.all(open.map(({ itemId, attempt }) => this.#dispatches.settle(itemId, attempt)));
    } catch (thrown) {
      return this.#failed(thrown);
    }
    this.#isReady = true;
    this.round();
  }

  /** Ends the tenure: nothing more is sent. */
  close(): void {
    this.#closing.abort(closed());
    this.#disarm();
    this.#deadline.end();
  }

  /** Resolves when the outcomes of all sends are written, or can't be. */
  async settled(): Promise<void> {
    await Promise.allSettled([this.#running, ...this.#underWay]);
    await Promise.allSettled(this.#underWay);
  }

  /** Follows a status: its gates are up to date. Never rejects. */
  async observe(status: ClusterStatus): Promise<void> {
    if (this.#deadline.aborted) return;
    try {
      for (const record of this.#deps.data.concernedBy(status)) await this.#keeper.observe(record, status);
    } catch (thrown) {
      this.#failed(thrown);
    }
  }

  /** Plans anew: after any change, and at the time that `#arm` has found. */
  round(): void {
    this.#runsAgain = true;
    if (!this.#isRunning && this.#isReady && !this.#deadline.aborted) this.#running = this.#run();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#runsAgain && !this.#deadline.aborted) {
        this.#runsAgain = false;
        await this.#round();
      }
    } catch (thrown) {
      this.#failed(thrown);
    }
    this.#isRunning = false;
  }

  async #round(): Promise<void> {
    const { data, view, isStopped } = this.#deps;
    void this.#facts.read(data.unread.all);
    await this.#consequences.ofPlates();
    await this.#dispatches.release(data.open.all);
    for (const record of data.open.all) {
      this.#keeper.keep(record);
      for (const attempt of record.prints)
        if (attempt.state === 'assigned')
          this.#track(this.#dispatches.settle(record.itemId, attempt), { quietly: true });
    }
    if (!isStopped()) {
      const { assignments } = view.plan;
      const sends = await Promise.all(assignments.map((assignment) => this.#assign(assignment)));
      for (const [at, send] of sends.entries())
        if (send) this.#track(send().then(() => this.#look(assignments[at] as Assignment)));
    }
    await this.#consequences.ofPlan();
    this.#arm();
  }

  async #assign({ itemId, ...print }: Assignment): Promise<(() => Promise<void>) | null> {
    const clusterName = this.#deps.views.get(print.clusterId)?.status.name ?? null;
    const send = await this.#dispatches.assign(itemId, { ...print, clusterName });
    if (send !== 'reserved') return send;
    this.#refuse(print.clusterId, RESERVED);
    this.round();
    return null;
  }

  /** Keeps copies from a cluster for a while; they may go to others at once. */
  #refuse(clusterId: string, why: Sentence): void {
    this.#deps.view.refusals.add(clusterId, why);
    this.#deps.view.invalidate();
  }

  /** Reads a printer a few times after a dispatch, until it shows the print. Never rejects. */
  async #look({ itemId, copy, clusterId }: Assignment): Promise<void> {
    const look = async (looks: number) => {
      const attempt = this.#deps.data.open.get(itemId)?.prints.findLast((one) => one.copy === copy);
      if (attempt?.state !== 'dispatched' || this.#isListed(attempt)) return;
      if (looks > 0) await this.observe(await this.#read(clusterId, limit));
      return AGAIN;
    };
    const limit = this.#deadline.within(LOOKS.within);
    await retryUntil(limit, LOOKS, look).catch(() => undefined);
    limit.end();
  }

  #isListed({ clusterId, clusterJobId }: Attempt): boolean {
    const { jobs } = this.#deps.views.get(clusterId)?.status ?? { jobs: [] };
    return jobs.some((job) => job.clusterJobId === clusterJobId);
  }

  /** Reads the printer again, and decides by its present status. */
  async #check(record: ItemRecord, print: AssignedPrint, deadline: Deadline): Promise<boolean> {
    const why = await lastObstacle(this.#deps, record, print, () => this.#read(print.clusterId, deadline));
    if (this.#deps.isStopped()) return false;
    if (why) this.#refuse(print.clusterId, why);
    return why === null;
  }

  async #refused(record: ItemRecord, { clusterId, file }: AssignedPrint, error: PrintingError): Promise<void> {
    const { data, service } = this.#deps;
    const jobId = record.files[file]?.jobId;
    const isFile = error.code === 'NOT_FOUND' && jobId && (await isGone(service, jobId, this.#deadline));
    if (!isFile) return this.#refuse(clusterId, refusedBy(error));
    await data.items.change(record.itemId, (now) => withoutFile(now, file), PLANNER);
  }

  /** Reads a status and follows it as a poll. Throws the errors of the call and of the store. */
  async #read(clusterId: string, deadline: Deadline): Promise<ClusterStatus> {
    const { views, data } = this.#deps;
    const status = await views.read(clusterId, deadline);
    await data.gates.observe(status);
    return status;
  }

  #configurationOf({ clusterId, printerId }: Attempt): string | null {
    const printer = this.#deps.view.input.printers.find(
      (one) => one.clusterId === clusterId && (one.printerId === printerId || one.printerId === null),
    );
    return printer ? configurationOf(printer) : null;
  }

  /** Tracks work that must not be cut off. */
  #track(work: Promise<unknown>, { quietly = false } = {}): void {
    const tracked = work
      .catch((thrown: unknown) => this.#failed(thrown))
      .finally(() => {
        this.#underWay.delete(tracked);
        // Work that changed an item has planned again by that.
        if (!quietly) this.#deps.changed();
      });
    this.#underWay.add(tracked);
  }

  #failed(thrown: unknown): void {
    if (!this.#deadline.aborted) this.#deps.failed(thrown);
  }

  /** Plans the next round by time. */
  #arm(): void {
    const { clock, data, view } = this.#deps;
    this.#disarm();
    const due = data.open.all.map((record) => this.#keeper.dueAt(record));
    const now = clock.now();
    // Work that is due already is under way, or awaits a change that plans again.
    const times = [view.plan.nextAt, view.pauseEndsAt, view.overdueAt, ...due].filter((at) => at > now);
    const wait = Math.min(
      ...times.map((at) => at - now),
      view.refusals.wait,
      this.#facts.wait,
      this.#consequences.wait,
    );
    if (!Number.isFinite(wait)) return;
    this.#disarm = clock.after(Math.max(LEAST, wait), () => {
      view.invalidate();
      this.round();
    });
  }
}
