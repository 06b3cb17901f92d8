import assert from 'node:assert/strict';
import { StaticToken } from '../../../lib/sign-in/tokens';
import { limit } from '../../helpers/limits';

describe('sign-in/static-token', () => {
  it('is unchecked until the service accepts it, then signed in, with one notification each', async () => {
    const token = new StaticToken('a-b|c');
    let told = 0;
    token.onChange(() => told++);
    await token.ready();
    assert.equal(token.state, 'unchecked');
    assert.equal(await token.bearer(), 'a-b|c');
    token.accepted();
    token.accepted();
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

  it('needs a new token after a refusal by the API host, but tries the old one again', async () => {
    const token = new StaticToken('secret-token');
    token.accepted();
    await assert.rejects(token.refresh('', { host: 'api', deadline: limit() }), {
      code: 'NOT_SIGNED_IN',
      statusCode: 401,
    });
    assert.deepEqual([token.state, token.usable], ['sign-in-needed', true]);
    const { error } = token.info();
    assert.match(String(error), /refused the API token/);
    assert.doesNotMatch(String(error), /secret-token/);
    assert.equal(await token.bearer(), 'secret-token');
    token.accepted();
    assert.equal(token.state, 'signed-in', 'the service was wrong');
  });

  it('ignores a refusal by the account host', async () => {
    const token = new StaticToken('t');
    token.accepted();
    await assert.rejects(token.refresh('', { host: 'auth', deadline: limit() }), { code: 'NOT_SIGNED_IN' });
    assert.equal(token.state, 'signed-in');
  });

  it('is signed out without a token', async () => {
    const token = new StaticToken('');
    assert.equal(token.state, 'signed-out');
    await assert.rejects(token.bearer(), { code: 'NOT_SIGNED_IN', outcome: 'not-sent' });
    await token.reload();
    assert.equal(token.state, 'signed-out');
  });

  it('notifies no listener that has unsubscribed', () => {
    const token = new StaticToken('t');
    let told = 0;
    token.onChange(() => told++)();
    token.accepted();
    assert.equal(told, 0);
  });

  it('has nothing to forget, count or wait for', async () => {
    const token = new StaticToken('t');
    await token.signOut();
    await token.close();
    assert.equal(token.state, 'unchecked');
    assert.deepEqual(token.counters(), {});
  });
});
