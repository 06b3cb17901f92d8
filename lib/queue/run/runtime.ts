import type { ClusterStatus } from '../../service/cluster';
import { asPrintingError, NewerValueError, PrintingError } from '../../service/errors';
import { record } from '../../service/json-readers';
import { nobodySignedIn } from '../../sign-in/credentials';
import type { Lock, Membership } from '../../state/membership';
import type { Key, Scope, StateStore } from '../../state/store';
import { Rerun, settledWithin } from '../../time/concurrency';
import { closed, Deadline } from '../../time/deadline';
import { guard } from '../../time/guard';
import { RetryTimer, retryUntil } from '../../time/retry';
import { HeldClusters } from '../../watch/views/held-clusters';
import { phrase } from '../../words/sentence';
import { openAttempts } from '../model/item';
import type { ItemReason, Reason } from '../model/types';
import { QueueData } from '../records/data';
import type { Outbox } from '../records/outbox';
import { ClusterViews } from '../records/statuses';
import { QueueView } from '../view';
import type { QueueContext, QueueParts } from './context';
import { Planning } from './planning';

/** The clusters of the account's list, for a queue that may use all of them. */
class ListedClusters {
  /** Whether the last list has all clusters of the one before: a single odd list proves nothing. */
  isCertain = true;
  #list: ReadonlyMap<string, unknown> | null = null;

  /** Ids of a list; null: none was read. */
  idsOf(list: ReadonlyMap<string, unknown> | null): readonly string[] {
    if (list !== this.#list)
      this.isCertain = [...(this.#list?.keys() ?? [])].every((clusterId) => list?.has(clusterId));
    this.#list = list;
    return [...(list?.keys() ?? [])];
  }
}

/** The one item of the membership: the right to plan. */
const PLANNING = 'planning';

interface PlannerLeaseOptions {
  /** Names the queue among the runtimes that share the store. */
  topic: Key;
  /** Name of this runtime. */
  name: string;
  /** Whether this runtime could plan: one that can't must not keep others from it. */
  mayPlan: () => boolean;
  /** Whether it reads its printers. One that does not plans only where no other runtime does either. */
  canRead: () => boolean;
  /** Called before this runtime gives the planning up, and after; the planning goes on elsewhere once both have resolved. */
  leaving: () => Promise<void>;
  ended: () => Promise<void>;
  /** Called after this runtime has become the planner, or is none any more. */
  changed: () => void;
}

/** Which runtime plans a queue: one of those that share the store, under a lease (ADR 12); without others, this one. */
class PlannerLease {
  readonly #membership: Membership | null;
  readonly #options: PlannerLeaseOptions;
  /** Lease under which this runtime plans, or planned last. */
  #lock: Lock | null = null;
  #isPlanner = false;
  readonly #claims: Rerun | null;

  constructor(store: StateStore, options: PlannerLeaseOptions) {
    this.#options = options;
    const { topic, name } = options;
    const membership = store.join?.(topic, { name, wants: null, onChange: () => this.claim() }) ?? null;
    this.#membership = membership;
    this.#claims = membership && new Rerun(() => this.#claim(membership));
    this.claim();
  }

  /** Whether this runtime plans. */
  get isOurs(): boolean {
    return this.#membership === null || (this.#isPlanner && this.#lock === this.#membership.lock);
  }

  /**
   * Lease that each write of the planner needs; null: none is needed, or this runtime has never planned. It stays here when
   * it is lost, so that no work that outlasts it is written.
   */
  get lock(): Lock | null {
    return this.#lock;
  }

  /** Lets another runtime plan. Never rejects. */
  async leave(): Promise<void> {
    this.#isPlanner = false;
    await this.#membership?.leave(new Map([[PLANNING, null]]));
  }

  /** Becomes the planner if no runtime plans and this one could; gives the planning up if it can't plan any more. */
  claim(): void {
    void this.#claims?.request();
  }

  /** Never rejects. */
  async #claim(membership: Membership): Promise<void> {
    const { mayPlan, canRead, changed } = this.#options;
    const { lock } = membership;
    if (this.#isPlanner && this.#lock !== lock) {
      this.#isPlanner = false;
      changed();
    }
    const isAble = mayPlan() && canRead();
    membership.want({ isAble });
    const others = membership.members.filter(({ id }) => id !== membership.id);
    const isNeeded = isAble || !others.some(({ wants }) => record(wants)?.isAble === true);
    if (this.#isPlanner && !isNeeded) return this.#giveUp(membership);
    if (this.#isPlanner || !lock || !mayPlan() || !isNeeded) return;
    const claimed = await membership.take([PLANNING], 1);
    if (claimed.length === 0 || membership.lock !== lock) return;
    this.#lock = lock;
    this.#isPlanner = true;
    changed();
  }

  /** Never rejects. */
  async #giveUp(membership: Membership): Promise<void> {
    const { leaving, changed, ended } = this.#options;
    await leaving();
    this.#isPlanner = false;
    changed();
    await ended();
    await membership.release(new Map([[PLANNING, null]]));
  }
}

/** Debounce before reacting to a change, ms; with the parts for items and clusters, planning occupies at most a tenth of the time. */
const DEBOUNCE = { least: 20, perItem: 0.02, perCluster: 0.05 };
/** Backoff for reading the records, and for repeating failed work, ms. */
const RELOAD = { first: 1_000, longest: 30_000 };
const REPEAT = { first: 2_000, longest: 60_000 };
/** Age up to which the list of printers suffices at the start, ms. */
const LIST_FOR = 600_000;
/** Time between two reads of the list, where it shows printers that no poll does, ms. */
const LIST_EVERY = 120_000;
/** Longest wait for the sends under way, before the planning is given up, ms. */
const LEFT_WITHIN = 10_000;
/** Longest wait, before the queue is left to another runtime, until delivered events are removed, ms. */
const REMOVED_WITHIN = 5_000;
/** Longest wait for the records of an operation without a deadline, ms. */
const LOADED_WITHIN = 10_000;

/** The life of a queue: its records, its place on the shared polls, and its planner while this runtime is the one that plans. */
export class QueueRuntime {
  readonly lease: PlannerLease;
  readonly #parts: QueueParts;
  /** Called after any change, once for several at a time. */
  readonly #onChange: () => void;
  readonly #outbox: Pick<Outbox, 'settled' | 'leave'>;
  readonly #views: ClusterViews;
  readonly #closing = new AbortController();
  readonly #deadline: Deadline;
  readonly #repeats: RetryTimer;
  /** Reads of records that could not be read: nothing else waits for them (ADR 30). */
  readonly #unseenReads: RetryTimer;
  readonly #probes = new Rerun(() => this.#probe());
  readonly #endings: (() => void)[];
  readonly #held: HeldClusters;
  readonly #listed = new ListedClusters();
  /** List of printers, items and their version that the held clusters result from. */
  #heldOf: readonly unknown[] = [];
  #loaded: QueueContext | null = null;
  #planning: Planning | null = null;
  /** Tenures that still have something under way. */
  readonly #ending = new Set<Promise<void>>();
  #loading: Promise<void> | null = null;
  #closed: Promise<void> | null = null;
  #isRemoved = false;
  #couldRead = true;
  #storeError: PrintingError | null = null;
  #disarm: (() => void) | undefined;
  #endReading: (() => void) | null = null;
  /** Monotonic, ms. */
  #changedAt = -Infinity;

  constructor(parts: QueueParts, onChange: () => void, outbox: Pick<Outbox, 'settled' | 'leave'>) {
    const { queueId, topic, runtimeName, store, clock, watcher, signIn, service } = parts;
    this.#parts = parts;
    this.#onChange = onChange;
    this.#outbox = outbox;
    this.#deadline = new Deadline(clock, { parent: this.#closing.signal });
    this.#repeats = new RetryTimer(clock, REPEAT);
    this.#unseenReads = new RetryTimer(clock, REPEAT);
    const failed = (thrown: unknown) => this.failed(thrown);
    this.#held = new HeldClusters(watcher, clock, (clusterId) => ({
      missing: guard((since: number) => this.#lose(clusterId, since), failed),
      listed: guard((status: ClusterStatus) => this.#list(status), failed),
    }));
    const identityOf = (clusterId: string) => watcher.clusterList.last?.get(clusterId) ?? null;
    this.#views = new ClusterViews({ service, clock, identityOf });
    this.#endings = [
      watcher.onObservation(guard((_, status, requestedAt) => this.#observe(status, requestedAt), failed)),
      signIn.onChange(
        guard(() => {
          void this.#load();
          this.lease.claim();
        }, failed),
      ),
    ];
    this.lease = new PlannerLease(store, {
      topic: ['queue', ...topic, queueId],
      name: runtimeName,
      mayPlan: () => signIn.usable,
      canRead: () => this.#canRead,
      leaving: () => this.#saveTime(),
      ended: () => settledWithin(clock, LEFT_WITHIN, Promise.all(this.#ending)),
      changed: () => this.#beginTenure(),
    });
    void this.#load();
    this.#readListOn();
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Whether something failed and is repeated later. */
  get isRepeating(): boolean {
    return this.#repeats.isArmed;
  }

  /** Whether this runtime plans, and knows what the planner before it has written. */
  get isCurrent(): boolean {
    return this.#planning?.isCurrent ?? false;
  }

  /** The queue once its records are loaded; null before. */
  get loaded(): QueueContext | null {
    return this.#loaded;
  }

  /** Why the whole queue starts nothing, apart from a pause; null: it may. */
  get obstacle(): Reason<ItemReason> | null {
    if (this.#storeError) {
      const sentence = phrase`Nothing is sent, as the state can't be saved: ${this.#storeError.sentence}`;
      return { code: 'NO_STORE', sentence };
    }
    if (this.#parts.signIn.usable) return null;
    return { code: 'QUEUE_PAUSED', sentence: phrase`The account of the queue is not signed in.` };
  }

  /** Resolves when the records are loaded. Throws the reason why they are not. */
  async ready(deadline?: Deadline): Promise<QueueContext> {
    if (this.isClosed) throw closed();
    if (!this.#loaded) {
      const limit = deadline ?? this.#deadline.within(LOADED_WITHIN);
      await limit.wait(this.#load()).catch((thrown: unknown) => {
        throw this.#storeError ?? thrown;
      });
      if (!deadline) limit.end();
    }
    if (!this.#loaded) throw this.#storeError ?? (this.#closing.signal.aborted ? closed() : nobodySignedIn());
    return this.#loaded;
  }

  /** Waits for a change of a person; a failure of the store stops the planner too. */
  async written<T>(work: Promise<T>): Promise<T> {
    return work.catch((thrown: unknown) => {
      if (isOfStore(asPrintingError(thrown))) this.failed(thrown);
      else this.#readUnseenLater();
      throw thrown;
    });
  }

  /** Whether this runtime reads its printers, as far as it has tried. */
  get #canRead(): boolean {
    const { watcher, interval } = this.#parts;
    return !watcher.isCutOff && !this.#views.isBlind(2 * interval);
  }

  /** Gives the planning up, or becomes able to plan again, as this runtime reads its printers or does not. */
  #checkReads(): void {
    const canRead = this.#canRead;
    if (canRead === this.#couldRead) return;
    this.#couldRead = canRead;
    this.lease.claim();
  }

  /** Plans again and reports the change, once for several changes at a time. */
  changed(): void {
    this.#changedAt = this.#parts.clock.monotonic();
    if (!this.lease.isOurs) this.#adoptRefusals();
    this.#loaded?.view.invalidate();
    if (this.isClosed) return;
    this.#readUnseenLater();
    const items = this.#loaded?.data.items.size ?? 0;
    this.#disarm ??= this.#parts.clock.after(
      DEBOUNCE.least + items * DEBOUNCE.perItem + this.#clusterIds.length * DEBOUNCE.perCluster,
      guard(() => {
        this.#disarm = undefined;
        this.#checkReads();
        // Failed work is not repeated at once, whatever changes meanwhile.
        if (!this.isRepeating) this.#planning?.round();
        this.#onChange();
      }),
    );
  }

  /** Repeats failed work later. */
  failed(thrown: unknown): void {
    if (this.isClosed) return;
    if (isOfStore(asPrintingError(thrown))) void this.#probes.request();
    this.#repeats.plan(() => void this.#repeat());
    this.changed();
  }

  /** Ends everything that has not been sent, as `QueueApi.close` states. */
  close(isRemoved = false): Promise<void> {
    this.#isRemoved ||= isRemoved;
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#closing.abort(closed());
    for (const end of this.#endings) end();
    this.#held.close();
    this.#repeats.stop();
    this.#unseenReads.stop();
    this.#disarm?.();
    this.#endReading?.();
    this.#endTenure();
    this.#loaded?.data.close();
    await Promise.all(this.#ending);
    if (this.#isRemoved && this.lease.isOurs)
      await this.#loaded?.data.reservations.keepOnly(new Map()).catch(() => undefined);
    await this.#saveTime();
    // Another runtime would deliver what is not removed yet.
    await settledWithin(this.#parts.clock, REMOVED_WITHIN, this.#outbox.settled());
    await this.lease.leave();
    void this.#outbox.settled().then(() => this.#outbox.leave());
    this.#deadline.end();
  }

  /** Loads the records of the present scope, unless they are loaded. Never rejects. */
  #load(): Promise<void> {
    if (this.isClosed) return Promise.resolve();
    return (this.#loading ??= retryUntil(this.#deadline, RELOAD, () => this.#read())
      .catch(() => undefined)
      .finally(() => (this.#loading = null)));
  }

  async #read(): Promise<void> {
    const scope = await this.#scope();
    const isSame = this.#loaded?.data.scope.every((word, at) => word === scope?.[at]) ?? false;
    const isKept = this.#loaded !== null && !this.#parts.signIn.usable;
    // The next sign-in says whose records they are, and loads them.
    if (!scope || isSame || isKept) {
      await this.#holdClusters();
      return this.changed();
    }
    this.#endTenure();
    this.#loaded?.data.close();
    this.#loaded = null;
    const opened = this.#open(scope);
    let failure: PrintingError | null;
    try {
      failure = await opened.data.load();
    } catch (thrown) {
      this.#storeError = asPrintingError(thrown);
      opened.data.close();
      throw thrown;
    }
    if (this.isClosed) return opened.data.close();
    this.#storeError = failure;
    this.#loaded = opened;
    await this.#holdClusters();
    this.#beginTenure();
    if (failure) this.failed(failure);
    else this.#readUnseenLater();
  }

  /** The present scope; null while no sign-in is known that would name the workspace. */
  async #scope(): Promise<Scope | null> {
    return this.#parts.scope().catch((thrown: unknown) => {
      if (asPrintingError(thrown).code !== 'NOT_SIGNED_IN') throw thrown;
      return null;
    });
  }

  #open(scope: Scope): QueueContext {
    const parts = this.#parts;
    const failed = (thrown: unknown) => this.failed(thrown);
    const data: QueueData = new QueueData(parts, scope, {
      lease: () => this.lease.lock,
      plans: () => this.lease.isOurs,
      isGone: (clusterId) => this.#isGone(clusterId),
      seen: (status, requestedAt) => void this.#observe(status, requestedAt),
      triedAgain: (itemId) => {
        if (this.#loaded?.data === data) this.#loaded.view.refusals.forget(itemId);
      },
      changed: () => {
        if (this.#loaded?.data === data) this.changed();
      },
      failed,
    });
    const context = {
      ...{ ...parts, data, views: this.#views, staleAfter: 2 * parts.interval, failed },
      clusterIds: () => this.#clusterIds,
      areListed: () => this.#listed.isCertain,
      obstacle: () => this.obstacle,
      changed: () => this.changed(),
    };
    return { ...context, view: new QueueView(context) };
  }

  get #clusterIds(): readonly string[] {
    const { printers } = this.#parts.rules;
    return printers.length > 0 ? printers : this.#listed.idsOf(this.#parts.watcher.clusterList.last);
  }

  /** Whether neither the polls of a cluster nor the account's list find it. */
  #isGone(clusterId: string): boolean {
    const { last } = this.#parts.watcher.clusterList;
    return this.#views.isMissing(clusterId) || (this.#listed.isCertain && last !== null && !last.has(clusterId));
  }

  /** The queue's clusters, and those at which it has prints although it does not use them any more. */
  get #heldIds(): readonly string[] {
    const open = this.#loaded?.data.open.all.flatMap((record) =>
      openAttempts(record).map(({ clusterId }) => clusterId),
    );
    return [...this.#clusterIds, ...(open ?? [])];
  }

  /** Keeps the queue's clusters on the shared polls, and no others. Most polls change nothing of them. Never rejects. */
  #hold(): Promise<void> {
    const list = this.#parts.watcher.clusterList.last;
    const items = this.#loaded?.data.items;
    const of = [list, items, items?.version];
    if (this.isClosed || of.every((one, at) => one === this.#heldOf[at])) return Promise.resolve();
    this.#heldOf = of;
    return this.#held.hold(this.#heldIds);
  }

  /** Learns the account's printers, if the queue names none, and keeps those of the queue on the shared polls. */
  async #holdClusters(): Promise<void> {
    const { clusterList } = this.#parts.watcher;
    if (this.#parts.rules.printers.length === 0 && this.#parts.signIn.usable && !clusterList.last)
      await this.#deadline.wait(clusterList.read(LIST_FOR)).catch((thrown: unknown) => this.failed(thrown));
    await this.#hold();
  }

  /**
   * Reads the account's printers again and again, as long as the list may show one that no poll does: it is connected later
   * and belongs to the queue, too, or its polls are rare, as the service did not know it.
   */
  #readListOn(): void {
    const { rules, clock } = this.#parts;
    const { printers } = rules;
    const isNeeded = printers.length === 0 || printers.some((clusterId) => this.#views.isMissing(clusterId));
    if (this.isClosed || this.#endReading || !isNeeded) return;
    this.#endReading = clock.after(LIST_EVERY, () => {
      void this.#readList().finally(() => {
        this.#endReading = null;
        this.#readListOn();
      });
    });
  }

  /** Never rejects: after a failure, the next read finds what this one did not. */
  async #readList(): Promise<void> {
    const { watcher, signIn } = this.#parts;
    if (!this.#loaded || !signIn.usable || !this.lease.isOurs) return;
    const [before, { isCertain }] = [this.#clusterIds, this.#listed];
    await this.#deadline.wait(watcher.clusterList.read(LIST_EVERY / 2)).catch(() => undefined);
    if (this.isClosed) return;
    const now = this.#clusterIds;
    void this.#hold();
    const known = new Set(before);
    const isSame = now.length === before.length && now.every((clusterId) => known.has(clusterId));
    if (!isSame || isCertain !== this.#listed.isCertain) this.changed();
  }

  /** Begins a tenure of this runtime as the planner, if it is the one. */
  #beginTenure(): void {
    this.#endTenure();
    if (!this.#loaded || !this.lease.isOurs || this.isClosed) return this.changed();
    this.#planning = new Planning(this.#loaded, this.lease.lock);
    void this.#planning.start();
  }

  /** Saves what was lived with open attempts, before another runtime plans, or this one later. Never rejects. */
  async #saveTime(): Promise<void> {
    const { data } = this.#loaded ?? {};
    if (data && data.open.all.length > 0 && this.lease.isOurs) await data.state.saveTime().catch(() => undefined);
  }

  /** Continues the pauses that the planner has saved. */
  #adoptRefusals(): void {
    this.#loaded?.view.refusals.adopt(this.#loaded.data.state.record.refusals);
  }

  #endTenure(): void {
    const planning = this.#planning;
    this.#planning = null;
    if (!planning) return;
    planning.close();
    const ended: Promise<void> = planning.settled().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  /** Never rejects. */
  async #observe(status: ClusterStatus, requestedAt: number): Promise<void> {
    void this.#hold();
    const { view, data } = this.#loaded ?? {};
    if (!view || !this.#held.has(status.clusterId) || !this.#views.see(status, requestedAt)) return;
    this.#checkReads();
    // Time is lived by those who watch.
    data?.lived.tick();
    const isNews = view.differs(status) || this.#parts.clock.monotonic() - this.#changedAt >= this.#parts.interval;
    await this.#planning?.observe(status, requestedAt);
    if (isNews) this.changed();
    else view.refresh();
  }

  #lose(clusterId: string, since: number): void {
    if (!this.#views.lose(clusterId, since)) return;
    this.#readListOn();
    this.changed();
  }

  #list(status: ClusterStatus): void {
    // A cluster that has moved is polled under its new id, which may not be of this queue.
    if (this.#held.has(status.clusterId) && this.#views.list(status)) this.changed();
  }

  /** Finds out whether nothing can be written, or a single record can't be: that stops nothing else. Never rejects. */
  async #probe(): Promise<void> {
    if (!this.#loaded || this.isClosed) return;
    try {
      await this.#loaded.data.state.probe();
      this.#storeError = null;
    } catch (thrown) {
      const error = asPrintingError(thrown);
      if (isOfStore(error) || error instanceof NewerValueError) this.#storeError = error;
    }
    this.changed();
  }

  /** Reads what could not be read, after a pause. */
  #readUnseenLater(): void {
    if (!this.isClosed && this.#loaded?.data.unseen) this.#unseenReads.plan(() => void this.#readUnseen());
  }

  /** Never rejects. */
  async #readUnseen(): Promise<void> {
    const { data } = this.#loaded ?? {};
    if (!data || this.isClosed) return;
    // If the database is away, more than this read fails.
    const failure = data.unseen && (await data.load().catch(() => null));
    if (failure) this.failed(failure);
    if (!data.unseen) this.#unseenReads.succeeded();
    this.#readUnseenLater();
  }

  /** Never rejects. */
  async #repeat(): Promise<void> {
    if (this.isClosed) return;
    try {
      if (!this.#loaded) return void this.#load();
      await this.#holdClusters();
      const { data } = this.#loaded;
      await data.state.probe();
      this.#storeError = null;
      this.#repeats.succeeded();
      // What has failed may fail again at once; the events of everything else don't wait for it.
      this.#onChange();
      await this.#planning?.start();
      this.changed();
    } catch (thrown) {
      this.failed(thrown);
    }
  }
}

/** Whether a failure means that the state can't be read or written. */
const isOfStore = (error: PrintingError): boolean =>
  (error.code === 'FILE_NOT_WRITABLE' || error.code === 'FILE_NOT_READABLE') && !(error instanceof NewerValueError);
