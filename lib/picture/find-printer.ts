import type { ApiClient } from '../account/api-client';
import { readClusterStatus, statusRecord } from '../service/cluster';
import { PrintingError, printerOffline } from '../service/errors';
import type { Deadline } from '../time/deadline';
import type { ClusterList } from '../watch/polling/cluster-list';
import { phrase } from '../words/sentence';

export interface FoundPrinter {
  printerId: string;
  /** Null if the service lists only other printers of the cluster. */
  name: string | null;
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * Finds the printer for an action: the named one, or the cluster's host printer (wire facts 9). Reads the status of the
 * cluster first, as an offline cluster's actions would wait forever; uses the cached list for the identity, which
 * hardly ever changes. Throws NOT_ACCEPTED if the cluster is offline, NOT_FOUND if the cluster or its printer is
 * unknown.
 */
export async function findPrinter(
  { service, clusterList }: { service: ApiClient; clusterList: Pick<ClusterList, 'find'> },
  clusterId: string,
  printerId: string | null,
  deadline: Deadline,
): Promise<FoundPrinter> {
  const call = { ids: { cluster_id: clusterId }, what: phrase`the printer`, deadline };
  const answer = await service.call('clusterStatus', call).catch(orNotFound);
  const listed = await clusterList.find(clusterId, deadline);
  if (answer instanceof PrintingError) {
    // A printer that is switched off may have no status (wire facts, trap 16).
    checkOnline(listed?.online);
    throw answer;
  }
  const wire = statusRecord(answer.data) ?? {};
  const status = readClusterStatus(wire, { clusterId, receivedAt: '', identity: listed ?? null });
  checkOnline(status.online ?? listed?.online);
  const known = [...(listed?.host ? [listed.host] : []), ...status.printers];
  if (printerId) return { printerId, name: known.find((printer) => printer.printerId === printerId)?.name ?? null };
  // The list is truncated for some accounts (`limit_reached`, wire facts, trap 27), and lacks the printers for others.
  const host = known.find((printer) => printer.printerId);
  if (host?.printerId) return { printerId: host.printerId, name: host.name ?? status.name };
  if (listed?.hostGuid && UUID.test(listed.hostGuid)) return { printerId: listed.hostGuid, name: listed.name };
  throw new PrintingError(
    'NOT_FOUND',
    phrase`The service knows no printer with this ID: choose a printer in the node.`,
  );
}

function orNotFound(error: unknown): PrintingError {
  if (error instanceof PrintingError && error.code === 'NOT_FOUND') return error;
  throw error;
}

function checkOnline(online: boolean | null | undefined): void {
  if (online === false) throw printerOffline();
}
