import type { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import type { Rider, RiderChain } from './account-context';
import { changed } from './changed';
import type { ClusterPoll } from './cluster-poll';
import type { Happening } from './events';
import { eventsFor } from './milestones';
import { intervalOf } from './next-poll';
import type { PollOutcome, Round, Watch, WatchOptions, WatchState } from './watch-types';

interface Surroundings {
  clock: Clock;
  chain: RiderChain;
  /** Runs a callback of the watcher's user, whose failures must not stop the others. */
  guard: (callback: () => void) => void;
  closed: () => void;
  /** Aborts when all watching ends. */
  signal: AbortSignal;
}

/** One node's view of the shared polls. */
export class OneWatch implements Watch, Rider {
  readonly interval: number;
  #paused = false;
  #closed = false;
  #chain: RiderChain;
  /** Polls this watch asked for and waits for: their rounds go to who asked. */
  #asking = 0;
  /** What was last passed on of each cluster. */
  readonly #sent = new Map<string, unknown>();
  /** By cluster; the list's under a blank. */
  #troubles = new Map<string, PrintingError>();
  #troubleSince = 0;
  #lastSuccess: number | null = null;

  constructor(
    private readonly options: WatchOptions,
    private readonly around: Surroundings,
  ) {
    this.interval = intervalOf(options.interval);
    this.#chain = around.chain;
  }

  get paused(): boolean {
    return this.#paused;
  }

  get state(): WatchState {
    const [error] = this.#troubles.values();
    return {
      paused: this.#paused,
      lastSuccess: this.#lastSuccess,
      trouble: error ? { error, since: this.#troubleSince } : null,
    };
  }

  async poll(): Promise<Round> {
    this.#asking++;
    try {
      const outcome = await this.#chain.poll(true);
      this.#notice(outcome);
      return this.#round(outcome);
    } finally {
      this.#asking--;
    }
  }

  pause(): void {
    this.#paused = true;
    this.#chain.rest();
  }

  resume(): void {
    if (!this.#paused || this.#closed) return;
    this.#paused = false;
    this.#chain.wake();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#chain.remove(this);
    this.around.closed();
  }

  serve(outcome: PollOutcome, due: boolean): void {
    if (this.#asking > 0) return;
    this.#notice(outcome);
    if (due && !this.#closed) this.around.guard(() => this.options.onRound(this.#round(outcome)));
  }

  tell(happenings: readonly Happening[]): boolean {
    const events = eventsFor(happenings, this.options.milestones);
    if (events.length === 0 || this.#closed) return false;
    this.around.guard(() => this.options.onEvents(events));
    return true;
  }

  moveTo({ chain }: ClusterPoll): void {
    this.#chain = chain;
    chain.add(this);
  }

  #round({ results, listError }: PollOutcome): Round {
    const seen = results.map((result) => {
      const news = result.status !== null && changed(this.#sent.get(result.clusterId), result.status);
      if (news) this.#sent.set(result.clusterId, result.status);
      return { ...result, changed: news };
    });
    const error = listError ?? results.find((result) => result.error)?.error ?? null;
    return { results: seen, error, changed: seen.some((result) => result.changed) };
  }

  /** Tells each outage when it begins, and when the last one is over. */
  #notice({ results, listError }: PollOutcome): void {
    if (this.#closed || this.around.signal.aborted) return;
    const before = this.#troubles;
    const failed = results.flatMap(({ clusterId, error }) => (error ? [[clusterId, error] as const] : []));
    // Without the list nothing new is known of the clusters.
    const now = listError ? new Map(before).set('', listError) : new Map(failed);
    this.#troubles = now;
    if (now.size === 0) this.#lastSuccess = this.around.clock.now();
    if (before.size === 0 && now.size > 0) this.#troubleSince = this.around.clock.now();
    for (const [clusterId, error] of now) {
      if (!before.has(clusterId)) this.around.guard(() => this.options.onTrouble(error));
    }
    if (before.size > 0 && now.size === 0) this.around.guard(() => this.options.onTrouble(null));
  }
}
