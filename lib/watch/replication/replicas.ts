import type { Membership } from '../../state/membership';
import { isoTime } from '../../time/clock';
import { LIST_ITEM } from './fair-share';

/** One of the runtimes that share an account's polls, for a problem report: ids shortened. */
export interface Replica {
  id: string;
  name: string;
  /** Whether it is the one that says so. */
  self: boolean;
  since: string;
  /** Seconds for which its lease was not renewed. */
  leaseAge: number;
  /** How many it polls, and whether the list of printers is read there. */
  printers: number;
  list: boolean;
  clusterIds: string[];
}

/** Who does what. Empty while this runtime is not let in. Rejects while the database can't be read. */
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
