import { readSettings, type AccountConfig } from '../../lib/account/settings';
import { Client } from '../../lib/client';
import { Http } from '../../lib/http/http';
import { type Grant, grantKey, type Grants } from '../../lib/sign-in/grant';
import type { StateStore } from '../../lib/state/store';
import type { Clock } from '../../lib/time/clock';
import type { Simulator } from '../../simulator';

/**
 * Returns a client of the simulator that is signed in as its first user in the first workspace, without the browser's
 * steps.
 */
export async function signedInClient(
  simulator: Simulator,
  deps: { store: StateStore; clock: Clock; accountId?: string; config?: AccountConfig; http?: Http },
): Promise<Client> {
  const { store, clock, accountId = 'account', config, http = new Http(undefined, { isLocal: true }) } = deps;
  const { authUrl, apiUrl, client } = simulator;
  const settings = readSettings({ authUrl, apiUrl, clientId: client.id, clientSecret: client.secret, ...config });
  if (!(await store.get(grantKey(accountId)))) {
    const user = simulator.users[0];
    const redirectUri = 'http://127.0.0.1/callback';
    const tokens = simulator.tokens.signIn({
      userId: user?.userId ?? '',
      organizationId: user?.organizations[0]?.organizationId ?? '',
      redirectUri,
      scope: 'apiToken' in settings.signIn ? '' : settings.signIn.scope,
      challenge: null,
    });
    const grant: Grant = {
      authUrl,
      clientId: client.id,
      redirectUri,
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token,
      expiresAt: clock.now() + tokens.expires_in * 1000,
      lifetime: tokens.expires_in * 1000,
      scope: tokens.scope,
    };
    await store.put(grantKey(accountId), { byService: { [authUrl]: grant } } satisfies Grants);
  }
  const log = { warn: () => undefined, info: () => undefined };
  return new Client({ accountId, settings, store, clock, log, http });
}
