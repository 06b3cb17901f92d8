import assert from 'node:assert/strict';
import { StaticToken } from '../../../lib/sign-in/static-token';

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

  it('needs another one once it was refused, and is not sent again', async () => {
    const token = new StaticToken('secret-token');
    token.taken();
    await assert.rejects(token.renew(), { code: 'NOT_SIGNED_IN', statusCode: 401 });
    assert.equal(token.state, 'sign-in-needed');
    await assert.rejects(token.bearer(), { code: 'NOT_SIGNED_IN' });
    const { error } = token.info();
    assert.match(error ?? '', /refused the API token/);
    assert.doesNotMatch(error ?? '', /secret-token/);
  });

  it('gets another chance when it is read again', async () => {
    const token = new StaticToken('t');
    await token.renew().catch(() => undefined);
    await token.reload();
    assert.equal(token.state, 'unchecked');
    assert.equal(await token.bearer(), 't');
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
    await token.settled();
    assert.equal(token.state, 'unchecked');
    assert.deepEqual(token.counters(), {});
  });
});
