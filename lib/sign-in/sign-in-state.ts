import { guard } from '../time/guard';

/**
 * `unread`: the stored sign-in, if any, was not read yet. `unchecked`: a static token that the service hasn't accepted yet
 * (reference 5).
 */
export type SignInState = 'unread' | 'signed-out' | 'signed-in' | 'sign-in-needed' | 'unchecked';

/** Whether calls can succeed, with a notification on change. Pollers sleep while they can't. */
export interface SignInWatch {
  readonly state: SignInState;
  /** Whether there is a bearer to try. */
  readonly usable: boolean;
  /** Calls `listener` after each change of `state` and each new sign-in. The returned function unsubscribes. */
  onChange(listener: () => void): () => void;
}

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
