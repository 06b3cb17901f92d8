import assert from 'node:assert/strict';
import { hostOf } from '../../../lib/rules/addresses';
import { connectionConfig, signInConfig } from '../../../nodes/shared/admin/accounts';
import { nominalTime } from '../../helpers/nominal-time';

describe('shared/typed-settings: settings from the dialog', () => {
  const tooLong = { code: 'NOT_CONFIGURED', message: /^The setting \w+ has more than 16000 characters: shorten it\.$/ };

  for (const name of ['apiUrl', 'authUrl', 'scope', 'paths', 'clientSecret', 'unknown'])
    it(`refuses a value of ${name} that exceeds the maximum length`, () => {
      const typed = { signIn: 'token', apiToken: 'x', [name]: '/'.repeat(300_000) };
      assert.throws(() => signInConfig(typed, undefined), tooLong);
      assert.throws(() => connectionConfig(typed, undefined), tooLong);
    });

  it('reads a host with many slashes in linear time', async () => {
    const host = `${'/'.repeat(300_000)}x${'/'.repeat(300_000)}`;
    assert.equal(hostOf(host).length, 300_001);
    const ms = await nominalTime(() => hostOf(host));
    assert.ok(ms < 50, `${ms} ms`);
  });

  it('removes the slashes after a host', () => {
    assert.equal(hostOf(' https://api.example/// '), 'https://api.example');
    assert.equal(hostOf('///'), '');
    assert.equal(hostOf(undefined), '');
  });
});
