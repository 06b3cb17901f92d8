import type { QueueItem } from './queue-api';
import { itemNotFound } from './item-store';
import type { Loaded } from './queue-runtime';

/** Waits for the ends of items. Each reads its record after every change, at whichever runtime that was made. */
export class AwaitedEnds {
  readonly #loaded: () => Loaded | null;
  readonly #looks = new Set<() => void>();
  #isClosed = false;

  constructor(loaded: () => Loaded | null) {
    this.#loaded = loaded;
  }

  /** Resolves with an item that has ended; null if `signal` aborts or the queue closes. Throws QUEUE_ITEM_NOT_FOUND. */
  async endOf(itemId: string, signal: AbortSignal): Promise<QueueItem | null> {
    let look: () => void = () => undefined;
    try {
      return await new Promise<QueueItem | null>((resolve, reject) => {
        let isReading = false;
        const read = async ({ data, view }: Loaded) => {
          isReading = true;
          // A record that can't be read now is read again after the next change.
          const found = await data.items.find(itemId).catch(() => null);
          isReading = false;
          if (found === undefined) reject(itemNotFound());
          else if (found && found.endedAt !== null) resolve(view.item(found));
        };
        look = () => {
          if (signal.aborted || this.#isClosed) return resolve(null);
          const loaded = this.#loaded();
          const record = loaded?.data.items.get(itemId);
          if (loaded && record && record.endedAt !== null) resolve(loaded.view.item(record));
          else if (loaded && !record && !isReading) void read(loaded);
        };
        this.#looks.add(look);
        signal.addEventListener('abort', look);
        look();
      });
    } finally {
      this.#looks.delete(look);
      signal.removeEventListener('abort', look);
    }
  }

  look(): void {
    for (const look of [...this.#looks]) look();
  }

  close(): void {
    this.#isClosed = true;
    this.look();
  }
}
