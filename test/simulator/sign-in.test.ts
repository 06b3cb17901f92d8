import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { startSimulator, type Simulator } from '../../simulator/index';
import { pluck } from '../helpers/pluck';
import { Bench, call, form, REDIRECT, SCOPE, type Reply } from './support';

const authorizeUrl = (simulator: Simulator, more: Record<string, string> = {}): string => {
  const query = {
    ...{ client_id: 'simulator', redirect_uri: REDIRECT, response_type: 'code', scope: SCOPE, state: 'a b&c' },
    ...more,
  };
  return `${simulator.authUrl}/authorize?${new URLSearchParams(query).toString()}`;
};
const tokenRequest = (simulator: Simulator, values: Record<string, string>): Promise<Reply> =>
  call(
    `${simulator.authUrl}/token`,
    form({
      ...{ client_id: 'simulator', client_secret: 'simulator-secret', redirect_uri: REDIRECT, scope: SCOPE },
      ...values,
    }),
  );
const exchange = (simulator: Simulator, code: string, more: Record<string, string> = {}): Promise<Reply> =>
  tokenRequest(simulator, { grant_type: 'authorization_code', code, ...more });
const refresh = (simulator: Simulator, token: string): Promise<Reply> =>
  tokenRequest(simulator, { grant_type: 'refresh_token', refresh_token: token });
const codeOf = (reply: Reply): string => new URL(reply.headers.location!).searchParams.get('code')!;
const currentUser = (simulator: Simulator, token: string): Promise<Reply> =>
  call(`${simulator.authUrl}/users/current`, { headers: { authorization: `Bearer ${token}` } });

describe('simulator: sign-in', () => {
  let clock: number;
  let simulator: Simulator;
  beforeEach(async () => {
    clock = Date.UTC(2030, 0, 1);
    simulator = await startSimulator({ now: () => clock, autoApprove: true });
  });
  afterEach(() => simulator.close());

  const graceIs = (seconds: unknown): Promise<Reply> =>
    call(`${simulator.controlUrl}/tokens/refresh-grace`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ seconds }),
    });
  const code = async (more: Record<string, string> = {}): Promise<string> =>
    codeOf(await call(authorizeUrl(simulator, more)));

  describe('with the pages', () => {
    let paged: Simulator;
    beforeEach(async () => {
      paged = await startSimulator();
    });
    afterEach(() => paged.close());

    const flowOf = (reply: Reply): string => /name="flow" value="([^"]+)"/.exec(reply.text)![1]!;
    const submit = (step: string, values: Record<string, string>): Promise<Reply> =>
      call(`${paged.authUrl}/authorize/${step}`, form(values));
    const signInAs = async (
      name: string,
      more: Record<string, string> = {},
    ): Promise<{ flow: string; reply: Reply }> => {
      const flow = flowOf(await call(authorizeUrl(paged, more)));
      return { flow, reply: await submit('sign-in', { flow, username: name, password: `${name}-password` }) };
    };

    it('leads from sign-in via workspace and consent back to the client', async () => {
      const { flow, reply } = await signInAs('maker');
      assert.match(reply.text, /Choose a workspace/);
      const school = paged.users[0]!.organizations[1]!;
      const consent = await submit('workspace', { flow, organization_id: school.organizationId });
      assert.match(consent.text, /Give access\?/);
      const done = await submit('consent', { flow, decision: 'approve' });
      assert.equal(done.status, 302);
      const address = new URL(done.headers.location!);
      assert.equal(address.origin + address.pathname, REDIRECT);
      assert.equal(address.searchParams.get('state'), 'a b&c');
      const tokens = (await exchange(paged, codeOf(done))).json;
      const { json } = await currentUser(paged, tokens.access_token);
      assert.equal(json.data.organization_id, school.organizationId);
    });

    it('skips the workspace page when a workspace was named or there is only one', async () => {
      const organizationId = paged.users[0]!.organizations[0]!.organizationId;
      assert.match((await signInAs('maker', { organization_id: organizationId })).reply.text, /Give access\?/);
      assert.match((await signInAs('teacher')).reply.text, /Give access\?/);
      const foreign = await signInAs('teacher', { organization_id: organizationId });
      assert.equal(foreign.reply.status, 403);
    });

    it('reports a refusal as error_code', async () => {
      const { flow } = await signInAs('teacher');
      const address = new URL((await submit('consent', { flow, decision: 'refuse' })).headers.location!);
      assert.equal(address.searchParams.get('error_code'), 'user_denied');
      assert.equal(address.searchParams.get('state'), 'a b&c');
      assert.equal(address.searchParams.has('code'), false);
      assert.equal((await submit('consent', { flow, decision: 'approve' })).status, 400);
    });

    it('issues no code for a wrong password or for consent before sign-in', async () => {
      const flow = flowOf(await call(authorizeUrl(paged)));
      const wrong = await submit('sign-in', { flow, username: 'maker', password: 'x' });
      assert.match(wrong.text, /is wrong/);
      const early = await submit('consent', { flow, decision: 'approve' });
      assert.equal(early.status, 200);
      assert.match(early.text, /Sign in/);
    });
  });

  it('requires a complete query', async () => {
    const bad: Record<string, string>[] = [
      { client_id: 'other' },
      { redirect_uri: 'ftp://example.org' },
      { redirect_uri: 'https://example.org/#x' },
      { response_type: 'token' },
      { scope: '' },
      { state: '' },
      { code_challenge: 'x' },
      { code_challenge: 'x', code_challenge_method: 'plain' },
    ];
    for (const values of bad) {
      const reply = await call(authorizeUrl(simulator, values));
      assert.equal(reply.status, 400, JSON.stringify(values));
      assert.equal(reply.headers.location, undefined);
    }
  });

  it('accepts only listed redirect URIs when there is a list', async () => {
    const strict = await startSimulator({
      autoApprove: true,
      client: { id: 'simulator', secret: 's', redirectUris: [REDIRECT] },
    });
    try {
      assert.equal((await call(authorizeUrl(strict))).status, 302);
      assert.equal((await call(authorizeUrl(strict, { redirect_uri: `${REDIRECT}/x` }))).status, 400);
    } finally {
      await strict.close();
    }
  });

  it('answers with the token response of the interface and a JWT of the user', async () => {
    const { status, json, headers } = await exchange(simulator, await code());
    assert.equal(status, 200);
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(json.token_type, 'bearer');
    assert.equal(json.expires_in, 600);
    assert.equal(json.scope, SCOPE);
    const claims = JSON.parse(Buffer.from(json.access_token.split('.')[1], 'base64url').toString());
    assert.equal(claims.exp, clock / 1000 + 600);
    assert.equal(claims.username, 'maker');
    assert.deepEqual(claims.scopes, SCOPE.split(' '));
    assert.equal(claims.organization.organization_name, 'Workshop');
    const checked = await call(`${simulator.authUrl}/check-token`, {
      headers: { authorization: `Bearer ${json.access_token}` },
    });
    assert.deepEqual(checked.json.data, claims);
    const { data } = (await currentUser(simulator, json.access_token)).json;
    assert.equal(data.user_id, claims.user_id);
    assert.deepEqual(data.organization_memberships, pluck(simulator.users[0]!.organizations, 'organizationId'));
    simulator.world.setMemberships('objects');
    assert.deepEqual(
      (await currentUser(simulator, json.access_token)).json.data.organization_memberships,
      simulator.users[0]!.organizations.map((one) => ({
        id: one.organizationId,
        name: one.organizationName,
        role: 'member',
      })),
    );
  });

  it('ends the sign-in when a code is reused', async () => {
    const once = await code();
    const tokens = (await exchange(simulator, once)).json;
    assert.equal((await exchange(simulator, once)).json.error, 'invalid_grant');
    assert.equal((await currentUser(simulator, tokens.access_token)).status, 401);
    assert.equal((await refresh(simulator, tokens.refresh_token)).json.error, 'invalid_grant');
    assert.equal(simulator.tokens.reuseDetections, 1);
  });

  it('accepts a code for one minute', async () => {
    const late = await code();
    clock += 60_000;
    assert.equal((await exchange(simulator, late)).json.error, 'invalid_grant');
  });

  it('checks a PKCE challenge if there is one', async () => {
    const verifier = 'v'.repeat(64);
    const digest = (name: string): string => createHash(name).update(verifier).digest('base64');
    const challenges: [method: string, challenge: string][] = [
      ['S256', digest('sha256').replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')],
      ['S512', digest('sha512')],
      ['S512', digest('sha512').replaceAll('+', '_').replaceAll('/', '-')],
    ];
    for (const [method, challenge] of challenges) {
      const begin = (): Promise<string> => code({ code_challenge: challenge, code_challenge_method: method });
      assert.equal((await exchange(simulator, await begin())).json.error, 'invalid_request');
      assert.equal((await exchange(simulator, await begin(), { code_verifier: 'other' })).json.error, 'invalid_grant');
      assert.equal((await exchange(simulator, await begin(), { code_verifier: verifier })).status, 200, method);
    }
  });

  it('rotates the refresh token, and ends the sign-in when an old one is reused', async () => {
    const first = (await exchange(simulator, await code())).json;
    const second = (await refresh(simulator, first.refresh_token)).json;
    assert.notEqual(second.refresh_token, first.refresh_token);
    assert.deepEqual(simulator.tokens.refreshTokens, [second.refresh_token]);
    assert.equal(simulator.tokens.refreshes, 1);
    assert.equal(simulator.tokens.lastAnswerAt, clock);
    assert.equal((await refresh(simulator, first.refresh_token)).json.error, 'invalid_grant');
    assert.equal(simulator.tokens.reuseDetections, 1);
    assert.equal((await refresh(simulator, second.refresh_token)).json.error, 'invalid_grant');
    assert.equal((await currentUser(simulator, second.access_token)).status, 401);
    assert.deepEqual(simulator.tokens.refreshTokens, []);
  });

  it('renews again with a spent refresh token for a period of grace, and then ends the sign-in', async () => {
    assert.equal((await graceIs(30)).status, 200);
    const first = (await exchange(simulator, await code())).json;
    await refresh(simulator, first.refresh_token);
    clock += 29_999;
    const third = await refresh(simulator, first.refresh_token);
    assert.equal(third.status, 200);
    assert.equal(simulator.tokens.reuseDetections, 0);
    clock += 1;
    assert.equal((await refresh(simulator, first.refresh_token)).json.error, 'invalid_grant');
    assert.equal((await refresh(simulator, third.json.refresh_token)).json.error, 'invalid_grant');
  });

  it('never ends a sign-in when it is told to detect no reuse', async () => {
    assert.equal((await graceIs('unlimited')).status, 200);
    const first = (await exchange(simulator, await code())).json;
    await refresh(simulator, first.refresh_token);
    clock += 365 * 86_400_000;
    assert.equal((await refresh(simulator, first.refresh_token)).status, 200);
    for (const seconds of [-1, '30', null]) assert.equal((await graceIs(seconds)).status, 400);
  });

  it('grants only one of two simultaneous refreshes', async () => {
    const { refresh_token: token } = (await exchange(simulator, await code())).json;
    const replies = await Promise.all([refresh(simulator, token), refresh(simulator, token)]);
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 400]);
  });

  it('requires the same redirect_uri and no wider scope for a refresh', async () => {
    const { refresh_token: token } = (await exchange(simulator, await code())).json;
    const body = { grant_type: 'refresh_token', refresh_token: token };
    assert.equal(
      (await tokenRequest(simulator, { ...body, redirect_uri: `${REDIRECT}2` })).json.error,
      'invalid_grant',
    );
    assert.equal((await tokenRequest(simulator, { ...body, scope: `${SCOPE} x` })).json.error, 'invalid_scope');
    assert.equal((await refresh(simulator, token)).status, 200);
  });

  it('answers an expired access token with 401, or with 403 when set to do so', async () => {
    const { access_token: token } = (await exchange(simulator, await code())).json;
    clock += 599_000;
    assert.equal((await currentUser(simulator, token)).status, 200);
    clock += 1000;
    const plain = await currentUser(simulator, token);
    assert.equal(plain.status, 401);
    assert.equal(plain.json.errors[0].code, 'tokenExpired');
    simulator.tokens.expiredStatus = 403;
    const other = await currentUser(simulator, token);
    assert.equal(other.status, 403);
    assert.equal(other.json.errors[0].http_status, '403');
    assert.equal(other.json.errors[0].code, 'tokenExpired');
  });

  it('expires all access tokens, and revokes all sign-ins, on demand', async () => {
    const first = (await exchange(simulator, await code())).json;
    simulator.tokens.expireAccessTokens();
    assert.equal((await currentUser(simulator, first.access_token)).json.errors[0].code, 'tokenExpired');
    const second = (await refresh(simulator, first.refresh_token)).json;
    assert.equal((await currentUser(simulator, second.access_token)).status, 200);
    simulator.tokens.revokeGrants();
    assert.equal((await currentUser(simulator, second.access_token)).json.errors[0].code, 'invalidToken');
    assert.equal((await refresh(simulator, second.refresh_token)).json.error, 'invalid_grant');
  });

  it('logs requests without their secrets', async () => {
    await call(authorizeUrl(simulator));
    const bench = await Bench.start();
    try {
      await bench.upload('G28');
      const { requests } = bench.simulator;
      const [put] = requests.list('storagePut');
      assert.equal(put!.status, 200);
      assert.equal(put!.origin, 'storage');
      assert.doesNotMatch(JSON.stringify(requests.list()), /signature|Bearer/);
      assert.equal(requests.count('registerUpload'), 1);
      assert.equal(requests.count(), 2);
    } finally {
      await bench.simulator.close();
    }
    const [authorize] = simulator.requests.list('authorize');
    assert.deepEqual(authorize, {
      ...{ origin: 'auth', endpoint: 'authorize', method: 'GET', path: '/authorize', status: 302, agent: null },
      at: clock,
    });
  });
});
