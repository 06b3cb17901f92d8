import type { Subscriber } from './subscriber';
import type { Poller } from './poller';

/** Subscriber that only keeps a cluster polled, also under a new id. `forOthers`: other runtimes wait for its polls. */
export class KeepPolling implements Subscriber {
  readonly events = null;
  readonly wants;
  readonly paused = false;

  constructor(
    private poller: Poller,
    readonly interval: number,
    { forOthers = false } = {},
  ) {
    this.wants = forOthers ? null : ('wait' as const);
    poller.add(this);
  }

  onPoll(): void {
    // The results reach observation listeners.
  }

  moveTo(poller: Poller): void {
    this.poller = poller;
    poller.add(this, { known: true });
  }

  end(): void {
    this.poller.remove(this);
  }
}
