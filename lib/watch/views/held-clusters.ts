import type { Clock } from '../../time/clock';
import { Rerun, Turns } from '../../time/concurrency';
import { guard } from '../../time/guard';
import type { HoldListener } from '../polling/poller';

/** The part of the watcher that keeps clusters on the polls. */
interface Holder {
  hold(clusterId: string, listener: HoldListener | null): () => void;
}

/** The clusters that a queue or a board keeps on the shared polls. An account may have thousands. */
export class HeldClusters {
  readonly #releases = new Map<string, () => void>();
  readonly #run = new Rerun(() => this.#holdWanted());
  #wanted: ReadonlySet<string> = new Set();

  constructor(
    private readonly watcher: Holder,
    private readonly clock: Clock,
    private readonly listenerOf: (clusterId: string) => HoldListener | null = () => null,
  ) {}

  has(clusterId: string): boolean {
    return this.#wanted.has(clusterId);
  }

  /** Keeps these clusters on the polls, and no others. Lets the event loop turn meanwhile. Never rejects. */
  hold(clusterIds: readonly string[]): Promise<void> {
    this.#wanted = new Set(clusterIds);
    return this.#run.request();
  }

  /** Releases all of them at once. */
  close(): void {
    this.#wanted = new Set();
    for (const release of this.#releases.values()) guard(release)();
    this.#releases.clear();
  }

  async #holdWanted(): Promise<void> {
    const wanted = this.#wanted;
    const turns = new Turns(this.clock);
    for (const [clusterId, release] of this.#releases) {
      if (this.#wanted.has(clusterId)) continue;
      this.#releases.delete(clusterId);
      guard(release)();
      await turns.next();
    }
    for (const clusterId of wanted) {
      // Others are wanted meanwhile, and held by the next run.
      if (this.#wanted !== wanted) return;
      if (this.#releases.has(clusterId)) continue;
      guard(() => this.#releases.set(clusterId, this.watcher.hold(clusterId, this.listenerOf(clusterId))))();
      await turns.next();
    }
  }
}
