import { PrintingError } from '../service/errors';
import type { Target } from '../service/paths';
import { isoTime } from '../time/clock';
import type { Deadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';
import { type Grant, holderOf, whyEnded } from './grant';
import type { SignInState, SignInWatch } from './sign-in-state';

/** The signed-in user, as the editor shows it (reference 5). */
export interface SignInInfo {
  state: SignInState;
  user: string | null;
  organizationId: string | null;
  /** Expiry of the access token, ISO 8601. */
  expiresAt: string | null;
  /** A sentence for the user if something is wrong. */
  error: Sentence | null;
}

/** Describes a sign-in for the editor. `error` is the last failure, if any. */
export function signInInfo(state: SignInState, grant: Grant | undefined, error: PrintingError | undefined): SignInInfo {
  const holder = grant && holderOf(grant);
  return {
    state,
    user: holder?.user ?? null,
    organizationId: holder?.organizationId ?? null,
    expiresAt: grant && !grant.ended ? isoTime(grant.expiresAt) : null,
    error: (grant && whyEnded(grant)) ?? error?.sentence ?? null,
  };
}

export interface RefreshOptions {
  /** The host that refused the bearer. */
  host: Target['host'];
  /** Ends the wait for the refresh, not the refresh itself. */
  deadline: Deadline;
}

/** A source of bearers: a sign-in with refreshable tokens, or a static API token. */
export interface Credentials extends SignInWatch {
  /**
   * Resolves when `state` and `info` reflect the stored sign-in; until then they are blank. Rejects while the store
   * can't be read.
   */
  ready(): Promise<void>;
  /** Resolves with a bearer to call the service with. Throws NOT_SIGNED_IN, or the error of a failed refresh. */
  bearer(deadline: Deadline): Promise<string>;
  /**
   * Replaces the bearer `refused`, which the service refused as expired. Throws NOT_SIGNED_IN if there can't be
   * another.
   */
  refresh(refused: string, options: RefreshOptions): Promise<string>;
  /** Records that the service accepted `bearer`: it answered, and the token wasn't expired. */
  accepted(bearer: string): void;
  info(): SignInInfo;
  /**
   * The workspace of the sign-in, also of one that has ended; null if it names none. Undefined while no sign-in is known.
   */
  readonly workspace: string | null | undefined;
  counters(): Record<string, number>;
  signOut(): Promise<void>;
  /** Reads the store again after a sign-in. */
  reload(): Promise<void>;
  /** Begins no new work. Resolves when all work that must not be interrupted has ended. */
  close(): Promise<void>;
}

const NOT_SENT = { outcome: 'not-sent' } as const;

/** Warning about tokens that exist only in memory. */
export const notSaved = phrase`The renewed sign-in can’t be saved yet; it would be lost if Node-RED ended now.`;

export const nobodySignedIn = (): PrintingError => signInEnded(phrase`Nobody is signed in: sign in with the account.`);

export const signInEnded = (reason: Sentence): PrintingError => new PrintingError('NOT_SIGNED_IN', reason, NOT_SENT);

/** The service refuses this client application or its scope. */
export const clientRefused = ({ serviceCode, statusCode }: PrintingError): PrintingError =>
  new PrintingError(
    'NOT_SIGNED_IN',
    phrase`The service refused the client application (${serviceCode ?? ''}): check the client ID, secret and scopes of the account, deploy and sign in again.`,
    { ...NOT_SENT, statusCode, serviceCode },
  );

/** The service refuses a token right after its issue. */
export const refusedAnew = (): PrintingError =>
  new PrintingError(
    'NOT_SIGNED_IN',
    phrase`The service refuses a token that it has just issued: try again later, and sign in again if that continues.`,
    { ...NOT_SENT, statusCode: 401 },
  );
