import type { ItemRecord } from './queue-item';

/** The items to which a condition applies. A queue looks at few of its items often, at all of them rarely. */
export class ItemIndex {
  readonly #items = new Map<string, ItemRecord>();

  constructor(private readonly applies: (record: ItemRecord) => boolean) {}

  get all(): ItemRecord[] {
    return [...this.#items.values()];
  }

  get(itemId: string): ItemRecord | undefined {
    return this.#items.get(itemId);
  }

  /** Call after each change of an item; `record`: undefined for one that is gone. */
  update(itemId: string, record: ItemRecord | undefined): void {
    if (record && this.applies(record)) this.#items.set(itemId, record);
    else this.#items.delete(itemId);
  }
}
