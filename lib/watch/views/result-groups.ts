import type { PrintingError } from '../../service/errors';
import type { PollResult } from '../polling/poll-result';
import { SLACK } from '../polling/poll-timing';
import type { Poller } from '../polling/poller';
import type { ChangeFilter } from './change-filter';
import type { WatchContext } from './node-watch';
import { ResultBatch } from './result-batch';
import type { Round } from './watch';
import type { WatchedClusters } from './watched-clusters';

interface ResultGroupsOptions {
  context: Pick<WatchContext, 'clock' | 'guard' | 'usable'>;
  clusters: WatchedClusters;
  changeFilter: ChangeFilter | null;
  /** ms. */
  interval: number;
  /** Sends a part of a group. */
  emit: (round: Round) => void;
  /** Restores the last known clusters where there are none. */
  restoreClusters: () => Promise<void>;
  isClosed: () => boolean;
  /** Whether the watch is closed or paused. */
  isInactive: () => boolean;
}

let batches = 0;

/** Groups of the results of all clusters: one at the end of every interval. */
export class ResultGroups {
  readonly #options: ResultGroupsOptions;
  #batch: ResultBatch;
  /** Clusters without a result in the present group. */
  readonly #awaited = new Set<string>();
  /** Whether the group goes out as soon as no cluster is awaited. */
  #sendsWhenComplete = true;
  #boundary = 0;
  /** Whether the list has been read, or could not be. */
  #isListKnown = false;
  #listError: PrintingError | null = null;
  #disarm: () => void = () => undefined;

  constructor(options: ResultGroupsOptions) {
    this.#options = options;
    this.#batch = this.newBatch(options.emit);
  }

  /** Starts sending one group per interval, the first as soon as it is complete. */
  start(): void {
    const { context, interval, isInactive } = this.#options;
    this.#boundary = context.clock.monotonic() + interval;
    this.#sendsWhenComplete = true;
    this.#awaitAll();
    if (!isInactive()) this.#arm(this.#boundary, () => this.#endInterval());
  }

  stop(): void {
    this.#disarm();
  }

  /** Adds a result, and sends the group once it is complete. */
  add(result: PollResult): void {
    this.#batch.add(result);
    this.#awaited.delete(result.clusterId);
    if (this.#sendsWhenComplete && this.#isListKnown && this.#awaited.size === 0) this.#send();
  }

  /** Records a read of the list. */
  recordList(clusterIds: readonly string[] | null, error: PrintingError | null): void {
    const { ownCount, members } = this.#options.clusters;
    this.#listError = error;
    this.#isListKnown = true;
    const isComplete = this.#awaited.size === 0 && (ownCount > 0 || members.size === 0);
    if (this.#sendsWhenComplete && isComplete && (clusterIds ?? error)) this.#send();
  }

  /** Awaits a cluster in the present group, or no longer does. */
  assign(clusterId: string, isOurs: boolean): void {
    if (isOurs) this.#awaited.add(clusterId);
    else this.#awaited.delete(clusterId);
  }

  drop(clusterId: string): void {
    this.#batch.drop(clusterId);
  }

  newBatch(deliver: (round: Round) => void, isAsked = false): ResultBatch {
    const { context, clusters } = this.#options;
    const { clock, usable } = context;
    const rankOf = (clusterId: string) => clusters.members.get(clusterId)?.rank ?? Infinity;
    // A requested poll counts as fresh, however long the other polls take.
    const isOld = (addedAt: number) => !isAsked && (!usable() || clock.monotonic() - addedAt > this.#maxAge);
    const now = () => clock.monotonic();
    return new ResultBatch({ id: `${++batches}`, size: () => clusters.ownCount, rankOf, now, isOld, deliver });
  }

  /** Ends an interval: waits a little for results in flight, but not for failing clusters. */
  #endInterval(): void {
    const { context, clusters, interval } = this.#options;
    if (!context.usable()) return void this.#recall();
    this.#sendsWhenComplete = true;
    for (const clusterId of this.#awaited) {
      const poller = clusters.members.get(clusterId)?.poller;
      if (poller?.failing) this.#addLastKnown(clusterId, poller);
    }
    if (this.#awaited.size === 0) return this.#send();
    this.#arm(this.#boundary + SLACK * interval, () => {
      for (const clusterId of this.#awaited) {
        const poller = clusters.members.get(clusterId)?.poller;
        if (poller) this.#addLastKnown(clusterId, poller);
      }
      this.#send();
    });
  }

  #addLastKnown(clusterId: string, poller: Poller): void {
    this.#awaited.delete(clusterId);
    this.#addKnown(poller.lastKnown(this.#maxAge));
  }

  #addKnown(result: PollResult): void {
    const { clusters, changeFilter } = this.#options;
    const { status } = result;
    if (status?.stale) clusters.recordStale(status.clusterId);
    if (status && (!changeFilter || changeFilter.isChange(status))) this.#batch.add(result);
  }

  /** Sends the last known figures of all clusters while the account is signed out. Never rejects. */
  async #recall(): Promise<void> {
    const { clusters, restoreClusters, context, isClosed, isInactive } = this.#options;
    if (clusters.members.size === 0) await restoreClusters();
    if (isClosed()) return;
    let isKnown = false;
    for (const [clusterId, { poller, isOurs }] of [...clusters.members]) {
      if (!isOurs) continue;
      const result = await poller.recall();
      if (isInactive()) return;
      if (context.usable()) break;
      if (result.status && clusters.members.get(clusterId)?.isOurs) {
        this.#addKnown(result);
        isKnown = true;
      }
    }
    if (!isKnown) return this.#startNextInterval();
    this.#send();
    // The first group after the next sign-in goes out as soon as it is complete.
    this.#sendsWhenComplete = true;
  }

  /** Age from which figures are stale, ms: turns may shift by the slack. */
  get #maxAge(): number {
    return (1 + SLACK) * this.#options.interval;
  }

  #send(): void {
    this.#batch.end(this.#listError);
    this.#batch = this.newBatch(this.#options.emit);
    this.#sendsWhenComplete = false;
    this.#awaitAll();
    this.#startNextInterval();
  }

  #startNextInterval(): void {
    const { context, interval } = this.#options;
    // A first group of many clusters may end late: skip a boundary that would follow at once.
    const soonest = context.clock.monotonic() + interval / 2;
    while (this.#boundary < soonest) this.#boundary += interval;
    this.#arm(this.#boundary, () => this.#endInterval());
  }

  #arm(time: number, action: () => void): void {
    this.#disarm();
    const { clock, guard } = this.#options.context;
    this.#disarm = clock.after(Math.max(0, time - clock.monotonic()), () => guard(action));
  }

  #awaitAll(): void {
    this.#awaited.clear();
    for (const clusterId of this.#options.clusters.ownIds) this.#awaited.add(clusterId);
  }
}
