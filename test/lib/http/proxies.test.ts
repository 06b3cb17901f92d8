import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { EnvHttpProxyAgent } from 'undici';
import { Http, proxiesOf } from '../../../lib/http/http';

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

  it('uses the exceptions that the environment names', () => {
    assert.equal(proxiesOf({ http_proxy: 'a:1' })?.noProxy, '');
    assert.equal(proxiesOf({ http_proxy: 'a:1', NO_PROXY: '.lan' })?.noProxy, '.lan');
  });

  describe('with a proxy', () => {
    const { HTTP_PROXY } = process.env;
    const servers: Server[] = [];
    const listen = async (host: string, answer: string): Promise<number> => {
      const server = createServer((_, response) => response.end(answer));
      server.on('connect', (_, socket) => socket.end('HTTP/1.1 502 No\r\n\r\n'));
      servers.push(server.listen(0, host));
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    };
    afterEach(() => {
      if (HTTP_PROXY === undefined) delete process.env.HTTP_PROXY;
      else process.env.HTTP_PROXY = HTTP_PROXY;
      for (const server of servers.splice(0)) server.close().closeAllConnections();
    });

    it('reaches servers on this machine directly, by every address of it', async () => {
      process.env.HTTP_PROXY = `http://127.0.0.1:${await listen('127.0.0.1', 'proxy')}`;
      const http = new Http();
      for (const host of ['127.0.0.1', '127.0.0.2', '::1']) {
        const url = `http://${host === '::1' ? '[::1]' : host}:${await listen(host, 'direct')}/`;
        const { status, text } = await http.text({ method: 'GET', url });
        assert.deepEqual([url, status, text], [url, 200, 'direct']);
        const { body } = await http.send({ method: 'GET', url });
        assert.equal(await body.text(), 'direct');
      }
      await http.close();
      await assert.rejects(http.text({ method: 'GET', url: 'http://127.0.0.1:1/' }), { outcome: 'not-sent' });
    });

    it('reaches other servers through it', async () => {
      process.env.HTTP_PROXY = `http://127.0.0.1:${await listen('127.0.0.1', 'proxy')}`;
      const http = new Http();
      await assert.rejects(http.text({ method: 'GET', url: 'http://service.example/' }), { code: 'NETWORK' });
      await http.destroy();
    });
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
