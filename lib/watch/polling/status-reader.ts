import type { ApiClient, Limits } from '../../account/api-client';
import { printerOffline, PrintingError } from '../../service/errors';
import { phrase } from '../../words/sentence';
import type { ListedCluster } from '../checkpoints/memory';
import type { ClusterList } from './cluster-list';

/** Reads the status of a cluster once (interface, Cluster status). A printer that is off may have none (wire facts, trap 16). */
export class StatusReader {
  constructor(
    private readonly service: ApiClient,
    private readonly clusterList: Pick<ClusterList, 'readAnew'>,
  ) {}

  /**
   * Returns the service's `data`. Throws NOT_ACCEPTED for an offline printer without a status, NOT_FOUND for an unknown
   * one, and the errors of the service's calls.
   */
  async read(clusterId: string, limits: Limits): Promise<unknown> {
    const answer = await this.readOrListed(clusterId, limits);
    if (!('listed' in answer)) return answer.data;
    throw answer.listed.online === false ? printerOffline() : answer.error;
  }

  /** As `read`, but returns the entry of the account's list, read anew, for a listed printer without a status. */
  async readOrListed(
    clusterId: string,
    limits: Limits,
  ): Promise<{ data: unknown } | { listed: ListedCluster; error: PrintingError }> {
    try {
      const { data } = await this.service.call('clusterStatus', {
        ids: { cluster_id: clusterId },
        what: phrase`the printer`,
        ...limits,
      });
      return { data };
    } catch (error) {
      if (!(error instanceof PrintingError) || error.code !== 'NOT_FOUND') throw error;
      const listed = (await limits.deadline.wait(this.clusterList.readAnew())).get(clusterId);
      if (!listed) throw error;
      return { listed, error };
    }
  }
}
