import type { Watcher } from '../watch/watcher';

/** The clusters that a queue keeps on the shared polls. */
export class HeldClusters {
  readonly #releases = new Map<string, () => void>();

  constructor(private readonly watcher: Pick<Watcher, 'hold'>) {}

  has(clusterId: string): boolean {
    return this.#releases.has(clusterId);
  }

  /** Keeps these clusters on the polls, and no others. */
  hold(clusterIds: readonly string[]): void {
    const wanted = new Set(clusterIds);
    for (const clusterId of wanted)
      if (!this.#releases.has(clusterId)) this.#releases.set(clusterId, this.watcher.hold(clusterId));
    for (const [clusterId, release] of this.#releases)
      if (!wanted.has(clusterId)) {
        this.#releases.delete(clusterId);
        release();
      }
  }
}
