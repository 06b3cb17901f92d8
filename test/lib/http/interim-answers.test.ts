import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createProxy, type Server as Proxy } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { Http } from '../../../lib/http/http';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const answer = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

describe('http/interim-answers: an unrequested 100 Continue', () => {
  let server: Server;
  let port: number;
  let http: Http;
  let connections: number;
  /** Requests that arrived whole; each ends with an `x`. */
  let requests: number;
  let respond: (socket: Socket) => unknown;
  const url = () => `http://127.0.0.1:${port}/path`;
  const post = (quiet?: number) => http.text({ method: 'POST', url: url(), body: 'x', ...(quiet && { quiet }) });

  beforeEach(async () => {
    connections = requests = 0;
    server = createServer((socket) => {
      connections++;
      socket.setNoDelay(true).on('error', () => undefined);
      socket.on('data', (bytes) => {
        if (!bytes.toString('latin1').endsWith('x')) return;
        requests++;
        respond(socket);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
    http = new Http();
  });

  afterEach(async () => {
    await http.destroy();
    server.close();
    await once(server, 'close');
  });

  for (const [what, head] of [
    ['before each answer of a connection', CONTINUE],
    ['several times', CONTINUE.repeat(50)],
    ['without a reason', 'HTTP/1.1 100\r\n\r\n'],
    ['with headers', 'HTTP/1.1 100 Continue\r\nserver: one\r\n\r\n'],
    ['before an early hint', `${CONTINUE}HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n`],
  ] as const)
    it(`is ignored ${what}`, async () => {
      respond = (socket) => socket.write(head + answer('{"a":1}'));
      for (let n = 0; n < 5; n++) assert.deepEqual((await post()).body, { a: 1 });
      assert.equal(requests, 5);
      assert.ok(connections < 5, 'connections are kept');
    });

  it('is ignored before an answer that is read as a stream, while a body is sent', async () => {
    const size = 300_000;
    respond = (socket) => socket.write(answer('stored'));
    server.on('connection', (socket: Socket) => socket.once('data', () => socket.write(CONTINUE)));
    const body = Readable.from([Buffer.alloc(size - 1), Buffer.from('x')]);
    const sent = await http.send({ method: 'PUT', url: url(), headers: { 'content-length': String(size) }, body });
    assert.equal(await sent.body.text(), 'stored');
  });

  it('is ignored if it arrives byte by byte', async () => {
    respond = async (socket) => {
      for (const byte of CONTINUE + answer('{}')) {
        socket.write(byte);
        await turn();
      }
    };
    assert.deepEqual((await post()).body, {});
    assert.deepEqual((await post()).body, {});
  });

  it('stays in the body of an answer', async () => {
    let rest = () => {};
    respond = (socket) => {
      socket.write(answer(CONTINUE).slice(0, -CONTINUE.length));
      rest = () => socket.write(CONTINUE);
    };
    const { body } = await http.send({ method: 'POST', url: url(), body: 'x' });
    rest();
    assert.equal(await body.text(), CONTINUE);
  });

  it('is ignored behind a proxy', async () => {
    const proxy: Proxy = createProxy().on('connect', (_, client) => {
      const upstream = connect(port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connected\r\n\r\n');
        upstream.pipe(client).pipe(upstream);
      });
      for (const socket of [client, upstream]) socket.on('error', () => upstream.destroy());
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const before = process.env.http_proxy;
    process.env.http_proxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    try {
      respond = (socket) => socket.write(CONTINUE + answer('{"a":1}'));
      const asked = { method: 'POST', url: 'http://printing.example/path', body: 'x' };
      assert.deepEqual((await http.text(asked)).body, { a: 1 });
    } finally {
      if (before === undefined) delete process.env.http_proxy;
      else process.env.http_proxy = before;
      await http.destroy();
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  it('does not extend the wait for an answer that never comes', async () => {
    respond = (socket) => socket.write(CONTINUE);
    await assert.rejects(post(1), { code: 'NETWORK', outcome: 'unknown' });
  });

  it('fails after an interim answer with an endless head', async () => {
    respond = (socket) => socket.write(`HTTP/1.1 100 Continue\r\na: ${'b'.repeat(100_000)}`);
    await assert.rejects(post(), { code: 'NETWORK', outcome: 'unknown' });
  });

  it('leaves other answers as they are', async () => {
    for (const text of ['HTTP/1.1 1', 'HTTP/1.0 200 OK\r\n\r\n', 'SSH-2.0', '\r\n']) {
      respond = (socket) => socket.end(text);
      if (text.includes('200')) assert.equal((await post()).status, 200);
      else await assert.rejects(post(), { code: 'NETWORK', outcome: 'unknown' });
    }
  });
});
