import type { QueueEventDraft } from '../model/types';

/**
 * Since when this process has known each event that was not told yet, by its monotonic clock, and whether it was there before
 * a node was. Their dates come from the clocks
 * of the runtimes that saved them, and are compared with nothing.
 */
export class EventAges {
  readonly #since = new Map<string, number>();
  readonly #waited = new Set<string>();

  /** Records a change of the saved events of one record. `at`: since when new ones are known, monotonic, ms. */
  changed(before: readonly QueueEventDraft[], after: readonly QueueEventDraft[], at: number): void {
    if (before.length === 0 && after.length === 0) return;
    const left = new Set(after.map(({ id }) => id));
    for (const { id } of before)
      if (!left.has(id)) {
        this.#since.delete(id);
        this.#waited.delete(id);
      }
    for (const id of left) if (!this.#since.has(id)) this.#since.set(id, at);
  }

  /** Monotonic, ms; -Infinity: an earlier process saved it. */
  since(id: string): number {
    return this.#since.get(id) ?? -Infinity;
  }

  /** Call while no node is there, also for one that a deploy takes away for a moment. */
  waits(id: string): void {
    if (this.#since.has(id)) this.#waited.add(id);
  }

  hasWaited(id: string): boolean {
    return this.#waited.has(id);
  }
}
