import { guard } from '../time/guard';

/** Listeners to changes. One that throws keeps no other from being called. */
export class Changes {
  readonly #listeners = new Set<() => void>();

  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(): void {
    for (const listener of [...this.#listeners]) guard(listener)();
  }
}
