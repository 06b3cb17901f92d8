import { copiesIn } from './copies';
import type { Prices } from './prices';
import type { ItemRecord } from './queue-item';
import { isOld, orderFollowed, orderReduced, type QueueRecord } from './queue-state';

/** The state with the ends of the orders of which every item has ended. */
export function observedEnds(
  state: QueueRecord,
  items: readonly ItemRecord[],
  { currency }: Prices,
  context: { queueId: string; now: number },
): QueueRecord {
  const orders = new Map<string, ItemRecord[]>();
  for (const item of items) {
    if (item.orderId === null || isOld(item, state.oldBefore)) continue;
    const members = orders.get(item.orderId);
    if (members) members.push(item);
    else orders.set(item.orderId, [item]);
  }
  let after = state;
  for (const [orderId, members] of orders) {
    const ends = members.reduce((sum, item) => sum + item.ends, 0);
    after = orderReduced(after, orderId, ends);
    if (members.some(({ endedAt }) => endedAt === null)) continue;
    after = orderFollowed(after, orderId, ends, { orderId, ...valueOf(members), currency }, context);
  }
  return after;
}

function valueOf(members: readonly ItemRecord[]): { good: number; wanted: number; cost: number | null } {
  const count = (...states: Parameters<typeof copiesIn>[1][]) =>
    members.reduce((sum, item) => sum + copiesIn(item, ...states).length, 0);
  const costs = members.flatMap(({ prints }) =>
    prints.filter(({ state }) => PRINTED.includes(state)).map(({ cost }) => cost),
  );
  const cost = costs.includes(null) ? null : costs.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  return {
    good: count('good'),
    wanted: members.reduce((sum, { copies }) => sum + copies, 0) - count('cancelled'),
    cost,
  };
}

/** States of attempts that consumed material. */
const PRINTED: readonly string[] = ['finished', 'rejected'];
