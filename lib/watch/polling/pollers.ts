import { reboundEvent, type ListedIdentity, type Rebound } from '../../events/list-changes';
import type { EventDraft } from '../../events/print-event';
import { isoTime } from '../../time/clock';
import { ClusterMemory, type ListedCluster, type ScopeMemory } from '../checkpoints/memory';
import { isSecured, LIST, SOLE_OWNER } from '../checkpoints/checkpoint-store';
import { ListPoller } from './list-poller';
import type { PollingAccount, PollMoves, PollReports, PollResult, Subscriber } from './types';
import { Poller } from './poller';

/** Pollers of one account: of each cluster in use, and of the list. A cluster with a new id moves from one to another. */
export class Pollers implements PollMoves {
  readonly list: ListPoller;
  readonly #clusters = new Map<string, Poller>();

  constructor(
    private readonly account: PollingAccount,
    private readonly reports: PollReports,
  ) {
    this.list = new ListPoller(account, reports, this);
  }

  /** Returns the poller of a cluster, if it is in use. */
  get(clusterId: string): Poller | undefined {
    return this.#clusters.get(clusterId);
  }

  /** Returns the poller of a cluster, a new one if need be. */
  of(clusterId: string): Poller {
    let poller = this.#clusters.get(clusterId);
    if (!poller) this.#clusters.set(clusterId, (poller = new Poller(clusterId, this.account, this.reports, this)));
    return poller;
  }

  /** Pollers of clusters. */
  values(): IterableIterator<Poller> {
    return this.#clusters.values();
  }

  isInDoubt(clusterId: string): boolean {
    return this.list.isInDoubt(clusterId);
  }

  /** Drops the poller of a cluster that is no longer in use. */
  release(clusterId: string): void {
    const poller = this.#clusters.get(clusterId);
    if (poller) this.account.plan.scheduler.remove(poller);
    this.#clusters.delete(clusterId);
  }

  /** Moves a machine to its new id: delivers the event once, and moves the checkpoint. Only the owner does so. */
  async rebind({ previous, cluster }: Rebound<ListedCluster>): Promise<PollResult> {
    const { ownership } = this.account;
    const lock = ownership.lockOf(previous);
    const poller = this.of(cluster.clusterId);
    if (lock === null) return poller.askNow();
    const scope = await this.account.scoped();
    // A runtime that polls the new id already has a checkpoint of its own.
    const isWhole = await ownership.claim(cluster.clusterId);
    const [from, to] = [scope.of(previous), scope.of(cluster.clusterId)];
    await this.account.checkpoints.load(scope, previous, from);
    await this.account.checkpoints.load(scope, cluster.clusterId, to);
    const isNew = from.movedTo !== cluster.clusterId;
    if (isNew && ownership !== SOLE_OWNER && !(await isSecured(ownership, previous, lock)))
      return this.of(previous).lastKnown();
    if (isNew && this.#deliverRebound(previous, cluster, from)) {
      to.movedTo = null;
      if (isWhole && !to.hasCheckpoint && from.hasCheckpoint) to.continueFrom(from);
      from.restore(null, null);
      from.movedTo = cluster.clusterId;
      if (isWhole && to.hasCheckpoint) this.account.checkpoints.write(scope, cluster.clusterId, to);
      this.account.checkpoints.write(scope, previous, from);
      this.#replaceListed(scope, previous, cluster);
      this.list.moveTo(this.of(cluster.clusterId), previous);
    }
    return this.redirect(previous, cluster.clusterId);
  }

  /** Handles a new id found in the list. The runtime that polls the old id reports the move; any may if none polls it. */
  async rebindListed(rebound: Rebound<ListedCluster>): Promise<void> {
    const { previous, cluster } = rebound;
    if (await this.account.ownership.claim(previous)) {
      await this.rebind(rebound);
      return;
    }
    const scope = await this.account.scoped();
    const known = new ClusterMemory();
    await this.account.checkpoints.load(scope, previous, known);
    if (known.movedTo === cluster.clusterId) await this.followRemote(previous, known.movedTo);
  }

  /** Follows a move that another runtime has reported. */
  async followRemote(previous: string, movedTo: string): Promise<void> {
    const scope = await this.account.scoped();
    const listed = this.account.list.last?.get(movedTo);
    const before = scope.list.checkpoint?.known.find(({ clusterId }) => clusterId === previous);
    if (this.account.ownership.isOurs(LIST) && before)
      this.#replaceListed(scope, previous, listed ?? { ...before, clusterId: movedTo });
    if (this.#clusters.has(previous)) await this.#moveSubscribers(previous, movedTo);
  }

  /** Delivers the event of the move. Returns false where no subscriber received it. */
  #deliverRebound(previous: string, cluster: ListedCluster, from: ClusterMemory): boolean {
    const { clock } = this.account;
    const late = from.areEventsLate(clock.monotonic());
    const event = reboundEvent(previous, cluster, { at: isoTime(clock.now()), late, known: from.checkpoint });
    const draft: EventDraft = { event };
    const single = this.get(previous)?.eventSubscribers.filter((one) => one.wants !== 'all') ?? [];
    const toAll = this.list.deliver([event], single);
    return single.map(({ events }) => events.deliver([draft])).some((delivered) => delivered) || toAll;
  }

  #replaceListed(scope: ScopeMemory, previous: string, { clusterId, hostGuid, name }: ListedIdentity): void {
    const { checkpoint } = scope.list;
    if (!this.account.ownership.isOurs(LIST)) return;
    if (!checkpoint?.known.some((known) => known.clusterId === previous)) return;
    const others = checkpoint.known.filter((known) => known.clusterId !== previous && known.clusterId !== clusterId);
    scope.list.checkpoint = { ...checkpoint, known: [...others, { clusterId, hostGuid, name }] };
    scope.list.clusters = scope.list.clusters.map((cluster) =>
      cluster.clusterId === previous ? { ...cluster, clusterId, hostGuid, name } : cluster,
    );
    this.account.checkpoints.writeList(scope);
  }

  /** Moves all subscribers to the new id and polls it. */
  async redirect(clusterId: string, movedTo: string): Promise<PollResult> {
    return (await this.#moveSubscribers(clusterId, movedTo)).askNow();
  }

  async #moveSubscribers(clusterId: string, movedTo: string): Promise<Poller> {
    const next = this.of(await this.#resolveMoves(clusterId, movedTo));
    const poller = this.get(clusterId);
    for (const subscriber of poller?.subscribers ?? []) {
      poller?.remove(subscriber);
      if (isMovable(subscriber)) subscriber.moveTo(next, clusterId);
    }
    return next;
  }

  /** Follows the chain of moved ids to its end, and breaks a chain that leads back. */
  async #resolveMoves(clusterId: string, movedTo: string): Promise<string> {
    const scope = await this.account.scoped();
    const passed = new Set([clusterId]);
    for (let id = movedTo; ;) {
      const memory = scope.of(id);
      await this.account.checkpoints.load(scope, id, memory);
      if (memory.movedTo === null || passed.has(memory.movedTo)) {
        memory.movedTo = null;
        return id;
      }
      passed.add(id);
      id = memory.movedTo;
    }
  }
}

/** Subscriber that can move to a new cluster id; all of them can. */
type Movable = Subscriber & { moveTo(poller: Poller, previous: string): void };

const isMovable = (subscriber: Subscriber): subscriber is Movable => 'moveTo' in subscriber;
