import assert from 'node:assert/strict';
import { createServer, type AddressInfo, type LookupFunction, type Server } from 'node:net';
import { MockAgent } from 'undici';
import { download } from '../../../lib/http/download';
import { guardedLookup, storageAddress } from '../../../lib/http/foreign-hosts';
import { Http } from '../../../lib/http/http';
import { PrintingError } from '../../../lib/service/errors';
import { phrase } from '../../../lib/words/sentence';

const WHAT = { what: phrase`the file` };
/** Spellings of addresses that a public account must not make Node-RED call. */
const INWARD = [
  'https://127.0.0.1/x',
  'https://127.8.8.8/x',
  'https://2130706433/x',
  'https://0x7f.1/x',
  'https://0177.0.0.1/x',
  'https://127.1/x',
  'https://localhost/x',
  'https://LOCALHOST./x',
  'https://a.localhost/x',
  'https://[::1]/x',
  'https://[::ffff:127.0.0.1]/x',
  'https://[::127.0.0.1]/x',
  'https://[64:ff9b::127.0.0.1]/x',
  'https://[2002:7f00:1::]/x',
];
/** Addresses that not even an account on this machine may name. */
const NEVER = [
  'https://0.0.0.0/x',
  'https://0/x',
  'https://169.254.169.254/latest/meta-data',
  'https://[::ffff:169.254.169.254]/x',
  'https://[64:ff9b::a9fe:a9fe]/x',
  'https://[fe80::1]/x',
  'https://[::]/x',
  'https://[fd00:ec2::254]/x',
  'https://100.100.100.200/x',
  'http://169.254.169.254/x',
  'http://files.example/x',
  'ftp://127.0.0.1/x',
];
const OUTWARD = ['https://files.example/x', 'https://198.51.100.7/x', 'https://[2001:db8::7]/x', 'https://128.0.0.1/x'];
const PRIVATE = ['https://10.0.0.7/x', 'https://192.168.1.7:8443/x', 'https://[fd12::7]/x'];

describe('http/foreign-hosts: addresses from the service', () => {
  it('allows public hosts and hosts of the local network, by https', () => {
    for (const url of [...OUTWARD, ...PRIVATE]) assert.equal(storageAddress(url, false), url);
  });

  it('refuses this machine for an account elsewhere, in any spelling', () => {
    for (const url of [...INWARD, ...NEVER, 'http://127.0.0.1:80/x'])
      assert.equal(storageAddress(url, false), null, url);
  });

  it('allows this machine for an account on it, but not its local link', () => {
    for (const url of [...INWARD, 'http://127.0.0.1:8080/x', 'http://localhost:8080/x'])
      assert.ok(storageAddress(url, true), url);
    for (const url of NEVER) assert.equal(storageAddress(url, true), null, url);
  });

  describe('with names', () => {
    const resolved = (isLocal: boolean, addresses: string[], all = true) =>
      new Promise((resolve, reject) => {
        const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
        const lookup: LookupFunction = (_, __, callback) => callback(null, found);
        guardedLookup(isLocal, lookup)('files.example', { all }, (error, value) =>
          error ? reject(error) : resolve(Array.isArray(value) ? value.map(({ address }) => address) : value),
        );
      });
    const refused = { code: 'SERVICE_ERROR', outcome: 'refused', message: /files\.example/ };

    it('keeps only the addresses that may be called', async () => {
      assert.deepEqual(await resolved(false, ['198.51.100.7', '127.0.0.1', '::1', '10.0.0.7']), [
        '198.51.100.7',
        '10.0.0.7',
      ]);
      assert.equal(await resolved(false, ['::', '198.51.100.7'], false), '198.51.100.7');
      assert.deepEqual(await resolved(true, ['127.0.0.1', '169.254.169.254']), ['127.0.0.1']);
    });

    for (const address of [
      '127.0.0.1',
      '0.0.0.0',
      '::1',
      '::ffff:127.0.0.1',
      '169.254.169.254',
      'fe80::1%eth0',
      'fd00:ec2::254',
    ])
      it(`refuses a name that leads only to ${address}`, async () => {
        await assert.rejects(resolved(false, [address]), refused);
        await assert.rejects(resolved(false, [address], false), refused);
      });

    it('reports an unknown name', async () => {
      const lookup: LookupFunction = (_, __, callback) =>
        callback(Object.assign(new Error('x'), { code: 'ENOTFOUND' }), []);
      const http = new Http(undefined, { lookup });
      await assert.rejects(download(http, 'https://files.example/x', WHAT), { code: 'NETWORK', outcome: 'not-sent' });
      await http.close();
    });
  });

  describe('in a request', () => {
    let server: Server;
    let connections: number;
    let port: number;
    beforeEach(async () => {
      connections = 0;
      server = createServer((socket) => {
        connections++;
        socket.destroy();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      ({ port } = server.address() as AddressInfo);
    });
    afterEach(() => new Promise((resolve) => server.close(resolve)));
    const refused = (error: unknown) =>
      error instanceof PrintingError && error.code === 'SERVICE_ERROR' && !error.message.includes('secret');

    it('makes no connection to this machine, neither by address nor by name', async () => {
      const lookup: LookupFunction = (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
      const http = new Http(undefined, { lookup });
      for (const url of [`https://files.example:${port}/secret`, `https://127.0.0.1:${port}/secret`]) {
        await assert.rejects(download(http, url, WHAT), refused);
        await assert.rejects(http.send({ method: 'PUT', url, body: 'bytes', foreign: true }), refused);
      }
      await assert.rejects(download(http, `http://127.0.0.1:${port}/secret`, WHAT), refused);
      await assert.rejects(
        http.send({ method: 'PUT', url: `http://127.0.0.1:${port}/secret`, foreign: true }),
        refused,
      );
      await http.close();
      assert.equal(connections, 0);
    });

    it('follows no redirect to plain http, to this machine or to its link', async () => {
      const agent = new MockAgent();
      agent.disableNetConnect();
      const http = new Http(agent);
      for (const location of [...INWARD, ...NEVER, 'http://files.example/x']) {
        agent.get('https://files.example').intercept({ path: '/x' }).reply(302, '', { headers: { location } });
        await assert.rejects(download(http, 'https://files.example/x', WHAT), { message: /no valid address/ });
      }
      agent.assertNoPendingInterceptors();
      await agent.close();
    });

    it('reaches this machine for an account on it, by name too', async () => {
      const lookup: LookupFunction = (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
      const http = new Http(undefined, { lookup, isLocal: true });
      await assert.rejects(download(http, `https://files.example:${port}/x`, WHAT), { code: 'NETWORK' });
      await assert.rejects(download(http, `http://127.0.0.1:${port}/x`, WHAT), { code: 'NETWORK' });
      await http.close();
      assert.ok(connections >= 2);
    });
  });
});
