import type { Http } from '../http/http';
import type { Credentials } from '../sign-in/credentials';
import { StaticToken, Tokens, type TokensOptions } from '../sign-in/tokens';
import { TokenEndpoint } from '../sign-in/token-endpoint';
import type { AccountSettings } from './settings';

type CredentialsDeps = Omit<TokensOptions, 'settings' | 'endpoint'> & { http: Http };

/** Returns the source of an account's bearers, by its settings. */
export function credentialsOf({ signIn }: AccountSettings, { http, ...deps }: CredentialsDeps): Credentials {
  if ('apiToken' in signIn) return new StaticToken(signIn.apiToken);
  return new Tokens({ ...deps, settings: signIn, endpoint: new TokenEndpoint(http, deps.clock) });
}
