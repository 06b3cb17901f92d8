import { eventsFor } from '../../events/milestones';
import type { EventDraft, PrintEvent } from '../../events/print-event';
import type { PrintingError } from '../../service/errors';
import type { Subscriber } from '../polling/account-context';
import { audienceOf, type WatchSurroundings } from './cluster-watch';
import { ResultBatch } from './result-batch';
import type { ListPoller, ListSubscriber } from '../polling/list-poller';
import { ChangeFilter } from './change-filter';
import type { Poller } from '../polling/poller';
import { LIST, PollFailures } from './poll-failures';
import { intervalOf, SLACK } from '../polling/poll-timing';
import type { PollResult, Round, Standby, Watch, WatchOptions, WatchState } from '../watch-types';

interface Surroundings extends WatchSurroundings {
  list: ListPoller;
  pollerOf: (clusterId: string) => Poller;
  /** It watched before, and goes on in its turn. */
  known: boolean;
}

interface WatchedCluster {
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
export class AllClustersWatch implements Watch, Subscriber, ListSubscriber {
  readonly hears = true;
  readonly wants = 'all';
  readonly beside: unknown;
  readonly milestones: readonly number[];
  readonly interval: number;
  readonly audience: string;
  #paused: boolean;
  #closed = false;
  readonly #members = new Map<string, WatchedCluster>();
  /** How many of them this runtime polls: a group is made of these. */
  #own = 0;
  readonly #offline = new Set<string>();
  /** Those whose last figures that went out were older than an interval. */
  readonly #overdue = new Set<string>();
  #group: ResultBatch;
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
  readonly #news: ChangeFilter | null;
  readonly #troubles: PollFailures;

  constructor(
    private readonly options: WatchOptions,
    private readonly around: Surroundings,
  ) {
    this.beside = options.beside;
    this.milestones = options.milestones;
    this.interval = intervalOf(options.interval);
    this.#begun = around.clock.monotonic();
    this.#paused = options.paused ?? false;
    this.#news = options.onlyChanges ? new ChangeFilter() : null;
    this.audience = audienceOf(options);
    this.#troubles = new PollFailures(() => around.clock.now());
    this.#group = this.#newGroup((round) => this.#pass(round));
    this.#begin();
  }

  get paused(): boolean {
    return this.#paused;
  }

  get isAsking(): boolean {
    return this.#asking > 0;
  }

  get state(): WatchState {
    const total = this.#own;
    return {
      paused: this.#paused,
      standby: this.#standby,
      lastSuccess: this.#lastSuccess,
      trouble: this.#troubles.state,
      overdue: this.#overdue.size > 0,
      clusters: { total, online: total - this.#offline.size },
    };
  }

  async ask(deliver: (round: Round) => void): Promise<PrintingError | null> {
    this.#asking++;
    const failed: string[] = [];
    let error: PrintingError | null = null;
    try {
      error = await this.#ask(deliver, failed);
      return error && failed.length > 1 ? this.around.summary(error, failed) : error;
    } finally {
      this.#asking--;
      this.around.asked(this, error, failed);
    }
  }

  trouble(error: PrintingError): void {
    if (!this.#closed) this.around.guard(() => this.options.onTrouble(error));
  }

  async #ask(deliver: (round: Round) => void, failed: string[]): Promise<PrintingError | null> {
    const listError = await this.around.list.ask();
    if (listError) failed.push(LIST);
    if (this.#closed) return listError;
    const group = this.#newGroup((round) => {
      for (const { status } of round.results) if (status) this.#news?.sent(status);
      if (!this.#closed) deliver(round);
    }, true);
    await Promise.all(
      [...this.#members].map(async ([clusterId, { poller }]) => {
        const result = { ...(await poller.ask()), clusterId };
        this.#note(result);
        if (result.error) failed.push(clusterId);
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

  serve(result: PollResult, due: boolean): void {
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
    this.#overdue.delete(clusterId);
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
    if (!this.around.usable()) return void this.#recall();
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
    this.#addKnown(poller.lastKnown(this.#longest));
  }

  #addKnown(result: PollResult): void {
    const { status } = result;
    if (status?.stale) this.#overdue.add(status.clusterId);
    if (status && (!this.#news || this.#news.isNews(status))) this.#group.add(result);
  }

  /** Nobody is signed in: the last known figures of all go out. Never rejects. */
  async #recall(): Promise<void> {
    const clusterIds = this.#members.size > 0 ? [] : await this.around.list.recall();
    if (this.#closed) return;
    let isKnown = false;
    if (clusterIds.length > 0) this.#setMembers(clusterIds);
    for (const [clusterId, { poller, isOurs }] of [...this.#members]) {
      if (!isOurs) continue;
      const result = await poller.recall();
      if (this.#isOver()) return;
      if (this.around.usable()) break;
      if (result.status && this.#members.get(clusterId)?.isOurs) {
        this.#addKnown(result);
        isKnown = true;
      }
    }
    if (!isKnown) return this.#next();
    this.#end();
    // The first group after the next sign-in goes out as soon as it is whole.
    this.#closing = true;
  }

  #isOver(): boolean {
    return this.#closed || this.#paused;
  }

  /** How old figures may be that are not stale, ms: turns may be moved by as much. */
  get #longest(): number {
    return (1 + SLACK) * this.interval;
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

  #newGroup(deliver: (round: Round) => void, isAsked = false): ResultBatch {
    const rankOf = (clusterId: string) => this.#members.get(clusterId)?.rank ?? Infinity;
    const { clock, usable } = this.around;
    // A poll for a message is fresh for it, however long other polls last.
    const isOld = (addedAt: number) => !isAsked && (!usable() || clock.monotonic() - addedAt > this.#longest);
    const now = () => clock.monotonic();
    return new ResultBatch({ id: `${++groups}`, size: () => this.#own, rankOf, now, isOld, deliver });
  }

  #note({ clusterId, status, error }: PollResult): void {
    if (this.#closed || !this.#members.get(clusterId)?.isOurs) return;
    if (status?.online === false) this.#offline.add(clusterId);
    else if (status) this.#offline.delete(clusterId);
    this.#troubles.note(clusterId, error);
    if (!error) this.#overdue.delete(clusterId);
    this.#noteSuccess();
  }

  #noteSuccess(): void {
    if (!this.#troubles.state && this.#overdue.size === 0) this.#lastSuccess = this.around.clock.now();
  }

  #noteList(error: PrintingError | null): void {
    this.#listError = error;
    this.#troubles.note(LIST, error);
    this.#noteSuccess();
  }
}
