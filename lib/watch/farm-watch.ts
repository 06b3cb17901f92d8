import { eventsFor } from '../events/milestones';
import type { EventDraft, PrintEvent } from '../events/print-event';
import type { PrintingError } from '../service/errors';
import type { Subscriber } from './account-context';
import type { WatchSurroundings } from './cluster-watch';
import { Group } from './group';
import type { ListPoller, ListSubscriber } from './list-poller';
import { News } from './news';
import type { Poller } from './poller';
import { LIST, Troubles } from './troubles';
import { intervalOf, SLACK } from './turns';
import type { ClusterResult, Round, Standby, Watch, WatchOptions, WatchState } from './watch-types';

interface Surroundings extends WatchSurroundings {
  list: ListPoller;
  pollerOf: (clusterId: string) => Poller;
  /** Whether polls have a chance. */
  usable: () => boolean;
  /** It watched before, and goes on in its turn. */
  known: boolean;
}

interface Member {
  poller: Poller;
  rank: number;
  /** Whether this runtime polls it. */
  isOurs: boolean;
}

let groups = 0;

/**
 * One node's view of all clusters of the account. Each is polled in its own turn; their results go out as one group at
 * the end of every interval, the newest of each.
 */
export class FarmWatch implements Watch, Subscriber, ListSubscriber {
  readonly hears = true;
  readonly wants = 'all';
  readonly beside: unknown;
  readonly milestones: readonly number[];
  readonly interval: number;
  #paused: boolean;
  #closed = false;
  readonly #members = new Map<string, Member>();
  /** How many of them this runtime polls: a group is made of these. */
  #own = 0;
  readonly #offline = new Set<string>();
  #group: Group;
  /** Those of them that this group has nothing of yet. */
  readonly #awaited = new Set<string>();
  /** The group goes out as soon as nobody is awaited any more. */
  #closing = true;
  /** Monotonic, ms. */
  readonly #begun: number;
  #boundary = 0;
  #disarm: () => void = () => undefined;
  #lastSuccess: number | null = null;
  #shown = 'null';
  #listError: PrintingError | null = null;
  /** Polls that this watch asked for: who asked gets the error. */
  #asking = 0;
  readonly #news: News | null;
  readonly #troubles: Troubles;

  constructor(
    private readonly options: WatchOptions,
    private readonly around: Surroundings,
  ) {
    this.beside = options.beside;
    this.milestones = options.milestones;
    this.interval = intervalOf(options.interval);
    this.#begun = around.clock.monotonic();
    this.#paused = options.paused ?? false;
    this.#news = options.onlyChanges ? new News() : null;
    this.#troubles = new Troubles(
      () => around.clock.now(),
      (error) => around.guard(() => options.onTrouble(error)),
    );
    this.#group = this.#newGroup((round) => this.#pass(round));
    this.#begin();
  }

  get paused(): boolean {
    return this.#paused;
  }

  get state(): WatchState {
    const total = this.#own;
    return {
      paused: this.#paused,
      standby: this.#standby,
      lastSuccess: this.#lastSuccess,
      trouble: this.#troubles.state,
      clusters: { total, online: total - this.#offline.size },
    };
  }

  async ask(deliver: (round: Round) => void): Promise<PrintingError | null> {
    this.#asking++;
    try {
      return await this.#ask(deliver);
    } finally {
      this.#asking--;
    }
  }

  async #ask(deliver: (round: Round) => void): Promise<PrintingError | null> {
    const listError = await this.around.list.ask();
    if (this.#closed) return listError;
    const group = this.#newGroup((round) => {
      for (const { status } of round.results) if (status) this.#news?.sent(status);
      if (!this.#closed) deliver(round);
    });
    await Promise.all(
      [...this.#members].map(async ([clusterId, { poller }]) => {
        const result = { ...(await poller.ask()), clusterId };
        this.#note(result);
        group.add(result);
      }),
    );
    return group.end(listError);
  }

  pause(): void {
    this.#paused = true;
    this.#disarm();
    this.#replan();
  }

  resume(): void {
    if (!this.#paused || this.#closed) return;
    this.#paused = false;
    this.#begin();
    for (const { poller } of this.#members.values()) poller.resume(this, this.#asking > 0);
    this.around.list.replan();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#disarm();
    this.around.list.remove(this);
    for (const { poller } of this.#members.values()) poller.remove(this);
    this.around.closed(this);
  }

  serve(result: ClusterResult, due: boolean): void {
    if (this.#closed) return;
    this.#note(result);
    if (!due) return;
    if (result.status && this.#news && !this.#news.isNews(result.status)) result = { ...result, status: null };
    this.#group.add(result);
    this.#awaited.delete(result.clusterId);
    if (this.#closing && this.#awaited.size === 0) this.#end();
  }

  deliver(drafts: readonly EventDraft[]): boolean {
    const events = this.#closed ? [] : eventsFor(drafts, this.options.milestones);
    return this.deliverAll(events);
  }

  deliverAll(events: PrintEvent[]): boolean {
    if (events.length === 0 || this.#closed) return false;
    this.around.guard(() => this.options.onEvents(events));
    return true;
  }

  listed(clusterIds: readonly string[] | null, error: PrintingError | null): void {
    if (this.#closed) return;
    this.#noteList(error);
    if (clusterIds) this.#setMembers(clusterIds);
    const isWhole = this.#awaited.size === 0 && (this.#own > 0 || this.#members.size === 0);
    if (this.#closing && isWhole && (clusterIds ?? error)) this.#end();
  }

  /** A cluster goes on under another id. */
  moveTo(poller: Poller, previous: string): void {
    const rank = this.#members.get(previous)?.rank ?? this.#members.size;
    this.#leave(previous);
    this.#join(poller.clusterId, rank, true);
  }

  /** Those of other runtimes take no part in groups; who asks gets them too. */
  assigned(clusterId: string, isOurs: boolean): void {
    const member = this.#members.get(clusterId);
    if (!member || this.#closed) return;
    if (member.isOurs !== isOurs) this.#own += isOurs ? 1 : -1;
    member.isOurs = isOurs;
    if (isOurs) return void this.#awaited.add(clusterId);
    this.#awaited.delete(clusterId);
    this.#offline.delete(clusterId);
    this.#troubles.forget(clusterId);
  }

  shifted(): void {
    const shown = JSON.stringify(this.#standby);
    if (shown === this.#shown || this.#closed) return;
    this.#shown = shown;
    this.around.guard(() => this.options.onStandby?.());
  }

  /** With a part of them it is at work. */
  get #standby(): Standby | null {
    if (this.#own > 0 || this.#members.size === 0) return this.around.standbyOf(null);
    return this.around.standbyOf(null) ?? { why: 'elsewhere', by: null };
  }

  #setMembers(clusterIds: readonly string[]): void {
    const listed = new Set(clusterIds);
    for (const clusterId of [...this.#members.keys()]) if (!listed.has(clusterId)) this.#leave(clusterId);
    clusterIds.forEach((clusterId, rank) => this.#join(clusterId, rank));
  }

  #join(clusterId: string, rank: number, known = this.around.known): void {
    const member = this.#members.get(clusterId);
    if (member) return void (member.rank = rank);
    const poller = this.around.pollerOf(clusterId);
    this.#members.set(clusterId, { poller, rank, isOurs: false });
    this.assigned(clusterId, poller.isOurs);
    poller.add(this, { known, by: this.#begun + this.interval });
  }

  #leave(clusterId: string): void {
    this.assigned(clusterId, false);
    const member = this.#members.get(clusterId);
    this.#members.delete(clusterId);
    this.#group.drop(clusterId);
    member?.poller.remove(this);
  }

  /** From now on a group goes out once per interval; the first as soon as it is whole. */
  #begin(): void {
    this.#boundary = this.around.clock.monotonic() + this.interval;
    this.#closing = true;
    this.#awaitAll();
    if (!this.#paused) this.#arm(this.#boundary, () => this.#close());
  }

  /** The interval is over: what can still come is waited for a little, what fails is not. */
  #close(): void {
    if (!this.around.usable()) return this.#next();
    this.#closing = true;
    for (const clusterId of this.#awaited) {
      const poller = this.#members.get(clusterId)?.poller;
      if (poller?.failing) this.#fill(clusterId, poller);
    }
    if (this.#awaited.size === 0) return this.#end();
    this.#arm(this.#boundary + SLACK * this.interval, () => {
      for (const clusterId of this.#awaited) {
        const poller = this.#members.get(clusterId)?.poller;
        if (poller) this.#fill(clusterId, poller);
      }
      this.#end();
    });
  }

  #fill(clusterId: string, poller: Poller): void {
    this.#awaited.delete(clusterId);
    const result = poller.lastKnown();
    const { status } = result;
    if (status && (!this.#news || this.#news.isNews(status))) this.#group.add(result);
  }

  #end(): void {
    this.#group.end(this.#listError);
    this.#group = this.#newGroup((round) => this.#pass(round));
    this.#closing = false;
    this.#awaitAll();
    this.#next();
  }

  #next(): void {
    // The first group of many clusters ends with an interval: the next is not the moment after.
    const soonest = this.around.clock.monotonic() + this.interval / 2;
    while (this.#boundary < soonest) this.#boundary += this.interval;
    this.#arm(this.#boundary, () => this.#close());
  }

  #arm(time: number, action: () => void): void {
    this.#disarm();
    const { clock, guard } = this.around;
    this.#disarm = clock.after(Math.max(0, time - clock.monotonic()), () => guard(action));
  }

  #awaitAll(): void {
    this.#awaited.clear();
    for (const [clusterId, { isOurs }] of this.#members) if (isOurs) this.#awaited.add(clusterId);
  }

  #replan(): void {
    for (const { poller } of this.#members.values()) poller.pause();
    this.around.list.replan();
  }

  #pass(round: Round): void {
    if (!this.#closed && !this.#paused) this.around.guard(() => this.options.onRound(round));
  }

  #newGroup(deliver: (round: Round) => void): Group {
    const rankOf = (clusterId: string) => this.#members.get(clusterId)?.rank ?? Infinity;
    return new Group({ id: `${++groups}`, size: () => this.#own, rankOf, deliver });
  }

  #note({ clusterId, status, error }: ClusterResult): void {
    if (this.#closed || !this.#members.get(clusterId)?.isOurs) return;
    if (status?.online === false) this.#offline.add(clusterId);
    else if (status) this.#offline.delete(clusterId);
    this.#troubles.note(clusterId, error, this.#asking > 0);
    if (!this.#troubles.state) this.#lastSuccess = this.around.clock.now();
  }

  #noteList(error: PrintingError | null): void {
    this.#listError = error;
    this.#troubles.note(LIST, error, this.#asking > 0);
    if (!this.#troubles.state) this.#lastSuccess = this.around.clock.now();
  }
}
