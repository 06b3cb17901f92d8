import { guard } from './guard';

/**
 * Actions to run when something ends. They are kept in an array, because an ended action must not be reachable from a
 * live one. In Node.js a removed event listener still references the next one, and so does the outgrown table of a Set:
 * where pieces of work always overlap, every one of them would stay in memory until a full garbage collection.
 */
export class Followers {
  readonly #actions: (() => void)[] = [];

  get size(): number {
    return this.#actions.length;
  }

  add(action: () => void): void {
    this.#actions.push(action);
  }

  remove(action: () => void): void {
    const at = this.#actions.indexOf(action);
    if (at >= 0) this.#actions.splice(at, 1);
  }

  /** Calls the actions, except those removed meanwhile. An error of one action doesn't stop the others. */
  notify(): void {
    for (const action of [...this.#actions]) if (this.#actions.includes(action)) guard(action)();
  }
}

interface FollowedSignal extends Followers {
  listener: () => void;
}

const followed = new WeakMap<AbortSignal, FollowedSignal>();

/**
 * Calls `action` when the signal aborts; the returned function unsubscribes. All actions on a signal share one
 * listener.
 */
export function followAbort(signal: AbortSignal, action: () => void): () => void {
  const all = followed.get(signal) ?? follow(signal);
  if (all.size === 0) signal.addEventListener('abort', all.listener, { once: true });
  all.add(action);
  return () => {
    all.remove(action);
    if (all.size === 0) signal.removeEventListener('abort', all.listener);
  };
}

function follow(signal: AbortSignal): FollowedSignal {
  const followers = new Followers();
  const all = Object.assign(followers, { listener: () => followers.notify() });
  followed.set(signal, all);
  return all;
}
