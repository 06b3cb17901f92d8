import { asPrintingError, PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';
import type { QueueApi, QueueItem } from './queue-api';

/** An item whose end is awaited. */
export interface AwaitedItem {
  itemId: string;
  /** Whether the message added a queue key that was known. */
  duplicate: boolean;
}

/** An item that has ended, and why it is not finished. */
export interface ItemEnd {
  item: QueueItem | null;
  error: PrintingError | null;
}

export type WatchedQueue = Pick<QueueApi, 'endOf'>;

/** Resolves once the item has ended; null if `signal` aborts before. Never rejects. */
export async function itemEnd(
  queue: WatchedQueue,
  { itemId }: AwaitedItem,
  signal: AbortSignal,
): Promise<ItemEnd | null> {
  try {
    const item = await queue.endOf(itemId, signal);
    return item && { item, error: errorOf(item) };
  } catch (thrown) {
    return { item: null, error: asPrintingError(thrown) };
  }
}

function errorOf({ state, name, itemId }: QueueItem): PrintingError | null {
  const shown = name ?? itemId;
  const details = { ids: { itemId } };
  switch (state) {
    case 'failed':
      return new PrintingError(
        'PRINT_FAILED',
        phrase`The prints of this item failed: ${shown}. Check the printers, then retry it.`,
        details,
      );
    case 'cancelled':
      return new PrintingError('PRINT_FAILED', phrase`This item was removed from the queue: ${shown}.`, details);
    default:
      return null;
  }
}
