import type { SimulatorClock } from './clock';
import { Ids } from './ids';
import type { Moment } from './moment';
import { recordNotFound } from '../http/refusals';
import type { Cluster, PrintJob, State } from './state';
import { catchUp } from './catch-up';

/** A cluster by its id or its number in the list, from 1. */
export type ClusterRef = string | number;

export interface WorldOptions {
  clock: SimulatorClock;
  /** Delay until lists show a new print, virtual ms (wire facts 7). */
  printVisibleAfter: number;
  /** Delay until the record of a stored file says `uploaded`, real ms. */
  uploadConfirmDelay: number;
  /** Duration of an action, real ms. */
  actionDelay: number;
  /** Duration of a report, real ms. */
  reportDelay: number;
  changed: () => void;
  /** Deletes the bytes of a removed file. */
  dropBytes: (key: string) => void;
}

/** Common base of the world's layers: state, time and current clusters. */
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

  /** Speed of the printers' time relative to real time. */
  get timeFactor(): number {
    return this.clock.timeFactor;
  }

  moment(): Moment {
    return { at: this.clock.virtual(), now: this.clock.now(), ids: this.ids };
  }

  /** Returns the current clusters of all workspaces or one. They are live objects: don't modify them. */
  clusters(organizationId?: string): Cluster[] {
    return this.listed(organizationId).map((cluster) => this.upToDate(cluster));
  }

  /** Returns clusters without updating them: paging through thousands must be cheap. */
  listed(organizationId?: string): Cluster[] {
    return this.state.clusters.filter(
      (cluster) => organizationId === undefined || cluster.organizationId === organizationId,
    );
  }

  /** Updates a cluster to the current time. */
  upToDate(cluster: Cluster): Cluster {
    if (catchUp(cluster, { clock: this.clock, ids: this.ids, users: this.state.users })) this.options.changed();
    return cluster;
  }

  /** Returns one current cluster; throws recordNotFound. */
  cluster(ref: ClusterRef, organizationId?: string): Cluster {
    const found = typeof ref === 'number' ? this.listed(organizationId)[ref - 1] : this.byId.get(ref);
    if (!found || (organizationId !== undefined && found.organizationId !== organizationId))
      throw recordNotFound('Cluster');
    return this.upToDate(found);
  }

  /** Returns a waiting, active or ended print job; throws recordNotFound. */
  printJob(uuid: string, ref?: ClusterRef): PrintJob {
    const clusters = ref === undefined ? this.clusters() : [this.cluster(ref)];
    const found = clusters.flatMap(({ queue, history }) => [...queue, ...history]).find((job) => job.uuid === uuid);
    if (!found) throw recordNotFound('PrintJob');
    return found;
  }

  /** Advances virtual time by so many seconds. */
  advance(seconds: number): void {
    this.clock.skip(seconds);
    this.options.changed();
  }

  protected update(ref: ClusterRef, values: Partial<Cluster>): void {
    Object.assign(this.cluster(ref), values);
    this.options.changed();
  }
}
