import type { Subscriber } from './account-context';
import type { Poller } from './poller';

/** Keeps a cluster polled, wherever it moves, and wants nothing of it. `forOthers`: it is other runtimes that wait. */
export class KeepPolling implements Subscriber {
  readonly hears = false;
  readonly wants;
  readonly milestones = [];
  readonly paused = false;

  constructor(
    private poller: Poller,
    readonly interval: number,
    { forOthers = false } = {},
  ) {
    this.wants = forOthers ? null : ('wait' as const);
    poller.add(this);
  }

  serve(): void {
    // Who holds it listens to all observations.
  }

  deliver(): boolean {
    return false;
  }

  moveTo(poller: Poller): void {
    this.poller = poller;
    poller.add(this, { known: true });
  }

  end(): void {
    this.poller.remove(this);
  }
}
