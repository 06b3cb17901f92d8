/** Priority queue of items by time, earliest first. An item's time can change, and items can be removed. */
export class TimerQueue<T> {
  readonly #items: T[] = [];
  readonly #times: number[] = [];
  readonly #positions = new Map<T, number>();

  get size(): number {
    return this.#items.length;
  }

  /** Earliest time; Infinity for an empty queue. */
  get first(): number {
    return this.#times[0] ?? Infinity;
  }

  set(item: T, time: number): void {
    this.#place(this.#positions.get(item) ?? this.#items.length, item, time);
  }

  remove(item: T): void {
    const at = this.#positions.get(item);
    if (at === undefined) return;
    this.#positions.delete(item);
    const [lastItem, lastTime] = [this.#items.pop() as T, this.#times.pop() as number];
    if (at < this.#items.length) this.#place(at, lastItem, lastTime);
  }

  /** Removes and returns the earliest item. */
  shift(): T | undefined {
    const [item] = this.#items;
    if (item !== undefined) this.remove(item);
    return item;
  }

  /** Moves an item from the free position `at` up or down the heap to its place. */
  #place(at: number, item: T, time: number): void {
    while (at > 0) {
      const above = (at - 1) >> 1;
      if ((this.#times[above] as number) <= time) break;
      this.#move(above, at);
      at = above;
    }
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const below = (this.#times[right] ?? Infinity) < (this.#times[left] ?? Infinity) ? right : left;
      if (!((this.#times[below] ?? Infinity) < time)) break;
      this.#move(below, at);
      at = below;
    }
    this.#put(at, item, time);
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#items[from] as T, this.#times[from] as number);
  }

  #put(at: number, item: T, time: number): void {
    this.#items[at] = item;
    this.#times[at] = time;
    this.#positions.set(item, at);
  }
}
