/**
 * All who end with one signal share one listener of it, and stand in an array. What ended must not be held by what lives
 * on: in Node.js a listener that was removed still knows the one after it, and so does the table of a Set that was
 * outgrown. Where pieces of work always overlap, each of them would stay in memory until everything is collected.
 */
class Followers {
  readonly #actions: (() => void)[] = [];
  readonly #tell = () => {
    for (const action of [...this.#actions]) if (this.#actions.includes(action)) action();
  };

  constructor(private readonly signal: AbortSignal) {}

  add(action: () => void): () => void {
    if (this.#actions.length === 0) this.signal.addEventListener('abort', this.#tell, { once: true });
    this.#actions.push(action);
    return () => this.#remove(action);
  }

  #remove(action: () => void): void {
    const at = this.#actions.indexOf(action);
    if (at < 0) return;
    this.#actions.splice(at, 1);
    if (this.#actions.length === 0) this.signal.removeEventListener('abort', this.#tell);
  }
}

const followers = new WeakMap<AbortSignal, Followers>();

/** Calls `action` when the signal aborts; the returned function ends that. */
export function followAbort(signal: AbortSignal, action: () => void): () => void {
  const all = followers.get(signal) ?? new Followers(signal);
  followers.set(signal, all);
  return all.add(action);
}
