import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Client } from '../../../lib/client';
import { Http } from '../../../lib/http/http';
import type { PrintingError } from '../../../lib/service/errors';
import { systemClock as clock } from '../../../lib/time/clock';
import { Deadline } from '../../../lib/time/deadline';
import type { UploadProgress, UploadStage } from '../../../lib/upload/progress';
import type { Source } from '../../../lib/upload/content';
import { Uploads, type Uploaded, type UploadOptions } from '../../../lib/upload/uploads';
import { startSimulator, type Simulator } from '../../../simulator';
import { OtherStorage } from '../../helpers/other-storage';
import { MemoryStore } from '../../helpers/memory-store';
import { signedInClient } from '../../helpers/simulated-client';
import { TurnedTime } from '../../helpers/turned-time';

const KIB = 1024;
const MIB = 1024 * KIB;
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

describe('upload/send: an interrupted upload', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let client: Client;
  let http: Http;
  let folder: string;
  let stages: { stage: UploadStage; progress: UploadProgress }[];

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ now: time.now });
    client = await signedInClient(simulator, { store: new MemoryStore(), clock });
    http = new Http(undefined, { isLocal: true });
    folder = await mkdtemp(join(tmpdir(), 'resume-'));
    stages = [];
  });
  afterEach(async () => {
    await http.close();
    await time.until(client.close());
    await simulator.close();
    await rm(folder, { recursive: true });
    time.restore();
  });

  const send = async (source: Source, changes: Partial<UploadOptions> = {}): Promise<Uploaded> => {
    const store = new MemoryStore();
    const scope = () => Promise.resolve(['account', 'service', 'workspace'] as const);
    const uploads = new Uploads({ service: client.service, http, store, clock, scope });
    const deadline = new Deadline(clock, { ms: 3_600_000 });
    stages = [];
    try {
      const sending = uploads.send(source, {
        compress: false,
        reuse: false,
        dryRun: false,
        deadline,
        onStage: (stage, progress) => stages.push({ stage, progress }),
        ...changes,
      });
      return await time.until(sending);
    } finally {
      deadline.end();
    }
  };
  const file = async (bytes: Buffer): Promise<Source> => {
    const path = join(folder, 'part.gcode');
    await writeFile(path, bytes);
    return { kind: 'file', path };
  };
  const inMemory = (bytes: Buffer): Source => ({ kind: 'bytes', bytes, name: 'part.gcode' });
  const stream = (bytes: Buffer, size = 64 * KIB): Source => {
    const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
      bytes.subarray(n * size, (n + 1) * size),
    );
    return { kind: 'stream', stream: Readable.from(parts), size: bytes.length, name: 'part.gcode' };
  };
  const breakAt = (...bytes: number[]) => {
    for (const resetAtByte of bytes) simulator.faults.add({ endpoint: 'storagePut', resetAtByte });
  };
  const count = (endpoint: 'registerUpload' | 'storagePut') => simulator.requests.count(endpoint);
  const storedHash = ({ jobId }: Uploaded) => simulator.world.storedJob(jobId ?? '').sha256;

  describe('at a store that can resume', () => {
    beforeEach(() => simulator.world.setUploadMode('session'));

    for (const [name, source] of [
      ['a file', file],
      ['a Buffer', inMemory],
      ['a stream', stream],
    ] as const)
      it(`resumes ${name} where it was interrupted, at the same URL`, async () => {
        const bytes = randomBytes(3 * MIB);
        breakAt(MIB);
        const uploaded = await send(await source(bytes));
        assert.equal(storedHash(uploaded), sha256(bytes));
        assert.deepEqual([count('registerUpload'), count('storagePut')], [1, 3], 'broken, question, rest');
        const sent = stages.map(({ progress }) => progress.bytesSent);
        assert.deepEqual(
          sent,
          [...sent].sort((a, b) => a - b),
          'progress does not jump back',
        );
        assert.equal(stages.filter(({ stage }) => stage === 'registering').length, 1);
      });

    it('resumes a compressed file', async () => {
      const bytes = Buffer.from(randomBytes(MIB).toString('hex'));
      breakAt(300 * KIB);
      const uploaded = await send(await file(bytes), { compress: true });
      assert.equal(count('registerUpload'), 1);
      const { raw } = uploaded;
      const answer = await fetch(String(raw?.download_url));
      assert.deepEqual(gunzipSync(Buffer.from(await answer.arrayBuffer())), bytes);
    });

    it('resumes as often as there is progress', async () => {
      const bytes = randomBytes(4 * MIB);
      breakAt(...Array<number>(12).fill(300 * KIB));
      assert.equal(storedHash(await send(await file(bytes))), sha256(bytes));
      assert.equal(count('registerUpload'), 1);
    });

    it('fails without further progress', async () => {
      breakAt(...Array<number>(20).fill(100 * KIB));
      await assert.rejects(send(await file(randomBytes(MIB))), { code: 'UPLOAD_FAILED', message: /try 5/ });
      assert.equal(count('registerUpload'), 1);
    });

    it('repeats a failed query', async () => {
      const bytes = randomBytes(2 * MIB);
      breakAt(MIB);
      simulator.faults.add({ endpoint: 'storagePut', status: 503 });
      simulator.faults.add({ endpoint: 'storagePut', reset: true });
      assert.equal(storedHash(await send(inMemory(bytes))), sha256(bytes));
      assert.deepEqual([count('registerUpload'), count('storagePut')], [1, 5]);
    });

    for (const [name, fault] of [
      ['with 501', { status: 501 }],
      ['with 503', { status: 503 }],
      ['with a reset', { reset: true }],
    ] as const)
      it(`sends the whole file to a new URL if every query is answered ${name}`, async () => {
        const bytes = randomBytes(2 * MIB);
        const isQuery = (request: IncomingMessage) => request.headers['content-length'] === '0';
        let queries = 0;
        const storage = await OtherStorage.start((request, response) => {
          if (!isQuery(request)) request.once('data', () => request.socket.resetAndDestroy());
          else if (++queries && 'status' in fault) response.writeHead(fault.status).end();
          else request.socket.resetAndDestroy();
        });
        simulator.faults.add({ endpoint: 'registerUpload', set: { 'data.upload_url': `${storage.url}/file` } });
        try {
          assert.equal(storedHash(await send(inMemory(bytes))), sha256(bytes));
        } finally {
          await storage.stop();
        }
        assert.equal(count('registerUpload'), 2);
        assert.ok(queries <= 3, `${queries} queries`);
      });

    it('throws UPLOAD_FAILED if neither the query nor a new URL helps', async () => {
      for (const fault of [{ status: 503 }, { reset: true }]) {
        simulator.requests.clear();
        breakAt(MIB);
        const broken = simulator.faults.add({ endpoint: 'storagePut', ...fault, times: 'always' });
        await assert.rejects(send(inMemory(randomBytes(2 * MIB))), { code: 'UPLOAD_FAILED' });
        assert.ok(count('registerUpload') >= 2);
        simulator.faults.clear();
        assert.ok(broken.hits > 3);
      }
    });

    it('throws UPLOAD_FAILED if a stream can’t restart and every query fails', async () => {
      breakAt(20 * MIB);
      simulator.faults.add({ endpoint: 'storagePut', status: 503, times: 'always' });
      await assert.rejects(send(stream(randomBytes(24 * MIB))), { code: 'UPLOAD_FAILED', statusCode: 503 });
      assert.equal(count('registerUpload'), 1);
    });

    it('does not wait for a trickling answer', async () => {
      const bytes = randomBytes(2 * MIB);
      breakAt(MIB);
      simulator.faults.add({ endpoint: 'storagePut', trickle: 50, times: 2 });
      assert.equal(storedHash(await send(inMemory(bytes))), sha256(bytes));
      assert.equal(count('registerUpload'), 1);
    });

    it('starts over if the session is gone', async () => {
      const bytes = randomBytes(2 * MIB);
      for (const status of [404, 410]) {
        breakAt(MIB);
        simulator.faults.add({ endpoint: 'storagePut', status });
        assert.equal(storedHash(await send(inMemory(bytes))), sha256(bytes));
      }
      assert.equal(count('registerUpload'), 4);
    });

    it('starts over if the store’s answer is malformed or reports bytes that were never sent', async () => {
      const bytes = randomBytes(9 * MIB);
      const answers = [
        { range: `bytes=0-${bytes.length - 1}` },
        { range: 'bytes=0-8999999' },
        { range: 'bytes=5-9' },
        { range: 'yes' },
        { location: simulator.storageUrl },
      ];
      let queries = 0;
      const storage = await OtherStorage.start((request, response) => {
        if (request.headers['content-length'] !== '0') {
          request.once('data', () => request.socket.resetAndDestroy());
          return;
        }
        response.writeHead(308, answers[queries++]).end();
      });
      for (const _ of answers) {
        const set = { 'data.upload_url': `${storage.url}/file` };
        simulator.faults.add({ endpoint: 'registerUpload', set });
        assert.equal(storedHash(await send(inMemory(bytes))), sha256(bytes));
      }
      await storage.stop();
      assert.deepEqual([queries, count('registerUpload')], [answers.length, 2 * answers.length]);
    });

    it('starts over if the file has changed', async () => {
      const [before, after] = [randomBytes(2 * MIB), randomBytes(2 * MIB)];
      const source = await file(before);
      breakAt(MIB);
      const fault = simulator.faults.add({ endpoint: 'storagePut', status: 503 });
      const sending = send(source);
      while (fault.hits === 0) await new Promise((resolve) => setImmediate(resolve));
      await file(after);
      assert.equal(storedHash(await sending), sha256(after));
      assert.equal(count('registerUpload'), 2);
    });

    it('needs no second upload if only the last answer was lost, before or after the store accepted the file', async () => {
      const bytes = randomBytes(MIB);
      breakAt(bytes.length);
      assert.equal(storedHash(await send(inMemory(bytes))), sha256(bytes));
      simulator.faults.add({ endpoint: 'storagePut', when: 'after', reset: true });
      assert.equal(storedHash(await send(inMemory(bytes))), sha256(bytes));
      assert.equal(count('registerUpload'), 2);
    });

    it('resumes a long stream within the kept bytes', async () => {
      const bytes = randomBytes(24 * MIB);
      breakAt(20 * MIB);
      assert.equal(storedHash(await send(stream(bytes))), sha256(bytes));
      assert.equal(count('registerUpload'), 1);
    });

    it('resumes a stream of lines, which are gathered', async () => {
      const bytes = randomBytes(3 * MIB);
      breakAt(2 * MIB);
      assert.equal(storedHash(await send(stream(bytes, 29))), sha256(bytes));
      assert.equal(count('registerUpload'), 1);
    });
  });

  describe('at a store without sessions that mistakes the query for the file', () => {
    beforeEach(() => simulator.world.setUploadMode('plain'));

    it('sends the whole file to a new URL, and ignores the empty file', async () => {
      const bytes = randomBytes(2 * MIB);
      breakAt(MIB);
      const uploaded = await send(await file(bytes));
      assert.equal(storedHash(uploaded), sha256(bytes));
      assert.equal(uploaded.raw?.file_size, bytes.length);
      assert.equal(count('registerUpload'), 2);
    });

    it('ignores the empty file even if the service’s record reports it as uploaded', async () => {
      const bytes = randomBytes(MIB);
      breakAt(bytes.length);
      const said = simulator.faults.add({ endpoint: 'getJob', set: { 'data.status': 'uploading' } });
      simulator.faults.add({ endpoint: 'getJob', set: { 'data.status': 'uploading' } });
      simulator.faults.add({ endpoint: 'getJob', set: { 'data.status': 'uploaded' } });
      const uploaded = await send(inMemory(bytes));
      assert.equal(said.hits, 1);
      assert.equal(storedHash(uploaded), sha256(bytes));
      assert.equal(count('registerUpload'), 2);
    });
  });

  it('arrives complete and exactly once after any interruption, at any store', async () => {
    const bytes = randomBytes(1_500_000);
    const breaks = fc.array(
      fc.record({ at: fc.integer({ min: 0, max: bytes.length }), how: fc.constantFrom('reset', 'lost answer', '503') }),
      { maxLength: 3 },
    );
    const modes = fc.constantFrom('session' as const, 'one-time' as const, 'plain' as const);
    const sources = fc.constantFrom(file, inMemory, stream);
    await fc.assert(
      fc.asyncProperty(modes, sources, breaks, async (mode, source, wanted) => {
        simulator.faults.clear();
        simulator.requests.clear();
        simulator.world.setUploadMode(mode);
        for (const { at, how } of wanted)
          simulator.faults.add({
            endpoint: 'storagePut',
            ...(how === 'reset'
              ? { resetAtByte: at }
              : how === '503'
                ? { status: 503 }
                : { when: 'after', reset: true }),
          });
        const uploaded = await send(await source(bytes), { reuse: true });
        assert.equal(storedHash(uploaded), sha256(bytes));
        assert.equal(uploaded.status, 'uploaded');
        if (mode === 'session') assert.equal(count('registerUpload'), 1);
      }),
      { numRuns: 30 },
    );
  });

  it('reports the cause of a failure', async () => {
    simulator.faults.add({ endpoint: 'storagePut', status: 403, times: 'always' });
    await assert.rejects(send(inMemory(randomBytes(10))), (error: PrintingError) => {
      assert.deepEqual([error.code, error.statusCode], ['UPLOAD_FAILED', 403]);
      return true;
    });
  });
});
