import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { mock } from 'node:test';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { Agent, MockAgent } from 'undici';
import { Http } from '../../../lib/http/http';
import { PrintingError } from '../../../lib/service/errors';
import { LockLostError } from '../../../lib/state/membership';
import { Deadline } from '../../../lib/time/deadline';
import { systemClock } from '../../../lib/time/clock';
import { emptyGzip } from '../../helpers/empty-gzip';
import { ManualClock } from '../../helpers/manual-clock';
import { phrase } from '../../../lib/words/sentence';

const network = (outcome: string, pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof PrintingError, String(error));
  assert.equal(error.code, 'NETWORK');
  assert.equal(error.outcome, outcome);
  assert.match(error.message, pattern);
  // Only the host: the rest of an address may be signed.
  assert.doesNotMatch(error.message, /https?:|secret/);
  return true;
};

const SPAN = 'autoSelectFamilyAttemptTimeout';

describe('http/http', () => {
  let server: Server;
  let url: string;
  let http: Http;
  let respond: (request: IncomingMessage, response: ServerResponse) => void;

  beforeEach(async () => {
    server = createServer((request, response) => respond(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/path?signature=secret`;
    http = new Http(new Agent());
  });

  afterEach(async () => {
    await http.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('returns status, headers and text for any status', async () => {
    for (const status of [200, 404, 503]) {
      respond = (_, response) =>
        response.writeHead(status, { 'X-One': 'a', 'set-cookie': ['b=1', 'c=2'] }).end('körper');
      const { headers, ...rest } = await http.text({ method: 'GET', url });
      assert.deepEqual(rest, { status, body: undefined, text: 'körper', size: { bytes: 7, elements: 0 } });
      assert.equal(headers['x-one'], 'a');
      assert.equal(headers['set-cookie'], 'b=1, c=2');
    }
  });

  it('sends nothing if its fence throws right before the first byte', async () => {
    let reached = 0;
    respond = (_, response) => {
      reached++;
      response.end('there');
    };
    const asked: string[] = [];
    const fence = () => void asked.push('now');
    assert.equal((await http.text({ method: 'POST', url, fence })).text, 'there');
    assert.deepEqual(asked, ['now']);
    const no = () => {
      throw new LockLostError();
    };
    await assert.rejects(http.text({ method: 'POST', url, body: 'x', fence: no }), {
      outcome: 'not-sent',
      code: 'TIMEOUT',
    });
    assert.equal((await http.text({ method: 'GET', url })).text, 'there');
    assert.equal(reached, 2);
  });

  it('ignores informational answers and a byte order mark', async () => {
    respond = (_, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.writeHead(201, { 'x-one': 'a' }).end('\uFEFF{}');
    };
    const { status, headers, body } = await http.text({ method: 'GET', url });
    assert.deepEqual([status, headers['x-one'], headers.link, body], [201, 'a', undefined, {}]);
  });

  it('unsubscribes from its signal and its deadline', async () => {
    respond = (request, response) => (request.method === 'GET' ? response.end() : request.socket.destroy());
    const { signal } = new AbortController();
    await (await http.send({ method: 'GET', url, signal })).body.dump();
    await assert.rejects(http.send({ method: 'DELETE', url, signal }));
    assert.equal(getEventListeners(signal, 'abort').length, 0);

    const deadline = new Deadline(new ManualClock());
    const left: boolean[] = [];
    const whenOver = deadline.whenOver.bind(deadline);
    deadline.whenOver = (action) => {
      const leave = whenOver(action);
      const at = left.push(false) - 1;
      return () => {
        left[at] = true;
        leave();
      };
    };
    await http.text({ method: 'GET', url, deadline });
    await assert.rejects(http.text({ method: 'DELETE', url, deadline }));
    assert.deepEqual(left, [true, true]);
  });

  it('sends a body unchanged', async () => {
    let seen: unknown;
    respond = (request, response) => {
      request.setEncoding('utf8').on('data', (body: string) => {
        seen = [request.method, request.headers['content-type'], body];
        response.end();
      });
    };
    await http.text({ method: 'POST', url, headers: { 'content-type': 'application/json' }, body: '{"data":{}}' });
    assert.deepEqual(seen, ['POST', 'application/json', '{"data":{}}']);
  });

  it('sends a stream unchunked if its length is given', async () => {
    let seen: unknown;
    respond = (request, response) => {
      let size = 0;
      request.on('data', (part: Buffer) => (size += part.length));
      request.on('end', () => {
        seen = [size, request.headers['content-length'], request.headers['transfer-encoding']];
        response.end();
      });
    };
    const body = Readable.from([Buffer.alloc(70_000), Buffer.alloc(30_000)]);
    const answer = await http.send({ method: 'PUT', url, headers: { 'content-length': '100000' }, body });
    await answer.body.dump();
    assert.deepEqual(seen, [100_000, '100000', undefined]);
  });

  it('rejects a stream of another length than announced', async () => {
    respond = (request, response) => request.resume().on('end', () => response.end());
    for (const size of [9, 11]) {
      const body = Readable.from([Buffer.alloc(size)]);
      const sent = http.send({ method: 'PUT', url, headers: { 'content-length': '10' }, body });
      await assert.rejects(sent, network('unknown', /UND_ERR_REQ_CONTENT_LENGTH_MISMATCH/));
    }
  });

  it('passes on a PrintingError of its body', async () => {
    respond = (request) => request.on('error', () => {}).resume();
    const changed = new PrintingError('FILE_CHANGED', phrase`The file changed.`);
    const body = new Readable({ read: () => void body.destroy(changed) });
    await assert.rejects(http.send({ method: 'PUT', url, headers: { 'content-length': '10' }, body }), changed);
  });

  it('follows no redirect', async () => {
    let requests = 0;
    respond = (_, response) => {
      requests++;
      response.writeHead(302, { location: '/elsewhere' }).end();
    };
    assert.equal((await http.text({ method: 'GET', url })).status, 302);
    assert.equal(requests, 1);
  });

  it('distinguishes a request that never left from one that may have been carried out', async () => {
    respond = (request) => request.socket.destroy();
    await assert.rejects(http.text({ method: 'GET', url }), network('unknown', /UND_ERR_SOCKET|ECONNRESET/));
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await assert.rejects(http.text({ method: 'GET', url }), network('not-sent', /ECONNREFUSED/));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  it('reports an interrupted answer with the outcome unknown', async () => {
    respond = (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
      setImmediate(() => response.destroy());
    };
    await assert.rejects(
      http.text({ method: 'GET', url }),
      network('unknown', /^The connection to 127\.0\.0\.1:\d+ failed \(/),
    );
  });

  it('times out on silence, before the head and within the body', async () => {
    respond = () => undefined;
    await assert.rejects(http.text({ method: 'GET', url, quiet: 1 }), network('unknown', /UND_ERR_HEADERS_TIMEOUT/));
    respond = (_, response) => response.writeHead(200).write('half');
    await assert.rejects(http.text({ method: 'GET', url, quiet: 1 }), network('unknown', /UND_ERR_BODY_TIMEOUT/));
  });

  it('ends with the reason of its deadline', async () => {
    const controller = new AbortController();
    const deadline = new Deadline(new ManualClock(), { parent: controller.signal });
    const reason = new PrintingError('TIMEOUT', phrase`The time is up.`);
    respond = () => controller.abort(reason);
    const ended = (outcome: string) => ({ code: 'TIMEOUT', message: reason.message, outcome });
    await assert.rejects(http.text({ method: 'GET', url, deadline }), ended('unknown'));
    await assert.rejects(http.text({ method: 'GET', url, deadline }), ended('not-sent'));
  });

  it('ends with its deadline even before a connection is made', async () => {
    const unreachable = new Http(new Agent({ connect: () => undefined }));
    const controller = new AbortController();
    const deadline = new Deadline(new ManualClock(), { parent: controller.signal });
    const asked = unreachable.text({ method: 'GET', url, deadline });
    controller.abort(new PrintingError('TIMEOUT', phrase`The time is up.`));
    await assert.rejects(asked, { code: 'TIMEOUT', outcome: 'not-sent' });
  });

  it('does not read an endless answer into memory', async () => {
    const part = Buffer.alloc(1024 * 1024);
    let sent = 0;
    respond = (_, response) => {
      response.on('error', () => {});
      const more = () => {
        while (!response.destroyed) {
          sent++;
          if (!response.write(part)) return;
        }
      };
      response.on('drain', more);
      more();
    };
    await assert.rejects(http.text({ method: 'GET', url }), (error: unknown) => {
      assert.ok(error instanceof PrintingError);
      assert.equal(error.code, 'SERVICE_ERROR');
      assert.match(error.message, /larger than any that is read/);
      // Another attempt would give the same answer.
      assert.equal(error.outcome, 'refused');
      return true;
    });
    assert.ok(sent < 24, `${sent} MiB were sent`);
  });

  it('reads a long list only as the whole answer or as its data', async () => {
    const list = `[${Array(100)
      .fill(`[${'1,'.repeat(999)}1]`)
      .join()}]`;
    const readable = async (body: string) => {
      respond = (_, response) => response.end(body);
      return http.text({ method: 'GET', url }).then(
        () => true,
        (thrown: unknown) => {
          assert.ok(thrown instanceof PrintingError && thrown.message.includes('larger than any'));
          return thrown.outcome;
        },
      );
    };
    for (const body of [list, `{"data":${list}}`, `{"meta":{"a":[1]}, "d\\u0061ta" : ${list},"links":{}}`])
      assert.equal(await readable(body), true, body.slice(0, 30));
    for (const body of [`{"items":${list}}`, `{"status":"x","zz":${list}}`, `{"data":{"zz":${list}}}`])
      assert.equal(await readable(body), 'refused', body.slice(0, 30));
    // A short list may be anywhere.
    assert.equal(await readable(`{"items":[${'[1],'.repeat(4_000)}1]}`), true);
  });

  for (const [what, body] of [
    ['with too many values', `[${'{},'.repeat(2_000_000)}{}]`],
    ['with too many values in one entry of its list', `{"data":[1,{"a":[${'1,'.repeat(60_000)}1]}]}`],
    ['with too many entries in its list', `{"data":[${'{"a":1},'.repeat(5_000)}{}]`],
    ['with too many entries in its second list', `{"a":[${'[1,2,3],'.repeat(3_000)}0],"data":[${'1,'.repeat(5_000)}1]`],
    ['with too many values in an object', `{${'"a":1,'.repeat(1_000_000)}"a":1}`],
    ['nested too deeply', `{"data":${'['.repeat(40_000)}`],
    ['nested too deeply behind a byte order mark', `\uFEFF ${'{"a":'.repeat(9_000)}`],
  ] as const)
    it(`refuses an answer ${what} and aborts it`, async () => {
      let cut = false;
      respond = (_, response) => {
        response.on('error', () => {});
        response.on('close', () => (cut = !response.writableFinished));
        // The answer never ends, so a refusal after the whole answer would come too late.
        response.write(body);
      };
      // The request may have been carried out.
      await assert.rejects(http.text({ method: 'POST', url }), { code: 'SERVICE_ERROR', outcome: 'unknown' });
      while (!cut) await new Promise((resolve) => setImmediate(resolve));
    });

  for (const [what, body] of [
    ['with too many entries in its list', `{"data":[${'{},'.repeat(5_000)}{}]}`],
    ['nested too deeply', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`],
    ['nested as deeply as its bytes allow', `${'['.repeat(16_000)}${']'.repeat(16_000)}`],
  ] as const)
    it(`refuses a short answer ${what}`, async () => {
      respond = (_, response) => void response.end(body);
      await assert.rejects(http.text({ method: 'POST', url }), { code: 'SERVICE_ERROR', outcome: 'unknown' });
    });

  for (const [what, body] of [
    ['whose brackets and commas are all inside strings', JSON.stringify({ a: '[{,"\\'.repeat(100_000), b: '\\' })],
    ['that is nested and long, within the limits', `${'['.repeat(64)}${'1,'.repeat(49_000)}1${']'.repeat(64)}`],
    ['that is no JSON, despite its many brackets', `name;${'[{,'.repeat(1_000_000)}`],
  ] as const)
    it(`reads an answer ${what}`, async () => {
      respond = (_, response) => {
        // In odd parts, so that an escape sequence or a string is split between them.
        const bytes = Buffer.from(body);
        for (let at = 0; at < bytes.length; at += 65_537) response.write(bytes.subarray(at, at + 65_537));
        response.end();
      };
      const { body: read, text, size } = await http.text({ method: 'GET', url });
      if (text === '') assert.deepEqual(read, JSON.parse(body));
      else assert.ok(text === body);
      assert.equal(size.bytes, Buffer.byteLength(body));
    });

  for (const [encoding, encode] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['gzip, br', (bytes: Buffer) => brotliCompressSync(gzipSync(bytes))],
  ] as const) {
    const send = (bytes: Buffer) => {
      respond = (_, response) => {
        response.on('error', () => {});
        response.writeHead(200, { 'content-encoding': encoding });
        for (let at = 0; at < bytes.length; at += 1_000) response.write(bytes.subarray(at, at + 1_000));
        response.end();
      };
    };
    const data = Array.from({ length: 3_000 }, (_, n) => ({ n, name: 'körper' }));
    it(`decodes an answer with the unrequested encoding ${encoding}`, async () => {
      send(encode(Buffer.from(JSON.stringify({ data }))));
      const { body, size } = await http.text({ method: 'GET', url });
      assert.deepEqual(body, { data });
      assert.equal(size.bytes, Buffer.byteLength(JSON.stringify({ data })));
    });

    it(`refuses an answer with encoding ${encoding} that exceeds the limits once decoded`, async () => {
      send(encode(Buffer.alloc(64 * 1024 * 1024, ' ')));
      await assert.rejects(http.text({ method: 'GET', url }), { code: 'SERVICE_ERROR', outcome: 'refused' });
    });

    it(`refuses a damaged or cut-off answer with encoding ${encoding}, but accepts an empty one`, async () => {
      const whole = encode(Buffer.from(JSON.stringify({ data })));
      for (const bytes of [whole.subarray(0, whole.length - 20), Buffer.from('{"data":[]}')]) {
        send(bytes);
        await assert.rejects(http.text({ method: 'GET', url }), { code: 'NETWORK', outcome: 'unknown' });
      }
      send(Buffer.alloc(0));
      assert.equal((await http.text({ method: 'GET', url })).text, '');
    });
  }

  describe('with two encodings that decode to nothing', () => {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 1 };
    const send = (size: number) => {
      const bytes = brotliCompressSync(emptyGzip(size), { params });
      respond = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip, br' }).end(bytes);
    };

    it('refuses an answer that exceeds the limits on the way', async () => {
      send(20 * 1024 * 1024);
      await assert.rejects(http.text({ method: 'GET', url }), { code: 'SERVICE_ERROR', outcome: 'refused' });
    });

    it('ends with its deadline, although the whole answer has arrived', async () => {
      send(300 * 1024 * 1024);
      const deadline = new Deadline(systemClock, { ms: 200 });
      const began = performance.now();
      await assert.rejects(http.text({ method: 'GET', url, deadline, maxBytes: 2 ** 30 }), { code: 'TIMEOUT' });
      assert.ok(performance.now() - began < 1_000);
    });
  });

  it('reports an unknown encoding', async () => {
    respond = (_, response) => response.writeHead(200, { 'content-encoding': 'zstd' }).end('x');
    await assert.rejects(http.text({ method: 'GET', url }), network('unknown', /UNKNOWN_CONTENT_ENCODING/));
  });

  it('uses little memory for sixteen concurrent answers of 100 MB', async () => {
    const part = Buffer.alloc(1024 * 1024, '"x",');
    respond = (_, response) => {
      response.on('error', () => {});
      let left = 100;
      const more = () => {
        while (!response.destroyed && left-- > 0) if (!response.write(part)) return;
        response.end();
      };
      response.on('drain', more);
      more();
    };
    const { arrayBuffers: before } = process.memoryUsage();
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers - before)), 1);
    const all = await Promise.allSettled(Array.from({ length: 16 }, () => http.text({ method: 'GET', url })));
    clearInterval(watch);
    assert.deepEqual(new Set(all.map((one) => (one as PromiseRejectedResult).reason.code)), new Set(['SERVICE_ERROR']));
    assert.ok(most < 400 * 2 ** 20, `${Math.round(most / 2 ** 20)} MiB were held`);
  });

  it('sends nothing after its close and opens no connection', async () => {
    let requests = 0;
    respond = (_, response) => {
      requests++;
      response.end();
    };
    for (const client of [new Http(), http]) {
      await client.close();
      const sent = client.text({ method: 'GET', url });
      await assert.rejects(sent, { code: 'TIMEOUT', outcome: 'not-sent' });
    }
    assert.equal(requests, 0);
  });

  it('aborts requests under way on close', async () => {
    let arrived: () => void = () => {};
    const under = new Promise<void>((resolve) => (arrived = resolve));
    respond = () => arrived();
    const asked = http.text({ method: 'GET', url });
    const rejected = assert.rejects(asked, network('unknown', /UND_ERR_DESTROYED|UND_ERR_SOCKET|UND_ERR_ABORTED/));
    await under;
    await http.close();
    await rejected;
  });

  it('sends exactly the given request', async () => {
    const mock = new MockAgent();
    mock.disableNetConnect();
    mock
      .get('https://api.example')
      .intercept({ path: '/x', method: 'DELETE', headers: { authorization: 'Bearer token' } })
      .reply(204, '');
    const mocked = new Http(mock);
    const answer = await mocked.text({
      method: 'DELETE',
      url: 'https://api.example/x',
      headers: { authorization: 'Bearer token' },
    });
    assert.equal(answer.status, 204);
    assert.equal(answer.text, '');
    mock.assertNoPendingInterceptors();
    await mock.close();
  });

  for (const way of ['direct', 'through a proxy'])
    it(`gives each address of a host seconds to answer, ${way}`, async () => {
      respond = (_, response) => response.end('there');
      const { http_proxy: before } = process.env;
      const isDirect = way === 'direct';
      const proxy = createServer().on('connect', (_request, socket) => void socket.end('HTTP/1.1 502 Bad\r\n\r\n'));
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
      if (!isDirect) process.env.http_proxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      const connect = mock.method(net, 'connect');
      const own = new Http();
      try {
        await own.text({ method: 'GET', url: isDirect ? url : 'http://printing.example/' }).catch(() => undefined);
        const spans = connect.mock.calls.map(({ arguments: [options] }) => options as { [SPAN]?: number });
        assert.ok(spans.length > 0);
        for (const { [SPAN]: span = 0 } of spans) assert.ok(span >= 2_000, String(span));
      } finally {
        connect.mock.restore();
        if (before === undefined) delete process.env.http_proxy;
        else process.env.http_proxy = before;
        await own.close();
        proxy.closeAllConnections();
        await new Promise((resolve) => proxy.close(resolve));
      }
    });

  it('uses the proxy that the environment names', async () => {
    const asked: string[] = [];
    const proxy = createServer().on('connect', (request, socket) => {
      asked.push(request.url ?? '');
      socket.end('HTTP/1.1 502 No\r\n\r\n');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const before = process.env.http_proxy;
    process.env.http_proxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const proxied = new Http();
    try {
      await assert.rejects(proxied.text({ method: 'GET', url: 'http://api.example/x' }), network('not-sent', /./));
      assert.deepEqual(asked, ['api.example:80']);
    } finally {
      if (before === undefined) delete process.env.http_proxy;
      else process.env.http_proxy = before;
      await proxied.close();
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    }
  });
});
