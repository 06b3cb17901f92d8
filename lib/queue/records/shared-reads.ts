import { type ClusterStatus, storedStatus } from '../../service/cluster';
import { amount, record } from '../../service/json-readers';
import type { Key } from '../../state/store';
import type { Clock } from '../../time/clock';
import type { QueueStore } from './records';

/** Time for which a status is stored, ms: the next poll replaces it. */
const KEPT = 600_000;

/**
 * Statuses that the planner has read by itself, right before a print, and that keep the print from its printer: the polls of
 * other runtimes don't show that yet, but they explain alike (print queue, rule 10). Saved under `['queue-read', ...scope,
 * queueId, clusterId]`.
 */
export class SharedReads {
  readonly #store: QueueStore;
  readonly #queueId: string;
  readonly #clock: Clock;

  constructor(store: QueueStore, queueId: string, clock: Clock) {
    this.#store = store;
    this.#queueId = queueId;
    this.#clock = clock;
  }

  /** Shares a status as the planner; `requestedAt`: monotonic, ms. Never rejects: the next poll shows the same. */
  async share(status: ClusterStatus, requestedAt: number): Promise<void> {
    const age = this.#clock.monotonic() - requestedAt;
    await this.#store.publish(this.#keyOf(status.clusterId), { status, age }, KEPT).catch(() => undefined);
  }

  /** The status of a cluster that the planner has shared; `requestedAt`: monotonic, ms. Rejects while it can't be read. */
  async find(clusterId: string): Promise<{ status: ClusterStatus; requestedAt: number } | null> {
    const { status, age } = record(await this.#store.get<unknown>(this.#keyOf(clusterId))) ?? {};
    const stored = storedStatus(status);
    return stored && { status: stored, requestedAt: this.#clock.monotonic() - (amount(age) ?? 0) };
  }

  #keyOf(clusterId: string): Key {
    return this.#store.keyOf('queue-read', this.#queueId, clusterId);
  }
}
