import { readCheckpoint } from '../../events/checkpoint';
import { record, text } from '../../service/json-readers';
import { storedStatus } from '../../service/stored-shapes';
import type { Assigned, Membership } from '../../state/membership';
import type { Key, StateStore } from '../../state/store';
import { underDeadline } from '../../time/deadline';
import { guard } from '../../time/guard';
import { retryUntil } from '../../time/retry';
import { CHECKPOINT, type CheckpointStore, LIST_ITEM, OBSERVATION } from '../checkpoints/checkpoint-store';
import { ClusterMemory, type ScopeMemory } from '../checkpoints/memory';
import type { ListPoller } from '../polling/list-poller';
import { KeepPolling, type Poller } from '../polling/poller';
import type { PollingAccount } from '../polling/types';
import { Assignments, OwnerNames, type SharedWork, type Wants } from './assignments';
import { LivePeers, type Sharing, type Standby } from './peers';
import { ServiceReach } from './service-reach';

interface RemoteUpdatesOptions {
  store: StateStore;
  /** State of the present scope; null while the scope is unknown. */
  scope: () => ScopeMemory | null;
  list: () => ListPoller;
  pollers: ReadonlyMap<string, Poller>;
  /** Called after another runtime has reported a new cluster id. */
  moved: (clusterId: string, to: string) => Promise<void>;
  fault: (thrown: unknown) => void;
}

/** Updates published by other runtimes, which replace polls for local subscribers that wait. */
export class RemoteUpdates {
  readonly #parts: RemoteUpdatesOptions;
  readonly #end: () => void;

  constructor(parts: RemoteUpdatesOptions) {
    this.#parts = parts;
    // Where the callback throws, the store has no way to report it to this account.
    const receive = guard((key: Key | null) => this.#changed(key), parts.fault);
    this.#end = parts.store.onChange?.(receive) ?? (() => undefined);
  }

  end(): void {
    this.#end();
  }

  /** Reloads the list after missed updates. Updates of awaited clusters follow soon by themselves. */
  catchUp(): void {
    void this.#parts.list().loadPublished();
  }

  #changed(key: Key | null): void {
    if (key === null) return this.catchUp();
    const [kind, account, service, workspace, clusterId] = key;
    const here = this.#parts.scope()?.scope;
    if (!here || account !== here[0] || service !== here[1] || workspace !== here[2]) return;
    if (kind === CHECKPOINT && clusterId === undefined) void this.#parts.list().loadPublished();
    else if (kind === CHECKPOINT && clusterId !== undefined) this.#run(this.#moved(key, clusterId));
    else if (kind === OBSERVATION && clusterId !== undefined) this.#run(this.#observed(clusterId));
  }

  async #observed(clusterId: string): Promise<void> {
    const { scope, store, pollers } = this.#parts;
    const here = scope()?.scope;
    const isWanted = () => {
      const poller = pollers.get(clusterId);
      return poller?.isWaitedFor && !poller.isOurs ? poller : undefined;
    };
    if (!here || !isWanted()) return;
    const update = record(await store.get<unknown>([OBSERVATION, ...here, clusterId]));
    const figures = storedStatus(update?.figures);
    if (figures) await isWanted()?.receiveUpdate(readCheckpoint(update?.checkpoint), figures);
  }

  async #moved(key: Key, clusterId: string): Promise<void> {
    const movedTo = text(record(await this.#parts.store.get<unknown>(key))?.movedTo);
    if (movedTo !== null) await this.#parts.moved(clusterId, movedTo);
  }

  #run(work: Promise<void>): void {
    work.catch((thrown: unknown) => this.#parts.fault(thrown));
  }
}

/** Gap without an owner after which events count as late, ms. */
const LATE = 60_000;
/** Distance between gained polls whose turns are unknown, ms. */
const APART = 5;
/** Backoff for reading the scope, ms. */
const WAITS = { first: 1_000, longest: 10_000 };

/** Grace period at the start before the status says that the store is unreachable, ms. */
const SHOWN_AFTER = 3_000;

interface ReplicaCoordinatorOptions {
  sharing: Sharing;
  account: Pick<PollingAccount, 'service' | 'clock' | 'signal' | 'scoped'> & { store: StateStore };
  polls: SharedPolls;
  reports: ReplicaReports;
}

/** The polls that runtimes hand to each other. */
interface SharedPolls {
  list: () => ListPoller;
  pollers: ReadonlyMap<string, Poller>;
  /** When the last poll of a cluster began, monotonic ms. */
  polledAt: ReadonlyMap<string, number>;
  checkpoints: () => CheckpointStore;
  /** Whether the account is signed in. */
  usable: () => boolean;
  /** Polling interval of a cluster that other runtimes wait for, ms. */
  awaitedInterval: number;
}

/** Reports to the watcher. */
interface ReplicaReports {
  /** Another runtime has reported a new cluster id. */
  moved: (clusterId: string, to: string) => Promise<void>;
  /** `standbyOf` may return another reason. */
  standbyChanged: () => void;
  fault: (thrown: unknown) => void;
}

type Join = NonNullable<StateStore['join']>;

/** Coordinator of the runtimes that share an account: announces wants, and hands over polls and their state. */
export class ReplicaCoordinator implements SharedWork {
  readonly membership: Membership;
  readonly ownership: Assignments;
  readonly peers: LivePeers;
  /** Whether this runtime reaches the service. */
  readonly reach: ServiceReach;
  readonly #parts: ReplicaCoordinatorOptions;
  #scope: ScopeMemory | null = null;
  #isReadingScope = false;
  /** Whether to read the scope again: the sign-in has changed during a read. */
  #readsScopeAgain = false;
  readonly #remoteUpdates: RemoteUpdates;
  /** Subscribers that keep the clusters polled that other runtimes wait for. */
  readonly #keptPolling = new Map<string, KeepPolling>();
  readonly #names: OwnerNames;
  /** Whether this runtime was a member at the last check. */
  #wasMember = false;
  /** Whether to show a missing membership: it existed once, or the grace period has ended. */
  #showsMissing = false;
  readonly #disarm: () => void;

  constructor(join: Join, parts: ReplicaCoordinatorOptions) {
    this.#parts = parts;
    const { account, polls, reports } = parts;
    const { topic, name } = parts.sharing;
    const { clock } = account;
    const onChange = () => {
      this.peers.refresh();
      this.ownership.changed();
    };
    this.reach = new ServiceReach({ ...account, changed: () => this.ownership.changed() });
    this.membership = join(topic, { name, wants: null, onChange });
    this.peers = new LivePeers(this.membership);
    this.ownership = new Assignments(this.membership, clock, this);
    this.#names = new OwnerNames(this.membership, clock, reports.standbyChanged);
    this.#disarm = clock.after(SHOWN_AFTER, () => {
      this.#showsMissing = true;
      reports.standbyChanged();
    });
    this.#remoteUpdates = new RemoteUpdates({ ...account, ...polls, ...reports, scope: () => this.#scope });
    void this.#readScope();
  }

  /** Hands all polls over. Never rejects. */
  leave(): Promise<void> {
    this.#remoteUpdates.end();
    this.#names.end();
    this.#disarm();
    return this.ownership.leave();
  }

  /** Call after the sign-in, and with it the workspace, may have changed. */
  changed(): void {
    void this.#readScope();
  }

  wants(): Wants {
    const { list, pollers, usable } = this.#parts.polls;
    if (!this.#scope) return { workspace: null, all: false, clusters: [], waits: [] };
    const [clusters, waits]: [string[], string[]] = [[], []];
    for (const [clusterId, poller] of pollers) {
      if (poller.isWatched) clusters.push(clusterId);
      if (poller.isWaitedFor) waits.push(clusterId);
    }
    // Without a sign-in, stale messages are shared out like polls. A runtime that can poll is preferred.
    const isLost = this.reach.isLost || !usable();
    return { workspace: this.#scope.scope[2], all: list().isWatched, clusters, waits, ...(isLost && { isLost }) };
  }

  listed(): readonly string[] {
    return this.#parts.polls.list().clusterIds ?? [];
  }

  gained({ item, note, idle }: Assigned, among: number): void {
    const { account, polls } = this.#parts;
    const { checkpoints, list, pollers } = polls;
    const { ago, late, unwritten } = record(note) ?? {};
    // A lost lease leaves no note, but this runtime's own last poll may be recent.
    const own = polls.polledAt.get(item) ?? null;
    const polledAt = Number.isFinite(ago) ? account.clock.monotonic() - (ago as number) - idle : own;
    const memory = item === LIST_ITEM ? this.#scope?.list : this.#scope?.of(item);
    if (memory) {
      memory.invalidate();
      memory.wasUnwatched = late === true || idle > LATE;
      if (unwritten && memory instanceof ClusterMemory) checkpoints().resumeFrom(unwritten, memory);
    }
    if (item === LIST_ITEM) list().startRegularPolls(polledAt);
    else pollers.get(item)?.startRegularPolls(polledAt, idle === Infinity ? null : among * APART);
  }

  async finish(item: string): Promise<void> {
    const { checkpoints } = this.#parts.polls;
    const poller = this.#pollerOf(item);
    poller?.replan();
    await poller?.settled();
    const memory = this.#scope?.clusters.get(item);
    if (this.#scope && memory?.needsWriting) checkpoints().write(this.#scope, item, memory);
    await checkpoints().settled(item);
  }

  handoverOf(item: string): unknown {
    const { checkpoints, list, polledAt } = this.#parts.polls;
    const now = this.#parts.account.clock.monotonic();
    if (item === LIST_ITEM) return { ago: now - list().polledAt };
    const memory = this.#scope?.clusters.get(item);
    const { late = false, unwatchedSince = now } = memory ?? {};
    const unwritten = memory ? checkpoints().unwritten(memory) : null;
    return {
      ago: now - (polledAt.get(item) ?? -Infinity),
      late: late && now - unwatchedSince > LATE,
      ...(unwritten && { unwritten }),
    };
  }

  lost(item: string): void {
    const clusters = this.#scope?.clusters;
    const memory = clusters?.get(item);
    // State that could not be written may still be the newest.
    if (memory?.mayBeAhead) memory.invalidate();
    else clusters?.delete(item);
    this.#pollerOf(item)?.stopRegularPolls();
  }

  reassigned(): void {
    const { pollers, awaitedInterval } = this.#parts.polls;
    const isWanted = (clusterId: string) => this.ownership.isAwaited(clusterId) && this.ownership.isOurs(clusterId);
    for (const clusterId of this.ownership.awaited) {
      const poller = pollers.get(clusterId);
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
    if (isMember && !this.#wasMember) this.#remoteUpdates.catchUp();
    this.#wasMember = isMember;
    this.#showsMissing ||= isMember;
    this.#names.refresh(() => this.#elsewhere);
    this.#parts.reports.standbyChanged();
  }

  fault(thrown: unknown): void {
    this.#parts.reports.fault(thrown);
  }

  /** Reason for not polling a cluster; null where this runtime polls. `clusterId` null: a reason that holds for all. */
  standbyOf(clusterId: string | null): Standby | null {
    if (this.membership.lock === null) return this.#showsMissing ? { why: 'store' } : null;
    if (clusterId === null || this.ownership.isOurs(clusterId)) return null;
    return { why: 'elsewhere', by: this.#names.of(clusterId) };
  }

  /** Clusters watched here and polled by other runtimes. */
  get #elsewhere(): string[] {
    return [...this.#parts.polls.pollers.values()]
      .filter((poller) => poller.isWatched && !poller.isOurs)
      .map(({ clusterId }) => clusterId);
  }

  #pollerOf(item: string): Poller | ListPoller | undefined {
    const { list, pollers } = this.#parts.polls;
    return item === LIST_ITEM ? list() : pollers.get(item);
  }

  /** Reads the scope, with retries. Never rejects. */
  async #readScope(): Promise<void> {
    const { scoped, clock, signal } = this.#parts.account;
    this.#readsScopeAgain = true;
    if (this.#isReadingScope || signal.aborted) return;
    this.#isReadingScope = true;
    const read = async () => {
      let scope: ScopeMemory;
      do {
        this.#readsScopeAgain = false;
        scope = await scoped();
      } while (this.#readsScopeAgain as boolean);
      if (scope === this.#scope) return;
      this.#scope = scope;
      this.#remoteUpdates.catchUp();
    };
    await underDeadline(clock, { parent: signal }, (deadline) => retryUntil(deadline, WAITS, read)).catch(
      () => undefined,
    );
    this.#isReadingScope = false;
    this.ownership.changed();
  }
}
