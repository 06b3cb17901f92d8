import type { Service } from '../account/service';
import { readCluster, type Cluster } from '../service/cluster';
import { PrintingError } from '../service/errors';
import { number, record, records, text, type Json } from '../service/wire';
import type { Clock } from '../time/clock';

export interface ListedCluster {
  cluster: Cluster;
  raw: Json;
}

/** Names and models change rarely: this long a list is good enough for them, ms. */
const GOOD_FOR = 10 * 60_000;
/** After a failed reading, names are not asked for again before, ms. */
const HOLD_OFF = 60_000;
const MOST_PAGES = 1000;

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
      const list = await readAllPages(this.service, this.signal);
      this.#list = list;
      this.#readAt = this.clock.monotonic();
      return list;
    } catch (error) {
      this.#failedAt = this.clock.monotonic();
      throw error;
    }
  }
}

/**
 * Reads every page (wire facts 1, traps 27 and 28). Links are read for their page numbers only: the bearer must not go
 * where an answer points.
 */
export async function readAllPages(service: Service, signal: AbortSignal): Promise<ListedCluster[]> {
  const found = new Map<string, ListedCluster>();
  for (let page: number | null = 1, read = 0; page !== null && read < MOST_PAGES; read++) {
    const { data, body } = await service.call('clusters', {
      what: 'the cluster list',
      signal,
      ...(page > 1 && { query: { page: String(page) } }),
    });
    if (!Array.isArray(data) && !record(data)) {
      throw new PrintingError(
        'SERVICE_ERROR',
        'The service answered the cluster list with something else: try again later.',
      );
    }
    for (const raw of records(data)) {
      const cluster = readCluster(raw);
      if (cluster && !found.has(cluster.clusterId)) found.set(cluster.clusterId, { cluster, raw });
    }
    page = nextPage(body, page);
  }
  return [...found.values()];
}

function nextPage(body: unknown, page: number): number | null {
  const total = number(record(record(record(body)?.meta)?.page)?.total_pages);
  if (total !== null) return page < total ? page + 1 : null;
  const link = text(record(record(body)?.links)?.next);
  const next = link === null ? null : number(/[?&]page=(\d+)/.exec(link)?.[1]);
  return next !== null && next > page ? next : null;
}
