import { advanceList, withoutRebounds, type Rebound } from '../../events/list-changes';
import type { PrintEvent } from '../../events/print-event';
import { asPrintingError, type PrintingError } from '../../service/errors';
import { UNLOSABLE_LOCK } from '../../state/locks';
import type { Lock } from '../../state/store';
import { isoTime } from '../../time/clock';
import type { AccountContext } from './account-context';
import type { ListedCluster } from './cluster-list';
import { LIST_ITEM } from '../replication/fair-share';
import type { Scheduled } from './scheduler';
import { isSecured, isStillOwned, SOLE_OWNER } from '../checkpoints/ownership';
import { LIST } from '../views/poll-failures';
import { retryPoll } from './poll-timing';
import type { ListMemory, ScopeMemory } from '../checkpoints/watch-memory';

/** The list is not read more often, ms (wire facts, trap 41). */
const SHORTEST = 60_000;

/** Somebody who watches all clusters. */
export interface ListSubscriber {
  /** ms. */
  readonly interval: number;
  readonly paused: boolean;
  /** As of a `Subscriber`. */
  readonly beside?: unknown;
  /** The clusters that there are, as far as is known, and why the list could not be read. */
  listed(clusterIds: readonly string[] | null, error: PrintingError | null): void;
  deliverAll(events: PrintEvent[]): boolean;
}

/** Reads the list of clusters for all who watch the whole account, and reports what came and went. */
export class ListPoller implements Scheduled {
  readonly #subscribers = new Set<ListSubscriber>();
  #askers: ((error: PrintingError | null) => void)[] = [];
  #endings: (() => void)[] = [];
  #running = false;
  #failures = 0;
  #due = -Infinity;
  /** When the last reading began, monotonic ms. */
  #last = -Infinity;
  #memory: ListMemory | null = null;

  constructor(
    private readonly account: AccountContext,
    private readonly rebound: (rebound: Rebound<ListedCluster>) => Promise<unknown>,
  ) {}

  /** Whether somebody watches all clusters. */
  get isWatched(): boolean {
    return [...this.#subscribers].some(({ paused }) => !paused);
  }

  /** Whether this runtime reads the list regularly. */
  get isPolled(): boolean {
    return this.isWatched && this.#isOurs;
  }

  /** The clusters that there are, as far as is known. */
  get clusterIds(): readonly string[] | null {
    const { list, tenure } = this.account;
    const known = this.#memory?.checkpoint?.known ?? null;
    // Several runtimes go by the same list, or they would want different things.
    if (known && tenure !== SOLE_OWNER)
      return known.filter(({ missing }) => !missing).map(({ clusterId }) => clusterId);
    return list.last ? [...list.last.keys()] : (known?.map(({ clusterId }) => clusterId) ?? null);
  }

  get polledAt(): number {
    return this.#last;
  }

  add(subscriber: ListSubscriber): void {
    this.#subscribers.add(subscriber);
    this.#due = -Infinity;
    this.account.tenure.changed();
    this.replan();
    if (!this.#isOurs) void this.learn();
  }

  remove(subscriber: ListSubscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size === 0 && this.#memory?.checkpoint) this.#memory.late = true;
    this.account.tenure.changed();
    this.replan();
  }

  /** The readings are this runtime's from now on; the last one began at `polledAt`, whoever made it. */
  begin(polledAt: number | null): void {
    this.#due = polledAt === null ? -Infinity : polledAt + this.#interval;
    this.replan();
  }

  /** The readings are another runtime's. */
  end(): void {
    this.#failures = 0;
    this.account.handedOver(LIST);
    this.replan();
  }

  /** Resolves when no reading is under way. */
  over(): Promise<void> {
    return this.#running ? new Promise((resolve) => this.#endings.push(resolve)) : Promise.resolve();
  }

  /** Reads the list anew; resolves with why that failed. */
  ask(): Promise<PrintingError | null> {
    return new Promise((resolve) => {
      this.#askers.push(resolve);
      if (!this.#running) this.account.scheduler.ask(this);
    });
  }

  /** Takes over what another runtime has read. Never rejects. */
  async learn(): Promise<void> {
    const { account } = this;
    const scope = await account.scoped().catch(() => null);
    if (!scope || this.#isOurs) return;
    scope.list.loaded = false;
    if (!(await this.#load()) || account.signal.aborted) return;
    account.list.learn(scope.list.clusters);
    if (this.clusterIds) this.#serve(null);
  }

  /** The clusters that were known at last, from the store where nothing was read since. Never rejects. */
  async recall(): Promise<readonly string[]> {
    if (!this.clusterIds) await this.#load();
    return this.clusterIds ?? [];
  }

  wake({ anew = false } = {}): void {
    if (anew || this.#failures > 0) this.#due = -Infinity;
    this.#failures = 0;
    this.replan();
  }

  replan(): void {
    if (this.#running || this.account.signal.aborted) return;
    this.account.scheduler.plan(this, this.isWatched && this.#isOurs ? Math.max(this.#due, 0) : Infinity);
  }

  /** Delivers events to all who watch the account, but to those beside one of `others`, who get them as well. */
  deliver(events: PrintEvent[], others: readonly unknown[] = []): boolean {
    const hearers = [...this.#subscribers].filter(({ beside }) => beside === undefined || !others.includes(beside));
    return hearers.map((subscriber) => subscriber.deliverAll(events)).some((delivered) => delivered);
  }

  async run(asked: boolean): Promise<number> {
    const { account } = this;
    const start = account.clock.monotonic();
    const interval = this.#interval;
    const lock = this.#isOurs ? account.tenure.lockOf(LIST_ITEM) : null;
    this.#last = start;
    this.#running = true;
    let error: PrintingError | null = null;
    try {
      const scope = await account.scoped();
      const memory = await this.#load();
      const list = await account.list.read(asked ? 0 : interval / 2);
      account.signal.throwIfAborted();
      this.#failures = 0;
      this.#due = start + interval;
      if (memory && lock) await this.#take([...list.values()], memory, scope, lock);
    } catch (thrown) {
      error = asPrintingError(thrown);
      this.#failures++;
      const { retryAfter } = error;
      this.#due = start + retryPoll({ interval, failures: this.#failures, retryAfter }, account.random);
    }
    this.#running = false;
    if (!account.signal.aborted) {
      account.polled(LIST, error, start);
      this.#serve(error);
    }
    for (const resolve of this.#endings.splice(0)) resolve();
    for (const answer of this.#askers.splice(0)) answer(error);
    this.replan();
    return error?.code === 'RATE_LIMITED' ? (error.retryAfter ?? 0) : 0;
  }

  get #isOurs(): boolean {
    return this.account.tenure.isOurs(LIST_ITEM);
  }

  get #interval(): number {
    const active = [...this.#subscribers].filter(({ paused }) => !paused).map(({ interval }) => interval);
    return Math.max(SHORTEST, active.length > 0 ? Math.min(...active) : 0);
  }

  #serve(error: PrintingError | null): void {
    const { clusterIds } = this;
    for (const subscriber of this.#subscribers) subscriber.listed(clusterIds, error);
  }

  async #take(clusters: ListedCluster[], memory: ListMemory, scope: ScopeMemory, lock: Lock): Promise<void> {
    if (this.#subscribers.size === 0) return;
    const { clock, checkpoints, tenure } = this.account;
    const late = memory.late && memory.checkpoint !== null;
    const before = memory.checkpoint;
    const { checkpoint, events, rebounds } = advanceList(before, clusters, { at: isoTime(clock.now()), late });
    if (lock !== UNLOSABLE_LOCK && events.length > 0 && !(await isSecured(tenure, LIST_ITEM, lock))) return;
    if (!isStillOwned(tenure, LIST_ITEM, lock)) return;
    this.deliver(events);
    // Where several share the clusters, the old id stays until whoever polls it has told of the new one.
    memory.checkpoint = tenure === SOLE_OWNER ? checkpoint : withoutRebounds(checkpoint, before, rebounds);
    memory.late = false;
    const isNews = tenure !== SOLE_OWNER && memory.showTo(clusters);
    if (isNews || JSON.stringify(before?.known) !== JSON.stringify(memory.checkpoint.known))
      checkpoints.writeList(scope);
    for (const rebound of rebounds) await this.rebound(rebound);
  }

  async #load(): Promise<ListMemory | null> {
    const { account } = this;
    try {
      const scope = await account.scoped();
      this.#memory = scope.list;
      await account.checkpoints.loadList(scope, scope.list);
      return scope.list;
    } catch (thrown) {
      account.fault(null, thrown);
      return null;
    }
  }
}
