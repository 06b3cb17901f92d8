import type { QueueEventDraft } from '../model/types';

/**
 * Since when this process has known each event that was not told yet, by its monotonic clock. Their dates come from the clocks
 * of the runtimes that saved them, and are compared with nothing.
 */
export class EventAges {
  readonly #since = new Map<string, number>();

  /** Records a change of the saved events of one record. `at`: since when new ones are known, monotonic, ms. */
  changed(before: readonly QueueEventDraft[], after: readonly QueueEventDraft[], at: number): void {
    if (before.length === 0 && after.length === 0) return;
    const left = new Set(after.map(({ id }) => id));
    for (const { id } of before) if (!left.has(id)) this.#since.delete(id);
    for (const id of left) if (!this.#since.has(id)) this.#since.set(id, at);
  }

  /** Monotonic, ms; -Infinity: an earlier process saved it. */
  since(id: string): number {
    return this.#since.get(id) ?? -Infinity;
  }
}
