import { observe, type Observation } from '../../events/observation';
import { sameHost } from '../../events/list-changes';
import { readClusterStatus, type ClusterStatus } from '../../service/cluster';
import { PrintingError } from '../../service/errors';
import type { Lock } from '../../state/membership';
import { isoTime } from '../../time/clock';
import { underDeadline } from '../../time/deadline';
import type { PollingAccount } from './ports';
import type { ListedCluster } from '../checkpoints/scope-memory';
import { phrase } from '../../words/sentence';

/** Deadline for one poll with its retries, ms. */
const LONGEST_READ = 60_000;
const WHAT = phrase`the printer`;
const CURE = phrase`try again later`;

export type StatusAnswer =
  /** `raw` null: the status was not found, but the list contains the cluster. */
  { seen: Observation; raw: unknown } | { reboundTo: ListedCluster };

interface Reading {
  /** The last known figures. */
  known: () => ClusterStatus | null;
  /** Checked in the moment the request leaves. */
  lock: Pick<Lock, 'secure'>;
}

/** Reads the status of a cluster. Throws the errors of service calls. */
export async function readStatus(
  { service, list, clock, signal }: PollingAccount,
  clusterId: string,
  { known, lock }: Reading,
): Promise<StatusAnswer> {
  const receivedAt = () => isoTime(clock.now());
  try {
    // Once a list was read, `find` returns names and models without a request.
    const listing = list.find(clusterId);
    const { data } = await underDeadline(clock, { ms: LONGEST_READ, parent: signal, cure: CURE }, (deadline) =>
      service.call('clusterStatus', { ids: { cluster_id: clusterId }, what: WHAT, deadline, lock }),
    );
    const listed = await listing;
    const context = { clusterId, receivedAt: receivedAt(), identity: listed ?? known() };
    const seen = observe(data, { ...context, hostPrinterId: listed?.host?.printerId ?? null });
    if (seen) return { seen, raw: data };
    throw new PrintingError(
      'SERVICE_ERROR',
      phrase`The service answered ${WHAT} with something unexpected: try again later.`,
      {
        outcome: 'unknown',
      },
    );
  } catch (thrown) {
    if (!(thrown instanceof PrintingError) || thrown.code !== 'NOT_FOUND') throw thrown;
    signal.throwIfAborted();
    return notFound(await list.readAnew(), thrown);
  }

  /** Interprets a 404: the cluster may be offline or have a new id (wire facts, traps 13 and 16). */
  function notFound(clusters: ReadonlyMap<string, ListedCluster>, error: PrintingError): StatusAnswer {
    const listed = clusters.get(clusterId);
    if (listed) return { seen: unread(listed), raw: null };
    const reboundTo = sameHost(clusters.values(), known()?.hostGuid ?? null);
    if (!reboundTo) throw error;
    return { reboundTo };
  }

  /** Observation with `online` from the list and the last known figures. */
  function unread({ clusterId: _id, online, host, ...identity }: ListedCluster): Observation {
    const at = receivedAt();
    const last = known() ?? readClusterStatus({}, { clusterId, receivedAt: at, identity });
    const status = { ...last, ...identity, online, stale: true };
    return { status, at, jobs: null, history: null, faults: new Map(), hostPrinterId: host?.printerId ?? null };
  }
}
