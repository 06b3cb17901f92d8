import assert from 'node:assert/strict';
import { phrase } from '../../../lib/words/sentence';
import { isLoopback } from '../../../lib/rules/addresses';
import { readHost } from '../../../lib/account/settings';

describe('account/settings, hosts', () => {
  for (const [given, read] of [
    ['https://account.example', 'https://account.example'],
    [' https://account.example/ ', 'https://account.example'],
    ['https://account.example:8443/base//', 'https://account.example:8443/base'],
    ['http://localhost:9000', 'http://localhost:9000'],
    ['http://127.0.0.1:9000/', 'http://127.0.0.1:9000'],
    ['http://127.9.9.9', 'http://127.9.9.9'],
    ['http://[::1]:9000', 'http://[::1]:9000'],
  ] as const)
    it(`accepts ${given}`, () => assert.equal(readHost(given, phrase`account host`), read));

  for (const given of [
    'account.example',
    'http://account.example',
    'http://localhost.account.example',
    'http://127.0.0.1.account.example',
    'http://10.0.0.1',
    'http://0.0.0.0:9000',
    'ftp://account.example',
    'file:///etc/passwd',
    'https://user@account.example',
    'https://user:word@account.example',
    'https://account.example?a=1',
    'https://account.example/?',
    'https://account.example/#top',
    'https://account.example/#',
    'https://',
    'https://a b',
  ])
    it(`refuses ${given}`, () => {
      assert.throws(() => readHost(given, phrase`account host`), {
        code: 'NOT_CONFIGURED',
        message: /account host must be/,
      });
    });

  for (const given of [undefined, null, '', '   ', 7, {}])
    it(`reports ${JSON.stringify(given)} as missing`, () => {
      assert.throws(() => readHost(given, phrase`API host`), { code: 'NOT_CONFIGURED', message: /no API host/ });
    });

  it('recognizes loopback addresses', () => {
    for (const url of ['http://localhost', 'http://127.0.0.1:1', 'https://[::1]/']) assert.equal(isLoopback(url), true);
    for (const url of ['http://127.0.0.1.example', 'http://local', 'https://128.0.0.1'])
      assert.equal(isLoopback(url), false);
  });
});
