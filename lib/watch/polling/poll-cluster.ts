import type { ClusterStatus } from '../../service/cluster';
import type { Lock } from '../../state/membership';
import { isStillOwned } from '../checkpoints/ownership';
import type { Departure } from './departure';
import type { Observer } from './observer';
import type { PollResult } from './poll-result';
import type { PollingAccount, PollReports } from './ports';
import { readStatus } from './read-status';

/** A cluster to poll. */
export interface ClusterPoll {
  clusterId: string;
  account: PollingAccount;
  reports: PollReports;
  observer: Observer;
  /** Whether a subscriber waits for polls by any runtime. */
  isWaitedFor: () => boolean;
  /** Called with each status that was read. */
  onRead: (status: ClusterStatus) => void;
}

/**
 * Requests the status of a cluster once and processes the answer. `lock` null: another runtime owns the cluster.
 * `isOurs`: this runtime may deliver the result. Throws the errors of service calls.
 */
export async function pollCluster(
  { clusterId, account, reports, observer, isWaitedFor, onRead }: ClusterPoll,
  lock: Lock | null,
  departure: Departure,
): Promise<[result: PollResult, isOurs: boolean]> {
  const scope = await account.scoped();
  const memory = await observer.load(scope);
  account.signal.throwIfAborted();
  const isOurs = () => isStillOwned(account.ownership, clusterId, lock);
  if (memory?.movedTo) return [await reports.moves.redirect(clusterId, memory.movedTo), isOurs()];
  const answer = await readStatus(account, clusterId, { known: () => observer.status, lock: departure });
  account.signal.throwIfAborted();
  if ('reboundTo' in answer) {
    const { reboundTo } = answer;
    if (!isOurs()) return [await reports.moves.askNow(reboundTo.clusterId), false];
    return [await reports.moves.rebind({ previous: clusterId, cluster: reboundTo }), isOurs()];
  }
  const { seen, raw } = answer;
  const { status } = seen;
  let isDelivered = isOurs();
  if (memory && (isDelivered || isWaitedFor()))
    isDelivered = await observer.process(seen, memory, scope, isDelivered ? lock : null);
  else scope.of(clusterId).setStatus(status);
  if (raw !== null) {
    onRead(status);
    reports.observed(clusterId, status);
    if (isDelivered && account.ownership.isAwaited(clusterId))
      account.checkpoints.publish(scope, clusterId, { checkpoint: observer.checkpointOf(memory), figures: status });
  }
  return [{ clusterId, status, raw, error: null }, isDelivered];
}
