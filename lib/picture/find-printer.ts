import { readPages } from '../account/pages';
import type { Service } from '../account/service';
import { readCluster } from '../service/cluster';
import { readClusterStatus, statusRecord } from '../service/cluster-status';
import { PrintingError } from '../service/errors';
import type { Deadline } from '../time/deadline';

export interface FoundPrinter {
  printerId: string;
  /** Null where the service tells of other printers of the cluster only. */
  name: string | null;
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * The printer to ask: the one that is named, else the cluster's host printer (wire facts 9). An offline cluster is found
 * out first, for its actions would wait without an end.
 * Throws NOT_ACCEPTED where it is offline, NOT_FOUND where the cluster or its printer is unknown.
 */
export async function findPrinter(
  service: Service,
  clusterId: string,
  printerId: string | null,
  deadline: Deadline,
): Promise<FoundPrinter> {
  const clusters = await readPages(service, 'clusters', { what: 'the list of printers', deadline });
  const listed = clusters.map(readCluster).find((cluster) => cluster?.clusterId === clusterId);
  checkOnline(listed?.online);
  const host = listed?.printers[0];
  if (listed && printerId) return { printerId, name: host?.printerId === printerId ? host.name : null };
  if (host?.printerId) return { printerId: host.printerId, name: host.name ?? listed?.name ?? null };

  // The list is cut short for some accounts (`limit_reached`, wire facts, trap 27), and tells of no printer for others.
  const call = { ids: { cluster_id: clusterId }, what: 'the printer', deadline };
  const { data } = await service.call('clusterStatus', call);
  const status = readClusterStatus(statusRecord(data) ?? {}, { clusterId, receivedAt: '', identity: listed ?? null });
  checkOnline(status.online);
  const named = status.printers.find((printer) => printer.printerId === printerId);
  if (printerId) return { printerId, name: named?.name ?? null };
  const [first] = status.printers;
  if (first?.printerId) return { printerId: first.printerId, name: first.name ?? status.name };
  if (listed?.hostGuid && UUID.test(listed.hostGuid)) return { printerId: listed.hostGuid, name: listed.name };
  throw new PrintingError('NOT_FOUND', 'The service names no printer of this id: set the printer in the node.');
}

function checkOnline(online: boolean | null | undefined): void {
  if (online === false)
    throw new PrintingError('NOT_ACCEPTED', 'The printer is offline: switch it on, or try again when it is online.');
}
