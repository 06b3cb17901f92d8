import assert from 'node:assert/strict';
import { Http } from '../../../lib/http/http';
import { Authorization } from '../../../lib/sign-in/authorization';
import { grantFor, grantKey, type Grants } from '../../../lib/sign-in/grant';
import { TokenEndpoint } from '../../../lib/sign-in/token-endpoint';
import { Tokens } from '../../../lib/sign-in/tokens';
import { systemClock } from '../../../lib/time/clock';
import { followTo } from '../../helpers/browser';
import { MemoryStore } from '../../helpers/memory-store';
import { startOAuthServer, type OAuthServer } from '../../helpers/oauth-server';
import { limit } from '../../helpers/limits';

const REDIRECT = 'http://127.0.0.1:1880/remote-printing/callback';
const SCOPES = ['connect.cluster.read', 'slicer.printjob.write'];

describe('sign-in against a third-party OAuth server (oidc-provider, refresh rotation on)', () => {
  const clock = systemClock;
  const http = new Http();
  const store = new MemoryStore();
  const endpoint = new TokenEndpoint(http, clock);
  let server: OAuthServer;

  const settings = () => ({
    authUrl: server.authUrl,
    clientId: server.clientId,
    clientSecret: server.clientSecret,
    scope: SCOPES.join(' '),
  });
  const tokens = () =>
    new Tokens({
      accountId: 'a',
      settings: settings(),
      store,
      clock,
      endpoint,
      warn: (sentence) => assert.fail(String(sentence)),
    });

  before(async () => {
    server = await startOAuthServer(REDIRECT, SCOPES);
  });
  after(async () => {
    await http.close();
    await server.close();
  });

  const stored = () => store.get<Grants>(grantKey('a'));

  it('signs in and receives a pair of tokens', async () => {
    const authorization = new Authorization({ store, signIns: new MemoryStore(), clock, endpoint });
    const url = await authorization.begin({
      accountId: 'a',
      settings: settings(),
      redirectUri: REDIRECT,
      organizationId: '',
    });
    const back = await followTo(url, REDIRECT);
    assert.equal(await authorization.complete(back.searchParams), 'a');
    const grant = grantFor(await stored(), settings());
    assert.ok(grant?.accessToken && grant.refreshToken);
    assert.equal(grant.scope, SCOPES.join(' '));
    assert.equal(grant.lifetime, 600_000);
  });

  it('renews ten times across restarts, each time with a new refresh token', async () => {
    const seen = new Set<string | null | undefined>();
    for (let turn = 0; turn < 10; turn++) {
      const signedIn = tokens();
      await signedIn.refresh(await signedIn.bearer(limit(clock)), { host: 'api', deadline: limit(clock) });
      seen.add(grantFor(await stored(), settings())?.refreshToken);
    }
    assert.equal(seen.size, 10);
    assert.equal(server.refreshes, 10);
  });

  it('makes one refresh for 100 concurrent requests', async () => {
    const signedIn = tokens();
    const old = await signedIn.bearer(limit(clock));
    const got = await Promise.all(
      Array.from({ length: 100 }, () => signedIn.refresh(old, { host: 'api', deadline: limit(clock) })),
    );
    assert.equal(new Set(got).size, 1);
    assert.equal(server.refreshes, 11);
  });

  it('ends the sign-in when a spent refresh token is refused', async () => {
    const old = await stored();
    const signedIn = tokens();
    await signedIn.refresh(await signedIn.bearer(limit(clock)), { host: 'api', deadline: limit(clock) });
    await store.put(grantKey('a'), old);
    const restored = tokens();
    await assert.rejects(
      restored.refresh(await restored.bearer(limit(clock)), { host: 'api', deadline: limit(clock) }),
      { code: 'NOT_SIGNED_IN' },
    );
    assert.equal(restored.state, 'sign-in-needed');
  });
});
