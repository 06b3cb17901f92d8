/** Limits the work in progress to `count`. Further work waits in the order of asking. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** @param urgent runs before all waiting work */
  async hold<T>(work: () => Promise<T>, urgent = false): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((begin) => (urgent ? this.#waiting.unshift(begin) : this.#waiting.push(begin)));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
