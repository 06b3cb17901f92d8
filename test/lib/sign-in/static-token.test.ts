import assert from 'node:assert/strict';
import { StaticToken } from '../../../lib/sign-in/static-token';
import { limit } from '../../helpers/limits';

describe('sign-in/static-token', () => {
  it('is unchecked until the service has taken it, then signed in, each told once', async () => {
    const token = new StaticToken('a-b|c');
    let told = 0;
    token.onChange(() => told++);
    await token.ready();
    assert.equal(token.state, 'unchecked');
    assert.equal(await token.bearer(), 'a-b|c');
    token.taken();
    token.taken();
    assert.equal(token.state, 'signed-in');
    assert.equal(told, 1);
    assert.deepEqual(token.info(), {
      state: 'signed-in',
      user: null,
      organizationId: null,
      expiresAt: null,
      error: null,
    });
  });

  it('needs another one once the API host has refused it, and is tried again all the same', async () => {
    const token = new StaticToken('secret-token');
    token.taken();
    await assert.rejects(token.renew('', { host: 'api', deadline: limit() }), {
      code: 'NOT_SIGNED_IN',
      statusCode: 401,
    });
    assert.deepEqual([token.state, token.usable], ['sign-in-needed', true]);
    const { error } = token.info();
    assert.match(String(error), /refused the API token/);
    assert.doesNotMatch(String(error), /secret-token/);
    assert.equal(await token.bearer(), 'secret-token');
    token.taken();
    assert.equal(token.state, 'signed-in', 'the service was wrong');
  });

  it('is not doubted for what the account host says of it', async () => {
    const token = new StaticToken('t');
    token.taken();
    await assert.rejects(token.renew('', { host: 'auth', deadline: limit() }), { code: 'NOT_SIGNED_IN' });
    assert.equal(token.state, 'signed-in');
  });

  it('is signed out where there is none', async () => {
    const token = new StaticToken('');
    assert.equal(token.state, 'signed-out');
    await assert.rejects(token.bearer(), { code: 'NOT_SIGNED_IN', outcome: 'not-sent' });
    await token.reload();
    assert.equal(token.state, 'signed-out');
  });

  it('tells no listener that has left', () => {
    const token = new StaticToken('t');
    let told = 0;
    token.onChange(() => told++)();
    token.taken();
    assert.equal(told, 0);
  });

  it('has nothing to forget, to count or to wait for', async () => {
    const token = new StaticToken('t');
    await token.signOut();
    await token.close();
    assert.equal(token.state, 'unchecked');
    assert.deepEqual(token.counters(), {});
  });
});
