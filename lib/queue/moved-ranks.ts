import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';
import { itemNotFound } from './item-store';
import type { ItemRecord } from './queue-item';
import { rankBetween } from './rank';

/**
 * New ranks of moved items, by item: among those of their priority, as an item never passes one of a higher priority.
 * `order`: the items that can be planned. Throws QUEUE_ITEM_NOT_FOUND and INVALID_INPUT.
 */
export function movedRanks(
  moved: readonly ItemRecord[],
  all: readonly ItemRecord[],
  order: readonly string[],
  to: { position: number } | { before: string },
): Map<string, string> {
  const ranks = new Map<string, string>();
  for (const priority of new Set(moved.map((item) => item.priority))) {
    const own = moved.filter((item) => item.priority === priority).sort(byRank);
    const peers = all
      .filter((item) => item.priority === priority && item.endedAt === null && !own.includes(item))
      .sort(byRank);
    const at =
      'before' in to ? placeBefore(to.before, peers, all) : placeAt(to.position, peers, { all, order, priority });
    let before = peers[at - 1]?.rank ?? null;
    const after = peers[at]?.rank ?? null;
    for (const { itemId } of own) {
      before = rankBetween(before, after);
      ranks.set(itemId, before);
    }
  }
  return ranks;
}

function placeBefore(itemId: string, peers: readonly ItemRecord[], all: readonly ItemRecord[]): number {
  const at = peers.findIndex((item) => item.itemId === itemId);
  if (at >= 0) return at;
  if (!all.some((item) => item.itemId === itemId)) throw itemNotFound();
  throw new PrintingError(
    'INVALID_INPUT',
    phrase`An item can only be moved among waiting items of the same priority: choose another msg.before.`,
  );
}

/** Place of a position of the whole plan, 1 is next, among the items of one priority. */
function placeAt(
  position: number,
  peers: readonly ItemRecord[],
  { all, order, priority }: { all: readonly ItemRecord[]; order: readonly string[]; priority: number },
): number {
  const planned = new Set(order);
  const higher = all.filter((item) => item.priority > priority && planned.has(item.itemId)).length;
  const plannable = peers.filter(({ itemId }) => planned.has(itemId));
  const neighbour = plannable[Math.max(0, position - 1 - higher)];
  return neighbour ? peers.indexOf(neighbour) : peers.length;
}

const byRank = (one: ItemRecord, other: ItemRecord): number =>
  one.rank < other.rank ? -1 : one.rank > other.rank ? 1 : 0;
