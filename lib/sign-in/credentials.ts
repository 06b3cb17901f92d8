import type { Target } from '../service/paths';
import type { Sentence } from '../words/sentence';
import type { Deadline } from '../time/deadline';
import type { SignInState, SignInWatch } from './sign-in-state';

/** Who is signed in, as the editor shows it (reference 5). */
export interface SignInInfo {
  state: SignInState;
  user: string | null;
  organizationId: string | null;
  /** ISO 8601; when the access token ends. */
  expiresAt: string | null;
  /** A sentence for people, where something is wrong. */
  error: Sentence | null;
}

export interface Renewal {
  /** Which of the account's hosts refused the bearer. */
  host: Target['host'];
  /** Ends the waiting for the renewal, not the renewal itself. */
  deadline: Deadline;
}

/** Something that gives bearers: a sign-in with tokens that are renewed, or a static API token. */
export interface Credentials extends SignInWatch {
  /** Resolves when `state` and `info` tell what is stored, not the blank of the start; rejects where that can't be read now. */
  ready(): Promise<void>;
  /** A bearer to call the service with. Throws NOT_SIGNED_IN, or what kept a refresh from working. */
  bearer(deadline: Deadline): Promise<string>;
  /** The service refused `refused` as expired: gives another, or throws NOT_SIGNED_IN where there can't be one. */
  renew(refused: string, renewal: Renewal): Promise<string>;
  /** The service answered a call made with `bearer` (not with an expired token). */
  taken(bearer: string): void;
  info(): SignInInfo;
  counters(): Record<string, number>;
  signOut(): Promise<void>;
  /** Reads the store again after a sign-in. */
  reload(): Promise<void>;
  /** Begins nothing new. Resolves when nothing that may not be broken off is under way. */
  close(): Promise<void>;
}
