import type { Lock, Membership } from '../state/membership';
import type { Key, StateStore } from '../state/store';

/** The one item of the membership: the right to plan. */
const PLANNING = 'planning';

interface PlannerLeaseOptions {
  /** Names the queue among the runtimes that share the store. */
  topic: Key;
  /** Name of this runtime. */
  name: string;
  /** Whether this runtime could plan: one that can't must not keep others from it. */
  mayPlan: () => boolean;
  /** Called after this runtime has become the planner, or is none any more. */
  changed: () => void;
}

/** Which runtime plans a queue: one of those that share the store, under a lease (ADR 12); without others, this one. */
export class PlannerLease {
  readonly #membership: Membership | null;
  readonly #mayPlan: () => boolean;
  readonly #changed: () => void;
  /** Lease under which this runtime plans. */
  #lock: Lock | null = null;
  #isTaking = false;
  #wanted = false;

  constructor(store: StateStore, { topic, name, mayPlan, changed }: PlannerLeaseOptions) {
    this.#mayPlan = mayPlan;
    this.#changed = changed;
    this.#membership = store.join?.(topic, { name, wants: null, onChange: () => void this.take() }) ?? null;
    void this.take();
  }

  /** Whether this runtime plans. */
  get isOurs(): boolean {
    return this.#membership === null || (this.#lock !== null && this.#lock === this.#membership.lock);
  }

  /** Lease that each write of the planner needs; null: none is needed, or this runtime does not plan. */
  get lock(): Lock | null {
    return this.#lock;
  }

  /** Lets another runtime plan. Never rejects. */
  async leave(): Promise<void> {
    this.#lock = null;
    await this.#membership?.leave(new Map([[PLANNING, null]]));
  }

  /** Becomes the planner if no runtime plans and this one could. Never rejects. */
  async take(): Promise<void> {
    const membership = this.#membership;
    if (!membership) return;
    this.#wanted = true;
    if (this.#isTaking) return;
    this.#isTaking = true;
    while (this.#wanted) {
      this.#wanted = false;
      if (this.#lock && this.#lock !== membership.lock) {
        this.#lock = null;
        this.#changed();
      }
      const { lock } = membership;
      if (this.#lock || !lock || !this.#mayPlan()) continue;
      const taken = await membership.take([PLANNING], 1);
      if (taken.length === 0 || membership.lock !== lock) continue;
      this.#lock = lock;
      this.#changed();
    }
    this.#isTaking = false;
  }
}
