import type { Assigned, Lock, Membership } from '../../state/membership';
import type { Clock } from '../../time/clock';
import { LIST_ITEM, type Ownership } from '../checkpoints/ownership';
import { fairShare, type FairShare, type Wants } from './fair-share';

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

const NONE: ReadonlySet<string> = new Set();

/** Polls that the runtimes share. */
export interface SharedWork {
  wants(): Wants;
  /** Known clusters. */
  listed(): readonly string[];
  /** Called after this runtime gained an item; `among`: number of items gained together. */
  gained(assigned: Assigned, among: number): void;
  /** Starts no more polls of an item. Resolves when the last poll has ended and is saved. Never rejects. */
  finish(item: string): Promise<void>;
  /** Returns the handover for the next owner of an item. */
  handoverOf(item: string): unknown;
  /** Called after this runtime lost an item. */
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
  readonly #membership: Membership;
  readonly #clock: Clock;
  readonly #callbacks: SharedWork;
  #lock: Lock | null = null;
  readonly #held = new Set<string>();
  /** Held items to be released once their last poll has ended. */
  readonly #leaving = new Set<string>();
  #finished: string[] = [];
  #share: FairShare | null = null;
  #announced = '';
  #isRunning = false;
  #runsAgain = false;
  /** Whether the next round may claim leftovers beyond the share. */
  #mayClaimLeftovers = false;
  #closed = false;
  #disarm: (() => void) | undefined;
  #disarmLeftovers: () => void = () => undefined;
  /** Whether the next round releases the surplus: other runtimes may be able to claim it by now. */
  #releasesSurplus = false;
  #disarmSurplus: (() => void) | undefined;

  constructor(membership: Membership, clock: Clock, work: SharedWork) {
    this.#membership = membership;
    this.#clock = clock;
    this.#callbacks = work;
  }

  get held(): ReadonlySet<string> {
    return this.#held;
  }

  isOurs(item: string): boolean {
    return !this.#leaving.has(item) && this.lockOf(item) !== null;
  }

  lockOf(item: string): Lock | null {
    return this.#held.has(item) && this.#membership.lock === this.#lock ? this.#lock : null;
  }

  /** Whether another runtime reads the list regularly. */
  get isListElsewhere(): boolean {
    return this.#share !== null && this.#share.hasList && !this.isOurs(LIST_ITEM);
  }

  /** Clusters that other runtimes wait for. */
  get awaited(): ReadonlySet<string> {
    return this.#share?.awaited ?? NONE;
  }

  isAwaited(clusterId: string): boolean {
    return this.awaited.has(clusterId);
  }

  /** Call after the members, their wants or the list may have changed. */
  changed(): void {
    if (this.#closed) return;
    // Without a delay: after a lost lease other runtimes may own all items by now.
    if (this.#membership.lock !== this.#lock) this.#reset();
    this.#runsAgain = true;
    if (!this.#isRunning) this.#disarm ??= this.#clock.after(DEBOUNCE, () => void this.#run());
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
    await this.#membership.leave(handovers);
  }

  /** Starts again without items after a change of the lease. */
  #reset(): void {
    const lost = [...this.#held];
    this.#held.clear();
    this.#leaving.clear();
    this.#finished = [];
    this.#share = null;
    this.#lock = this.#membership.lock;
    for (const item of lost) this.#callbacks.lost(item);
  }

  async #run(): Promise<void> {
    this.#disarm = undefined;
    this.#isRunning = true;
    this.#runsAgain = false;
    try {
      await this.#rebalance();
      if (!this.#closed) this.#callbacks.reassigned();
    } catch (thrown) {
      this.#callbacks.fault(thrown);
    }
    this.#isRunning = false;
    if (this.#runsAgain as boolean) this.changed();
  }

  async #rebalance(): Promise<void> {
    const wants = this.#callbacks.wants();
    const announcement = JSON.stringify(wants);
    if (announcement !== this.#announced) this.#membership.want(wants);
    this.#announced = announcement;
    if (this.#lock === null) return;
    const { id, members } = this.#membership;
    const before = this.#share?.shape;
    const share = (this.#share = fairShare(id, members, this.#callbacks.listed()));
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
      const leaving = this.#callbacks.finish(item).then(() => {
        if (this.#lock !== lock || this.#closed) return;
        this.#finished.push(item);
        this.changed();
      });
      leaving.catch((thrown: unknown) => this.#callbacks.fault(thrown));
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
      this.#callbacks.lost(item);
    }
    await this.#membership.release(handovers);
    return true;
  }

  async #claim(items: readonly string[], most: number): Promise<number> {
    const lock = this.#lock;
    if (items.length === 0 || lock === null) return 0;
    const assigned = await this.#membership.take(items, most);
    // Items claimed under an earlier lease were lost with it.
    if (this.#closed || this.#lock !== lock || this.#membership.lock !== lock) return 0;
    for (const { item } of assigned) this.#held.add(item);
    for (const gained of assigned) this.#callbacks.gained(gained, assigned.length);
    return assigned.length;
  }

  /** Schedules a claim of leftovers. */
  #claimLeftoversAfter(wait: number): void {
    this.#disarmLeftovers();
    if (this.#closed || (this.#share?.wanted.length ?? 0) <= this.#held.size) return;
    this.#disarmLeftovers = this.#clock.after(wait, () => {
      this.#mayClaimLeftovers = true;
      this.changed();
    });
  }

  /** Schedules the release of leftovers held beyond the share. */
  #releaseSurplusLater(): void {
    if (this.#closed) return;
    this.#disarmSurplus ??= this.#clock.after(RECHECK_EVERY, () => {
      this.#disarmSurplus = undefined;
      this.#releasesSurplus = true;
      this.changed();
    });
  }

  #handovers(items: Iterable<string>): Map<string, unknown> {
    return new Map([...items].map((item) => [item, this.#callbacks.handoverOf(item)]));
  }
}
