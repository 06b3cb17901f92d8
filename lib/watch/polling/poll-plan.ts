import type { WatchMemory } from '../checkpoints/watch-memory';
import type { Clock } from '../../time/clock';
import type { Scheduler } from './scheduler';
import { StartupLimiter } from './startup-limiter';

/** Timing shared by the pollers of one account: their phases and last polls, the scheduler and the startup limit. */
export class PollPlan {
  readonly #memory: WatchMemory;
  readonly #limiter: StartupLimiter;

  constructor(
    readonly scheduler: Scheduler,
    memory: WatchMemory,
    clock: Clock,
    readonly random: () => number,
  ) {
    this.#memory = memory;
    this.#limiter = new StartupLimiter(clock);
  }

  /** Position of a cluster's turn within its interval, 0 to 1. */
  phaseOf(clusterId: string): number {
    return this.#memory.phaseOf(clusterId);
  }

  /** Start of a cluster's last poll, monotonic ms; -Infinity before the first one. */
  lastPollOf(clusterId: string): number {
    return this.#memory.polledAt.get(clusterId) ?? -Infinity;
  }

  setLastPoll(clusterId: string, time: number): void {
    this.#memory.polledAt.set(clusterId, time);
  }

  /** Whether a first poll may start at once: a few may, many are spread. */
  admit(): boolean {
    return this.#limiter.admit();
  }
}
