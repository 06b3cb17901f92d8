/** `unchecked`: a static token that the service hasn't accepted yet (reference 5). */
export type SignInState = 'signed-out' | 'signed-in' | 'sign-in-needed' | 'unchecked';

/** Whether calls can succeed, with a notification on change. Pollers sleep while they can't. */
export interface SignInWatch {
  readonly state: SignInState;
  /** Whether there is a bearer to try. */
  readonly usable: boolean;
  /** Calls `listener` after each change of `state` and each new sign-in. The returned function unsubscribes. */
  onChange(listener: () => void): () => void;
}
