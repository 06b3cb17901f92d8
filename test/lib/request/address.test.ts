import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readAddress, type Hosts } from '../../../lib/request/requests';
import { PrintingError } from '../../../lib/service/errors';

const HOSTS: Hosts = { apiUrl: 'https://api.example', authUrl: 'https://account.example' };
/** Hosts below a path, on one origin with a port. */
const DEEP: Hosts = { apiUrl: 'https://host.example:8443/printing', authUrl: 'https://host.example:8443/account/v2' };
const LOCAL: Hosts = { apiUrl: 'http://127.0.0.1:8080', authUrl: 'http://[::1]:8081/a' };

/** The URL that undici makes of host and path. */
const resolved = (given: string, hosts: Hosts) => {
  const { host, path } = readAddress(given, hosts);
  const base = host === 'api' ? hosts.apiUrl : hosts.authUrl;
  return { base: new URL(base), url: new URL(base + path), path };
};
const refuses = (given: string, hosts = HOSTS) =>
  assert.throws(
    () => readAddress(given, hosts),
    (error: unknown) =>
      error instanceof PrintingError && error.code === 'INVALID_INPUT' && error.outcome === 'not-sent',
    JSON.stringify(given),
  );

const decode = (path: string) =>
  path.replace(/%([0-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));

describe('request/address', () => {
  const good: [string, Hosts, string][] = [
    ['/connect/v1/clusters', HOSTS, 'https://api.example/connect/v1/clusters'],
    ['connect/v1/clusters', HOSTS, 'https://api.example/connect/v1/clusters'],
    [
      '/connect/v1/print_jobs?page=2&limit=10&at=a:b/c',
      HOSTS,
      'https://api.example/connect/v1/print_jobs?page=2&limit=10&at=a:b/c',
    ],
    ['?page=2', HOSTS, 'https://api.example/?page=2'],
    ['', HOSTS, 'https://api.example/'],
    ['/clusters/aB-_9===/status', HOSTS, 'https://api.example/clusters/aB-_9===/status'],
    ['/names/caf%C3%A9%20x', HOSTS, 'https://api.example/names/caf%C3%A9%20x'],
    ['/files/a..b/.hidden/...', HOSTS, 'https://api.example/files/a..b/.hidden/...'],
    ['{auth_url}/organizations/current', HOSTS, 'https://account.example/organizations/current'],
    ['{auth_url}/users', DEEP, 'https://host.example:8443/account/v2/users'],
    ['https://api.example/connect/v1/clusters?page=2', HOSTS, 'https://api.example/connect/v1/clusters?page=2'],
    ['HTTPS://API.example:443/x', HOSTS, 'https://api.example/x'],
    ['https://account.example/scopes', HOSTS, 'https://account.example/scopes'],
    ['https://api.example', HOSTS, 'https://api.example/'],
    ['https://api.example?page=1', HOSTS, 'https://api.example/?page=1'],
    ['https://host.example:8443/printing/x', DEEP, 'https://host.example:8443/printing/x'],
    ['https://host.example:8443/account/v2/x', DEEP, 'https://host.example:8443/account/v2/x'],
    ['http://[::1]:8081/a/users', LOCAL, 'http://[::1]:8081/a/users'],
  ];
  for (const [given, hosts, url] of good)
    it(`resolves ${JSON.stringify(given)} to ${url}`, () => assert.equal(resolved(given, hosts).url.href, url));

  const bad: Record<string, string[]> = {
    'foreign hosts': [
      'https://evil.example/x',
      'https://api.example.evil.example/x',
      'https://api.exampl/e',
      'https://api.example:444/x',
      'http://api.example/x',
      'https://apiaexample/x',
      'https:///evil.example',
    ],
    'addresses without a scheme': ['//evil.example/x', '///x', '{auth_url}//evil.example', '/a//b'],
    backslashes: [
      '\\\\evil.example',
      '/\\evil.example',
      'https:\\\\api.example\\x',
      'https://evil.example\\@api.example/',
      '/a\\..\\b',
    ],
    'encoded slashes': ['/a%2fb', '/a%2Fb', '/a%5cb', '/..%2f..', '/a%252fb', '/a%25255Cb', '{auth_url}/%5C'],
    'dot segments': [
      ...[
        '..',
        '/../x',
        '/a/./b',
        '/a/..',
        '/a/%2e%2e/b',
        '/%2E',
        '/%252e%252e/x',
        '/.%2e/x',
        '{auth_url}/..',
        '/..;/x',
        '/a/%2e;v=1/b',
      ],
      'https://api.example/../x',
    ],
    'user info': [
      'https://user@api.example/',
      'https://user:pass@api.example/',
      'https://api.example@evil.example/',
      'https://@api.example/',
    ],
    'other schemes': [
      ...[
        'file:///etc/passwd',
        'javascript:alert(1)',
        'data:,x',
        'ftp://api.example/',
        'https:api.example',
        'https:/api.example',
      ],
      'http:x',
      'ws://api.example/x',
    ],
    'control characters': [
      '/a\r\nX-Evil: 1',
      '/a\nb',
      '/a\tb',
      '/a\0',
      '\n/a',
      '/a ',
      ' /a',
      '/a%0d%0ab',
      '/%00',
      '/%7f',
      'https://api.exa\tmple/',
      '/x?a=\r',
    ],
    'letters beyond ASCII': [
      '/é',
      '/a\u3002\u3002/b',
      'https://api.example\u3002evil.example/',
      '/\ud800',
      '/x?q=ü',
      '/\uff0f/evil',
      '/a\u2028',
    ],
    fragments: ['/a#b', '#', 'https://api.example/#x', 'https://api.example#x', '/x?y#z'],
    'percent signs that encode nothing': ['/100%', '/%zz', '/x?y=%', '/%2'],
    'path parameters without a value': [
      '/clusters/{cluster_id}',
      '{api_url}/x',
      '{storage}/jobs',
      '{AUTH_URL}/x',
      '{auth_url}',
      '{auth_url}x',
      '/x?y={z}',
    ],
    'what must be encoded': ['/a"b', '/a<b', '/a^b', '/a`b', '/a|b', '/[x]', '/x?a="b"'],
  };
  for (const [kind, addresses] of Object.entries(bad))
    it(`rejects ${kind}`, () => {
      for (const given of addresses) refuses(given);
    });

  it('rejects URLs on a host of the account but outside its path', () => {
    for (const given of [
      '',
      '/',
      '/printingx',
      '/account',
      '/account/v1/x',
      '/printin',
      '/PRINTING/x',
      '/printing/../x',
      '/printin%67/x',
    ])
      refuses(`https://host.example:8443${given}`, DEEP);
  });

  it('rejects absolute URLs on the account host if the account has none', () => {
    refuses('https://account.example/x', { ...HOSTS, authUrl: '' });
    assert.deepEqual(readAddress('/x', { ...HOSTS, authUrl: '' }), { host: 'api', path: '/x' });
  });

  const pieces = fc.constantFrom(
    ...[
      '/',
      '//',
      '\\',
      '.',
      '..',
      '%2e',
      '%2E',
      '2e',
      '2f',
      '%2f',
      '%5c',
      '%25',
      '%',
      '?',
      '#',
      '@',
      ':',
      ';',
      '&',
      '=',
      '|',
      "'",
      '[',
      ']',
    ],
    ...[
      'https:',
      'http:',
      'HTTPS://',
      'https://',
      'file:',
      'api.example',
      'account.example',
      'evil.example',
      ':443',
      ':8443',
    ],
    ...[
      '{auth_url}',
      '{api_url}',
      '{',
      '}',
      'a',
      'printing',
      'account',
      'v2',
      '[::1]',
      '127.0.0.1',
      'xn--',
      '\u3002',
      '\uff0f',
      'é',
    ],
    ...['\t', '\n', '\r', '\0', ' ', '\u00a0', '\u00ad', '\u200b', '\ud800', '%00', '%0a', '%C3%A9'],
    ...[HOSTS, DEEP, LOCAL].flatMap(({ apiUrl, authUrl }) => [apiUrl, authUrl]),
  );
  const anything = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join('')),
    fc.array(fc.oneof(pieces, fc.string({ maxLength: 4 })), { maxLength: 10 }).map((parts) => `/${parts.join('')}`),
    fc
      .tuple(
        fc.constantFrom(...[HOSTS, DEEP].flatMap((hosts) => Object.values(hosts) as string[])),
        fc.array(pieces, { maxLength: 6 }),
      )
      .map(([host, parts]) => host + parts.join('')),
  );

  it('keeps every accepted path on its host and under its prefix', () => {
    let accepted = 0;
    fc.assert(
      fc.property(anything, fc.constantFrom(HOSTS, DEEP, LOCAL), (given, hosts) => {
        let found;
        try {
          found = resolved(given, hosts);
        } catch (error) {
          assert.ok(error instanceof PrintingError && error.code === 'INVALID_INPUT', String(error));
          return;
        }
        accepted++;
        const { base, url, path } = found;
        const prefix = base.pathname.replace(/\/$/, '');
        assert.equal(url.origin, base.origin);
        assert.equal(url.username + url.password + url.hash, '');
        // Nothing is folded: the path is the host's own, then exactly the given one.
        assert.equal(url.pathname, prefix + (path.split('?')[0] ?? ''));
        // Nor does decoding it once or twice fold it.
        const again = new URL(base.origin + prefix + decode(decode(path)));
        assert.ok(again.origin === base.origin && again.pathname.startsWith(`${prefix}/`));
      }),
      { numRuns: 5000 },
    );
    assert.ok(accepted > 300, `only ${accepted} were accepted`);
  });

  it('accepts every path of plain segments unchanged', () => {
    const segment = fc
      .string({ unit: fc.constantFrom(...'abcXYZ019-_.~=%'), minLength: 1 })
      .map((text) => text.replaceAll('%', '%41'))
      .filter((text) => !['.', '..'].includes(text));
    const path = fc.array(segment, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'));
    fc.assert(
      fc.property(path, (given) => {
        assert.deepEqual(readAddress(given, HOSTS), { host: 'api', path: `/${given}` });
        assert.deepEqual(readAddress(`/${given}`, HOSTS), { host: 'api', path: `/${given}` });
        assert.deepEqual(readAddress(`{auth_url}/${given}`, HOSTS), { host: 'auth', path: `/${given}` });
        assert.deepEqual(readAddress(`${DEEP.authUrl}/${given}`, DEEP), { host: 'auth', path: `/${given}` });
      }),
    );
  });
});
