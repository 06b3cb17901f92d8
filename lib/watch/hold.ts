import type { Rider } from './account-context';
import type { ClusterPoll } from './cluster-poll';

/** Keeps a cluster polled though nobody watches it. */
export class Hold implements Rider {
  readonly paused = false;
  #poll: ClusterPoll;

  /** `interval` in ms. */
  constructor(
    poll: ClusterPoll,
    readonly interval: number,
  ) {
    this.#poll = poll;
    poll.chain.add(this);
  }

  serve(): void {
    // Whoever wants what was read listens to observations.
  }

  tell(): boolean {
    return false;
  }

  moveTo(poll: ClusterPoll): void {
    this.#poll = poll;
    poll.chain.add(this);
  }

  end(): void {
    this.#poll.chain.remove(this);
  }
}
