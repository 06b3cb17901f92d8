import type { Key } from '../state/store';
import { openAttempts } from './copies';
import type { ItemRecord } from './queue-item';
import type { QueueStore } from './queue-store';

/** Copies that have a cluster to themselves, of all queues of the account. */
interface ReservedCluster {
  clusterId: string;
  /** `reservationOf` of each. */
  holders: readonly string[];
}

/** Names a copy among those of all queues. */
export const reservationOf = (queueId: string, itemId: string, copy: number): string =>
  JSON.stringify([queueId, itemId, copy]);

/**
 * Reservations of printers from before an assignment until its print has ended: two queues that share a printer must not
 * both send to it before the service shows the first job. Saved under `['queue-printer', ...scope, clusterId]`.
 */
export class Reservations {
  /** Clusters that each copy of this queue holds: a copy that failed may begin elsewhere before the first is released. */
  readonly #own = new Map<string, Set<string>>();

  constructor(private readonly store: QueueStore) {}

  /** Reserves a cluster for a copy, unless `most` others hold it. Returns whether the copy holds it. */
  async reserve(clusterId: string, holder: string, most: number): Promise<boolean> {
    const after = await this.#change(clusterId, (holders) =>
      holders.includes(holder) || holders.length >= most ? holders : [...holders, holder],
    );
    if (after.includes(holder)) this.#remember(clusterId, holder);
    return after.includes(holder);
  }

  async release(clusterId: string, holder: string): Promise<void> {
    await this.#change(clusterId, (holders) => holders.filter((other) => other !== holder));
    const clusters = this.#own.get(holder);
    clusters?.delete(clusterId);
    if (clusters?.size === 0) this.#own.delete(holder);
  }

  /**
   * Finds what earlier tenures left reserved for a queue, and reserves the clusters of all its open attempts: a removal of
   * the queue may have released them.
   */
  async restore(queueId: string, records: Iterable<ItemRecord>): Promise<void> {
    for await (const { clusterId, holders } of this.store.list<ReservedCluster>(this.store.keyOf('queue-printer')))
      for (const holder of holders)
        if ((JSON.parse(holder) as string[])[0] === queueId) this.#remember(clusterId, holder);
    for (const record of records)
      for (const { copy, clusterId } of openAttempts(record)) {
        const holder = reservationOf(queueId, record.itemId, copy);
        if (!this.#own.get(holder)?.has(clusterId)) await this.reserve(clusterId, holder, Infinity);
      }
  }

  /** Releases all reservations of this queue but those of `wanted`: the cluster that each copy needs. */
  async keepOnly(wanted: ReadonlyMap<string, string>): Promise<void> {
    for (const [holder, clusters] of [...this.#own])
      for (const clusterId of [...clusters])
        if (wanted.get(holder) !== clusterId) await this.release(clusterId, holder);
  }

  #remember(clusterId: string, holder: string): void {
    const clusters = this.#own.get(holder) ?? new Set();
    this.#own.set(holder, clusters.add(clusterId));
  }

  async #change(
    clusterId: string,
    change: (holders: readonly string[]) => readonly string[],
  ): Promise<readonly string[]> {
    const key: Key = this.store.keyOf('queue-printer', clusterId);
    const after = await this.store.update<ReservedCluster>(
      key,
      (current) => {
        const before = current?.holders ?? [];
        const holders = change(before);
        if (holders.length === before.length) return current;
        return holders.length > 0 ? { clusterId, holders } : undefined;
      },
      { asPlanner: true },
    );
    return after?.holders ?? [];
  }
}
