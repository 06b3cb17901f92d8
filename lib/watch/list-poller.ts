import { advanceList, type Rebound } from '../events/list-changes';
import type { PrintEvent } from '../events/print-event';
import { asPrintingError, type PrintingError } from '../service/errors';
import { isoTime } from '../time/clock';
import type { AccountContext } from './account-context';
import type { ListedCluster } from './cluster-list';
import type { Scheduled } from './scheduler';
import { retryPoll } from './turns';
import type { ListMemory } from './watch-memory';

/** The list is not read more often, ms (wire facts, trap 41). */
const SHORTEST = 60_000;

/** Somebody who watches all clusters. */
export interface ListSubscriber {
  /** ms. */
  readonly interval: number;
  readonly paused: boolean;
  /** The clusters that there are, as far as is known, and why the list could not be read. */
  listed(clusterIds: readonly string[] | null, error: PrintingError | null): void;
  deliverAll(events: PrintEvent[]): boolean;
}

/** Reads the list of clusters for all who watch the whole account, and reports what came and went. */
export class ListPoller implements Scheduled {
  readonly #subscribers = new Set<ListSubscriber>();
  #askers: ((error: PrintingError | null) => void)[] = [];
  #running = false;
  #failures = 0;
  #due = -Infinity;
  #inTrouble = false;
  #memory: ListMemory | null = null;

  constructor(
    private readonly account: AccountContext,
    private readonly rebound: (rebound: Rebound<ListedCluster>) => Promise<unknown>,
  ) {}

  add(subscriber: ListSubscriber): void {
    this.#subscribers.add(subscriber);
    this.#due = -Infinity;
    this.replan();
  }

  remove(subscriber: ListSubscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size === 0 && this.#memory?.checkpoint) this.#memory.late = true;
    this.replan();
  }

  /** Reads the list anew; resolves with why that failed. */
  ask(): Promise<PrintingError | null> {
    return new Promise((resolve) => {
      this.#askers.push(resolve);
      if (!this.#running) this.account.scheduler.ask(this);
    });
  }

  wake({ anew = false } = {}): void {
    if (anew || this.#failures > 0) this.#due = -Infinity;
    this.#failures = 0;
    this.replan();
  }

  replan(): void {
    if (this.#running || this.account.signal.aborted) return;
    const active = [...this.#subscribers].some(({ paused }) => !paused);
    this.account.scheduler.plan(this, active ? Math.max(this.#due, 0) : Infinity);
  }

  /** Delivers events to all who watch the account. */
  deliver(events: PrintEvent[]): boolean {
    return [...this.#subscribers].map((subscriber) => subscriber.deliverAll(events)).some((delivered) => delivered);
  }

  async run(asked: boolean): Promise<number> {
    const { account } = this;
    const start = account.clock.monotonic();
    const interval = this.#interval;
    this.#running = true;
    let error: PrintingError | null = null;
    try {
      const scope = await account.scoped();
      const memory = await this.#load();
      const list = await account.list.read(asked ? 0 : interval / 2);
      account.signal.throwIfAborted();
      this.#failures = 0;
      this.#due = start + interval;
      if (memory)
        await this.#take([...list.values()], memory, (checkpoint) => account.checkpoints.writeList(scope, checkpoint));
    } catch (thrown) {
      error = asPrintingError(thrown);
      this.#failures++;
      const { retryAfter } = error;
      this.#due = start + retryPoll({ interval, failures: this.#failures, retryAfter }, account.random);
    }
    this.#running = false;
    if (!account.signal.aborted) this.#serve(error);
    for (const answer of this.#askers.splice(0)) answer(error);
    this.replan();
    return error?.code === 'RATE_LIMITED' ? (error.retryAfter ?? 0) : 0;
  }

  get #interval(): number {
    const active = [...this.#subscribers].filter(({ paused }) => !paused).map(({ interval }) => interval);
    return Math.max(SHORTEST, active.length > 0 ? Math.min(...active) : 0);
  }

  #serve(error: PrintingError | null): void {
    if (this.#inTrouble !== (error !== null)) {
      this.#inTrouble = error !== null;
      this.account.outage(null, error);
    }
    const last = this.account.list.last;
    const known = this.#memory?.checkpoint?.known.map(({ clusterId }) => clusterId) ?? null;
    const clusterIds = last ? [...last.keys()] : known;
    for (const subscriber of this.#subscribers) subscriber.listed(clusterIds, error);
  }

  async #take(
    clusters: ListedCluster[],
    memory: ListMemory,
    write: (checkpoint: NonNullable<ListMemory['checkpoint']>) => void,
  ): Promise<void> {
    if (this.#subscribers.size === 0) return;
    const { clock } = this.account;
    const late = memory.late && memory.checkpoint !== null;
    const before = memory.checkpoint;
    const { checkpoint, events, rebounds } = advanceList(before, clusters, { at: isoTime(clock.now()), late });
    this.deliver(events);
    memory.checkpoint = checkpoint;
    memory.late = false;
    if (JSON.stringify(before?.known) !== JSON.stringify(checkpoint.known)) write(checkpoint);
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
