import assert from 'node:assert/strict';
import { connectionConfig, hostOf, signInConfig } from '../../../nodes/shared/admin/typed-settings';
import { nominalTime } from '../../helpers/nominal-time';

describe('shared/typed-settings: what somebody types into the dialog', () => {
  const tooLong = { code: 'NOT_CONFIGURED', message: /^The setting \w+ has more than 16000 characters: shorten it\.$/ };

  for (const name of ['apiUrl', 'authUrl', 'scope', 'paths', 'clientSecret', 'unknown'])
    it(`is refused where ${name} is longer than any setting`, () => {
      const typed = { signIn: 'token', apiToken: 'x', [name]: '/'.repeat(300_000) };
      assert.throws(() => signInConfig(typed, undefined), tooLong);
      assert.throws(() => connectionConfig(typed, undefined), tooLong);
    });

  it('costs no time by the slashes in a host', async () => {
    const host = `${'/'.repeat(300_000)}x${'/'.repeat(300_000)}`;
    assert.equal(hostOf(host).length, 300_001);
    const ms = await nominalTime(() => hostOf(host));
    assert.ok(ms < 50, `${ms} ms`);
  });

  it('is used without the slashes behind a host', () => {
    assert.equal(hostOf(' https://api.example/// '), 'https://api.example');
    assert.equal(hostOf('///'), '');
    assert.equal(hostOf(undefined), '');
  });
});
