import { pagesOf } from '../../account/pages';
import type { ApiClient } from '../../account/api-client';
import { PAGES } from '../../rules/limits';
import { readCluster, type Cluster, type ClusterIdentity } from '../../service/cluster';
import { PrintingError } from '../../service/errors';
import type { Json } from '../../service/json-readers';
import { sleep, type Clock } from '../../time/clock';
import { underDeadline, type Deadline } from '../../time/deadline';
import { phrase } from '../../words/sentence';

/** What is kept of a cluster that the list has. */
export interface ListedCluster extends ClusterIdentity {
  clusterId: string;
  online: boolean | null;
  /** The list names no other printer, and of none while the cluster is offline. */
  host: { printerId: string | null; name: string | null } | null;
}

/** Names and models change rarely: this long a list is good enough for them, ms. */
const GOOD_FOR = 10 * 60_000;
/** After a failed reading, names are not asked for again before, ms. */
const HOLD_OFF = 60_000;
/** Lists are not read more often than this, however many clusters are suddenly not found, ms. */
const APART = 2_000;
/** One reading of all pages, ms. */
const LONGEST = 120_000;
const WHAT = phrase`the list of printers`;
/** The list of a big farm is megabytes, and parsing it at once would stop everything else. */
const IN_PAGES = { limit: String(PAGES.entries) };

export type List = ReadonlyMap<string, ListedCluster>;

/** The account's cluster list, read once for all who want it. */
export class ClusterList {
  #list: List | null = null;
  #begunAt = -Infinity;
  /** When the reading of `#list` began. */
  #asOf = -Infinity;
  #failedAt = -Infinity;
  #flight: { begunAt: number; list: Promise<List> } | null = null;

  /** @param isElsewhere whether another runtime reads it regularly, and tells (`learn`) */
  constructor(
    private readonly service: ApiClient,
    private readonly clock: Clock,
    private readonly signal: AbortSignal,
    private readonly isElsewhere: () => boolean = () => false,
  ) {}

  /** The last list read, however old. */
  get last(): List | null {
    return this.#list;
  }

  /** The list is another from now on: that of another workspace. */
  forget(): void {
    this.#list = null;
    this.#asOf = -Infinity;
    this.#failedAt = -Infinity;
  }

  /** What another runtime has read. It is none for who wants to read it. */
  learn(clusters: readonly ListedCluster[]): void {
    this.#list = new Map(clusters.map((cluster) => [cluster.clusterId, cluster]));
    this.#asOf = -Infinity;
  }

  /** A list that is at most `maxAge` ms old. Throws what the service's calls throw. */
  read(maxAge: number): Promise<List> {
    if (this.#list && this.clock.monotonic() - this.#asOf < maxAge) return Promise.resolve(this.#list);
    return this.#flight?.list ?? this.#begin();
  }

  /** A list whose reading began after this call. */
  async readAnew(): Promise<List> {
    const now = this.clock.monotonic();
    const wait = this.#begunAt + APART - now;
    if (wait > 0) await sleep(this.clock, wait, this.signal);
    if (this.#asOf > now && this.#list) return this.#list;
    if (this.#flight && this.#flight.begunAt >= now) return this.#flight.list;
    await this.#flight?.list.catch(() => undefined);
    return this.#flight?.list ?? this.#begin();
  }

  /** What the list says of a cluster; null where it does not know it or can't be read now. */
  async find(clusterId: string, deadline?: Deadline): Promise<ListedCluster | null> {
    const known = this.#list?.get(clusterId) ?? null;
    const now = this.clock.monotonic();
    if (now - this.#failedAt < HOLD_OFF || (this.#list && now - this.#asOf < GOOD_FOR)) return known;
    if (this.isElsewhere()) return known;
    try {
      const reading = this.read(GOOD_FOR);
      return (await (deadline ? deadline.wait(reading) : reading)).get(clusterId) ?? null;
    } catch {
      deadline?.throwIfOver();
      return known;
    }
  }

  #begin(): Promise<List> {
    const begunAt = this.clock.monotonic();
    this.#begunAt = begunAt;
    const list = this.#read(begunAt).finally(() => (this.#flight = null));
    this.#flight = { begunAt, list };
    return list;
  }

  async #read(begunAt: number): Promise<List> {
    try {
      this.#list = await underDeadline(this.clock, { ms: LONGEST, parent: this.signal }, (deadline) =>
        readListed(this.service, deadline),
      );
      this.#asOf = begunAt;
      return this.#list;
    } catch (error) {
      this.#failedAt = this.clock.monotonic();
      throw error;
    }
  }
}

const listed = ({
  clusterId,
  name,
  hostGuid,
  model,
  authorized,
  online,
  printers: [host],
}: Cluster): ListedCluster => ({
  clusterId,
  name,
  hostGuid,
  model,
  authorized,
  online,
  host: host ? { printerId: host.printerId, name: host.name } : null,
});

/** What is kept of the list. Throws what `readAllPages` throws. */
async function readListed(service: ApiClient, deadline: Deadline): Promise<List> {
  const found = new Map<string, ListedCluster>();
  let entries = 0;
  const options = { query: IN_PAGES, what: WHAT, deadline };
  for await (const page of pagesOf(service, 'clusters', options)) {
    entries += page.length;
    for (const raw of page) {
      const cluster = readCluster(raw);
      if (cluster && !found.has(cluster.clusterId)) found.set(cluster.clusterId, listed(cluster));
    }
  }
  if (entries > 0 && found.size === 0) throw noClusters();
  return found;
}

/** The whole list, each cluster once. Throws what `readPages` throws, and SERVICE_ERROR for entries that are no clusters. */
export async function readAllPages(service: ApiClient, deadline: Deadline): Promise<{ cluster: Cluster; raw: Json }[]> {
  const found = new Map<string, { cluster: Cluster; raw: Json }>();
  let entries = 0;
  for await (const page of pagesOf(service, 'clusters', { query: IN_PAGES, what: WHAT, deadline })) {
    entries += page.length;
    for (const raw of page) {
      const cluster = readCluster(raw);
      if (cluster && !found.has(cluster.clusterId)) found.set(cluster.clusterId, { cluster, raw });
    }
  }
  if (entries > 0 && found.size === 0) throw noClusters();
  return [...found.values()];
}

const noClusters = (): PrintingError =>
  new PrintingError('SERVICE_ERROR', phrase`The service answered ${WHAT} with something unexpected: try again later.`, {
    outcome: 'unknown',
  });
