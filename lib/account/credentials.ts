import type { Http } from '../http/http';
import type { Credentials } from '../sign-in/credentials';
import type { RefreshesUnderWay } from '../sign-in/refresh';
import { StaticToken, Tokens } from '../sign-in/tokens';
import { TokenEndpoint } from '../sign-in/token-endpoint';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { AccountSettings } from './settings';
import type { Sentence } from '../words/sentence';

interface CredentialsDeps {
  accountId: string;
  store: StateStore;
  clock: Clock;
  http: Http;
  refreshesUnderWay?: RefreshesUnderWay | undefined;
  warn: (sentence: Sentence) => void;
  /** As in TokensOptions. */
  refreshEnded?: ((isSaved: boolean) => void) | undefined;
}

/** Returns the source of an account's bearers, by its settings. */
export function credentialsOf({ signIn }: AccountSettings, { http, clock, ...deps }: CredentialsDeps): Credentials {
  if ('apiToken' in signIn) return new StaticToken(signIn.apiToken);
  return new Tokens({ ...deps, clock, settings: signIn, endpoint: new TokenEndpoint(http, clock) });
}
