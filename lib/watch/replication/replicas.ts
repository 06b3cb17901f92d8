import type { Membership } from '../../state/membership';
import { isoTime } from '../../time/clock';
import { LIST_ITEM } from '../checkpoints/ownership';

/** Runtime that shares an account's polls, as shown in a problem report: ids are shortened. */
export interface Replica {
  id: string;
  name: string;
  /** Whether it is the runtime that reports. */
  self: boolean;
  since: string;
  /** Seconds since the last renewal of its lease. */
  leaseAge: number;
  /** Number of printers that it polls, and whether it reads the list of printers. */
  printers: number;
  list: boolean;
  clusterIds: string[];
}

/** Lists the runtimes and their polls. Empty while this runtime is no member. Rejects without the database. */
export async function replicasOf(membership: Membership): Promise<Replica[]> {
  const holdings = await membership.holders();
  const { id: own, members } = membership;
  return members.map(({ id, name, since }) => {
    const { items = [], leaseAge = 0 } = holdings.get(id) ?? {};
    const clusters = items.filter((item) => item !== LIST_ITEM);
    return {
      id: shortened(id),
      name,
      self: id === own,
      since: isoTime(since),
      leaseAge: Math.round(leaseAge / 100) / 10,
      printers: clusters.length,
      list: clusters.length < items.length,
      clusterIds: clusters.map(shortened),
    };
  });
}

const shortened = (id: string): string => `${id.slice(0, 6)}…`;
