import assert from 'node:assert/strict';
import { grantFor, grantKey, readToken, withGrant, type Grant } from '../../../lib/sign-in/grant';

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
    assert.equal(grantFor(withGrant(both, simulated, undefined), settings), grant);
    assert.equal(withGrant(withGrant(both, simulated, undefined), settings, undefined), undefined);
  });

  it('names the key after the account', () => assert.deepEqual(grantKey('a1'), ['grant', 'a1']));
});
