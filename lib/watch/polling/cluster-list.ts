import { pagesOf } from '../../account/pages';
import type { ApiClient } from '../../account/api-client';
import { PAGE } from '../../rules/limits';
import { type Cluster, printerEntry, type PrinterEntry, readCluster } from '../../service/cluster';
import { asPrintingError, type PrintingError, unexpectedAnswer } from '../../service/errors';
import type { Json } from '../../service/json-readers';
import { type Criterion, misfitOf, type PrinterFilter } from '../../service/printer-filter';
import type { Lock } from '../../state/membership';
import { sleep, type Clock } from '../../time/clock';
import { Turns } from '../../time/concurrency';
import { underDeadline, type Deadline } from '../../time/deadline';
import { phrase } from '../../words/sentence';
import type { ListedCluster } from '../checkpoints/memory';

/** Age up to which a list suffices for names and models, ms. */
const GOOD_FOR = 10 * 60_000;
/** Pause before reading names again after a failure, ms. */
const HOLD_OFF = 60_000;
/** Shortest time between reads for clusters that are not found, ms. */
const APART = 2_000;
/** Deadline for reading all pages, ms. */
const LONGEST = 120_000;
const WHAT = phrase`the list of printers`;
/** Page size. A large list is megabytes, and parsing it in one go would block the event loop. */
const IN_PAGES = { limit: String(PAGE) };

type List = ReadonlyMap<string, ListedCluster>;

/** Cached cluster list of the account; concurrent reads share one request. */
export class ClusterList {
  #list: List | null = null;
  #begunAt = -Infinity;
  /** Start of the read that `#list` stems from. */
  #asOf = -Infinity;
  #failedAt = -Infinity;
  #flight: { begunAt: number; list: Promise<List> } | null = null;

  /**
   * @param isElsewhere whether another runtime reads the list regularly and publishes it (`setRemote`)
   * @param reports `failed`: receives the failure of each read, whoever asked for it; `received`: each list, as it arrives
   */
  constructor(
    private readonly service: ApiClient,
    private readonly clock: Clock,
    private readonly signal: AbortSignal,
    private readonly isElsewhere: () => boolean = () => false,
    private readonly reports: { failed(error: PrintingError): void; received(list: List): void } | null = null,
  ) {}

  /** The last list read, however old. */
  get last(): List | null {
    return this.#list;
  }

  /** Clears the list after a change of workspace. */
  forget(): void {
    this.#list = null;
    this.#asOf = -Infinity;
    this.#failedAt = -Infinity;
  }

  /** Sets a list that another runtime has read. Does not count as a fresh read. */
  setRemote(clusters: readonly ListedCluster[]): void {
    this.#list = new Map(clusters.map((cluster) => [cluster.clusterId, cluster]));
    this.#asOf = -Infinity;
    this.reports?.received(this.#list);
  }

  /**
   * Returns a list at most `maxAge` ms old. Throws the errors of service calls. `lock` is secured when a request of its
   * own leaves.
   */
  read(maxAge: number, lock?: Pick<Lock, 'secure'>): Promise<List> {
    if (this.#list && this.clock.monotonic() - this.#asOf < maxAge) return Promise.resolve(this.#list);
    return this.#flight?.list ?? this.#begin(lock);
  }

  /** Returns a list whose read begins after this call. */
  async readAnew(): Promise<List> {
    const now = this.clock.monotonic();
    const wait = this.#begunAt + APART - now;
    if (wait > 0) await sleep(this.clock, wait, this.signal);
    if (this.#asOf > now && this.#list) return this.#list;
    if (this.#flight && this.#flight.begunAt >= now) return this.#flight.list;
    await this.#flight?.list.catch(() => undefined);
    return this.#flight?.list ?? this.#begin();
  }

  /** Finds a cluster in the list; null where the list lacks it or can't be read. */
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

  #begin(lock?: Pick<Lock, 'secure'>): Promise<List> {
    const begunAt = this.clock.monotonic();
    this.#begunAt = begunAt;
    const list = this.#read(begunAt, lock).finally(() => (this.#flight = null));
    this.#flight = { begunAt, list };
    return list;
  }

  async #read(begunAt: number, lock?: Pick<Lock, 'secure'>): Promise<List> {
    try {
      this.#list = await underDeadline(this.clock, { ms: LONGEST, parent: this.signal }, (deadline) =>
        readList(this.service, { deadline, ...(lock && { lock }) }, listed),
      );
    } catch (error) {
      this.#failedAt = this.clock.monotonic();
      this.reports?.failed(asPrintingError(error));
      throw error;
    }
    this.#asOf = begunAt;
    this.reports?.received(this.#list);
    return this.#list;
  }
}

const listed = ({
  clusterId,
  name,
  hostGuid,
  model,
  authorized,
  capabilities,
  note,
  maintenanceDue,
  displayStatus,
  online,
  printers: [host],
}: Cluster): ListedCluster => ({
  clusterId,
  name,
  hostGuid,
  model,
  authorized,
  capabilities,
  note,
  maintenanceDue,
  displayStatus,
  online,
  host: host ? { printerId: host.printerId, name: host.name } : null,
});

/** Reads the whole list, each cluster once. Throws the errors of `pagesOf`, and SERVICE_ERROR for an entry without an id. */
export const readAllPages = async (
  service: ApiClient,
  deadline: Deadline,
): Promise<{ cluster: Cluster; raw: Json }[]> => [
  ...(await readList(service, { deadline }, (cluster, raw) => ({ cluster, raw }))).values(),
];

/** Reads the printers of the whole list, with one request per page. Throws the errors of `readAllPages`. */
export const readPrinters = async (service: ApiClient, deadline: Deadline): Promise<PrinterEntry[]> => [
  ...(await readList(service, { deadline }, printerEntry)).values(),
];

/** The printers that a filter matches, and of each other one the first criterion that it does not meet. */
export async function sift<T extends PrinterEntry>(
  filter: PrinterFilter,
  printers: readonly T[],
  clock: Pick<Clock, 'monotonic'>,
): Promise<{ found: T[]; misfits: Criterion[] }> {
  const found: T[] = [];
  const misfits: Criterion[] = [];
  const turns = new Turns(clock);
  for (const printer of printers) {
    await turns.next();
    const misfit = misfitOf(filter, printer);
    if (misfit === null) found.push(printer);
    else misfits.push(misfit);
  }
  return { found, misfits };
}

/** Reads the whole list without what came with it. Throws the errors of `readAllPages`. */
export const readClusters = async (service: ApiClient, deadline: Deadline): Promise<Cluster[]> => [
  ...(await readList(service, { deadline }, (cluster) => cluster)).values(),
];

/** Reads the whole list, and of each cluster what `keep` returns. Throws the errors of `readAllPages`. */
async function readList<T>(
  service: ApiClient,
  limits: { deadline: Deadline; lock?: Pick<Lock, 'secure'> },
  keep: (cluster: Cluster, raw: Json) => T,
): Promise<Map<string, T>> {
  const found = new Map<string, T>();
  const turns = new Turns(limits.deadline.clock);
  for await (const page of pagesOf(service, 'clusters', { query: IN_PAGES, what: WHAT, ...limits }))
    for (const raw of page) {
      await turns.next();
      const cluster = readCluster(raw);
      // A printer whose id can't be read would look removed.
      if (!cluster) throw unexpectedAnswer(WHAT);
      if (!found.has(cluster.clusterId)) found.set(cluster.clusterId, keep(cluster, raw));
    }
  return found;
}
