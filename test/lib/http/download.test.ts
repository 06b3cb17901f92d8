import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { Agent } from 'undici';
import { download, type DownloadOptions } from '../../../lib/http/download';
import { Http } from '../../../lib/http/http';
import { PrintingError } from '../../../lib/service/errors';
import { phrase } from '../../../lib/words/sentence';
import { emptyGzip } from '../../helpers/empty-gzip';

describe('http/download', () => {
  let server: Server;
  let base: string;
  let http: Http;
  let seen: IncomingMessage[];
  let respond: (request: IncomingMessage, response: ServerResponse) => void;

  const get = (options: Partial<DownloadOptions> = {}, path = '/file?signature=secret') =>
    download(http, base + path, { what: phrase`the file`, ...options });
  const all = async (options: Partial<DownloadOptions> = {}) => {
    const { stream, ...about } = await get(options);
    const parts: Buffer[] = [];
    for await (const part of stream as AsyncIterable<Buffer>) parts.push(part);
    return { ...about, bytes: Buffer.concat(parts).toString() };
  };
  const fails = (work: Promise<unknown>, code: string, outcome?: string) =>
    assert.rejects(work, (error: unknown) => {
      assert.ok(error instanceof PrintingError, String(error));
      assert.equal(error.code, code, error.message);
      if (outcome) assert.equal(error.outcome, outcome);
      assert.doesNotMatch(error.message, /secret|https?:|example/);
      assert.match(error.message, /^[A-Z].*[^.]\.$/);
      return true;
    });
  /** Whether every connection of the client is free or closed. */
  const idle = async () => {
    for (let turn = 0; turn < 200; turn++) {
      const open = await new Promise<number>((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      );
      if (open === 0) return true;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return false;
  };

  beforeEach(async () => {
    seen = [];
    server = createServer((request, response) => {
      seen.push(request);
      respond(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    http = new Http(new Agent(), { isLocal: true });
  });
  afterEach(async () => {
    await http.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('returns type, size and bytes, and sends no bearer', async () => {
    respond = (_, response) =>
      response.writeHead(200, { 'content-type': 'Image/PNG; charset=x', 'content-length': '5' }).end('bytes');
    assert.deepEqual(await all(), { contentType: 'image/png', size: 5, bytes: 'bytes' });
    const [request] = seen;
    assert.deepEqual([request?.method, request?.headers.authorization], ['GET', undefined]);
    assert.equal(request?.headers['accept-encoding'], 'identity');
  });

  it('returns an answer without type and size', async () => {
    respond = (_, response) => void response.write('by', () => response.end('tes'));
    assert.deepEqual(await all(), { contentType: null, size: null, bytes: 'bytes' });
    respond = (_, response) => response.writeHead(204).end();
    assert.deepEqual(await all(), { contentType: null, size: null, bytes: '' });
  });

  for (const [name, url] of [
    ['a relative address', '/image.png'],
    ['another scheme', 'ftp://files.example/secret'],
    ['a script', 'javascript:alert("secret")'],
    ['a file', 'file:///etc/passwd?secret'],
    ['plain http elsewhere', 'http://files.example/secret'],
    ['plain http to a name that looks like this machine', 'http://127.0.0.1.example/secret'],
    ['nothing', undefined],
    ['null', null],
    ['a number', 5],
    ['an object', { url: 'https://files.example/secret' }],
  ] as const)
    it(`refuses ${name} without a request`, async () => {
      await fails(download(http, url, { what: phrase`the file` }), 'SERVICE_ERROR', 'refused');
      assert.equal(seen.length, 0);
    });

  for (const [status, outcome] of [
    [403, 'refused'],
    [404, 'refused'],
    [410, 'refused'],
    [304, 'refused'],
    [429, 'unknown'],
    [500, 'unknown'],
    [503, 'unknown'],
  ] as const)
    it(`reports status ${status} as SERVICE_ERROR`, async () => {
      respond = (_, response) => response.writeHead(status).end('<Error>secret</Error>');
      await fails(all(), 'SERVICE_ERROR', outcome);
      await assert.rejects(all(), { statusCode: status });
    });

  describe('with a media type', () => {
    const answer = (contentType: string | undefined) => {
      respond = (_, response) => response.writeHead(200, contentType ? { 'content-type': contentType } : {}).end('x');
    };
    for (const contentType of ['image/png', 'IMAGE/JPEG', 'application/octet-stream', 'binary/octet-stream', undefined])
      it(`accepts ${contentType} as an image`, async () => {
        answer(contentType);
        assert.equal((await all({ accept: 'image/*' })).bytes, 'x');
        assert.equal(seen[0]?.headers.accept, 'image/*');
      });
    for (const contentType of ['text/html', 'application/json', 'application/xml; charset=utf-8', 'imagex/png', 'text'])
      it(`refuses ${contentType} as an image`, async () => {
        answer(contentType);
        await fails(all({ accept: 'image/*' }), 'SERVICE_ERROR', 'refused');
      });
    it('accepts only the named type', async () => {
      answer('text/csv; header=present');
      assert.equal((await all({ accept: 'text/csv' })).contentType, 'text/csv');
      await fails(all({ accept: 'text/plain' }), 'SERVICE_ERROR');
    });
  });

  describe('with a limit', () => {
    it('does not read a body that is announced as too large', async () => {
      respond = (_, response) => void response.writeHead(200, { 'content-length': '1000000' }).write('x');
      await fails(get({ maxBytes: 999_999 }), 'TOO_LARGE');
      assert.ok(await idle(), 'the connection was left open');
    });

    it('aborts a body that grows too large', async () => {
      respond = (_, response) => {
        const more = (): unknown => response.write(Buffer.alloc(10_000), (error) => (error ? undefined : more()));
        more();
      };
      await fails(all({ maxBytes: 100_000 }), 'TOO_LARGE');
      assert.ok(await idle(), 'the connection was left open');
    });

    it('accepts a body of exactly the allowed size', async () => {
      respond = (_, response) => response.end(Buffer.alloc(100_000, 'x'));
      assert.equal((await all({ maxBytes: 100_000 })).bytes.length, 100_000);
    });
  });

  describe('with an unrequested encoding', () => {
    const answer = (encoding: string, body: Buffer) => {
      const headers = { 'content-encoding': encoding, 'content-length': body.length };
      respond = (_, response) => response.writeHead(200, headers).end(body);
    };
    const bytes = 'G1 X10 Y10\n'.repeat(1_000);
    for (const [encoding, body] of [
      ['gzip', gzipSync(bytes)],
      ['x-gzip', gzipSync(bytes)],
      ['GZIP', gzipSync(bytes)],
      ['deflate', deflateSync(bytes)],
      ['br', brotliCompressSync(bytes)],
      ['gzip, br', brotliCompressSync(gzipSync(bytes))],
      ['identity', Buffer.from(bytes)],
    ] as const)
      it(`decodes ${encoding}`, async () => {
        answer(encoding, body);
        const found = await all();
        assert.equal(found.bytes, bytes);
        assert.equal(found.size, encoding === 'identity' ? bytes.length : null);
      });

    for (const encoding of ['zstd', 'gzip, gzip, gzip, gzip', 'gzip, what', 'x'.repeat(5_000)])
      it(`refuses an encoding that it can’t decode: ${encoding.slice(0, 30)}`, async () => {
        answer(encoding, Buffer.from(bytes));
        await fails(get(), 'SERVICE_ERROR', 'refused');
      });

    it('fails if the encoded bytes are damaged or cut off', async () => {
      for (const body of [Buffer.from(bytes), gzipSync(bytes).subarray(0, 60)]) {
        answer('gzip', body);
        await fails(all(), 'SERVICE_ERROR', 'unknown');
      }
    });

    for (const [encoding, bomb] of [
      ['gzip', gzipSync(Buffer.alloc(50_000_000))],
      ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(50_000_000)))],
    ] as const)
      it(`applies the limit to the decoded bytes of ${encoding}`, async () => {
        answer(encoding, bomb);
        await fails(all({ maxBytes: 1_000_000 }), 'TOO_LARGE');
      });

    it('applies the limit to what one encoding hands to the next', async () => {
      answer('gzip, br', brotliCompressSync(emptyGzip(5_000_000)));
      await fails(all({ maxBytes: 1_000_000 }), 'TOO_LARGE');
    });

    it('ends with its signal, although the whole body has arrived', async () => {
      answer('gzip', gzipSync(Buffer.alloc(50_000_000)));
      const controller = new AbortController();
      const { stream } = await get({ signal: controller.signal });
      await new Promise((resolve) => setTimeout(resolve, 50));
      controller.abort(new PrintingError('TIMEOUT', phrase`Too late.`));
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal((stream.errored as PrintingError | null)?.code, 'TIMEOUT');
    });
  });

  describe('with redirects', () => {
    const to = (location: string, status = 302) => {
      respond = ({ url }, response) =>
        url === '/end' ? response.end('there') : response.writeHead(status, { location }).end();
    };
    for (const status of [301, 302, 303, 307, 308])
      it(`follows a ${status}`, async () => {
        to('/end', status);
        assert.equal((await all()).bytes, 'there');
        assert.equal(seen.length, 2);
      });
    it('refuses to follow to an address that is not allowed', async () => {
      to('http://files.example/secret');
      await fails(all(), 'SERVICE_ERROR');
      to('file:///etc/passwd');
      await fails(all(), 'SERVICE_ERROR');
      assert.equal(seen.length, 2);
    });
    it('waits for no body of a redirect', async () => {
      respond = ({ url }, response) =>
        url === '/end'
          ? response.end('there')
          : response.writeHead(302, { location: '/end', 'content-length': '100' }).write('<');
      assert.equal((await all()).bytes, 'there');
    }).timeout(10_000);
    it('stops after five', async () => {
      to('/again');
      await fails(all(), 'SERVICE_ERROR');
      assert.equal(seen.length, 6);
    });
  });

  it('fails with NETWORK without a server and after an interrupted answer', async () => {
    respond = (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    };
    await fails(all(), 'NETWORK', 'unknown');
    respond = (request) => request.socket.destroy();
    await fails(all(), 'NETWORK');
    await fails(download(http, 'http://127.0.0.1:1/secret', { what: phrase`the file` }), 'NETWORK', 'not-sent');
  });

  it('ends with the reason of its signal, before and during the answer', async () => {
    const early = new AbortController();
    respond = () => early.abort(new PrintingError('TIMEOUT', phrase`Too late.`));
    await fails(all({ signal: early.signal }), 'TIMEOUT');
    const late = new AbortController();
    respond = (_, response) =>
      response.write('some', () => setImmediate(() => late.abort(new PrintingError('TIMEOUT', phrase`Too late.`))));
    await fails(all({ signal: late.signal }), 'TIMEOUT');
    assert.ok(await idle());
  });

  it('releases the connection when its stream is destroyed, read or not', async () => {
    respond = (_, response) => void response.write('some');
    (await get()).stream.destroy();
    const { stream } = await get();
    for await (const _ of stream) break;
    assert.ok(await idle());
  });

  it('reports an interruption to a reader that begins after it', async () => {
    respond = (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    };
    const { stream } = await get();
    assert.ok(await idle());
    await fails(stream.toArray(), 'NETWORK');
  });
});
