import assert from 'node:assert/strict';
import fc from 'fast-check';
import { EnvHttpProxyAgent } from 'undici';
import { proxiesOf } from '../../../lib/http/http';

describe('http/proxies', () => {
  it('finds none if the environment names none', () => {
    assert.equal(proxiesOf({}), null);
    assert.equal(proxiesOf({ HTTP_PROXY: ' ', no_proxy: 'x' }), null);
    assert.equal(proxiesOf({ HTTP_PROXY: 'a'.repeat(16_001) }), null, 'too long');
  });

  it('accepts addresses with and without a scheme, in either case', () => {
    for (const given of ['host:3128', 'http://host:3128', ' host:3128 '])
      assert.equal(new URL(proxiesOf({ HTTP_PROXY: given })?.httpProxy ?? '').href, 'http://host:3128/');
    assert.equal(proxiesOf({ http_proxy: 'a:1', HTTP_PROXY: 'b:1' })?.httpProxy, 'http://a:1');
    assert.equal(proxiesOf({ https_proxy: 'a:1' })?.httpsProxy, 'http://a:1');
    assert.equal(proxiesOf({ http_proxy: 'a:1' })?.httpsProxy, 'http://a:1', 'the only one serves both');
  });

  it('never uses a proxy for servers on this machine', () => {
    assert.equal(proxiesOf({ http_proxy: 'a:1' })?.noProxy, 'localhost,127.0.0.1,::1');
    assert.equal(proxiesOf({ http_proxy: 'a:1', NO_PROXY: '.lan' })?.noProxy, '.lan,localhost,127.0.0.1,::1');
  });

  it('makes a client, whatever the environment contains', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.webUrl(), fc.constant('socks5://host:1080')), async (given) => {
        const proxies = proxiesOf({ HTTP_PROXY: given });
        if (proxies) await new EnvHttpProxyAgent(proxies).close();
      }),
    );
  });
});
