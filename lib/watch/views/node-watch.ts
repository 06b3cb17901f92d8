import { eventsFor } from '../../events/edges';
import type { EventDraft, PrintEvent } from '../../events/print-event';
import type { PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import { intervalOf } from '../polling/poll-timing';
import type { EventReceiver } from '../polling/subscriber';
import type { Standby } from '../replication/sharing';
import { ChangeFilter } from './change-filter';
import type { Watch, WatchOptions } from './watch';

/** Services that the watcher provides to its watches. */
export interface WatchContext {
  clock: Clock;
  /** Runs a user's callback and isolates its failures. */
  guard: (callback: () => unknown) => void;
  closed: (watch: Watch) => void;
  /** Whether the account is signed in. */
  usable: () => boolean;
  /** Reports the end of a request; `clusterIds`: the failed clusters. */
  requestEnded: (watch: Watch, error: PrintingError | null, clusterIds: readonly string[]) => void;
  /** Combines the failure of several clusters in one sentence. */
  summary: (error: PrintingError, clusterIds: readonly string[]) => PrintingError;
  /** Reason for not polling a cluster; null where this runtime polls. */
  standbyOf: (clusterId: string | null) => Standby | null;
}

let audiences = 0;

/** One node's view of its clusters: the node's options, and deliveries to it. */
export abstract class NodeWatch {
  readonly events: EventReceiver;
  readonly interval: number;
  readonly audience: string;
  protected isPaused: boolean;
  protected isClosed = false;
  /** Number of requests in flight; their callers receive the results. */
  protected requests = 0;
  protected readonly changeFilter: ChangeFilter | null;
  #shownStandby = 'null';

  constructor(
    protected readonly options: WatchOptions,
    protected readonly context: WatchContext,
  ) {
    const { milestones, lowMaterial = 0, plateWait = 0, beside } = options;
    const thresholds = { milestones, lowMaterial, plateWait };
    const deliver = (drafts: readonly EventDraft[]) => !this.isClosed && this.deliverAll(eventsFor(drafts, thresholds));
    this.events = { thresholds, beside, deliver };
    this.interval = intervalOf(options.interval);
    this.audience = options.audience ?? `watch ${++audiences}`;
    this.isPaused = options.paused ?? false;
    this.changeFilter = options.onlyChanges ? new ChangeFilter() : null;
  }

  /** Reason why this runtime does not poll; null if it polls. */
  protected abstract get standby(): Standby | null;

  get paused(): boolean {
    return this.isPaused;
  }

  get isAsking(): boolean {
    return this.requests > 0;
  }

  notify(error: PrintingError): void {
    if (!this.isClosed) this.context.guard(() => this.options.onTrouble(error));
  }

  deliverAll(events: PrintEvent[]): boolean {
    if (events.length === 0 || this.isClosed) return false;
    this.context.guard(() => this.options.onEvents(events));
    return true;
  }

  checkStandby(): void {
    const shown = JSON.stringify(this.standby);
    if (shown === this.#shownStandby || this.isClosed) return;
    this.#shownStandby = shown;
    this.context.guard(() => this.options.onStandby?.());
  }
}
