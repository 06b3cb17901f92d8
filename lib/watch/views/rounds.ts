import type { ClusterStatus } from '../../service/cluster';
import type { PrintingError } from '../../service/errors';
import { inOrder } from '../../service/printer';
import type { Clock } from '../../time/clock';
import { nextTurn } from '../../time/concurrency';
import { PackedTexts } from '../checkpoints/memory';
import type { Poller } from '../polling/poller';
import { SLACK } from '../polling/timing';
import type { PollResult } from '../polling/types';
import type { WatchedClusters } from './watched-clusters';

/** Results delivered together: of one cluster, or a part of a group. The receiver may keep and change them. */
export interface Round {
  /** Results with figures to send; none where they are unchanged or were never read. */
  results: PollResult[];
  /** Where all clusters are watched: `start` results of the group precede these; the last part states the `count`. */
  group: { id: string; start: number; count: number | null } | null;
  error: PrintingError | null;
  /** Of a single cluster, the figures to show, whether or not they are sent. */
  shown?: ClusterStatus | null;
}

/** The watch whose rounds are sent. */
interface RoundsOwner {
  /** ms. */
  readonly interval: number;
  readonly clusters: WatchedClusters;
  readonly changeFilter: ChangeFilter | null;
  readonly isActive: boolean;
  readonly isAsking: boolean;
  emit(round: Round): void;
  /** Restores the last known clusters. Never rejects. */
  restoreClusters(): Promise<void>;
}

export interface RoundsContext {
  clock: Clock;
  signIn: { readonly usable: boolean };
  /** Runs a user's callback and isolates its failures. */
  guard: (callback: () => unknown) => void;
}

/** Times at which the results of a watch go out. */
export interface Rounds {
  /** Starts sending. While the watch is inactive, no timer runs. */
  start(): void;
  stop(): void;
  /** Sends after a deploy what is known, before the first poll. Never rejects. */
  sendKnown(): Promise<void>;
  /** Adds the result of a poll at the watch's turn. */
  add(result: PollResult): void;
  /** Replaces an older result that waits to be sent: a message may send this one before it. */
  refresh?(result: PollResult): void;
  /** Records a read of the list. */
  recordList?(clusterIds: readonly string[] | null, error: PrintingError | null): void;
  /** Awaits the result of a cluster, or no longer does. */
  assign?(clusterId: string, isOurs: boolean): void;
  /** Drops the result of a cluster that has left the set. */
  drop?(clusterId: string): void;
}

/** Number of intervals after a message with fresh figures from which the next poll is late. */
const LATE = 1.5;

/** Number of known figures that are sent at a stretch. */
const AT_A_STRETCH = 20;

/** Age from which figures are stale, ms: turns may shift by the slack. Those of a signed-out account always are. */
const maxAgeOf = (
  { interval }: RoundsOwner,
  { signIn }: Pick<RoundsContext, 'signIn'> = { signIn: { usable: true } },
) => (signIn.usable ? (1 + SLACK) * interval : -1);

/** Rounds of a single cluster: each result at its turn, and the last known figures after an interval without one. */
export class TurnRounds implements Rounds {
  /** Time of the last message, monotonic ms. */
  #sentAt = -Infinity;
  #disarm: () => void = () => undefined;

  constructor(
    private readonly watch: RoundsOwner,
    private readonly context: RoundsContext,
  ) {}

  start(): void {
    this.#armReminder(LATE * this.watch.interval);
  }

  stop(): void {
    this.#disarm();
  }

  async sendKnown(): Promise<void> {
    const { watch } = this;
    const result = await this.#poller?.known(maxAgeOf(watch, this.context));
    if (!result?.status || !watch.isActive || !this.#poller?.isOurs || this.#sentAt > -Infinity) return;
    watch.clusters.recordKnown(result.status);
    this.#recordSent(result.clusterId, !result.status.stale);
    const isSent = isChange(watch.changeFilter, result.status);
    watch.emit({ results: isSent ? [result] : [], group: null, error: null, shown: result.status });
  }

  add(result: PollResult): void {
    const { watch } = this;
    // While polls fail, stale messages keep their interval: a poll in between only shows its failure.
    const isBetween = result.error !== null && watch.clusters.isOverdue && this.#isRecent;
    if (!isBetween) this.#recordSent(result.clusterId, !result.error);
    if (watch.isAsking) return;
    const isSent = result.status && !isBetween && isChange(watch.changeFilter, result.status);
    watch.emit({ results: isSent ? [result] : [], group: null, error: result.error, shown: result.status });
  }

  get #poller(): Poller | undefined {
    const [member] = this.watch.clusters.members.values();
    return member?.poller;
  }

  get #isRecent(): boolean {
    return this.context.clock.monotonic() - this.#sentAt < (1 - SLACK) * this.watch.interval;
  }

  /** Records a message and arms the reminder: one interval later, or a little more after fresh figures. */
  #recordSent(clusterId: string, isFresh: boolean): void {
    const { clusters, interval } = this.watch;
    this.#sentAt = this.context.clock.monotonic();
    if (!isFresh) clusters.recordStale(clusterId);
    this.#armReminder(isFresh ? LATE * interval : interval);
  }

  #armReminder(wait: number): void {
    this.#disarm();
    if (!this.watch.isActive) return;
    const { clock, guard } = this.context;
    this.#disarm = clock.after(wait, () => guard(() => void this.#sendReminder()));
  }

  /** Sends the last known figures as stale after an interval without a result. Never rejects. */
  async #sendReminder(): Promise<void> {
    const { watch } = this;
    const result = this.#poller?.isOurs ? await this.#poller.recall() : null;
    if (!watch.isActive || this.#isRecent) return;
    // If the printer was handed over meanwhile, the new owner sends the message.
    if (!result || !this.#poller?.isOurs) return this.#armReminder(watch.interval);
    this.#recordSent(result.clusterId, false);
    if (result.status && isChange(watch.changeFilter, result.status))
      watch.emit({ results: [result], group: null, error: null });
  }
}

/** Rounds of all clusters: at the end of each interval one group, with the latest result of each cluster. */
export class GroupRounds implements Rounds {
  #batch: ResultBatch;
  /** Clusters without a result in the present group. */
  readonly #awaited = new Set<string>();
  /** Whether the group goes out as soon as no cluster is awaited. */
  #sendsWhenComplete = true;
  /** End of the interval, monotonic ms. */
  #boundary = 0;
  /** Whether the list has been read, or could not be. */
  #isListKnown = false;
  #listError: PrintingError | null = null;
  #disarm: () => void = () => undefined;

  constructor(
    private readonly watch: RoundsOwner,
    private readonly context: RoundsContext,
  ) {
    this.#batch = this.#newBatch();
  }

  /** Starts sending one group per interval, the first as soon as it is complete. */
  start(): void {
    const { interval, isActive } = this.watch;
    this.#boundary = this.context.clock.monotonic() + interval;
    this.#sendsWhenComplete = true;
    this.#awaitAll();
    if (isActive) this.#arm(this.#boundary, () => this.#endInterval());
  }

  stop(): void {
    this.#disarm();
  }

  async sendKnown(): Promise<void> {
    const { watch, context } = this;
    const { clusters, changeFilter } = watch;
    if (clusters.members.size === 0) await watch.restoreClusters();
    const batch = this.#newBatch();
    let known = 0;
    for (const clusterId of clusters.ownIds) {
      const result = await clusters.members.get(clusterId)?.poller.known(maxAgeOf(watch, context));
      if (!watch.isActive) return;
      // A poll was faster.
      if (!result?.status || !this.#awaited.has(clusterId)) continue;
      clusters.recordKnown(result.status);
      batch.add(isChange(changeFilter, result.status) ? result : { ...result, status: null });
      if (++known % AT_A_STRETCH === 0) await nextTurn();
    }
    if (known > 0) batch.end();
  }

  /** Adds a result, and sends the group once it is complete. */
  add(result: PollResult): void {
    const { status, clusterId } = result;
    const isSent = status && isChange(this.watch.changeFilter, status);
    // An earlier change that is undone by now may still wait in the group.
    if (!isSent) this.#batch.refresh(result);
    this.#batch.add(isSent ? result : { ...result, status: null });
    this.#awaited.delete(clusterId);
    if (this.#sendsWhenComplete && this.#isListKnown && this.#awaited.size === 0) this.#send();
  }

  recordList(clusterIds: readonly string[] | null, error: PrintingError | null): void {
    const { ownCount, members } = this.watch.clusters;
    this.#listError = error;
    this.#isListKnown = true;
    const isComplete = this.#awaited.size === 0 && (ownCount > 0 || members.size === 0);
    if (this.#sendsWhenComplete && isComplete && (clusterIds ?? error)) this.#send();
  }

  assign(clusterId: string, isOurs: boolean): void {
    if (isOurs) this.#awaited.add(clusterId);
    else this.#awaited.delete(clusterId);
  }

  refresh(result: PollResult): void {
    this.#batch.refresh(result);
  }

  drop(clusterId: string): void {
    this.#batch.drop(clusterId);
  }

  /** Ends an interval: waits a little for results in flight, but not for failing clusters. */
  #endInterval(): void {
    const { interval } = this.watch;
    if (!this.context.signIn.usable) return void this.#recall();
    this.#sendsWhenComplete = true;
    this.#addLastKnown(({ failing }) => failing);
    if (this.#awaited.size === 0) return this.#send();
    this.#arm(this.#boundary + SLACK * interval, () => {
      this.#addLastKnown(() => true);
      this.#send();
    });
  }

  /** Adds the last known figures of those awaited clusters that meet the condition. */
  #addLastKnown(condition: (poller: Poller) => boolean): void {
    for (const clusterId of this.#awaited) {
      const poller = this.watch.clusters.members.get(clusterId)?.poller;
      if (!poller || !condition(poller)) continue;
      this.#awaited.delete(clusterId);
      this.#addKnown(poller.lastKnown(maxAgeOf(this.watch)));
    }
  }

  #addKnown(result: PollResult): void {
    const { clusters, changeFilter } = this.watch;
    const { status } = result;
    if (status?.stale) clusters.recordStale(status.clusterId);
    if (status && isChange(changeFilter, status)) this.#batch.add(result);
  }

  /** Sends the last known figures of all clusters while the account is signed out. Never rejects. */
  async #recall(): Promise<void> {
    const { watch } = this;
    const { members } = watch.clusters;
    if (members.size === 0) await watch.restoreClusters();
    let isKnown = false;
    for (const clusterId of watch.clusters.ownIds) {
      const result = await members.get(clusterId)?.poller.recall();
      if (!watch.isActive) return;
      if (this.context.signIn.usable) break;
      if (!result?.status || !members.get(clusterId)?.isOurs) continue;
      this.#addKnown(result);
      isKnown = true;
    }
    if (!watch.isActive) return;
    if (!isKnown) return this.#startNextInterval();
    this.#send();
    // The first group after the next sign-in goes out as soon as it is complete.
    this.#sendsWhenComplete = true;
  }

  #send(): void {
    this.#batch.end(this.#listError);
    this.#batch = this.#newBatch();
    this.#sendsWhenComplete = false;
    this.#awaitAll();
    this.#startNextInterval();
  }

  #newBatch(): ResultBatch {
    const { signIn, clock } = this.context;
    return new ResultBatch({
      clusters: this.watch.clusters,
      clock,
      isGroup: true,
      isOld: (addedAt) => !signIn.usable || clock.monotonic() - addedAt > maxAgeOf(this.watch),
      deliver: (round) => this.watch.emit(round),
    });
  }

  #startNextInterval(): void {
    const { interval } = this.watch;
    // A first group of many clusters may end late: skip a boundary that would follow at once.
    const soonest = this.context.clock.monotonic() + interval / 2;
    while (this.#boundary < soonest) this.#boundary += interval;
    this.#arm(this.#boundary, () => this.#endInterval());
  }

  #arm(time: number, action: () => void): void {
    this.#disarm();
    const { clock, guard } = this.context;
    this.#disarm = clock.after(Math.max(0, time - clock.monotonic()), () => guard(action));
  }

  #awaitAll(): void {
    this.#awaited.clear();
    for (const clusterId of this.watch.clusters.ownIds) this.#awaited.add(clusterId);
  }
}

/** Largest group whose results are collected, since each result is some ten kilobytes. */
const MOST_COLLECTED = 100;

interface BatchOptions {
  clusters: WatchedClusters;
  clock: Clock;
  /** Whether the results form a group, also if there is only one. */
  isGroup: boolean;
  /** Whether figures added at that time (monotonic, ms) are stale by now. */
  isOld: (addedAt: number) => boolean;
  deliver: (round: Round) => void;
}

interface PendingResult {
  result: PollResult;
  addedAt: number;
}

let batches = 0;

/** Batch of the latest results of a set of clusters. The last part of a batch states their number. */
export class ResultBatch {
  readonly #id: string;
  /** An array instead of a Map: a Map would keep removed values alive for longer (see `followAbort`). */
  #pending: PendingResult[] = [];
  readonly #sent = new Set<string>();
  #error: PrintingError | null = null;

  constructor(private readonly options: BatchOptions) {
    this.#id = `${++batches}`;
  }

  add(result: PollResult): void {
    const { clusters, clock } = this.options;
    this.#error ??= result.error;
    if (!result.status || this.#sent.has(result.clusterId)) return;
    this.drop(result.clusterId);
    this.#pending.push({ result, addedAt: clock.monotonic() });
    if (this.#pending.length <= (clusters.ownCount > MOST_COLLECTED ? 1 : MOST_COLLECTED)) return;
    // One result stays for the last part, which states the count.
    this.#send(this.#pending.splice(0, this.#pending.length - 1), null);
  }

  /** Replaces the result of a cluster that was not sent yet, unless the later poll has failed. */
  refresh(result: PollResult): void {
    if (!result.status || result.error) return;
    const older = this.#pending.find((one) => one.result.clusterId === result.clusterId);
    if (older) Object.assign(older, { result, addedAt: this.options.clock.monotonic() });
  }

  drop(clusterId: string): void {
    const at = this.#pending.findIndex(({ result }) => result.clusterId === clusterId);
    if (at >= 0) this.#pending.splice(at, 1);
  }

  /** Sends the last part; returns the first failure. */
  end(error: PrintingError | null = null): PrintingError | null {
    this.#error = error ?? this.#error;
    const count = this.#sent.size + this.#pending.length;
    this.#send(this.#pending.splice(0), count);
    return this.#error;
  }

  #send(pending: PendingResult[], count: number | null): void {
    const { clusters, isGroup, isOld, deliver } = this.options;
    const rankOf = ({ clusterId }: PollResult) => clusters.members.get(clusterId)?.rank ?? Infinity;
    const results = pending.map(({ result, addedAt }) => (isOld(addedAt) ? asStale(result) : result));
    const group = isGroup ? { id: this.#id, start: this.#sent.size, count } : null;
    results.sort((one, other) => rankOf(one) - rankOf(other));
    for (const { clusterId } of results) this.#sent.add(clusterId);
    deliver({ results, group, error: this.#error });
  }
}

const asStale = (result: PollResult): PollResult => ({
  ...result,
  status: result.status && { ...result.status, stale: true },
  raw: null,
});

/** Detects for one watch whether a status has changed since the last one sent (reference 3.1, `send`). */
export class ChangeFilter {
  readonly #sent: Map<string, PackedTexts>;

  /** `sent`: the statuses sent last, by cluster. */
  constructor(sent = new Map<string, PackedTexts>()) {
    this.#sent = sent;
  }

  /** Whether the status differs from the last one that was sent. */
  isChange(status: ClusterStatus): boolean {
    const before = this.#sent.get(status.clusterId);
    return !before || changed(JSON.parse(before.stable), status);
  }

  /** Call when a status goes out: one that waits in a group may still be lost by a deploy. */
  recordSent(status: ClusterStatus): void {
    const texts = this.#sent.get(status.clusterId) ?? new PackedTexts();
    texts.set(JSON.stringify(status), '');
    this.#sent.set(status.clusterId, texts);
  }
}

/** Whether to send a status; without a filter, always. */
const isChange = (filter: ChangeFilter | null, status: ClusterStatus): boolean => filter?.isChange(status) ?? true;

/** Times and temperatures, which change all the time, so their change alone is no change (reference 3.1, `send`). */
const FLEETING = new Set([
  ...['timeElapsed', 'timeTotal', 'timeRemaining', 'generatedAt', 'receivedAt'],
  ...['temperature', 'age'],
]);

/** Lists whose order means nothing, with what identifies their entries. */
const UNORDERED = new Map([
  ['printers', 'printerId'],
  ['extruders', 'index'],
  ['slots', 'index'],
]);

const ordered = (value: unknown, id: string | undefined): unknown =>
  id !== undefined && Array.isArray(value)
    ? inOrder(value as Record<string, string | number | null>[], (one) => one[id] ?? '')
    : value;

/** Whether two plain values differ in more than times, temperatures and less than a whole percent of progress. */
export function changed(before: unknown, now: unknown): boolean {
  if (!isObject(before) || !isObject(now)) return !Object.is(before, now);
  if (Array.isArray(before) !== Array.isArray(now)) return true;
  if (Array.isArray(before) && before.length !== (now as unknown as unknown[]).length) return true;
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].some((key) => {
    if (FLEETING.has(key)) return false;
    const id = UNORDERED.get(key);
    const [a, b] = [ordered(before[key], id), ordered(now[key], id)];
    if (key === 'progress' && typeof a === 'number' && typeof b === 'number') return Math.abs(a - b) >= 1;
    return changed(a, b);
  });
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
