/**
 * What several nodes of one process use together, by key: a configuration node inside a subflow has as many instances as
 * the subflow. The first node makes it, and the last one that leaves closes it.
 */
export class Shares<T> {
  readonly #shares = new Map<string, { value: T; users: number }>();

  join(key: string, make: () => T): T {
    const share = this.#shares.get(key) ?? { value: make(), users: 0 };
    this.#shares.set(key, share);
    share.users++;
    return share.value;
  }

  /** Returns whether the caller was the last one, and has to close it. Call it once for each `join`. */
  leave(key: string): boolean {
    const share = this.#shares.get(key);
    if (share && --share.users > 0) return false;
    this.#shares.delete(key);
    return true;
  }
}
