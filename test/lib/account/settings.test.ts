import assert from 'node:assert/strict';
import { DEFAULT_SCOPE, readRedirect, readSettings, readSignIn } from '../../../lib/account/settings';

const GOOD = {
  authUrl: 'https://account.example',
  apiUrl: 'https://api.example',
  clientId: 'client',
  clientSecret: 'secret',
};

/** Asserts NOT_CONFIGURED with a sentence that names the setting. */
const refused = (work: () => unknown, names: RegExp) =>
  assert.throws(work, (error: Error & { code?: string }) => {
    assert.equal(error.code, 'NOT_CONFIGURED');
    assert.match(error.message, names);
    assert.match(error.message, /\.$/);
    return true;
  });

describe('account/settings', () => {
  it('fills in the defaults', () => {
    assert.deepEqual(readSettings(GOOD), {
      apiUrl: 'https://api.example',
      authUrl: 'https://account.example',
      paths: { storagePath: '/slicer/v1', overrides: {} },
      signIn: {
        ...{ authUrl: 'https://account.example', clientId: 'client', clientSecret: 'secret', scope: DEFAULT_SCOPE },
      },
      origin: '',
      organizationId: '',
    });
  });

  for (const [spelled, host] of [
    ['https://API.Service.Example', 'https://api.service.example'],
    ['HTTPS://api.service.example:443/', 'https://api.service.example'],
    ['https://api.service.example:8443/Base//', 'https://api.service.example:8443/Base'],
    ['http://LOCALHOST:80', 'http://localhost'],
  ] as const)
    it(`reads the host ${spelled} in its one spelling`, () => {
      const { apiUrl, authUrl } = readSettings({ ...GOOD, apiUrl: spelled, authUrl: spelled });
      assert.deepEqual([apiUrl, authUrl], [host, host]);
    });

  it('accepts every setting, and removes surrounding blanks and trailing slashes', () => {
    const settings = readSettings({
      ...GOOD,
      authUrl: ' https://account.example/ ',
      apiUrl: 'http://127.0.0.1:4000//',
      ...{
        clientId: ' client\n',
        clientSecret: ' secret ',
        scope: ' a b ',
        storagePath: '/library/v2/',
        origin: ' https://shop.example ',
      },
      ...{ organizationId: ' org-1 ', paths: '{"currentUser":"GET {auth_url}/me"}' },
    });
    assert.equal(settings.authUrl, 'https://account.example');
    assert.equal(settings.apiUrl, 'http://127.0.0.1:4000');
    assert.deepEqual(settings.signIn, {
      ...{ authUrl: 'https://account.example', clientId: 'client', clientSecret: 'secret', scope: 'a b' },
    });
    assert.deepEqual(settings.paths, { storagePath: '/library/v2', overrides: { currentUser: 'GET {auth_url}/me' } });
    assert.equal(settings.origin, 'https://shop.example');
    assert.equal(settings.organizationId, 'org-1');
  });

  it('reads a number, which a variable of a tab may be, as its text', () => {
    const numbers = { clientId: 12345, clientSecret: 0, organizationId: 77 } as object;
    const { signIn, organizationId } = readSettings({ ...GOOD, ...numbers });
    assert.deepEqual(signIn, { ...readSignIn(GOOD), clientId: '12345', clientSecret: '0' });
    assert.equal(organizationId, '77');
    const token = { apiUrl: GOOD.apiUrl, signIn: 'token', apiToken: 12345, clientId: {} } as object;
    assert.deepEqual(readSettings(token).signIn, { apiToken: '12345' });
  });

  const BAD: [what: string, changes: Record<string, unknown>, names: RegExp][] = [
    ['no account host', { authUrl: '' }, /no account host/],
    ['a blank API host', { apiUrl: '  ' }, /no API host/],
    ['an API host that is a number', { apiUrl: 7 }, /API host must be/],
    ['a client id that is not text', { clientId: true }, /clientId must be a string/],
    ['paths that are not text', { paths: { currentUser: 'GET /me' } }, /paths must be a string/],
    ['an organization that is no number', { organizationId: NaN }, /organizationId must be a string/],
    ['an account host without its scheme', { authUrl: 'account.example' }, /account host must be/],
    ['plain http to elsewhere', { apiUrl: 'http://api.example' }, /API host must be/],
    ['no client id', { clientId: ' ' }, /client ID/],
    ['no client secret', { clientSecret: '' }, /client secret/],
    ['a client secret of blanks', { clientSecret: '  ' }, /client secret/],
    ['a storage path without its slash', { storagePath: 'slicer/v1' }, /storage path/],
    ['a storage path that climbs', { storagePath: '/a/../b' }, /storage path/],
    ['a storage path with a query', { storagePath: '/a?b' }, /storage path/],
    ['an origin with a path', { origin: 'https://shop.example/' }, /origin/],
    ['an invalid origin', { origin: 'shop' }, /origin/],
    ['paths that are not JSON', { paths: '{' }, /paths/],
    ['paths that are a list', { paths: '[]' }, /paths/],
    ['a path for an unknown call', { paths: '{"clusters":"GET /x"}' }, /"clusters"/],
    ['a path without its method', { paths: '{"getReport":"/x"}' }, /"getReport"/],
    ['a path with an unknown path parameter', { paths: '{"getReport":"GET /x/{user}"}' }, /\{user\}/],
  ];
  for (const [what, changes, names] of BAD)
    it(`rejects ${what}`, () => refused(() => readSettings({ ...GOOD, ...changes }), names));

  describe('with a static token', () => {
    const config = { apiUrl: GOOD.apiUrl, signIn: 'token', apiToken: 'a-b_c|d' };

    it('needs no account host and no client', () => {
      const settings = readSettings(config);
      assert.equal(settings.authUrl, '');
      assert.deepEqual(settings.signIn, { apiToken: 'a-b_c|d' });
    });
    it('reads a given account host', () => {
      assert.equal(readSettings({ ...config, authUrl: GOOD.authUrl }).authUrl, GOOD.authUrl);
      refused(() => readSettings({ ...config, authUrl: 'ftp://account.example' }), /account host/);
    });
    it('removes blanks around the token, and rejects characters that a header can’t carry', () => {
      assert.deepEqual(readSettings({ ...config, apiToken: ' abc\r\n' }).signIn, { apiToken: 'abc' });
      for (const apiToken of ['a b', 'a\nb', 'tökén', 'a\u0000b'])
        refused(() => readSettings({ ...config, apiToken }), /token/);
    });
    it('accepts a missing token, which fails at the first call', () => {
      assert.deepEqual(readSettings({ ...config, apiToken: '' }).signIn, { apiToken: '' });
    });
  });

  it('keeps values out of its sentences, as they may be secret', () => {
    for (const config of [
      { ...GOOD, authUrl: 'https://user:hunter2@account.example' },
      { apiUrl: 'https://a.example', signIn: 'token', apiToken: 'hunter2 x' },
    ])
      assert.throws(
        () => readSettings(config),
        (error: Error) => !error.message.includes('hunter2'),
      );
  });

  it('reads the part for a sign-in alone', () => {
    const { apiUrl: _, ...rest } = GOOD;
    assert.equal(readSignIn(rest).clientId, 'client');
    refused(() => readSignIn({ ...rest, authUrl: '' }), /account host/);
  });

  it('returns the redirect URI unchanged', () => {
    for (const address of ['http://localhost:1880/remote-printing/callback', 'https://red.example/admin/cb?a=1'])
      assert.equal(readRedirect(` ${address} `), address);
    for (const address of [undefined, '', 'callback', '/callback', 'javascript:alert(1)', 'http://a.example/#x', 5])
      refused(() => readRedirect(address), /redirect URI/);
  });
});
