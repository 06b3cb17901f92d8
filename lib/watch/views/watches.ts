import type { WatchMemory } from '../checkpoints/memory';
import type { ListPoller } from '../polling/list-poller';
import { LIST } from '../polling/types';
import type { Poller } from '../polling/poller';
import { AllClustersWatch } from './all-clusters-watch';
import { ClusterWatch } from './cluster-watch';
import type { Watch, WatchContext, WatchOptions } from './watch';

interface WatchesOptions {
  memory: WatchMemory;
  list: () => ListPoller;
  pollers: ReadonlyMap<string, Poller>;
  /** Returns the poller of a cluster, a new one if need be. */
  pollerOf: (clusterId: string) => Poller;
  context: Omit<WatchContext, 'closed'>;
}

/** Open watches of one account. */
export class Watches {
  readonly #options: WatchesOptions;
  readonly #context: WatchContext;
  readonly #open = new Set<Watch>();

  constructor(options: WatchesOptions) {
    this.#options = options;
    this.#context = { ...options.context, closed: (watch) => this.#open.delete(watch) };
  }

  /** Opens a watch of one cluster, or of all. */
  open(options: WatchOptions): Watch {
    const { memory } = this.#options;
    const { key, clusterId } = options;
    const known = key !== undefined && memory.watches.get(key) === clusterId;
    if (key !== undefined) memory.watches.set(key, clusterId);
    const watch = clusterId === null ? this.#watchAll(options, known) : this.#watchCluster(clusterId, options, known);
    this.#open.add(watch);
    return watch;
  }

  /** Returns the watches of a cluster, or of the list (`LIST`); for null, all watches. */
  of(clusterId: string | null): Watch[] {
    if (clusterId === null) return [...this.#open];
    if (clusterId === LIST) return [...this.#open].filter(({ wants }) => wants === 'all');
    const open: ReadonlySet<unknown> = this.#open;
    const subscribers: unknown[] = this.#options.pollers.get(clusterId)?.subscribers ?? [];
    return subscribers.filter((one): one is Watch => open.has(one));
  }

  checkStandby(): void {
    this.#open.forEach((watch) => watch.checkStandby());
  }

  close(): void {
    for (const watch of [...this.#open]) watch.close();
  }

  #watchCluster(clusterId: string, options: WatchOptions, known: boolean): Watch {
    const poller = this.#options.pollerOf(clusterId);
    const watch = new ClusterWatch(options, poller, this.#context);
    poller.add(watch, { known });
    return watch;
  }

  #watchAll(options: WatchOptions, known: boolean): Watch {
    const { pollers, pollerOf } = this.#options;
    const list = this.#options.list();
    const watch = new AllClustersWatch(options, this.#context, { known, list, pollers, pollerOf });
    list.add(watch);
    return watch;
  }
}
