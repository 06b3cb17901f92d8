/** `unchecked`: a static token that the service has not taken yet (reference 5). */
export type SignInState = 'signed-out' | 'signed-in' | 'sign-in-needed' | 'unchecked';

/** Whether calls have a chance, and word when that changes: what polls, sleeps while they have none. */
export interface SignInWatch {
  readonly state: SignInState;
  /** Whether there is a bearer to try with. */
  readonly usable: boolean;
  /** Calls `listener` after each change of `state`, and after each new sign-in; the returned function ends that. */
  onChange(listener: () => void): () => void;
}
