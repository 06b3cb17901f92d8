/** What has a time, earliest first; an item's time can be changed, and an item taken out. */
export class TimerQueue<T> {
  readonly #items: T[] = [];
  readonly #times: number[] = [];
  readonly #at = new Map<T, number>();

  get size(): number {
    return this.#items.length;
  }

  /** The earliest time; Infinity where there is none. */
  get first(): number {
    return this.#times[0] ?? Infinity;
  }

  set(item: T, time: number): void {
    this.#settle(this.#at.get(item) ?? this.#items.length, item, time);
  }

  remove(item: T): void {
    const at = this.#at.get(item);
    if (at === undefined) return;
    this.#at.delete(item);
    const [lastItem, lastTime] = [this.#items.pop() as T, this.#times.pop() as number];
    if (at < this.#items.length) this.#settle(at, lastItem, lastTime);
  }

  /** Takes out the earliest. */
  shift(): T | undefined {
    const [item] = this.#items;
    if (item !== undefined) this.remove(item);
    return item;
  }

  /** Puts an item where it belongs, from the free place `at` on up or down; those in its way take the place that gets free. */
  #settle(at: number, item: T, time: number): void {
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
    this.#at.set(item, at);
  }
}
