import { guard } from '../time/guard';

/** Change listeners. An error of one listener doesn't stop the others. */
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
