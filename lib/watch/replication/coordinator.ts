import { asPrintingError } from '../../service/errors';
import { record, text } from '../../service/json-readers';
import type { Assigned, Membership } from '../../state/membership';
import type { Key, StateStore } from '../../state/store';
import { underDeadline } from '../../time/deadline';
import { Rerun } from '../../time/concurrency';
import { guard } from '../../time/guard';
import { retryUntil } from '../../time/retry';
import { CHECKPOINT, type CheckpointStore, LIST } from '../checkpoints/checkpoint-store';
import { ClusterMemory, type ScopeMemory } from '../checkpoints/memory';
import type { ListPoller } from '../polling/list-poller';
import { KeepPolling, type Poller } from '../polling/poller';
import type { Pollers } from '../polling/pollers';
import type { PollingAccount } from '../polling/types';
import { Assignments, type SharedWork, type Wants } from './assignments';
import { OBSERVATION, POLLED, SharedObservations } from './observations';
import { LivePeers, OwnerNames, type Sharing, type Standby } from './peers';
import { ServiceReach } from './service-reach';

/** Distance between gained polls whose turns are unknown, ms. */
const APART = 5;
/** Backoff for reading the scope, ms. */
const WAITS = { first: 1_000, longest: 10_000 };

/** Grace period at the start before the status says that the store is unreachable, ms. */
const SHOWN_AFTER = 3_000;

interface ReplicaCoordinatorOptions extends Pick<PollingAccount, 'service' | 'clock' | 'signal' | 'scoped'> {
  sharing: Sharing;
  store: StateStore;
  signIn: { readonly usable: boolean };
  pollers: () => Pollers;
  /** When the last poll of a cluster began, monotonic ms. */
  polledAt: Map<string, number>;
  checkpoints: () => CheckpointStore;
  /** Polling interval of a cluster that other runtimes wait for, ms. */
  awaitedInterval: number;
  /** Called after `standbyOf` may have changed. */
  standbyChanged: () => void;
  fault: (thrown: unknown) => void;
}

/** Coordinator of the runtimes that share an account: announces wants, and hands over polls and their state. */
export class ReplicaCoordinator implements SharedWork {
  readonly membership: Membership;
  readonly ownership: Assignments;
  readonly peers: LivePeers;
  readonly observations: SharedObservations;
  /** Whether this runtime reaches the service. */
  readonly reach: ServiceReach;
  #scope: ScopeMemory | null = null;
  readonly #scopeReads = new Rerun(() => this.#readScope());
  readonly #endUpdates: () => void;
  /** Subscribers that keep the clusters polled that other runtimes wait for. */
  readonly #keptPolling = new Map<string, KeepPolling>();
  readonly #names: OwnerNames;
  /** Whether this runtime was a member at the last check. */
  #wasMember = false;
  /** Whether to show a missing membership: it existed once, or the grace period has ended. */
  #showsMissing = false;
  readonly #disarm: () => void;

  constructor(
    join: NonNullable<StateStore['join']>,
    private readonly options: ReplicaCoordinatorOptions,
  ) {
    const { clock, store, standbyChanged, fault } = options;
    const { topic, name } = options.sharing;
    const onChange = () => {
      this.peers.refresh();
      this.ownership.changed();
    };
    this.reach = new ServiceReach(options, () => this.ownership.changed());
    this.membership = join(topic, { name, wants: null, onChange });
    this.peers = new LivePeers(this.membership);
    this.ownership = new Assignments(this.membership, clock, this);
    this.observations = new SharedObservations(this.membership, options);
    this.#names = new OwnerNames(this.membership, clock, standbyChanged);
    this.#disarm = clock.after(SHOWN_AFTER, () => {
      this.#showsMissing = true;
      standbyChanged();
    });
    // Where the callback throws, the store has no way to report it to this account.
    const onUpdate = guard((key: Key | null) => this.#storeChanged(key), fault);
    this.#endUpdates = store.onChange?.(onUpdate) ?? (() => undefined);
    this.changed();
  }

  /** Hands all polls over. Never rejects. */
  leave(): Promise<void> {
    this.#endUpdates();
    this.observations.end();
    this.#names.end();
    this.#disarm();
    return this.ownership.leave();
  }

  /** Call after the sign-in, and with it the workspace, may have changed. */
  changed(): void {
    void this.#scopeReads.request();
  }

  wants(): Wants {
    const { pollers, signIn } = this.options;
    if (!this.#scope) return { workspace: null, all: false, clusters: [], waits: [] };
    const [clusters, waits]: [string[], string[]] = [[], []];
    for (const { clusterId, isWatched, isWaitedFor } of pollers().values()) {
      if (isWatched) clusters.push(clusterId);
      if (isWaitedFor) waits.push(clusterId);
    }
    // Without a sign-in, stale messages are shared out like polls. A runtime that can poll is preferred.
    const isLost = this.reach.isLost || !signIn.usable;
    return {
      workspace: this.#scope.scope[2],
      all: pollers().list.isWatched,
      clusters,
      waits,
      ...(isLost && { isLost }),
    };
  }

  listed(): readonly string[] {
    return this.options.pollers().list.clusterIds ?? [];
  }

  gained({ item, note, idle }: Assigned, among: number): void {
    const { clock, checkpoints, pollers } = this.options;
    const { ago, late, unwritten } = record(note) ?? {};
    // A lost lease leaves no note, but this runtime's own last poll may be recent.
    const own = this.options.polledAt.get(item) ?? null;
    const polledAt = Number.isFinite(ago) ? clock.monotonic() - (ago as number) - idle : own;
    const memory = item === LIST ? this.#scope?.list : this.#scope?.of(item);
    if (memory) {
      memory.invalidate();
      memory.recordTakeover(late === true, idle);
      if (unwritten && memory instanceof ClusterMemory) checkpoints().resumeFrom(unwritten, memory);
    }
    if (item === LIST) return pollers().list.startRegularPolls(polledAt);
    const poller = pollers().get(item);
    if (poller) poller.startRegularPolls(polledAt, idle === Infinity ? null : among * APART);
    // The printers of a list are joined in turns: a watch that comes later must not poll right after the last owner.
    else if (polledAt !== null) this.options.polledAt.set(item, polledAt);
  }

  async finish(item: string): Promise<void> {
    const { checkpoints } = this.options;
    const poller = this.#pollerOf(item);
    poller?.replan();
    await poller?.settled();
    const memory = this.#scope?.clusters.get(item);
    if (this.#scope && memory?.needsWriting) checkpoints().write(this.#scope, item, memory);
    await checkpoints().settled(item);
  }

  handoverOf(item: string): unknown {
    const { clock, checkpoints, pollers, polledAt } = this.options;
    const now = clock.monotonic();
    if (item === LIST) return { ago: now - pollers().list.polledAt };
    const memory = this.#scope?.clusters.get(item);
    const unwritten = memory ? checkpoints().unwritten(memory) : null;
    return {
      ago: now - (polledAt.get(item) ?? -Infinity),
      late: memory?.areEventsLate(now) ?? false,
      ...(unwritten && { unwritten }),
    };
  }

  lost(item: string): void {
    const clusters = this.#scope?.clusters;
    const memory = clusters?.get(item);
    // State that could not be written may still be the newest.
    if (memory?.mayBeAhead) memory.invalidate();
    else clusters?.delete(item);
    this.observations.forget(item);
    this.#pollerOf(item)?.stopRegularPolls();
  }

  reassigned(): void {
    const { pollers, awaitedInterval } = this.options;
    const isWanted = (clusterId: string) => this.ownership.isAwaited(clusterId) && this.ownership.isOurs(clusterId);
    for (const clusterId of this.ownership.awaited) {
      const poller = pollers().get(clusterId);
      if (poller && isWanted(clusterId) && !this.#keptPolling.has(clusterId))
        this.#keptPolling.set(clusterId, new KeepPolling(poller, awaitedInterval, { forOthers: true }));
    }
    for (const [clusterId, keepPolling] of this.#keptPolling)
      if (!isWanted(clusterId)) {
        this.#keptPolling.delete(clusterId);
        keepPolling.end();
      }
    // A returning member has missed updates.
    const isMember = this.membership.lock !== null;
    if (isMember && !this.#wasMember) this.#catchUp();
    this.#wasMember = isMember;
    this.#showsMissing ||= isMember;
    this.#names.refresh(() => this.#elsewhere);
    this.options.standbyChanged();
  }

  fault(thrown: unknown): void {
    this.options.fault(thrown);
  }

  /** Reason for not polling a cluster; null where this runtime polls. `clusterId` null: a reason that holds for all. */
  standbyOf(clusterId: string | null): Standby | null {
    if (this.membership.lock === null) return this.#showsMissing ? { why: 'store' } : null;
    if (clusterId === null || this.ownership.isOurs(clusterId)) return null;
    return { why: 'elsewhere', by: this.#names.of(clusterId) };
  }

  /** Clusters watched here and polled by other runtimes. */
  get #elsewhere(): string[] {
    return [...this.options.pollers().values()]
      .filter((poller) => poller.isWatched && !poller.isOurs)
      .map(({ clusterId }) => clusterId);
  }

  #pollerOf(item: string): Poller | ListPoller | undefined {
    const pollers = this.options.pollers();
    return item === LIST ? pollers.list : pollers.get(item);
  }

  /** Reads the scope, with retries. Never rejects. */
  async #readScope(): Promise<void> {
    const { scoped, clock, signal } = this.options;
    if (signal.aborted) return;
    const read = async () => {
      const scope = await scoped();
      if (scope === this.#scope) return;
      this.#scope = scope;
      this.#catchUp();
    };
    // The next sign-in says whose state it is.
    const waitAfter = (error: unknown) => (asPrintingError(error).code === 'NOT_SIGNED_IN' ? null : undefined);
    await underDeadline(clock, { parent: signal }, (deadline) =>
      retryUntil(deadline, WAITS, read, { waitAfter }),
    ).catch(() => undefined);
    this.ownership.changed();
  }

  /** Reloads the list after missed updates. Updates of awaited clusters follow soon by themselves. */
  #catchUp(): void {
    void this.options.pollers().list.loadPublished();
  }

  /** Handles a write by another runtime: of the list, of a cluster's new id, or of an observation. */
  #storeChanged(key: Key | null): void {
    if (key === null) return this.#catchUp();
    const [kind, account, service, workspace, clusterId] = key;
    const here = this.#scope?.scope;
    if (!here || account !== here[0] || service !== here[1] || workspace !== here[2]) return;
    const { fault } = this.options;
    if (kind === CHECKPOINT && clusterId === undefined) this.#catchUp();
    else if (kind === CHECKPOINT && clusterId !== undefined) this.#receiveMove(key, clusterId).catch(fault);
    else if (kind === OBSERVATION && clusterId !== undefined) this.observations.receive(key, clusterId).catch(fault);
    else if (kind === POLLED) this.observations.receivePolled(key, here).catch(fault);
  }

  async #receiveMove(key: Key, clusterId: string): Promise<void> {
    const movedTo = text(record(await this.options.store.get<unknown>(key))?.movedTo);
    if (movedTo !== null) await this.options.pollers().followRemote(clusterId, movedTo);
  }
}
