import type { Cluster } from '../service/cluster';
import type { ClusterStatus } from '../service/cluster-status';
import { asPrintingError, PrintingError } from '../service/errors';
import { record, text } from '../service/wire';
import { isoTime } from '../time/clock';
import { underDeadline } from '../time/deadline';
import { KEEP_POSITION, type AccountContext, type RiderChain } from './account-context';
import { advance, openQuestions } from './advance';
import { atMost } from './at-most';
import { changed } from './changed';
import { reboundEvent, sameHost } from './list-events';
import { retryPoll, SHORTEST } from './next-poll';
import { observe, type Observation } from './observation';
import { readOwnRecord } from './own-record';
import { PollChain, type Turn } from './poll-chain';
import { readPosition, type Position } from './position';
import type { ClusterResult, PollOutcome } from './watch-types';

/** Own records asked for at a time, and at most in one poll. */
const AT_ONCE = 4;
const MOST_QUESTIONS = 10;
/** One poll with its repeats, ms. */
const LONGEST = 60_000;

/** Kept in place of a position whose cluster goes on under another id. */
interface Moved {
  movedTo: string;
}

/** The polls of one cluster, and its position between them. */
export class ClusterPoll {
  readonly chain: RiderChain;
  position: Position | null = null;

  #loading: Promise<boolean> | null = null;
  #movedTo: string | null = null;
  /** The next observation is the first since nobody watched. */
  #late = false;
  #written: unknown = null;
  #writing: Promise<void> = Promise.resolve();
  #raw: unknown = null;
  /** The status while there is no position to hold it. */
  #unkept: ClusterStatus | null = null;
  #result: ClusterResult | null = null;
  #resultAt = -Infinity;
  #notBefore = -Infinity;
  #inTrouble = false;

  constructor(
    readonly clusterId: string,
    private readonly account: AccountContext,
  ) {
    this.chain = new PollChain({
      clock: account.clock,
      random: account.random,
      usable: account.usable,
      run: (asked) => this.#run(asked),
    });
  }

  /** A result for somebody who polls every `interval` ms: one younger than half of that will do, unless asked for. */
  async fresh({ interval, asked }: { interval: number; asked: boolean }): Promise<ClusterResult> {
    const { clock } = this.account;
    if (!asked && this.#result) {
      const now = clock.monotonic();
      if (now - this.#resultAt < interval / 2) return this.#result;
      if (this.#result.error && now < this.#notBefore) return this.#result;
    }
    const [result] = (await this.chain.poll(asked)).results;
    const { failures } = this.chain;
    if (result?.error) {
      const wait = retryPoll(
        { interval, failures: Math.max(1, failures), retryAfter: result.error.retryAfter },
        () => 0,
      );
      this.#notBefore = clock.monotonic() + wait;
    }
    return result ?? this.#remember(null);
  }

  /** The last known figures, for a poll that failed. */
  async remembered(error: PrintingError): Promise<ClusterResult> {
    await this.load();
    return this.#remember(error);
  }

  /** Nobody watches any more: what the next observation shows, happened meanwhile. */
  rest(): void {
    this.#late = this.position !== null;
  }

  /** Resolves when nothing is left to write. */
  settled(): Promise<void> {
    return this.#writing;
  }

  /** Reads the stored position once. False: it can't be read now, and no event can be drawn. */
  load(): Promise<boolean> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** The cluster goes on as `cluster`: its riders are told once, and move there with its position. */
  async moveTo(cluster: Cluster): Promise<ClusterPoll> {
    await this.load();
    const next = this.account.pollOf(this.#movedTo ?? cluster.clusterId);
    if (this.#movedTo === null) {
      this.#movedTo = cluster.clusterId;
      const event = reboundEvent(this.clusterId, cluster, { at: this.#now(), late: this.#late });
      for (const rider of this.chain.subscribers) rider.tell([{ event }]);
      this.account.rebound(this.clusterId, cluster, event);
      await next.#adopt(this.position, this.#late);
      this.position = null;
      this.#write({ movedTo: cluster.clusterId });
    }
    return this.#passOn(next);
  }

  async #run(asked: boolean): Promise<Turn<PollOutcome>> {
    const { account } = this;
    try {
      const loaded = await this.load();
      await this.#writing;
      account.signal.throwIfAborted();
      const next = this.#movedTo ? this.#passOn(account.pollOf(this.#movedTo)) : await this.#poll(loaded);
      this.#noteOutage(null);
      if (next) {
        const outcome = await next.chain.poll(asked);
        return { outcome, error: outcome.results[0]?.error ?? null, endsIn: null };
      }
      return this.#turn(this.#remember(null));
    } catch (thrown) {
      const error = withCluster(asPrintingError(thrown), this.clusterId);
      if (!account.signal.aborted) this.#noteOutage(error);
      return this.#turn(this.#remember(error));
    }
  }

  #turn(result: ClusterResult): Turn<PollOutcome> {
    this.#result = result;
    this.#resultAt = this.account.clock.monotonic();
    const endsIn = result.error || !result.status ? null : nextEnd(result.status, this.account.clock.now());
    return { outcome: { results: [result], listError: null }, error: result.error, endsIn };
  }

  /** Reads the status and takes it in; resolves with the poll to turn to where the cluster has a new id. */
  async #poll(loaded: boolean): Promise<ClusterPoll | null> {
    const found = await this.#look();
    this.account.signal.throwIfAborted();
    if ('reboundTo' in found) return this.moveTo(found.reboundTo);
    this.#raw = found.raw;
    if (loaded) await this.#take(found.seen);
    else this.#unkept = found.seen.status;
    this.account.observed(this.clusterId, found.seen.status);
    return null;
  }

  async #look(): Promise<{ seen: Observation; raw: unknown } | { reboundTo: Cluster }> {
    const { service, list, signal, clock } = this.account;
    try {
      const [{ data }, listed] = await Promise.all([
        underDeadline(clock, { ms: LONGEST, parent: signal }, (deadline) =>
          service.call('clusterStatus', { ids: { cluster_id: this.clusterId }, what: 'the cluster', deadline }),
        ),
        list.find(this.clusterId),
      ]);
      return { seen: this.#observe(data, listed?.cluster), raw: data };
    } catch (thrown) {
      if (!(thrown instanceof PrintingError) || thrown.code !== 'NOT_FOUND') throw thrown;
      return this.#lookUp(await list.read(SHORTEST), thrown);
    }
  }

  /** A status that is not found can mean a cluster that is offline, or has a new id (wire facts, traps 13 and 16). */
  #lookUp(list: readonly { cluster: Cluster; raw: unknown }[], notFound: PrintingError) {
    const listed = list.find(({ cluster }) => cluster.clusterId === this.clusterId);
    if (listed) return { seen: this.#observe({ is_online: false }, listed.cluster), raw: listed.raw };
    const clusters = list.map(({ cluster }) => cluster);
    const reboundTo = this.position && sameHost(clusters, this.position.status);
    if (!reboundTo) throw notFound;
    return { reboundTo };
  }

  #observe(data: unknown, cluster: Cluster | undefined): Observation {
    const seen = observe(data, {
      clusterId: this.clusterId,
      receivedAt: this.#now(),
      identity: cluster ?? this.position?.status ?? null,
      hostPrinterId: cluster?.printers[0]?.printerId ?? null,
    });
    if (seen) return seen;
    throw new PrintingError('SERVICE_ERROR', 'The service answered the status with something else: try again later.');
  }

  async #take(seen: Observation): Promise<void> {
    const { service, signal, random, clock } = this.account;
    const questions = openQuestions(this.position, seen).slice(0, MOST_QUESTIONS);
    const answers = await atMost(AT_ONCE, questions, async (id) => {
      return [
        id,
        await underDeadline(clock, { ms: LONGEST, parent: signal }, (deadline) =>
          readOwnRecord(service, this.clusterId, id, deadline),
        ).then((answer) => answer),
      ] as const;
    });
    signal.throwIfAborted();
    const late = this.#late && this.position !== null;
    const step = advance(this.position, seen, { answers: new Map(answers), late, random });
    this.position = step.position;
    this.#late = false;
    const told = this.account.happened(this, step.happenings);
    // Few writes: much of this runs on SD cards. What was told must be written, or a restart would tell it again.
    if (told || changed(this.#written, step.position)) this.#write(step.position);
  }

  #passOn(next: ClusterPoll): ClusterPoll {
    for (const rider of this.chain.subscribers) {
      this.chain.remove(rider);
      rider.moveTo(next);
    }
    return next;
  }

  async #adopt(position: Position | null, late: boolean): Promise<void> {
    await this.load();
    this.#movedTo = null;
    if (this.position || !position) return;
    this.position = { ...position, status: { ...position.status, clusterId: this.clusterId } };
    this.#late = late;
    this.#write(this.position);
  }

  #remember(error: PrintingError | null): ClusterResult {
    const last = this.position?.status ?? this.#unkept;
    const status = last && error ? { ...last, stale: true } : last;
    return { clusterId: this.clusterId, status, raw: this.#raw, error };
  }

  #noteOutage(error: PrintingError | null): void {
    if (this.#inTrouble === (error !== null)) return;
    this.#inTrouble = error !== null;
    this.account.outage(this.clusterId, error);
  }

  async #load(): Promise<boolean> {
    try {
      const stored = await this.account.store.get<unknown>(this.#key());
      this.position = readPosition(stored);
      this.#movedTo = text(record(stored)?.movedTo);
      this.#written = this.position;
      this.#late = this.position !== null;
      return true;
    } catch (thrown) {
      this.account.fault(this.clusterId, thrown);
      this.#loading = null;
      return false;
    }
  }

  #write(value: Position | Moved): void {
    this.#writing = this.#writing
      .then(() => this.account.store.put(this.#key(), value, { keepFor: KEEP_POSITION }))
      .then(
        () => void (this.#written = value),
        (thrown: unknown) => this.account.fault(this.clusterId, thrown),
      );
  }

  #key() {
    return ['position', this.account.accountId, this.clusterId] as const;
  }

  #now(): string {
    return isoTime(this.account.clock.now());
  }
}

/** When the first print under way should end, ms from `now` (wall time); null where none says. */
export function nextEnd({ jobs, receivedAt }: ClusterStatus, now: number): number | null {
  const ends = jobs
    .filter(({ state }) => state === 'printing' || state === 'finishing')
    .map(({ timeRemaining, timeTotal, timeElapsed }) => {
      if (timeRemaining !== null) return timeRemaining;
      return timeTotal !== null && timeElapsed !== null ? timeTotal - timeElapsed : 0;
    })
    .filter((seconds) => seconds > 0);
  return ends.length > 0 ? Math.min(...ends) * 1000 - Math.max(0, now - Date.parse(receivedAt)) : null;
}

function withCluster(error: PrintingError, clusterId: string): PrintingError {
  return new PrintingError(error.code, error.message, {
    ...error,
    ids: { ...error.ids, clusterId },
    cause: error.cause,
  });
}
