import { MEMBER } from '../../rules/limits';
import { list, record, text } from '../../service/json-readers';
import type { Assigned, Lock, Member, Membership } from '../../state/membership';
import type { Clock } from '../../time/clock';
import { Rerun } from '../../time/concurrency';
import { LIST, type Ownership } from '../checkpoints/checkpoint-store';

/** Clusters that a runtime wants polled, as published to its peers. */
export interface Wants {
  /** Workspace of the clusters; null: it wants none yet. */
  workspace: string | null;
  /** Wants all listed clusters, and the list itself. */
  all: boolean;
  /** Clusters watched individually. */
  clusters: readonly string[];
  /** Awaited clusters: results polled elsewhere suffice. A runtime that watches such a cluster polls it. */
  waits: readonly string[];
  /** Can't poll (no connection, or no sign-in): runtimes that can, and want the same clusters, poll them. */
  isLost?: boolean;
}

interface FairShare {
  /** All wanted items, uncontested ones first. */
  wanted: readonly string[];
  /** Number of items to hold. */
  target: number;
  /** Whether another runtime wants the item as well. */
  isContested: (item: string) => boolean;
  /** Clusters that other runtimes wait for. */
  awaited: ReadonlySet<string>;
  /** Whether any runtime wants the list. */
  hasList: boolean;
  /** Fingerprint of all shares: changes exactly when they do. */
  shape: string;
}

interface Peer {
  id: string;
  wants: Wants;
  share: number;
}

/** Tolerance for sums of fractions that should be whole. */
const EPSILON = 1e-6;

/**
 * Computes a runtime's fair share. Each item counts in equal parts for all runtimes that want it. The remainder goes to
 * the longest-running members, so that a joining or leaving runtime moves no more than its own share.
 */
export function fairShare(id: string, members: readonly Member[], listed: readonly string[]): FairShare {
  const allPeers: Peer[] = [...members]
    .sort((one, other) => one.since - other.since || (one.id < other.id ? -1 : 1))
    .map((member) => ({ id: member.id, wants: readWants(member.wants), share: 0 }));
  const own = allPeers.find((peer) => peer.id === id);
  const workspace = own?.wants.workspace ?? null;
  if (!own || workspace === null) return NOTHING;
  const peers = allPeers.filter(({ wants }) => wants.workspace === workspace);
  const { inList, everywhere, byItem } = groupByItem(peers, listed);

  let items = 0;
  const share = (among: readonly Peer[], count = 1) => {
    if (among.length === 0) return;
    items += count;
    for (const peer of among) peer.share += count / among.length;
  };
  let listItems = inList.size + 1;
  const listPollers = ableToPoll(everywhere);
  const pollersOf = new Map([...byItem].map(([item, peersOf]) => [item, ableToPoll(peersOf)]));
  for (const [item, pollers] of pollersOf) {
    if (inList.has(item)) listItems--;
    share(pollers);
  }
  share(listPollers, listItems);

  const pollers = (item: string) => pollersOf.get(item) ?? listPollers;
  const isContested = (item: string) => pollers(item).length > 1;
  const candidates = own.wants.all ? [LIST, ...inList, ...pollersOf.keys()] : pollersOf.keys();
  const wanted = new Set<string>();
  for (const item of candidates) if (pollers(item).includes(own)) wanted.add(item);
  const contested = [...wanted].filter(isContested);
  const rank = peers.indexOf(own);
  return {
    // Rotated by rank, so that concurrent claims of several runtimes differ.
    wanted: [...[...wanted].filter((item) => !isContested(item)), ...rotated(contested, rank / peers.length)],
    target: targetOf(own, peers, items),
    isContested,
    awaited: new Set(peers.flatMap((peer) => (peer === own ? [] : peer.wants.waits))),
    hasList: everywhere.length > 0,
    shape: JSON.stringify([items, peers.map((peer) => [peer.id, Math.round(peer.share * 1000)])]),
  };
}

/** Returns the runtimes that can poll. If none can, returns all, so that nothing moves. */
function ableToPoll(peers: readonly Peer[]): readonly Peer[] {
  const able = peers.filter(({ wants }) => wants.isLost !== true);
  return able.length > 0 ? able : peers;
}

/** Groups runtimes by wanted item. `byItem`: items wanted not only by those that want all (`everywhere`). */
function groupByItem(peers: readonly Peer[], listed: readonly string[]) {
  const everywhere = peers.filter(({ wants }) => wants.all);
  const inList = new Set(everywhere.length > 0 ? listed : []);
  const byItem = new Map<string, Peer[]>();
  const add = (item: string, peer: Peer) => {
    let peersOf = byItem.get(item);
    if (!peersOf) byItem.set(item, (peersOf = inList.has(item) ? [...everywhere] : []));
    if (!peersOf.includes(peer)) peersOf.push(peer);
  };
  for (const peer of peers) for (const item of peer.wants.clusters) add(item, peer);
  const watched = new Set([...inList, ...byItem.keys()]);
  for (const peer of peers) for (const item of peer.wants.waits) if (!watched.has(item)) add(item, peer);
  return { inList, everywhere, byItem };
}

/** Rounds the shares to whole numbers with the same sum: the remainder goes to the first members. */
function targetOf(own: Peer, peers: readonly Peer[], items: number): number {
  const whole = (peer: Peer) => Math.floor(peer.share + EPSILON);
  let left = items - peers.reduce((sum, peer) => sum + whole(peer), 0);
  for (const peer of peers) {
    const more = left > 0 && peer.share - whole(peer) > EPSILON ? 1 : 0;
    if (peer === own) return whole(peer) + more;
    left -= more;
  }
  return 0;
}

const rotated = (items: readonly string[], by: number): string[] => {
  const from = Math.floor(items.length * by);
  return [...items.slice(from), ...items.slice(0, from)];
};

const NOTHING: FairShare = {
  wanted: [],
  target: 0,
  isContested: () => false,
  awaited: new Set(),
  hasList: false,
  shape: '',
};

/** Reads the wants of a peer, which may run another version. */
function readWants(stored: unknown): Wants {
  const wants = record(stored) ?? {};
  return {
    workspace: typeof wants.workspace === 'string' ? wants.workspace : null,
    all: wants.all === true,
    clusters: strings(wants.clusters),
    waits: strings(wants.waits),
    isLost: wants.isLost === true,
  };
}

const strings = (value: unknown): string[] =>
  list(value)
    .slice(0, MEMBER.clusters)
    .filter((entry) => text(entry) !== null) as string[];

/** Debounce before reacting to a change, ms. */
const DEBOUNCE = 20;
/** Time after which any runtime may claim a free item beyond its share, ms. */
const LEFTOVER_AFTER = 3_000;
/** Time until the next claim beyond the share, after a successful one, ms. */
const NEXT_LEFTOVER_AFTER = 1_000;
/** Most items per claim beyond the share, as a part of the share. */
const LEFTOVER_PART = 0.1;
/** Period for claims that a lost notification missed, and for the release of items beyond the share, ms. */
const RECHECK_EVERY = 60_000;

/** Polls that the runtimes share. */
export interface SharedWork {
  wants(): Wants;
  listed(): readonly string[];
  /** Called after this runtime gained an item; `among`: number of items gained together. */
  gained(assigned: Assigned, among: number): void;
  /** Starts no more polls of an item. Resolves when the last poll has ended and is saved. Never rejects. */
  finish(item: string): Promise<void>;
  /** Returns the handover for the next owner of an item. */
  handoverOf(item: string): unknown;
  lost(item: string): void;
  /** Called after members or assignments may have changed. */
  reassigned(): void;
  fault(thrown: unknown): void;
}

/**
 * Assignment of polls to this runtime. It claims its fair share of the free items and releases the surplus whenever the
 * members, their wants or the list change (ADR 12).
 */
export class Assignments implements Ownership {
  #lock: Lock | null = null;
  readonly #held = new Set<string>();
  /** Held items to be released once their last poll has ended. */
  readonly #leaving = new Set<string>();
  #finished: string[] = [];
  #share: FairShare | null = null;
  #announced = '';
  readonly #rounds = new Rerun(() => this.#round());
  /** Whether the next round may claim leftovers beyond the share. */
  #mayClaimLeftovers = false;
  #closed = false;
  #disarm: (() => void) | undefined;
  #disarmLeftovers: () => void = () => undefined;
  /** Whether the next round releases the surplus: other runtimes may be able to claim it by now. */
  #releasesSurplus = false;
  #disarmSurplus: (() => void) | undefined;

  constructor(
    private readonly membership: Membership,
    private readonly clock: Clock,
    private readonly work: SharedWork,
  ) {}

  get held(): ReadonlySet<string> {
    return this.#held;
  }

  isOurs(item: string): boolean {
    return !this.#leaving.has(item) && this.lockOf(item) !== null;
  }

  lockOf(item: string): Lock | null {
    return this.#held.has(item) && this.membership.lock === this.#lock ? this.#lock : null;
  }

  /** Whether another runtime reads the list regularly. */
  get isListElsewhere(): boolean {
    return this.#share !== null && this.#share.hasList && !this.isOurs(LIST);
  }

  /** Clusters that other runtimes wait for. */
  get awaited(): ReadonlySet<string> {
    return this.#share?.awaited ?? NOTHING.awaited;
  }

  isAwaited(clusterId: string): boolean {
    return this.awaited.has(clusterId);
  }

  /** Call after the members, their wants or the list may have changed. */
  changed(): void {
    if (this.#closed) return;
    // Without a delay: after a lost lease other runtimes may own all items by now.
    if (this.membership.lock !== this.#lock) this.#reset();
    this.#disarm ??= this.clock.after(DEBOUNCE, () => {
      this.#disarm = undefined;
      void this.#rounds.request();
    });
  }

  /** Claims a free item, beyond any share. Returns false where another runtime holds it. */
  async claim(item: string): Promise<boolean> {
    if (!this.#held.has(item)) await this.#claim([item], 1);
    return this.isOurs(item);
  }

  /** Releases all items with their handovers. Never rejects. */
  async leave(): Promise<void> {
    this.#closed = true;
    this.#disarm?.();
    this.#disarmLeftovers();
    this.#disarmSurplus?.();
    const handovers = this.#handovers(this.#held);
    this.#held.clear();
    await this.membership.leave(handovers);
  }

  /** Starts again without items after a change of the lease. */
  #reset(): void {
    const lost = [...this.#held];
    this.#held.clear();
    this.#leaving.clear();
    this.#finished = [];
    this.#share = null;
    this.#lock = this.membership.lock;
    for (const item of lost) this.work.lost(item);
  }

  /** Never rejects. */
  async #round(): Promise<void> {
    try {
      if (!this.#closed) await this.#rebalance();
      if (!this.#closed) this.work.reassigned();
    } catch (thrown) {
      this.work.fault(thrown);
    }
  }

  async #rebalance(): Promise<void> {
    const wants = this.work.wants();
    const announcement = JSON.stringify(wants);
    if (announcement !== this.#announced) this.membership.want(wants);
    this.#announced = announcement;
    if (this.#lock === null) return;
    const { id, members } = this.membership;
    const before = this.#share?.shape;
    const share = (this.#share = fairShare(id, members, this.work.listed()));
    const isNew = share.shape !== before || this.#releasesSurplus;
    this.#releasesSurplus = false;
    this.#startRelease(this.#unwanted(share));
    if (isNew) this.#startRelease(this.#surplus(share));
    const hasReleased = await this.#releaseFinished();
    const room = Math.max(0, share.target - (this.#held.size - this.#leaving.size));
    const most = this.#mayClaimLeftovers ? Math.max(room, Math.ceil(share.target * LEFTOVER_PART), 1) : room;
    const free = share.wanted.filter((item) => !this.#held.has(item));
    const claimed = most > 0 ? await this.#claim(free, most) : 0;
    // A share that is not full yet is claimed soon: another runtime releases items when their last polls have ended.
    if (isNew || hasReleased || claimed < room) this.#claimLeftoversAfter(LEFTOVER_AFTER);
    else if (this.#mayClaimLeftovers) this.#claimLeftoversAfter(claimed > 0 ? NEXT_LEFTOVER_AFTER : RECHECK_EVERY);
    this.#mayClaimLeftovers = false;
    if (this.#surplus(share).length > 0) this.#releaseSurplusLater();
  }

  #unwanted({ wanted }: FairShare): string[] {
    const all = new Set(wanted);
    return [...this.#held].filter((item) => !all.has(item));
  }

  /** Items beyond the share, the most recently gained ones. */
  #surplus({ target, isContested }: FairShare): string[] {
    const staying = [...this.#held].filter((item) => !this.#leaving.has(item));
    const surplus = Math.max(0, staying.length - target);
    return surplus > 0 ? staying.filter(isContested).slice(-surplus) : [];
  }

  #startRelease(items: readonly string[]): void {
    const lock = this.#lock;
    for (const item of items) {
      if (this.#leaving.has(item)) continue;
      this.#leaving.add(item);
      const leaving = this.work.finish(item).then(() => {
        if (this.#lock !== lock || this.#closed) return;
        this.#finished.push(item);
        this.changed();
      });
      leaving.catch((thrown: unknown) => this.work.fault(thrown));
    }
  }

  /** Releases the items whose last poll has ended. Returns whether there were any. */
  async #releaseFinished(): Promise<boolean> {
    const finished = this.#finished.splice(0);
    if (finished.length === 0) return false;
    const handovers = this.#handovers(finished);
    for (const item of finished) {
      this.#held.delete(item);
      this.#leaving.delete(item);
      this.work.lost(item);
    }
    await this.membership.release(handovers);
    return true;
  }

  async #claim(items: readonly string[], most: number): Promise<number> {
    const lock = this.#lock;
    if (items.length === 0 || lock === null) return 0;
    const assigned = await this.membership.take(items, most);
    // Items claimed under an earlier lease were lost with it.
    if (this.#closed || this.#lock !== lock || this.membership.lock !== lock) return 0;
    for (const { item } of assigned) this.#held.add(item);
    for (const gained of assigned) this.work.gained(gained, assigned.length);
    return assigned.length;
  }

  /** Schedules a claim of leftovers. */
  #claimLeftoversAfter(wait: number): void {
    this.#disarmLeftovers();
    if (this.#closed || (this.#share?.wanted.length ?? 0) <= this.#held.size) return;
    this.#disarmLeftovers = this.clock.after(wait, () => {
      this.#mayClaimLeftovers = true;
      this.changed();
    });
  }

  /** Schedules the release of leftovers held beyond the share. */
  #releaseSurplusLater(): void {
    if (this.#closed) return;
    this.#disarmSurplus ??= this.clock.after(RECHECK_EVERY, () => {
      this.#disarmSurplus = undefined;
      this.#releasesSurplus = true;
      this.changed();
    });
  }

  #handovers(items: Iterable<string>): Map<string, unknown> {
    return new Map([...items].map((item) => [item, this.work.handoverOf(item)]));
  }
}
