import { eventsFor } from '../events/milestones';
import type { EventDraft } from '../events/print-event';
import type { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import type { Subscriber } from './account-context';
import { News } from './news';
import type { Poller } from './poller';
import { Troubles } from './troubles';
import { intervalOf } from './turns';
import type { ClusterResult, Round, Standby, Watch, WatchOptions, WatchState } from './watch-types';

export interface WatchSurroundings {
  clock: Clock;
  /** Runs a callback of the watcher's user, whose failures must not stop the others. */
  guard: (callback: () => unknown) => void;
  closed: (watch: Watch) => void;
  /** Why this runtime does not poll a cluster; null where it does. */
  standbyOf: (clusterId: string | null) => Standby | null;
}

/** One node's view of one cluster. */
export class ClusterWatch implements Watch, Subscriber {
  readonly hears = true;
  readonly wants = 'cluster';
  readonly beside: unknown;
  readonly milestones: readonly number[];
  readonly interval: number;
  #paused: boolean;
  #closed = false;
  #poller: Poller;
  /** Polls that this watch asked for: their results go to who asked. */
  #asking = 0;
  #lastSuccess: number | null = null;
  #online: boolean | null = null;
  #standby = 'null';
  readonly #news: News | null;
  readonly #troubles: Troubles;

  constructor(
    private readonly options: WatchOptions,
    poller: Poller,
    private readonly around: WatchSurroundings,
  ) {
    this.beside = options.beside;
    this.milestones = options.milestones;
    this.interval = intervalOf(options.interval);
    this.#paused = options.paused ?? false;
    this.#news = options.onlyChanges ? new News() : null;
    this.#troubles = new Troubles(
      () => around.clock.now(),
      (error) => around.guard(() => options.onTrouble(error)),
    );
    this.#poller = poller;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** An answer to a message of this watch takes the place of its turn. */
  get keepsTurn(): boolean {
    return this.#asking === 0;
  }

  get state(): WatchState {
    return {
      paused: this.#paused,
      standby: this.around.standbyOf(this.#poller.clusterId),
      lastSuccess: this.#lastSuccess,
      trouble: this.#troubles.state,
      clusters: { total: 1, online: this.#online === false ? 0 : 1 },
    };
  }

  async ask(deliver: (round: Round) => void): Promise<PrintingError | null> {
    this.#asking++;
    try {
      const result = await this.#poller.ask();
      this.#note(result, true);
      if (result.status) this.#news?.sent(result.status);
      if (!this.#closed) deliver(roundOf(result));
      return result.error;
    } finally {
      this.#asking--;
    }
  }

  pause(): void {
    this.#paused = true;
    this.#poller.pause();
  }

  resume(): void {
    if (!this.#paused || this.#closed) return;
    this.#paused = false;
    this.#poller.resume(this, this.#asking > 0);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#poller.remove(this);
    this.around.closed(this);
  }

  serve(result: ClusterResult, due: boolean): void {
    this.#note(result, this.#asking > 0);
    if (due) this.pass(result);
  }

  pass(result: ClusterResult): void {
    if (this.#asking > 0 || this.#closed) return;
    if (result.status && this.#news && !this.#news.isNews(result.status)) result = { ...result, status: null };
    this.around.guard(() => this.options.onRound(roundOf(result)));
  }

  deliver(drafts: readonly EventDraft[]): boolean {
    const events = this.#closed ? [] : eventsFor(drafts, this.options.milestones);
    if (events.length === 0) return false;
    this.around.guard(() => this.options.onEvents(events));
    return true;
  }

  assigned(clusterId: string, isOurs: boolean): void {
    if (!isOurs) this.#troubles.forget(clusterId);
  }

  shifted(): void {
    const shown = JSON.stringify(this.state.standby);
    if (shown === this.#standby || this.#closed) return;
    this.#standby = shown;
    this.around.guard(() => this.options.onStandby?.());
  }

  /** The cluster goes on under another id. */
  moveTo(poller: Poller): void {
    this.#poller = poller;
    poller.add(this, { known: true });
  }

  #note({ clusterId, status, error }: ClusterResult, reported: boolean): void {
    if (this.#closed) return;
    if (!error) this.#lastSuccess = this.around.clock.now();
    this.#online = status?.online ?? this.#online;
    this.#troubles.note(clusterId, error, reported);
  }
}

const roundOf = (result: ClusterResult): Round => ({ results: [result], group: null, error: result.error });
