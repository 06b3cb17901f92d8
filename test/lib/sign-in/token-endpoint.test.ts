import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { MockAgent } from 'undici';
import { Http } from '../../../lib/http/http';
import { PrintingError } from '../../../lib/service/errors';
import type { Grant } from '../../../lib/sign-in/grant';
import { IncompleteAnswer, TokenEndpoint } from '../../../lib/sign-in/token-endpoint';
import { ManualClock } from '../../helpers/manual-clock';
import { limit } from '../../helpers/limits';

const AUTH = 'https://account.example';
const SETTINGS = { authUrl: `${AUTH}/base`, clientId: 'client id', clientSecret: 's&cret=', scope: 'one two' };
const REDIRECT = 'http://localhost:1880/callback?x=1';
const GOOD = {
  ...{ token_type: 'bearer', access_token: 'access-2', refresh_token: 'refresh-2', expires_in: 600, scope: 'one' },
};

describe('sign-in/token-endpoint', () => {
  let agent: MockAgent;
  let clock: ManualClock;
  let endpoint: TokenEndpoint;
  /** Forms that were sent. */
  let forms: URLSearchParams[];

  const answer = (
    status: number,
    body: unknown,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ) =>
    agent
      .get(AUTH)
      .intercept({ method: 'POST', path: '/base/token' })
      .reply((sent) => {
        forms.push(new URLSearchParams(String(sent.body)));
        return {
          statusCode: status,
          data: typeof body === 'string' ? body : JSON.stringify(body),
          responseOptions: { headers },
        };
      });
  const grant = (): Grant => ({
    ...{ authUrl: SETTINGS.authUrl, clientId: SETTINGS.clientId, redirectUri: REDIRECT, accessToken: 'access-1' },
    ...{ refreshToken: 'refresh-1', expiresAt: 0, lifetime: 0, scope: null },
  });
  const exchange = () => endpoint.exchange(SETTINGS, 'code-1', REDIRECT, limit());
  const refresh = () => endpoint.refresh(SETTINGS, grant(), limit());
  const failure = async (work: Promise<unknown>): Promise<PrintingError> => {
    const error: unknown = await work.then(
      () => assert.fail('It should have failed.'),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof PrintingError, inspect(error));
    return error;
  };

  beforeEach(() => {
    agent = new MockAgent();
    agent.disableNetConnect();
    clock = new ManualClock();
    endpoint = new TokenEndpoint(new Http(agent), clock);
    forms = [];
  });
  afterEach(() => agent.close());

  it('sends every field of the interface with a code', async () => {
    answer(200, GOOD);
    await exchange();
    assert.deepEqual(Object.fromEntries(forms[0] ?? []), {
      ...{ client_id: SETTINGS.clientId, client_secret: SETTINGS.clientSecret, redirect_uri: REDIRECT },
      ...{ grant_type: 'authorization_code', scope: SETTINGS.scope, code: 'code-1' },
    });
  });

  it('sends every field of the interface with a refresh', async () => {
    answer(200, GOOD);
    await refresh();
    assert.deepEqual(Object.fromEntries(forms[0] ?? []), {
      ...{ client_id: SETTINGS.clientId, client_secret: SETTINGS.clientSecret, redirect_uri: REDIRECT },
      ...{ grant_type: 'refresh_token', scope: SETTINGS.scope, refresh_token: 'refresh-1' },
    });
  });

  it('builds a grant from the answer', async () => {
    answer(200, GOOD);
    assert.deepEqual(await exchange(), {
      ...{ authUrl: SETTINGS.authUrl, clientId: SETTINGS.clientId, redirectUri: REDIRECT, accessToken: 'access-2' },
      ...{ refreshToken: 'refresh-2', expiresAt: clock.now() + 600_000, lifetime: 600_000, scope: 'one' },
      ...{ holder: { user: null, organizationId: null }, signedInAt: clock.now(), askedScope: SETTINGS.scope },
    });
  });

  it('asks in each refresh for the scope of the sign-in, whatever was deployed since', async () => {
    answer(200, GOOD);
    let signedIn = await exchange();
    for (const scope of ['one two three', 'one', '']) {
      answer(200, GOOD);
      signedIn = await endpoint.refresh({ ...SETTINGS, scope }, signedIn, limit());
      assert.equal(forms.at(-1)?.get('scope'), SETTINGS.scope);
    }
  });

  it('keeps the old refresh token if the answer has none', async () => {
    answer(200, { ...GOOD, refresh_token: undefined });
    assert.equal((await refresh()).refreshToken, 'refresh-1');
    answer(200, { ...GOOD, refresh_token: null });
    assert.equal((await refresh()).refreshToken, 'refresh-1');
    answer(200, { ...GOOD, refresh_token: '' });
    assert.equal((await exchange()).refreshToken, null);
  });

  it('reports a new refresh token that comes without an access token, and shows it in no log', async () => {
    for (const changes of [{ access_token: undefined }, { access_token: 7 }, { token_type: 'mac' }]) {
      answer(200, { ...GOOD, ...changes });
      const error = await failure(refresh());
      assert.ok(error instanceof IncompleteAnswer);
      assert.deepEqual([error.code, error.refreshToken], ['SERVICE_ERROR', 'refresh-2']);
      assert.doesNotMatch(`${inspect(error, { showHidden: true })} ${JSON.stringify(error)}`, /refresh-2/);
    }
    answer(200, { ...GOOD, access_token: undefined, refresh_token: undefined });
    assert.ok(!((await failure(refresh())) instanceof IncompleteAnswer));
  });

  it('keeps the workspace of the sign-in, and the user if the refreshed token names none', async () => {
    const workspace = (id: string) => ({ organization: { organization_id: id } });
    const old = { ...grant(), holder: { user: 'ada', organizationId: 'o1' } };
    for (const [claims, user] of [
      [{}, 'ada'],
      [{ username: 'grace', ...workspace('o2') }, 'grace'],
      [{ organization: null }, 'ada'],
    ] as const) {
      answer(200, { ...GOOD, access_token: jwt(claims) });
      const { holder } = await endpoint.refresh(SETTINGS, old, limit());
      assert.deepEqual(holder, { user, organizationId: 'o1' });
    }
  });

  const inAnHour = () => Math.floor(clock.now() / 1000) + 3600;
  const jwt = (claims: object = { exp: inAnHour() }) =>
    `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
  const LIFETIMES: [what: string, changes: () => object, seconds: number][] = [
    ['seconds in a string', () => ({ expires_in: '120' }), 120],
    ['no value: the documented ten minutes', () => ({ expires_in: undefined }), 600],
    ['nonsense: the documented ten minutes', () => ({ expires_in: 'soon' }), 600],
    ['a negative number: the documented ten minutes', () => ({ expires_in: -5 }), 600],
    ['the token if there is no value', () => ({ expires_in: null, access_token: jwt() }), 3600],
    ['zero', () => ({ expires_in: 0 }), 0],
    ['an absurd number: ten years', () => ({ expires_in: 1e13 }), 10 * 365 * 24 * 3600],
    ['an absurd number in a string: ten years', () => ({ expires_in: '1e12' }), 10 * 365 * 24 * 3600],
    ['a number beyond all limits: the documented ten minutes', () => ({ expires_in: '1e300' }), 600],
    ['NaN: the documented ten minutes', () => ({ expires_in: 'NaN' }), 600],
    [
      'the token, whatever the local clock shows',
      () => ({ expires_in: null, access_token: jwt({ iat: 60, exp: 360 }) }),
      300,
    ],
    [
      'no value where the token has expired by the local clock: the documented ten minutes',
      () => ({ expires_in: null, access_token: jwt({ exp: inAnHour() - 7200 }) }),
      600,
    ],
  ];
  for (const [what, changes, seconds] of LIFETIMES)
    it(`reads the lifetime from ${what}`, async () => {
      answer(200, { ...GOOD, ...changes() });
      const { lifetime, expiresAt } = await refresh();
      assert.equal(lifetime, seconds * 1000);
      assert.equal(expiresAt, clock.now() + seconds * 1000);
    });

  for (const changes of [
    { token_type: 'Bearer' },
    { token_type: undefined },
    { scope: null },
    { scope: 7 },
    { id_token: 'ignored' },
    { unknown: { deep: [] } },
  ])
    it(`accepts an answer with ${JSON.stringify(changes)}`, async () => {
      answer(200, { ...GOOD, ...changes });
      assert.equal((await exchange()).accessToken, 'access-2');
    });

  it('accepts an answer of another content type', async () => {
    answer(200, GOOD, { 'content-type': 'text/plain' });
    assert.equal((await exchange()).accessToken, 'access-2');
  });

  for (const body of [
    '',
    '<html>',
    '[]',
    'null',
    '"x"',
    '{}',
    '{"access_token":null}',
    '{"access_token":5}',
    '{"access_token":"  "}',
    '{"access_token":"half',
  ])
    it(`refuses ${body || 'a blank body'} as tokens`, async () => {
      answer(200, body);
      const error = await failure(refresh());
      assert.equal(error.code, 'SERVICE_ERROR');
      assert.equal(error.outcome, 'unknown');
    });

  for (const [status, code, outcome] of [
    [400, 'SERVICE_ERROR', 'refused'],
    [401, 'NOT_SIGNED_IN', 'refused'],
    [403, 'FORBIDDEN', 'refused'],
    [429, 'RATE_LIMITED', 'refused'],
    [500, 'SERVICE_ERROR', 'unknown'],
    [503, 'SERVICE_ERROR', 'unknown'],
  ] as const)
    it(`reports a ${status} with its code, status and outcome`, async () => {
      answer(status, { error: 'invalid_thing', error_description: 'See https://host.example/?secret=1.' });
      const error = await failure(refresh());
      assert.equal(error.code, code);
      assert.equal(error.outcome, outcome);
      assert.equal(error.statusCode, status);
      assert.equal(error.serviceCode, 'invalid_thing');
      assert.doesNotMatch(error.message, /secret=1/);
    });

  it('reports how long to wait if the answer names a time', async () => {
    answer(429, {}, { 'retry-after': '7' });
    assert.equal((await failure(refresh())).retryAfter, 7000);
    answer(503, {}, { 'retry-after': new Date(clock.now() + 30_000).toUTCString() });
    assert.equal((await failure(refresh())).retryAfter, 30_000);
  });

  it('reports a failure whose body is not JSON', async () => {
    answer(502, '<html><body>Bad gateway</body></html>');
    const error = await failure(refresh());
    assert.equal(error.statusCode, 502);
    assert.equal(error.serviceCode, undefined);
  });

  it('reports a broken connection as NETWORK', async () => {
    agent
      .get(AUTH)
      .intercept({ method: 'POST', path: '/base/token' })
      .replyWithError(Object.assign(new Error('broken'), { code: 'ECONNRESET' }));
    const error = await failure(refresh());
    assert.equal(error.code, 'NETWORK');
  });

  it('exposes no token and no secret in an error, at any depth', async () => {
    for (const [status, body] of [
      [200, { ...GOOD, access_token: 7, refresh_token: 'refresh-2' }],
      [200, { ...GOOD, token_type: 'mac' }],
      [400, { error: 'invalid_grant' }],
      [500, 'refresh-2'],
    ] as const) {
      answer(status, body);
      const shown = inspect(await failure(refresh()), { depth: Infinity, showHidden: true });
      for (const secret of ['refresh-1', 'refresh-2', 'access-2', SETTINGS.clientSecret])
        assert.ok(!shown.includes(secret), shown);
    }
  });

  for (const [how, quoted] of [
    ['plainly', (value: string) => value],
    ['URL-encoded', encodeURIComponent],
    ['as in a form, in lower case', (value: string) => `${new URLSearchParams({ x: value })}`.slice(2).toLowerCase()],
  ] as const)
    it(`exposes no secret that an error of the account host quotes ${how}`, async () => {
      const secrets = { client: 'S3cr/et +~(ü)', refresh: 'refresh/1=+', access: 'access+1/', code: 'code/1 ' };
      const settings = { ...SETTINGS, clientSecret: secrets.client };
      const saved = { ...grant(), accessToken: secrets.access, refreshToken: secrets.refresh };
      const works = [
        () => endpoint.refresh(settings, saved, limit()),
        () => endpoint.exchange(settings, secrets.code, REDIRECT, limit()),
      ];
      for (const [n, work] of works.entries()) {
        const sent = n === 0 ? [secrets.client, secrets.refresh, secrets.access] : [secrets.client, secrets.code];
        const words = sent.map(quoted).join(' and ');
        for (const body of [
          { error: 'server_error', error_description: `Could not use ${words}` },
          { error: words },
          { errors: [{ code: words, title: words }] },
        ]) {
          answer(500, body);
          const error = await failure(work());
          const shown = inspect(error, { depth: Infinity, showHidden: true }).toLowerCase();
          for (const secret of sent) assert.ok(!shown.includes(quoted(secret).trim().toLowerCase()), shown);
        }
      }
    });

  it('never follows a redirect with the secret', async () => {
    answer(302, '', { location: 'https://elsewhere.example/' });
    assert.equal((await failure(exchange())).statusCode, 302);
    agent.assertNoPendingInterceptors();
  });
});
