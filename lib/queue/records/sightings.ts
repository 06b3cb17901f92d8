import type { ClusterStatus } from '../../service/cluster';
import type { Printer } from '../../service/printer';

/** Longest time between two requests for a status without a gap, in any case, ms (print queue, rule 3). */
const LEAST = 120_000;

/** The last status of a machine. */
interface Sighting {
  clusterId: string;
  /** When it was requested at the earliest, monotonic, ms. */
  requestedAt: number;
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
}

/**
 * The last statuses of machines in this process, over deploys: whether a printer was watched without a gap is known only
 * by those who watched. After a start nothing is known, which opens no gate.
 */
export class Sightings {
  readonly #all = new Map<string, Sighting>();
  readonly #byCluster = new Map<string, Set<string>>();

  /**
   * Records a status of a machine. Returns how it follows the status before. The same status, which another queue passes
   * on, has the same answer.
   * @param interval of the polls, ms
   * @param now monotonic, ms: the status was requested before
   */
  see(
    machine: string,
    { clusterId, requestedAt, isOnline, isUnlisted }: Omit<Sighting, 'found' | 'unlistedSince'>,
    { interval, now }: { interval: number; now: number },
  ): Found {
    const last = this.#all.get(machine);
    if (last?.requestedAt === requestedAt && last.clusterId === clusterId) return last.found;
    const apart = last ? now - last.requestedAt : Infinity;
    const most = Math.max(LEAST, 2 * interval);
    const isNear = apart <= most;
    const hasGap = !last || !last.isOnline || !isOnline || !isNear;
    const unlistedSince = last?.isUnlisted ? last.unlistedSince : requestedAt;
    const isLongUnlisted = isUnlisted && now - unlistedSince > most;
    const found = { hasGap, wasUnlisted: last?.isUnlisted ?? false, isLongUnlisted };
    this.#all.set(machine, { clusterId, requestedAt, isOnline, isUnlisted, unlistedSince, found });
    if (last?.clusterId === clusterId) return found;
    if (last) this.#byCluster.get(last.clusterId)?.delete(machine);
    const here = this.#byCluster.get(clusterId) ?? new Set<string>();
    this.#byCluster.set(clusterId, here.add(machine));
    return found;
  }

  /** Whether a status is older than one that is known of a machine. */
  isOutdated(machine: string, requestedAt: number): boolean {
    return requestedAt < (this.#all.get(machine)?.requestedAt ?? -Infinity);
  }

  /** Records that a status of a cluster did not show its other machines, or showed them offline. */
  miss(clusterId: string, shown: readonly string[]): void {
    for (const machine of this.#byCluster.get(clusterId) ?? []) {
      const last = this.#all.get(machine);
      if (last && !shown.includes(machine)) last.isOnline = false;
    }
  }
}

/** Whether a status shows a printer online. */
export const isOnline = ({ online, stale }: ClusterStatus, { status }: Printer): boolean =>
  online === true && !stale && status !== 'unreachable' && status !== 'booting';
