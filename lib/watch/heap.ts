/** What has a time, earliest first; an item's time can be changed, and an item taken out. */
export class Heap<T> {
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
    let at = this.#at.get(item);
    if (at === undefined) {
      at = this.#items.length;
      this.#put(at, item, time);
    } else {
      this.#times[at] = time;
    }
    this.#sink(this.#rise(at));
  }

  remove(item: T): void {
    const at = this.#at.get(item);
    if (at === undefined) return;
    this.#at.delete(item);
    const last = this.#items.length - 1;
    const [lastItem, lastTime] = [this.#items[last] as T, this.#times[last] as number];
    this.#items.pop();
    this.#times.pop();
    if (at === last) return;
    this.#put(at, lastItem, lastTime);
    this.#sink(this.#rise(at));
  }

  /** Takes out the earliest. */
  shift(): T | undefined {
    const [item] = this.#items;
    if (item !== undefined) this.remove(item);
    return item;
  }

  #rise(at: number): number {
    while (at > 0) {
      const above = (at - 1) >> 1;
      if ((this.#times[above] as number) <= (this.#times[at] as number)) break;
      this.#swap(at, above);
      at = above;
    }
    return at;
  }

  #sink(at: number): void {
    for (;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      for (const below of [left, right])
        if (below < this.#times.length && (this.#times[below] as number) < (this.#times[least] as number))
          least = below;
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #swap(one: number, other: number): void {
    const [item, time] = [this.#items[one] as T, this.#times[one] as number];
    this.#put(one, this.#items[other] as T, this.#times[other] as number);
    this.#put(other, item, time);
  }

  #put(at: number, item: T, time: number): void {
    this.#items[at] = item;
    this.#times[at] = time;
    this.#at.set(item, at);
  }
}
