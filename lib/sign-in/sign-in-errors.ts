import { PrintingError } from '../service/errors';
import { phrase, type Sentence } from '../words/sentence';

const NOT_SENT = { outcome: 'not-sent' } as const;

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
