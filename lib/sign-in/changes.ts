/** Listeners to changes. One that throws keeps nobody else from hearing it. */
export class Changes {
  readonly #listeners = new Set<() => void>();

  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch {
        // Its own affair.
      }
    }
  }
}
