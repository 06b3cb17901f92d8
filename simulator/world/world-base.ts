import type { SimulatorClock } from './clock';
import { Ids } from './ids';
import type { Moment } from './moment';
import { recordNotFound } from '../http/refusals';
import type { Cluster, PrintJob, State } from './state';
import { catchUp } from './catch-up';

/** A cluster by its id, or by its number in the list, from 1. */
export type ClusterRef = string | number;

export interface WorldOptions {
  clock: SimulatorClock;
  /** Virtual ms until lists show a new print (wire facts 7). */
  printVisibleAfter: number;
  /** Real ms until the record of a stored file says `uploaded`. */
  uploadConfirmDelay: number;
  /** Real ms. */
  actionDelay: number;
  /** Real ms. */
  reportDelay: number;
  changed: () => void;
  /** The bytes of a removed file can go. */
  dropBytes: (key: string) => void;
}

/** What the parts of the world stand on: state, time, and the clusters as of now. */
export class WorldBase {
  protected readonly clock: SimulatorClock;
  protected readonly ids: Ids;
  protected byId = new Map<string, Cluster>();

  constructor(
    protected readonly state: State,
    protected readonly options: WorldOptions,
  ) {
    this.clock = options.clock;
    this.ids = new Ids(state.seed, state);
    this.setClusters(state.clusters);
  }

  protected setClusters(clusters: Cluster[]): void {
    this.state.clusters = clusters;
    this.byId = new Map(clusters.map((cluster) => [cluster.clusterId, cluster]));
  }

  /** Now, for the records. */
  /** How many times as fast as real time the printers' time runs. */
  get timeFactor(): number {
    return this.clock.timeFactor;
  }

  moment(): Moment {
    return { at: this.clock.virtual(), now: this.clock.now(), ids: this.ids };
  }

  /** The clusters of all workspaces (or one), as of now. Live objects: to read, not to change. */
  clusters(organizationId?: string): Cluster[] {
    return this.listed(organizationId).map((cluster) => this.upToDate(cluster));
  }

  /** The same, but as of when each was last asked for: a list of thousands must be cheap to page through. */
  listed(organizationId?: string): Cluster[] {
    return this.state.clusters.filter(
      (cluster) => organizationId === undefined || cluster.organizationId === organizationId,
    );
  }

  /** Brings a cluster to now. */
  upToDate(cluster: Cluster): Cluster {
    if (catchUp(cluster, { clock: this.clock, ids: this.ids })) this.options.changed();
    return cluster;
  }

  /** One cluster as of now; throws recordNotFound. */
  cluster(ref: ClusterRef, organizationId?: string): Cluster {
    const found = typeof ref === 'number' ? this.listed(organizationId)[ref - 1] : this.byId.get(ref);
    if (!found || (organizationId !== undefined && found.organizationId !== organizationId))
      throw recordNotFound('Cluster');
    return this.upToDate(found);
  }

  /** A printing that is waiting, running or in history; throws recordNotFound. */
  printJob(uuid: string, ref?: ClusterRef): PrintJob {
    const clusters = ref === undefined ? this.clusters() : [this.cluster(ref)];
    const found = clusters.flatMap(({ queue, history }) => [...queue, ...history]).find((job) => job.uuid === uuid);
    if (!found) throw recordNotFound('PrintJob');
    return found;
  }

  /** Skips virtual seconds. */
  advance(seconds: number): void {
    this.clock.skip(seconds);
    this.options.changed();
  }

  protected update(ref: ClusterRef, values: Partial<Cluster>): void {
    Object.assign(this.cluster(ref), values);
    this.options.changed();
  }
}
