import { readPages } from '../account/pages';
import type { Service } from '../account/service';
import { readCluster, type Cluster } from '../service/cluster';
import type { Json } from '../service/wire';
import type { Clock } from '../time/clock';
import { underDeadline, type Deadline } from '../time/deadline';

export interface ListedCluster {
  cluster: Cluster;
  raw: Json;
}

/** Names and models change rarely: this long a list is good enough for them, ms. */
const GOOD_FOR = 10 * 60_000;
/** After a failed reading, names are not asked for again before, ms. */
const HOLD_OFF = 60_000;
/** One reading of all pages, ms. */
const LONGEST = 120_000;

/** The account's cluster list, read once for all who want it. */
export class ClusterList {
  #list: ListedCluster[] | null = null;
  #readAt = -Infinity;
  #failedAt = -Infinity;
  #flight: Promise<ListedCluster[]> | null = null;

  constructor(
    private readonly service: Service,
    private readonly clock: Clock,
    private readonly signal: AbortSignal,
  ) {}

  /** The last list read, however old. */
  get last(): readonly ListedCluster[] {
    return this.#list ?? [];
  }

  /** A list that is at most `maxAge` ms old. Throws what the service's calls throw. */
  read(maxAge: number): Promise<ListedCluster[]> {
    if (this.#list && this.clock.monotonic() - this.#readAt < maxAge) return Promise.resolve(this.#list);
    this.#flight ??= this.#read().finally(() => (this.#flight = null));
    return this.#flight;
  }

  /** What the list says of a cluster; null where it does not know it or can't be read now. */
  async find(clusterId: string): Promise<ListedCluster | null> {
    const held = this.#list?.find(({ cluster }) => cluster.clusterId === clusterId) ?? null;
    if (this.clock.monotonic() - this.#failedAt < HOLD_OFF) return held;
    try {
      return (await this.read(GOOD_FOR)).find(({ cluster }) => cluster.clusterId === clusterId) ?? null;
    } catch {
      return held;
    }
  }

  async #read(): Promise<ListedCluster[]> {
    try {
      const list = await underDeadline(this.clock, { ms: LONGEST, parent: this.signal }, (deadline) =>
        readAllPages(this.service, deadline),
      );
      this.#list = list;
      this.#readAt = this.clock.monotonic();
      return list;
    } catch (error) {
      this.#failedAt = this.clock.monotonic();
      throw error;
    }
  }
}

/** The whole list, each cluster once. Throws what `readPages` throws. */
export async function readAllPages(service: Service, deadline: Deadline): Promise<ListedCluster[]> {
  const found = new Map<string, ListedCluster>();
  for (const raw of await readPages(service, 'clusters', { what: 'the cluster list', deadline })) {
    const cluster = readCluster(raw);
    if (cluster && !found.has(cluster.clusterId)) found.set(cluster.clusterId, { cluster, raw });
  }
  return [...found.values()];
}
