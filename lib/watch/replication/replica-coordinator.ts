import type { ApiClient } from '../../account/api-client';
import type { Assigned, Membership } from '../../state/membership';
import type { StateStore } from '../../state/store';
import { record } from '../../service/json-readers';
import { waitBefore } from '../../time/backoff';
import { sleep, type Clock } from '../../time/clock';
import { Assignments, type SharedWork } from './assignments';
import type { CheckpointStore } from '../checkpoints/checkpoint-store';
import { ClusterMemory } from '../checkpoints/cluster-memory';
import { LIST_ITEM, type Wants } from './fair-share';
import { RemoteUpdates } from './remote-updates';
import { KeepPolling } from '../polling/keep-polling';
import { OwnerNames } from './owner-names';
import type { ListPoller } from '../polling/list-poller';
import { LivePeers } from './live-peers';
import { ServiceReach } from './service-reach';
import type { Poller } from '../polling/poller';
import type { ScopeMemory } from '../checkpoints/watch-memory';
import type { Sharing, Standby } from '../watch-types';

/** Without anybody who heard of it for longer, what happened meanwhile is late, ms. */
const LATE = 60_000;
/** Polls that nobody knows the turn of come so far apart, ms. */
const APART = 5;
/** Between tries to find out which workspace it is, ms. */
const WAITS = { first: 1_000, longest: 10_000 };

/** For so long nobody is told that the store is waited for at the start, ms. */
const SHOWN_AFTER = 3_000;

interface ReplicaCoordinatorOptions extends Sharing {
  store: StateStore;
  clock: Clock;
  service: ApiClient;
  /** Ends with the watching. */
  signal: AbortSignal;
  checkpoints: () => CheckpointStore;
  list: () => ListPoller;
  pollers: ReadonlyMap<string, Poller>;
  /** When the last poll of a cluster began, monotonic ms. */
  polledAt: ReadonlyMap<string, number>;
  /** What is known under the scope of now. Rejects while nobody knows which that is. */
  scoped: () => Promise<ScopeMemory>;
  /** Whether polls have a chance. */
  usable: () => boolean;
  /** How often a cluster is polled that others wait for, ms. */
  holdInterval: number;
  moved: (clusterId: string, to: string) => Promise<void>;
  /** What `standbyOf` says may have changed. */
  shown: () => void;
  fault: (thrown: unknown) => void;
}

type Join = NonNullable<StateStore['join']>;

/** The part of the watching that other runtimes know of: which polls are this one's, and what it hands over with them. */
export class ReplicaCoordinator implements SharedWork {
  readonly membership: Membership;
  readonly tenure: Assignments;
  readonly living: LivePeers;
  /** Whether this runtime reaches the service. */
  readonly reach: ServiceReach;
  readonly #parts: ReplicaCoordinatorOptions;
  #scope: ScopeMemory | null = null;
  #looking = false;
  readonly #hearsay: RemoteUpdates;
  /** On clusters that others wait for. */
  readonly #holds = new Map<string, KeepPolling>();
  readonly #names: OwnerNames;
  /** Whether it took part when that was looked at last. */
  #isIn = false;
  /** It has taken part, or waits for that for a while: people should know. */
  #isAwaited = false;
  readonly #disarm: () => void;

  constructor(join: Join, parts: ReplicaCoordinatorOptions) {
    this.#parts = parts;
    const { topic, name, clock } = parts;
    const onChange = () => {
      this.living.look();
      this.tenure.changed();
    };
    this.reach = new ServiceReach({ ...parts, changed: () => this.tenure.changed() });
    this.membership = join(topic, { name, wants: null, onChange });
    this.living = new LivePeers(this.membership);
    this.tenure = new Assignments(this.membership, clock, this);
    this.#names = new OwnerNames(this.membership, clock, parts.shown);
    this.#disarm = clock.after(SHOWN_AFTER, () => {
      this.#isAwaited = true;
      parts.shown();
    });
    this.#hearsay = new RemoteUpdates({ ...parts, scope: () => this.#scope });
    void this.#look();
  }

  /** Hands everything over. Never rejects. */
  leave(): Promise<void> {
    this.#hearsay.end();
    this.#names.end();
    this.#disarm();
    return this.tenure.leave();
  }

  /** The sign-in, and with it the workspace, may be another one. */
  changed(): void {
    void this.#look();
  }

  wants(): Wants {
    const { list, pollers, usable } = this.#parts;
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
    return this.#parts.list().clusterIds ?? [];
  }

  gained({ item, note, idle }: Assigned, among: number): void {
    const { checkpoints, clock, list, pollers } = this.#parts;
    const { ago, late, unwritten } = record(note) ?? {};
    // A lease that was lost leaves no note. This runtime's own poll may be a moment ago all the same.
    const own = this.#parts.polledAt.get(item) ?? null;
    const polledAt = Number.isFinite(ago) ? clock.monotonic() - (ago as number) - idle : own;
    const memory = item === LIST_ITEM ? this.#scope?.list : this.#scope?.of(item);
    if (memory) {
      memory.loaded = false;
      memory.wasAlone = late === true || idle > LATE;
      if (unwritten && memory instanceof ClusterMemory) checkpoints().goOnFrom(unwritten, memory);
    }
    if (item === LIST_ITEM) list().begin(polledAt);
    else pollers.get(item)?.begin(polledAt, idle === Infinity ? null : among * APART);
  }

  async finish(item: string): Promise<void> {
    const { checkpoints } = this.#parts;
    const poller = this.#pollerOf(item);
    poller?.replan();
    await poller?.over();
    const memory = this.#scope?.clusters.get(item);
    if (this.#scope && memory?.needsWriting) checkpoints().write(this.#scope, item, memory);
    await checkpoints().settled(item);
  }

  note(item: string): unknown {
    const { checkpoints, clock, list, polledAt } = this.#parts;
    const now = clock.monotonic();
    if (item === LIST_ITEM) return { ago: now - list().polledAt };
    const memory = this.#scope?.clusters.get(item);
    const { late = false, deafSince = now } = memory ?? {};
    const unwritten = memory ? checkpoints().unwritten(memory) : null;
    return {
      ago: now - (polledAt.get(item) ?? -Infinity),
      late: late && now - deafSince > LATE,
      ...(unwritten && { unwritten }),
    };
  }

  lost(item: string): void {
    const clusters = this.#scope?.clusters;
    const memory = clusters?.get(item);
    // What could not be written may still be the latest that there is.
    if (memory?.isAhead) memory.loaded = false;
    else clusters?.delete(item);
    this.#pollerOf(item)?.end();
  }

  shifted(): void {
    const { pollers, holdInterval } = this.#parts;
    const isWanted = (clusterId: string) => this.tenure.isAwaited(clusterId) && this.tenure.isOurs(clusterId);
    for (const clusterId of this.tenure.awaited) {
      const poller = pollers.get(clusterId);
      if (poller && isWanted(clusterId) && !this.#holds.has(clusterId))
        this.#holds.set(clusterId, new KeepPolling(poller, holdInterval, { forOthers: true }));
    }
    for (const [clusterId, hold] of this.#holds)
      if (!isWanted(clusterId)) {
        this.#holds.delete(clusterId);
        hold.end();
      }
    // Whoever comes back has missed something.
    const isIn = this.membership.lock !== null;
    if (isIn && !this.#isIn) this.#hearsay.catchUp();
    this.#isIn = isIn;
    this.#isAwaited ||= isIn;
    this.#names.look(() => this.#elsewhere);
    this.#parts.shown();
  }

  fault(thrown: unknown): void {
    this.#parts.fault(thrown);
  }

  /** Why this runtime does not poll a cluster; null where it does. Null for a cluster: only what holds for all. */
  standbyOf(clusterId: string | null): Standby | null {
    if (this.membership.lock === null) return this.#isAwaited ? { why: 'store' } : null;
    if (clusterId === null || this.tenure.isOurs(clusterId)) return null;
    return { why: 'elsewhere', by: this.#names.of(clusterId) };
  }

  /** Clusters that somebody here looks at, and others poll. */
  get #elsewhere(): string[] {
    return [...this.#parts.pollers.values()]
      .filter((poller) => poller.isWatched && !poller.isOurs)
      .map(({ clusterId }) => clusterId);
  }

  #pollerOf(item: string): Poller | ListPoller | undefined {
    return item === LIST_ITEM ? this.#parts.list() : this.#parts.pollers.get(item);
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    const { scoped, clock, signal } = this.#parts;
    for (let turn = 0; !signal.aborted; turn++) {
      try {
        const scope = await scoped();
        if (scope !== this.#scope) {
          this.#scope = scope;
          this.#hearsay.catchUp();
        }
        break;
      } catch {
        await sleep(clock, waitBefore(turn, WAITS), signal).catch(() => undefined);
      }
    }
    this.#looking = false;
    this.tenure.changed();
  }
}
