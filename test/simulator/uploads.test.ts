import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Bench, call, type Reply, type Wire } from './support';

const KIB = 1024;
const BLOCK = 256 * KIB;

describe('simulator: an upload address', () => {
  const body = Buffer.concat([Buffer.from(';TIME:77\n'), Buffer.alloc(1_500_000, 'G1 X1 Y2\n')]);
  const total = body.length;
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const put = (record: Wire, bytes: Buffer, headers: OutgoingHttpHeaders = {}): Promise<Reply> =>
    call(record.upload_url, { method: 'PUT', headers: { 'content-length': bytes.length, ...headers }, body: bytes });
  const ask = (record: Wire, headers: OutgoingHttpHeaders = {}): Promise<Reply> =>
    put(record, Buffer.alloc(0), { 'content-range': `bytes */${record.file_size}`, ...headers });
  const part = (record: Wire, first: number, end: number, headers: OutgoingHttpHeaders = {}): Promise<Reply> =>
    put(record, body.subarray(first, end), {
      'content-type': 'text/plain',
      'content-range': `bytes ${first}-${end - 1}/${total}`,
      ...headers,
    });
  const read = async (record: Wire, of = bench): Promise<Wire> =>
    (await of.api('GET', `/slicer/v1/jobs/${record.job_id}`)).json.data;
  const isWhole = async (record: Wire, of = bench): Promise<void> => {
    of.pass(2);
    const { status, download_url: url, metadata } = await read(record, of);
    assert.equal(status, 'uploaded');
    assert.equal(metadata.print.estimated_time, 77);
    assert.ok((await call(url)).bytes.equals(body));
  };
  const range = ({ status, headers }: Reply): [number, string | undefined] => [status, headers.range];

  describe('one-time', () => {
    it('refuses progress queries and ranges, and accepts the whole file afterwards', async () => {
      const record = await bench.register(body);
      for (const headers of [{}, { 'content-type': 'text/plain' }])
        assert.equal((await ask(record, headers)).status, 400);
      assert.equal((await part(record, 0, total)).status, 400);
      assert.equal((await part(record, 0, BLOCK)).status, 400);
      assert.equal((await read(record)).status, 'uploading');
      assert.equal((await bench.put(record, body)).status, 200);
      await isWhole(record);
    });
  });

  describe('session', () => {
    beforeEach(() => bench.simulator.world.setUploadMode('session'));

    it('accepts the whole file in one PUT, and reports it complete afterwards', async () => {
      const record = await bench.register(body);
      assert.deepEqual(range(await ask(record)), [308, undefined]);
      assert.equal((await bench.put(record, body)).status, 200);
      assert.equal((await ask(record)).status, 200);
      assert.match((await bench.put(record, body)).text, /AccessDenied/);
      assert.match((await part(record, 0, BLOCK)).text, /AccessDenied/);
      await isWhole(record);
    });

    it('keeps whole blocks of an interrupted upload, and accepts the rest', async () => {
      const record = await bench.register(body);
      bench.simulator.faults.add({ endpoint: 'storagePut', resetAtByte: 1_000_000 });
      await assert.rejects(bench.put(record, body));
      const kept = 3 * BLOCK;
      assert.deepEqual(range(await ask(record)), [308, `bytes=0-${kept - 1}`]);
      assert.equal((await read(record)).status, 'uploading');
      assert.equal((await part(record, kept, total)).status, 200);
      await isWhole(record);
    });

    it('keeps nothing of an upload that is interrupted in the first block', async () => {
      const record = await bench.register(body);
      bench.simulator.faults.add({ endpoint: 'storagePut', resetAtByte: BLOCK - 1 });
      await assert.rejects(bench.put(record, body));
      assert.deepEqual(range(await ask(record)), [308, undefined]);
      assert.equal((await bench.put(record, body)).status, 200);
      await isWhole(record);
    });

    it('accepts parts in sequence, and reports the progress after each', async () => {
      const record = await bench.register(body);
      for (let first = 0; first < total; first += 2 * BLOCK) {
        const end = Math.min(total, first + 2 * BLOCK);
        assert.deepEqual(
          range(await part(record, first, end)),
          end < total ? [308, `bytes=0-${end - 1}`] : [200, undefined],
        );
      }
      await isWhole(record);
    });

    it('keeps only whole blocks of a part, and ignores bytes that it already has', async () => {
      const record = await bench.register(body);
      assert.deepEqual(range(await part(record, 0, BLOCK + 5)), [308, `bytes=0-${BLOCK - 1}`]);
      assert.deepEqual(range(await part(record, 100, 2 * BLOCK)), [308, `bytes=0-${2 * BLOCK - 1}`]);
      // Different content at the same position changes nothing.
      const other = Buffer.alloc(BLOCK, 'x');
      const headers = { 'content-type': 'text/plain', 'content-range': `bytes 0-${BLOCK - 1}/${total}` };
      assert.deepEqual(range(await put(record, other, headers)), [308, `bytes=0-${2 * BLOCK - 1}`]);
      assert.equal((await part(record, 0, total)).status, 200);
      await isWhole(record);
    });

    it('supports interruptions, stalls and lost answers in the rest of an upload', async () => {
      const { faults, requests } = bench.simulator;
      const record = await bench.register(body);
      faults.add({ endpoint: 'storagePut', resetAtByte: BLOCK + 1 });
      await assert.rejects(bench.put(record, body));
      faults.add({ endpoint: 'storagePut', resetAtByte: 2 * BLOCK + 1 });
      await assert.rejects(part(record, BLOCK, total));
      assert.deepEqual(range(await ask(record)), [308, `bytes=0-${3 * BLOCK - 1}`]);

      faults.add({ endpoint: 'storagePut', hangAtByte: BLOCK });
      const before = requests.count('storagePut');
      const silent = part(record, 3 * BLOCK, total);
      silent.catch(() => undefined);
      while (requests.count('storagePut') === before) await new Promise(setImmediate);
      assert.deepEqual(range(await ask(record)), [308, `bytes=0-${4 * BLOCK - 1}`]);

      faults.add({ endpoint: 'storagePut', reset: true, when: 'after' });
      await assert.rejects(part(record, 4 * BLOCK, total));
      assert.equal((await ask(record)).status, 200);
      await isWhole(record);
    });

    it('supports lost and trickled answers to a progress query', async () => {
      const { faults } = bench.simulator;
      const record = await bench.register(body);
      faults.add({ endpoint: 'storagePut', reset: true });
      await assert.rejects(ask(record));
      faults.add({ endpoint: 'storagePut', trickle: 1 });
      const asking = httpRequest(record.upload_url, {
        method: 'PUT',
        headers: { 'content-length': 0, 'content-range': `bytes */${total}` },
        agent: false,
      }).end();
      const [answer] = await once(asking, 'response');
      assert.equal(answer.statusCode, 308);
      let bytes = 0;
      for await (const chunk of answer as AsyncIterable<Buffer>) if ((bytes += chunk.length) >= 5) break;
      assert.deepEqual(range(await ask(record)), [308, undefined]);
    });

    it('ends an abandoned connection when its client returns', async () => {
      const record = await bench.register(body);
      const stalled = httpRequest(record.upload_url, {
        method: 'PUT',
        headers: { 'content-type': 'text/plain', 'content-length': total },
        agent: false,
      });
      let ended = false;
      stalled.on('error', () => undefined).on('close', () => (ended = true));
      // Sends one block and stalls: a half-open connection.
      await new Promise((resolve) => stalled.write(body.subarray(0, BLOCK), resolve));
      while (!ended) assert.equal((await ask(record)).status, 308);
      assert.equal((await part(record, 0, total)).status, 200);
      await isWhole(record);
    });

    it('reports uploaded once all bytes arrived, even if the answer was lost', async () => {
      const record = await bench.register(body);
      bench.simulator.faults.add({ endpoint: 'storagePut', resetAtByte: total });
      await assert.rejects(bench.put(record, body));
      assert.equal((await ask(record)).status, 200);
      await isWhole(record);
    });

    it('reads the printing time of a gzip that arrives in parts', async () => {
      const packed = gzipSync(body);
      const record = await bench.register(packed, { job_name: 'part.gcode.gz', content_type: 'application/gzip' });
      bench.simulator.faults.add({ endpoint: 'storagePut', resetAtByte: 100 });
      await assert.rejects(bench.put(record, packed));
      assert.equal((await bench.put(record, packed)).status, 200);
      bench.pass(2);
      assert.equal((await read(record)).metadata.print.estimated_time, 77);
    });

    const refusals: [what: string, code: string, send: (record: Wire) => Promise<Reply>][] = [
      ['a range after a gap', 'InvalidRange', (record) => part(record, BLOCK, total)],
      ['a range of another size', 'InvalidArgument', (record) => ask({ ...record, file_size: total + 1 })],
      ['a range without a size', 'InvalidArgument', (record) => ask(record, { 'content-range': 'bytes 0-9/*' })],
      ['a range in another unit', 'InvalidArgument', (record) => ask(record, { 'content-range': `bits */${total}` })],
      [
        'a range past the end',
        'InvalidArgument',
        (record) => part(record, 0, BLOCK, { 'content-range': `bytes 0-${total}/${total}` }),
      ],
      [
        'a range that ends before it begins',
        'InvalidArgument',
        (record) => part(record, 0, BLOCK, { 'content-range': `bytes 9-8/${total}` }),
      ],
      [
        'a body of another length than its range',
        'SignatureDoesNotMatch',
        (record) => part(record, 0, BLOCK, { 'content-range': `bytes 0-${BLOCK}/${total}` }),
      ],
      [
        'a progress query with a body',
        'SignatureDoesNotMatch',
        (record) => part(record, 0, 5, { 'content-range': `bytes */${total}` }),
      ],
      [
        'a part of another Content-Type',
        'SignatureDoesNotMatch',
        (record) => part(record, 0, BLOCK, { 'content-type': 'application/octet-stream' }),
      ],
      ['an incomplete whole file', 'SignatureDoesNotMatch', (record) => bench.put(record, body.subarray(1))],
      ['a token', 'InvalidArgument', (record) => ask(record, { authorization: 'Bearer x' })],
    ];
    for (const [what, code, send] of refusals)
      it(`refuses ${what}, and stores nothing of it`, async () => {
        const record = await bench.register(body);
        const reply = await send(record);
        assert.ok([400, 403].includes(reply.status), String(reply.status));
        assert.match(reply.text, new RegExp(`<Code>${code}</Code>`));
        assert.deepEqual(range(await ask(record)), [308, undefined]);
      });

    it('requires its Origin, even for progress queries', async () => {
      const record = await bench.register(body, { origin: 'https://example.org' });
      assert.equal((await ask(record)).status, 403);
      assert.equal((await part(record, 0, BLOCK)).status, 403);
      const headers = { origin: 'https://example.org' };
      assert.equal((await ask(record, headers)).status, 308);
      assert.equal((await part(record, 0, total, headers)).status, 200);
    });

    it('stays valid for days, and ends with its job', async () => {
      const record = await bench.register(body);
      bench.pass(6 * 24 * 3600);
      assert.equal((await part(record, 0, BLOCK)).status, 308);
      await bench.api('DELETE', `/slicer/v1/jobs/${record.job_id}`);
      assert.equal((await ask(record)).status, 404);
      const late = await bench.register(body);
      bench.pass(8 * 24 * 3600);
      assert.equal((await ask(late)).status, 403);
    });

    it('continues after a restart of the simulator', async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'simulator-uploads-'));
      try {
        let lasting = await Bench.start({ dataDir, uploadMode: 'session' });
        const record = await lasting.register(body);
        lasting.simulator.faults.add({ endpoint: 'storagePut', resetAtByte: 2 * BLOCK + 9 });
        await assert.rejects(lasting.put(record, body));
        await lasting.simulator.close();

        lasting = await Bench.start({ dataDir });
        try {
          const { upload_url: url } = await read(record, lasting);
          const again = { ...record, upload_url: url };
          assert.deepEqual(range(await ask(again)), [308, `bytes=0-${2 * BLOCK - 1}`]);
          assert.equal((await part(again, 2 * BLOCK, total)).status, 200);
          await isWhole(record, lasting);
          assert.deepEqual((await readdir(join(dataDir, 'files'))).length, 1);
        } finally {
          await lasting.simulator.close();
        }
      } finally {
        await rm(dataDir, { recursive: true, force: true });
      }
    });
  });

  describe('plain', () => {
    beforeEach(() => bench.simulator.world.setUploadMode('plain'));

    it('accepts the whole file', async () => {
      const record = await bench.register(body);
      assert.equal((await bench.put(record, body)).status, 200);
      await isWhole(record);
    });

    for (const headers of [{}, { 'content-type': 'text/plain' }])
      it(`stores a progress query as an empty object, and never reports it uploaded: ${JSON.stringify(headers)}`, async () => {
        const record = await bench.register(body);
        assert.deepEqual(range(await ask(record, headers)), [200, undefined]);
        assert.equal((await read(record)).status, 'uploading');
        assert.match((await bench.put(record, body)).text, /AccessDenied/);
        bench.pass(3600);
        assert.equal((await read(record)).status, 'uploading');
        const path = `/connect/v1/clusters/${bench.clusterId()}/print/${record.job_id}`;
        assert.equal((await bench.api('POST', path)).status, 409);
      });

    it('stores a part as the whole file, and never reports it uploaded', async () => {
      const record = await bench.register(body);
      assert.equal((await part(record, BLOCK, total)).status, 200);
      assert.equal((await read(record)).status, 'uploading');
    });

    it('stores nothing of an interrupted upload, and accepts it again', async () => {
      const record = await bench.register(body);
      bench.simulator.faults.add({ endpoint: 'storagePut', resetAtByte: BLOCK });
      await assert.rejects(bench.put(record, body));
      assert.equal((await bench.put(record, body)).status, 200);
      await isWhole(record);
    });

    it('refuses other headers', async () => {
      const record = await bench.register(body);
      assert.equal((await put(record, body, { 'content-type': 'text/html' })).status, 403);
      assert.equal((await bench.put(record, body, { origin: 'https://example.org' })).status, 403);
    });
  });

  it('has the mode that was set at its registration', async () => {
    const once = await bench.register(body);
    const setMode = (value: string): Promise<Reply> =>
      call(`${bench.simulator.controlUrl}/world/upload-mode`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ value }),
      });
    assert.equal((await setMode('session')).status, 200);
    const session = await bench.register(body);
    assert.equal((await ask(once)).status, 400);
    assert.equal((await ask(session)).status, 308);
    assert.equal((await setMode('cloud')).status, 400);
    assert.equal(bench.simulator.world.uploadMode, 'session');
  });
});
