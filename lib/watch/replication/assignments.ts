import type { Assigned, Membership } from '../../state/membership';
import type { Lock } from '../../state/store';
import type { Clock } from '../../time/clock';
import { fairShare, LIST_ITEM, type FairShare, type Wants } from './fair-share';
import type { Ownership } from '../checkpoints/ownership';

/** Between word of a change and what is made of it: several come at once, ms. */
const GATHER = 20;
/** What is free for so long though somebody wants it may be had by whoever comes first, ms. */
const LEFT_OVER = 3_000;
/** The same after some was had that way: there may be more. */
const MORE = 1_000;
/** As a share of what one should have, so much at a time. */
const AT_A_TIME = 0.1;
/** In case that word of something got lost, and for whoever has more than its share, ms. */
const NOW_AND_THEN = 60_000;

const NOBODYS: ReadonlySet<string> = new Set();

/** The polls that are shared out. */
export interface SharedWork {
  wants(): Wants;
  /** The clusters that there are, as far as is known. */
  listed(): readonly string[];
  /** An item is this runtime's from now on; `among` so many that came with it. */
  gained(assigned: Assigned, among: number): void;
  /** Nothing is begun any more; resolves when what is under way has ended and is saved. Never rejects. */
  finish(item: string): Promise<void>;
  /** What whoever is next should know. */
  note(item: string): unknown;
  /** An item is this runtime's no more. */
  lost(item: string): void;
  /** Who takes part, and for what, may be others. */
  shifted(): void;
  fault(thrown: unknown): void;
}

/**
 * Which of the polls are this runtime's: it takes its fair share of those that nobody has, and gives back what is more, as
 * soon as the others, what they want or the list change (ADR 12).
 */
export class Assignments implements Ownership {
  readonly #membership: Membership;
  readonly #clock: Clock;
  readonly #work: SharedWork;
  #lock: Lock | null = null;
  readonly #held = new Set<string>();
  /** Of those: they go back when what is under way has ended. */
  readonly #leaving = new Set<string>();
  #finished: string[] = [];
  #share: FairShare | null = null;
  #wants = '';
  #underWay = false;
  #again = false;
  /** What is still free is anybody's. */
  #isLater = false;
  #closed = false;
  #disarm: (() => void) | undefined;
  #disarmLater: () => void = () => undefined;
  /** What is beyond the share goes back: others may be able to take it by now. */
  #isEvening = false;
  #disarmEvening: (() => void) | undefined;

  constructor(membership: Membership, clock: Clock, work: SharedWork) {
    this.#membership = membership;
    this.#clock = clock;
    this.#work = work;
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

  /** Clusters that others wait for. */
  get awaited(): ReadonlySet<string> {
    return this.#share?.awaited ?? NOBODYS;
  }

  isAwaited(clusterId: string): boolean {
    return this.awaited.has(clusterId);
  }

  /** The members, what somebody wants, or the list may have changed. */
  changed(): void {
    if (this.#closed) return;
    // At once: somebody else may have it all by now.
    if (this.#membership.lock !== this.#lock) this.#begin();
    this.#again = true;
    if (!this.#underWay) this.#disarm ??= this.#clock.after(GATHER, () => void this.#run());
  }

  /** Takes an item that nobody has, beyond any share. False: somebody else has it. */
  async claim(item: string): Promise<boolean> {
    if (!this.#held.has(item)) await this.#take([item], 1);
    return this.isOurs(item);
  }

  /** Hands everything over. Never rejects. */
  async leave(): Promise<void> {
    this.#closed = true;
    this.#disarm?.();
    this.#disarmLater();
    this.#disarmEvening?.();
    const notes = this.#notes(this.#held);
    this.#held.clear();
    await this.#membership.leave(notes);
  }

  /** With nothing: the lease is another one. */
  #begin(): void {
    const lost = [...this.#held];
    this.#held.clear();
    this.#leaving.clear();
    this.#finished = [];
    this.#share = null;
    this.#lock = this.#membership.lock;
    for (const item of lost) this.#work.lost(item);
  }

  async #run(): Promise<void> {
    this.#disarm = undefined;
    this.#underWay = true;
    this.#again = false;
    try {
      await this.#turn();
      if (!this.#closed) this.#work.shifted();
    } catch (thrown) {
      this.#work.fault(thrown);
    }
    this.#underWay = false;
    if (this.#again as boolean) this.changed();
  }

  async #turn(): Promise<void> {
    const wants = this.#work.wants();
    const said = JSON.stringify(wants);
    if (said !== this.#wants) this.#membership.want(wants);
    this.#wants = said;
    if (this.#lock === null) return;
    const { id, members } = this.#membership;
    const before = this.#share?.shape;
    const share = (this.#share = fairShare(id, members, this.#work.listed()));
    const isNew = share.shape !== before || this.#isEvening;
    this.#isEvening = false;
    this.#letGo(this.#unwanted(share));
    if (isNew) this.#letGo(this.#surplus(share));
    const gaveBack = await this.#giveBack();
    const room = Math.max(0, share.target - (this.#held.size - this.#leaving.size));
    const most = this.#isLater ? Math.max(room, Math.ceil(share.target * AT_A_TIME), 1) : room;
    const free = share.wanted.filter((item) => !this.#held.has(item));
    const got = most > 0 ? await this.#take(free, most) : 0;
    if (isNew || gaveBack) this.#later(LEFT_OVER);
    else if (this.#isLater) this.#later(got > 0 ? MORE : NOW_AND_THEN);
    else if (got < room) this.#later(LEFT_OVER);
    this.#isLater = false;
    if (this.#surplus(share).length > 0) this.#evenOut();
  }

  #unwanted({ wanted }: FairShare): string[] {
    const all = new Set(wanted);
    return [...this.#held].filter((item) => !all.has(item));
  }

  /** What came last goes first. */
  #surplus({ target, isContested }: FairShare): string[] {
    const staying = [...this.#held].filter((item) => !this.#leaving.has(item));
    const surplus = Math.max(0, staying.length - target);
    return surplus > 0 ? staying.filter(isContested).slice(-surplus) : [];
  }

  #letGo(items: readonly string[]): void {
    const lock = this.#lock;
    for (const item of items) {
      if (this.#leaving.has(item)) continue;
      this.#leaving.add(item);
      const leaving = this.#work.finish(item).then(() => {
        if (this.#lock !== lock || this.#closed) return;
        this.#finished.push(item);
        this.changed();
      });
      leaving.catch((thrown: unknown) => this.#work.fault(thrown));
    }
  }

  /** Whether there was something to give back. */
  async #giveBack(): Promise<boolean> {
    const finished = this.#finished.splice(0);
    if (finished.length === 0) return false;
    const notes = this.#notes(finished);
    for (const item of finished) {
      this.#held.delete(item);
      this.#leaving.delete(item);
      this.#work.lost(item);
    }
    await this.#membership.release(notes);
    return true;
  }

  async #take(items: readonly string[], most: number): Promise<number> {
    const lock = this.#lock;
    if (items.length === 0 || lock === null) return 0;
    const taken = await this.#membership.take(items, most);
    // What was had under a lease that is gone is gone with it.
    if (this.#closed || this.#lock !== lock || this.#membership.lock !== lock) return 0;
    for (const { item } of taken) this.#held.add(item);
    for (const assigned of taken) this.#work.gained(assigned, taken.length);
    return taken.length;
  }

  /** Then takes what nobody else does, some at a time. */
  #later(wait: number): void {
    this.#disarmLater();
    if (this.#closed || (this.#share?.wanted.length ?? 0) <= this.#held.size) return;
    this.#disarmLater = this.#clock.after(wait, () => {
      this.#isLater = true;
      this.changed();
    });
  }

  /** What nobody took for a while was taken beyond the share: that must not stay so. */
  #evenOut(): void {
    if (this.#closed) return;
    this.#disarmEvening ??= this.#clock.after(NOW_AND_THEN, () => {
      this.#disarmEvening = undefined;
      this.#isEvening = true;
      this.changed();
    });
  }

  #notes(items: Iterable<string>): Map<string, unknown> {
    return new Map([...items].map((item) => [item, this.#work.note(item)]));
  }
}
