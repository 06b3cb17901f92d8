import type { SignInState, SignInWatch } from './sign-in-state';

/** Who is signed in, as the editor shows it (reference 5). */
export interface SignInInfo {
  state: SignInState;
  user: string | null;
  organizationId: string | null;
  /** ISO 8601; when the access token ends. */
  expiresAt: string | null;
  /** A sentence for people, where something is wrong. */
  error: string | null;
}

/** Something that gives bearers: a sign-in with tokens that are renewed, or a static API token. */
export interface Credentials extends SignInWatch {
  /** Resolves when `state` and `info` tell what is stored, not the blank of the start. */
  ready(): Promise<void>;
  /** A bearer to call the service with. Throws NOT_SIGNED_IN, or what kept a refresh from working. */
  bearer(): Promise<string>;
  /** The service refused `refused` as expired: gives another, or throws NOT_SIGNED_IN where there can't be one. */
  renew(refused: string): Promise<string>;
  /** The service answered a call made with `bearer` (not with an expired token). */
  taken(bearer: string): void;
  info(): SignInInfo;
  counters(): Record<string, number>;
  signOut(): Promise<void>;
  /** Reads the store again after a sign-in. */
  reload(): Promise<void>;
  /** Resolves when nothing that may not be broken off is under way. */
  settled(): Promise<void>;
}
