import assert from 'node:assert/strict';
import {
  grantAt,
  grantFor,
  grantKey,
  holderOf,
  isGrants,
  newestGrant,
  readToken,
  signedOut,
  withGrant,
  type Grant,
} from '../../../lib/sign-in/grant';

const jwt = (claims: unknown): string =>
  ['{}', JSON.stringify(claims), 'signature'].map((part) => Buffer.from(part).toString('base64url')).join('.');
const noUser = { user: null, organizationId: null, expiresAt: null };

describe('sign-in/grant', () => {
  it('reads the user, the workspace and the expiry from an access token', () => {
    const token = jwt({
      exp: 1_900_000_000,
      user_id: 'u1',
      username: 'ada',
      organization: { organization_id: 'o1', organization_name: 'Workshop' },
    });
    assert.deepEqual(readToken(token), { user: 'ada', organizationId: 'o1', expiresAt: 1_900_000_000_000 });
  });

  it('prefers the most specific name of the user', () => {
    assert.equal(readToken(jwt({ name: 'Ada', user_id: 'u1', sub: 's' })).user, 'Ada');
    assert.equal(readToken(jwt({ user_id: 'u1', sub: 's' })).user, 'u1');
    assert.equal(readToken(jwt({ sub: 's' })).user, 's');
  });

  it('decodes non-ASCII letters', () => {
    assert.equal(readToken(jwt({ username: 'Zoë Łukasz' })).user, 'Zoë Łukasz');
  });

  for (const token of [
    '',
    'opaque',
    'a.b.c',
    'a.e30',
    '...',
    'abc|def-_',
    jwt(null),
    jwt([]),
    jwt('x'),
    jwt({ exp: '1', organization: 'o', username: 7 }),
  ])
    it(`returns no user for ${token.slice(0, 20) || 'a blank'}`, () => assert.deepEqual(readToken(token), noUser));

  const settings = { authUrl: 'https://a.example', clientId: 'c', clientSecret: 's', scope: 'x' };
  const grant = { authUrl: 'https://a.example', clientId: 'c' } as Grant;

  it('matches a grant only to its own host and client, whatever their secret and scope', () => {
    const stored = withGrant(undefined, settings, grant);
    assert.equal(grantFor(stored, settings), grant);
    assert.equal(grantFor(stored, { ...settings, clientSecret: 't', scope: 'y' }), grant);
    assert.equal(grantFor(stored, { ...settings, clientId: 'd' }), undefined);
    assert.equal(grantFor(stored, { ...settings, authUrl: 'https://b.example' }), undefined);
  });

  it('keeps the grants of other services and finds them when the account switches back', () => {
    const simulated = { ...settings, authUrl: 'http://127.0.0.1:1', simulated: true };
    const other = { ...grant, authUrl: 'http://127.0.0.1:1' };
    const both = withGrant(withGrant(undefined, settings, grant), simulated, other);
    assert.equal(grantFor(both, settings), grant);
    assert.equal(grantFor(both, { ...simulated, authUrl: 'http://127.0.0.1:2' }), other, 'at whatever address');
  });

  it('keeps of a sign-out only the workspace and the client', () => {
    const other = { ...settings, authUrl: 'https://b.example' };
    const holder = { user: 'ada', organizationId: 'org' };
    const tokens = { accessToken: 'access', refreshToken: 'refresh', redirectUri: 'https://back.example/' };
    const both = withGrant(withGrant(undefined, settings, { ...grant, ...tokens, holder }), other, grant);
    const left = signedOut(both, settings);
    assert.equal(grantFor(left, other), grant);
    const remainder = grantFor(left, settings);
    assert.ok(remainder);
    assert.equal(holderOf(remainder).organizationId, 'org');
    for (const gone of [...Object.values(tokens), 'ada'])
      assert.ok(!JSON.stringify(remainder).includes(JSON.stringify(gone)), gone);
    assert.ok(isGrants({ byService: { [settings.authUrl]: remainder } }));
    assert.equal(grantAt(left, settings.authUrl), undefined);
    assert.equal(newestGrant(signedOut(withGrant(left, other, { ...grant, ...tokens }))), undefined);
  });

  it('names the key after the account', () => assert.deepEqual(grantKey('a1'), ['grant', 'a1']));
});
