import assert from 'node:assert/strict';
import { belongsTo, grantKey, readToken, type Grant } from '../../../lib/sign-in/grant';

const jwt = (claims: unknown): string =>
  ['{}', JSON.stringify(claims), 'signature'].map((part) => Buffer.from(part).toString('base64url')).join('.');
const nobody = { user: null, organizationId: null, expiresAt: null };

describe('sign-in/grant', () => {
  it('reads user, workspace and end from an access token', () => {
    const token = jwt({
      exp: 1_900_000_000,
      user_id: 'u1',
      username: 'ada',
      organization: { organization_id: 'o1', organization_name: 'Workshop' },
    });
    assert.deepEqual(readToken(token), { user: 'ada', organizationId: 'o1', expiresAt: 1_900_000_000_000 });
  });

  it('names the user by the best that is there', () => {
    assert.equal(readToken(jwt({ name: 'Ada', user_id: 'u1', sub: 's' })).user, 'Ada');
    assert.equal(readToken(jwt({ user_id: 'u1', sub: 's' })).user, 'u1');
    assert.equal(readToken(jwt({ sub: 's' })).user, 's');
  });

  it('reads letters beyond ASCII', () => {
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
    it(`makes nobody of ${token.slice(0, 20) || 'a blank'}`, () => assert.deepEqual(readToken(token), nobody));

  it('is good for its own host and client alone, whatever their secret and scope', () => {
    const grant = { authUrl: 'https://a.example', clientId: 'c' } as Grant;
    const settings = { authUrl: 'https://a.example', clientId: 'c', clientSecret: 's', scope: 'x' };
    assert.equal(belongsTo(grant, settings), true);
    assert.equal(belongsTo(grant, { ...settings, clientSecret: 't', scope: 'y' }), true);
    assert.equal(belongsTo(grant, { ...settings, clientId: 'd' }), false);
    assert.equal(belongsTo(grant, { ...settings, authUrl: 'https://b.example' }), false);
  });

  it('is stored by its account', () => assert.deepEqual(grantKey('a1'), ['grant', 'a1']));
});
