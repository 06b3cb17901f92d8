import type { ClusterStatus } from '../../service/cluster';
import type { PrintingError } from '../../service/errors';

/** Id that stands for the list among the clusters that can fail. */
export const LIST = '';

/** Result of one poll of one cluster. */
export interface PollResult {
  clusterId: string;
  /** Last known figures with `stale: true` where the poll failed; null where none were ever read. */
  status: ClusterStatus | null;
  /** `data` of the status answer; null where `status` holds earlier figures. */
  raw: unknown;
  error: PrintingError | null;
}
