import { guard } from './guard';

/**
 * What is done when something ends. All who wait for it stand in an array, and what ended must not be held by what lives
 * on: in Node.js a listener that was removed still knows the one after it, and so does the table of a Set that was
 * outgrown. Where pieces of work always overlap, each of them would stay in memory until everything is collected.
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

  /** Calls those that are still there when it is their turn. One that throws keeps no other from it. */
  tell(): void {
    for (const action of [...this.#actions]) if (this.#actions.includes(action)) guard(action)();
  }
}

interface FollowedSignal extends Followers {
  listener: () => void;
}

const followed = new WeakMap<AbortSignal, FollowedSignal>();

/** Calls `action` when the signal aborts; the returned function ends that. All of a signal share one listener of it. */
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
  const all = Object.assign(followers, { listener: () => followers.tell() });
  followed.set(signal, all);
  return all;
}
