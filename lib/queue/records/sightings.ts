import type { ClusterStatus } from '../../service/cluster';
import type { Printer } from '../../service/printer';

/** Longest time between two requests for a status without a gap, in any case, ms (print queue, rule 3). */
const LEAST = 120_000;

/** The last status of a machine. */
interface Sighting {
  clusterId: string;
  /** When it was requested at the earliest, and the first one in this cluster, monotonic, ms. */
  requestedAt: number;
  since: number;
  /** Its last status in another cluster. */
  former: Pick<Sighting, 'clusterId' | 'requestedAt'> | undefined;
  /** Whether it showed the printer online, and nothing has shown it offline since. */
  isOnline: boolean;
  /** Whether it showed a print of which no job told. */
  isUnlisted: boolean;
  /** When the first one of those in a row was requested. */
  unlistedSince: number;
  /** What was found when it came. */
  found: Found;
}

interface Found {
  /** Whether the machine was not watched without a gap since the status before. */
  hasGap: boolean;
  /** Whether the status before showed a print without a job, too, and whether that has lasted longer than a gap. */
  wasUnlisted: boolean;
  isLongUnlisted: boolean;
  /** Whether the machine has come from another cluster that was not read since it was last seen there. */
  isFromUnread: boolean;
  /** Whether this process has read it before, and the last status is older than one without a gap may be. */
  wasUnwatched: boolean;
}

interface Reads {
  last: number;
  before: number;
}

const NEVER: Reads = { last: -Infinity, before: -Infinity };

/**
 * The last statuses of machines in this process, over deploys: whether a printer was watched without a gap is known only
 * by those who watched. After a start nothing is known, which opens no gate.
 */
export class Sightings {
  readonly #all = new Map<string, Sighting>();
  readonly #byCluster = new Map<string, Set<string>>();
  /** When the last two statuses of each cluster were requested whose machines were all followed, monotonic, ms. */
  readonly #readAt = new Map<string, Reads>();

  /**
   * Records a status of a machine. Returns how it follows the status before. The same status, which another queue passes
   * on, has the same answer.
   * @param from another cluster, in which it was seen last, also by an earlier process; undefined: there is none
   * @param interval of the polls, ms
   * @param now monotonic, ms: the status was requested before
   */
  see(
    machine: string,
    { clusterId, requestedAt, isOnline, isUnlisted }: Omit<Sighting, 'found' | 'unlistedSince' | 'since' | 'former'>,
    { from, interval, now }: { from: string | undefined; interval: number; now: number },
  ): Found {
    const last = this.#all.get(machine);
    if (last?.requestedAt === requestedAt && last.clusterId === clusterId) return last.found;
    const apart = last ? now - last.requestedAt : Infinity;
    const most = Math.max(LEAST, 2 * interval);
    const isNear = apart <= most;
    const hasGap = !last || !last.isOnline || !isOnline || !isNear;
    const unlistedSince = last?.isUnlisted ? last.unlistedSince : requestedAt;
    const isLongUnlisted = isUnlisted && now - unlistedSince > most;
    const former = last && last.clusterId !== clusterId ? last : last?.former;
    // Two clusters that both show the machine would else be unread in turn.
    const isInBoth = last?.former?.clusterId === clusterId && now - last.former.requestedAt <= most;
    const isFromUnread = from !== undefined && !isInBoth && !this.isReadWithout(from, machine);
    const since = last?.clusterId === clusterId ? last.since : requestedAt;
    const wasUnwatched = last !== undefined && !isNear;
    const found = { hasGap, wasUnlisted: last?.isUnlisted ?? false, isLongUnlisted, isFromUnread, wasUnwatched };
    this.#all.set(machine, {
      ...{ clusterId, requestedAt, since, isOnline, isUnlisted, unlistedSince, found },
      former: former && { clusterId: former.clusterId, requestedAt: former.requestedAt },
    });
    if (last?.clusterId === clusterId) return found;
    if (last) this.#byCluster.get(last.clusterId)?.delete(machine);
    const here = this.#byCluster.get(clusterId) ?? new Set<string>();
    this.#byCluster.set(clusterId, here.add(machine));
    return found;
  }

  /** Whether a status is older than one that is known of a machine. */
  isOutdated(machine: string, requestedAt: number): boolean {
    return requestedAt < this.#seenAt(machine);
  }

  /** Whether a status is older than the first one that has shown a machine where it is now. */
  isBeforeMove(machine: string, requestedAt: number): boolean {
    return requestedAt < (this.#all.get(machine)?.since ?? -Infinity);
  }

  /** Whether a cluster was read since a machine was last seen there. */
  isReadWithout(clusterId: string, machine: string): boolean {
    return this.#readsOf(clusterId).last > this.#seenAt(machine);
  }

  /** Whether a machine that a status lacks was listed before, or was not looked for: only a second status proves that it has left. */
  isFirstWithout(clusterId: string, machine: string, requestedAt: number): boolean {
    const { last, before } = this.#readsOf(clusterId);
    // Another queue may have followed the same status.
    return (last < requestedAt ? last : before) <= this.#seenAt(machine);
  }

  /** Records that a status of a cluster was followed, also for the machines that it does not show any more. */
  read(clusterId: string, requestedAt: number): void {
    const { last } = this.#readsOf(clusterId);
    if (requestedAt > last) this.#readAt.set(clusterId, { last: requestedAt, before: last });
  }

  /** Whether this process has seen a machine. */
  isSeen(machine: string): boolean {
    return this.#all.has(machine);
  }

  /** Records that a status of a cluster did not show its other machines, or showed them offline. */
  miss(clusterId: string, shown: readonly string[]): void {
    for (const machine of this.#byCluster.get(clusterId) ?? []) {
      const last = this.#all.get(machine);
      if (last && !shown.includes(machine)) last.isOnline = false;
    }
  }

  #readsOf(clusterId: string): Reads {
    return this.#readAt.get(clusterId) ?? NEVER;
  }

  #seenAt(machine: string): number {
    return this.#all.get(machine)?.requestedAt ?? -Infinity;
  }
}

/** Whether a status shows a printer online. */
export const isOnline = ({ online, stale }: ClusterStatus, { status }: Printer): boolean =>
  online === true && !stale && status !== 'unreachable' && status !== 'booting';
