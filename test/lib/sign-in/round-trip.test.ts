import assert from 'node:assert/strict';
import { Http } from '../../../lib/http/http';
import { Authorization } from '../../../lib/sign-in/authorization';
import type { Grant } from '../../../lib/sign-in/grant';
import { grantKey } from '../../../lib/sign-in/grant';
import { TokenEndpoint } from '../../../lib/sign-in/token-endpoint';
import { Tokens } from '../../../lib/sign-in/tokens';
import { startSimulator, type Simulator } from '../../../simulator';
import { followTo } from '../../helpers/browser';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { limit } from '../../helpers/limits';

const REDIRECT = 'http://127.0.0.1:1880/remote-printing/callback';

describe('sign-in against the simulator', () => {
  let simulator: Simulator;
  let http: Http;
  let store: MemoryStore;
  let clock: ManualClock;
  let endpoint: TokenEndpoint;
  let authorization: Authorization;

  const settings = () => ({
    authUrl: simulator.authUrl,
    clientId: simulator.client.id,
    clientSecret: simulator.client.secret,
    scope: 'account.user.read connect.cluster.read',
  });
  const begin = (changes = {}) =>
    authorization.begin({
      accountId: 'a',
      settings: settings(),
      redirectUri: REDIRECT,
      organizationId: '',
      ...changes,
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
    simulator = await startSimulator({ autoApprove: true });
  });
  after(() => simulator.close());
  beforeEach(() => {
    http = new Http();
    store = new MemoryStore();
    clock = new ManualClock(Date.now());
    endpoint = new TokenEndpoint(http, clock);
    authorization = new Authorization({ store, signIns: new MemoryStore(), clock, endpoint });
  });
  afterEach(() => http.close());

  const stored = () => store.get(grantKey('a'));

  it('leads from the authorize address to tokens that can be renewed repeatedly', async () => {
    const back = await followTo(await begin(), REDIRECT);
    assert.equal(await authorization.complete(back.searchParams), 'a');
    const signedIn = tokens();
    let bearer = await signedIn.bearer(limit(clock));
    for (let turn = 0; turn < 5; turn++) {
      const next = await signedIn.refresh(bearer, { host: 'api', deadline: limit(clock) });
      assert.notEqual(next, bearer);
      signedIn.accepted(next);
      bearer = next;
    }
    const { user, state } = signedIn.info();
    assert.equal(state, 'signed-in');
    assert.ok(simulator.users.some(({ username }) => username === user));
    const answer = await fetch(`${simulator.authUrl}/users/current`, {
      headers: { authorization: `Bearer ${bearer}` },
    });
    assert.equal(answer.status, 200);
  });

  it('writes the authorize address as the interface specifies', async () => {
    const url = await begin({ organizationId: 'org-1' });
    assert.ok(url.startsWith(`${simulator.authUrl}/authorize?`));
    assert.match(url, /scope=account\.user\.read%20connect\.cluster\.read/);
    const query = new URL(url).searchParams;
    assert.deepEqual(
      [...query.keys()],
      ['client_id', 'redirect_uri', 'scope', 'response_type', 'state', 'organization_id'],
    );
    assert.equal(query.get('response_type'), 'code');
    assert.ok((query.get('state') ?? '').length >= 43);
  });

  it('accepts each state once, for its own account, for ten minutes', async () => {
    const refused = { code: 'INVALID_INPUT' };
    const back = await followTo(await begin(), REDIRECT);
    await assert.rejects(authorization.complete(back.searchParams, { accountId: 'b' }), refused);
    await authorization.complete(back.searchParams, { accountId: 'a' });
    const asked = simulator.tokens.refreshes;
    await assert.rejects(authorization.complete(back.searchParams), refused);
    await assert.rejects(authorization.complete(new URLSearchParams({ state: 'made-up', code: 'x' })), refused);
    await assert.rejects(authorization.complete(new URLSearchParams()), refused);
    const late = await followTo(await begin(), REDIRECT);
    await clock.advance(10 * 60 * 1000);
    await assert.rejects(authorization.complete(late.searchParams), refused);
    assert.equal(simulator.tokens.refreshes, asked);
  });

  for (const [name, query] of [
    ['error_code', { error_code: 'user_denied' }],
    ['error', { error: 'access_denied' }],
    ['a missing code', {}],
  ] as const)
    it(`reports a refusal by ${name} and keeps an earlier sign-in`, async () => {
      const earlier = { accessToken: 'kept' } as Grant;
      await store.put(grantKey('a'), earlier);
      const state = new URL(await begin()).searchParams.get('state') ?? '';
      await assert.rejects(authorization.complete(new URLSearchParams({ state, ...query })), { code: 'FORBIDDEN' });
      await assert.rejects(authorization.complete(new URLSearchParams({ state, code: 'x' })), {
        code: 'INVALID_INPUT',
      });
      assert.deepEqual(await store.get(grantKey('a')), earlier);
    });

  it('holds at most a hundred pending sign-ins and drops the oldest', async () => {
    const first = await followTo(await begin(), REDIRECT);
    for (let n = 0; n < 100; n++) await begin();
    await assert.rejects(authorization.complete(first.searchParams), { code: 'INVALID_INPUT' });
  });

  it('reports the refusal of the account host without the secret', async () => {
    const wrong = { ...settings(), clientSecret: 'not-the-secret' };
    const back = await followTo(await begin({ settings: wrong }), REDIRECT);
    await assert.rejects(authorization.complete(back.searchParams), (error: Error & { serviceCode?: string }) => {
      assert.equal(error.serviceCode, 'invalid_client');
      assert.ok(!JSON.stringify([error.message, error.cause]).includes('not-the-secret'));
      return true;
    });
  });

  it('ends the sign-in when a spent refresh token is used again', async () => {
    const back = await followTo(await begin(), REDIRECT);
    await authorization.complete(back.searchParams);
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
