import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, readdirSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { tidied } from '../../../lib/files/file-calls';
import { Http } from '../../../lib/http/http';
import { type ErrorCode, PrintingError, refusalError, withIds } from '../../../lib/service/errors';
import { TOOLPATHS } from '../../../lib/service/file-types';
import type { UploadProgress, UploadStage } from '../../../lib/upload/progress';
import { bytesContent, compress, type Source } from '../../../lib/upload/content';
import { Uploads, type UploadOptions, type UploadsDeps } from '../../../lib/upload/uploads';
import { systemClock } from '../../../lib/time/clock';
import { Deadline, underDeadline } from '../../../lib/time/deadline';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { printingError } from '../../helpers/printing-error';
import { drive, Storage, UploadService } from './support';
import { phrase } from '../../../lib/words/sentence';
import { pluck } from '../../helpers/pluck';

const MIB = 1024 * 1024;
const text = (size: number) => Buffer.from('G1 X10.5 Y20 E0.1\n'.repeat(Math.ceil(size / 18))).subarray(0, size);

describe('upload/uploads', () => {
  let clock: ManualClock;
  let storage: Storage;
  let service: UploadService;
  let store: MemoryStore;
  let http: Http;
  let folder: string;
  let temporary: string;
  let workspace: string;
  let stages: { stage: UploadStage; progress: UploadProgress }[];
  const systemTemporary = process.env.TMPDIR;

  beforeEach(async () => {
    clock = new ManualClock();
    storage = new Storage();
    await storage.start();
    service = new UploadService(storage);
    store = new MemoryStore();
    http = new Http(undefined, { isLocal: true });
    folder = await mkdtemp(join(tmpdir(), 'uploads-'));
    temporary = join(folder, 'tmp');
    await mkdir(temporary);
    process.env.TMPDIR = temporary;
    workspace = 'w1';
    stages = [];
  });

  afterEach(async () => {
    if (systemTemporary === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = systemTemporary;
    await http.close();
    await storage.stop();
    await tidied(clock);
    assert.deepEqual(readdirSync(temporary), [], 'temporary files are removed');
    await rm(folder, { recursive: true });
    assert.deepEqual(storage.objections, []);
    assert.equal(clock.waiting, 0, 'no timer is left');
  });

  const open = (changes: Partial<UploadsDeps> = {}) =>
    new Uploads({
      ...{ service, http, store, clock },
      scope: () => Promise.resolve(['a1', 'service', workspace]),
      ...changes,
    });
  const start = async (
    source: Source,
    { signal, ms = 600_000, ...changes }: Partial<UploadOptions> & { signal?: AbortSignal; ms?: number } = {},
    uploads = open(),
  ) => {
    // The deadline has no timer of its own, as `drive` advances the clock to the next timer.
    const until = { value: clock.monotonic() + ms };
    const deadline = Object.defineProperty(new Deadline(clock, { parent: signal }), 'until', until);
    try {
      return await uploads.send(source, {
        ...{ compress: false, reuse: false, dryRun: false, deadline },
        onStage: (stage, progress) => stages.push({ stage, progress }),
        ...changes,
      });
    } finally {
      deadline.end();
    }
  };
  const send = async (...given: Parameters<typeof start>) => (await drive(clock, start(...given))).value;
  const file = async (name: string, bytes: Buffer): Promise<Source> => {
    const path = join(folder, name);
    await writeFile(path, bytes);
    return { kind: 'file', path };
  };
  const streamed = (stream: Readable, size: number, name = 'a.gcode'): Source => ({
    ...{ kind: 'stream', stream, size, name },
  });
  const inMemory = (bytes: Buffer, name = 'a.gcode'): Source => ({ kind: 'bytes', bytes, name });
  const fails = (work: Promise<unknown>, code: ErrorCode, words: RegExp) =>
    printingError(work, code, words, /signature|127\.0\.0\.1/);
  const part = (size = 10) => file('part.gcode', text(size));

  describe('an upload', () => {
    for (const { extension, contentType } of TOOLPATHS)
      it(`sends ${extension} as ${contentType}`, async () => {
        const bytes = randomBytes(300_000);
        const uploaded = await send(await file(`part${extension}`, bytes));
        const { raw, ...rest } = uploaded;
        assert.deepEqual(raw, storage.jobs.get('job-1'));
        assert.deepEqual(rest, {
          ...{ jobId: 'job-1', jobName: `part${extension}`, fileSize: 300_000, contentType, status: 'uploaded' },
          reusedUpload: false,
        });
        assert.deepEqual(service.calls[0]?.data, {
          job_name: `part${extension}`,
          file_size: 300_000,
          content_type: contentType,
        });
        assert.deepEqual(storage.bytes.get('job-1'), bytes);
      });

    it('sends files of sizes around a chunk', async () => {
      for (const size of [1, MIB / 2 - 1, MIB / 2, MIB / 2 + 1, 3 * MIB]) {
        const bytes = randomBytes(size);
        const { jobId } = await send(inMemory(bytes, 'part.ufp'));
        assert.ok(storage.bytes.get(jobId ?? '')?.equals(bytes), `${size} bytes`);
      }
    });

    it('sends a stream with any chunks', async () => {
      const parts = ['G28\n', new Uint8Array([71, 49]), Buffer.alloc(0), Buffer.from('ö\n'), Buffer.alloc(0)];
      const stream = Readable.from(parts);
      await send(streamed(stream, 9, 'C:\\prints\\part.gcode'));
      assert.equal(storage.bytes.get('job-1')?.toString(), 'G28\nG1ö\n');
      assert.equal(storage.jobs.get('job-1')?.job_name, 'part.gcode');
      assert.ok(stream.destroyed);
    });

    it('sends the origin, and the content type from the service’s answer', async () => {
      service.onRegister = (record) => (record.content_type = 'text/x-gcode');
      const uploaded = await send(await part(), {}, open({ origin: 'https://flows.example' }));
      assert.equal(uploaded.contentType, 'text/x-gcode');
      assert.equal(storage.jobs.get('job-1')?.origin, 'https://flows.example');
    });

    it('sends the opened file, even if it is replaced or deleted', async () => {
      const bytes = randomBytes(1000);
      const path = join(folder, 'part.gcode');
      const replaced = () => rm(path).then(() => writeFile(path, randomBytes(1000)));
      for (const beforeSending of [() => rm(path), replaced]) {
        const { jobId } = await send(await file('part.gcode', bytes), { beforeSending });
        assert.ok(storage.bytes.get(jobId ?? '')?.equals(bytes));
      }
    });

    it('sends the requested job name', async () => {
      assert.equal((await send(await part(), { jobName: 'Order 17' })).jobName, 'Order 17.gcode');
    });

    it('reports its stages, from the first to the last byte', async () => {
      await send(await part(MIB));
      assert.deepEqual(
        stages.map(({ stage, progress }) => [stage, progress.bytesSent, progress.bytesTotal, progress.percent]),
        [
          ['preparing', 0, MIB, 0],
          ['registering', 0, MIB, 0],
          ['uploading', 0, MIB, 0],
          ['uploading', MIB, MIB, 100],
          ['confirming', MIB, MIB, 100],
        ],
      );
    });
  });

  describe('before it sends anything', () => {
    afterEach(() => assert.deepEqual(service.calls, []));

    it('rejects what is no toolpath, has no valid name, or is no file with content', async () => {
      await mkdir(join(folder, 'folder.gcode'));
      const at = (path: string): Source => ({ kind: 'file', path });
      for (const [source, code, words, jobName] of [
        [await file('part.stl', text(10)), 'UNSUPPORTED_FILE_TYPE', /slice it/],
        [await file('part.stl', text(10)), 'UNSUPPORTED_FILE_TYPE', /slice it/, 'part.gcode'],
        [
          inMemory(text(10), 'notes.txt'),
          'UNSUPPORTED_FILE_TYPE',
          /\.ufp and \.makerbot files can, unless msg\.mediaType/,
        ],
        [await part(), 'INVALID_INPUT', /job name/, 'a/b'],
        [at(join(folder, 'none.gcode')), 'FILE_NOT_READABLE', /no file/],
        [at(join(folder, 'folder.gcode')), 'FILE_NOT_READABLE', /not a file/],
        [at('/dev/null/part.gcode'), 'FILE_NOT_READABLE', /no file/],
        [at(`${folder}/${'x'.repeat(300)}.gcode`), 'FILE_NOT_READABLE', /ENAMETOOLONG/, 'short'],
        [await file('empty.gcode', text(0)), 'FILE_NOT_READABLE', /empty/],
        [inMemory(text(0)), 'FILE_NOT_READABLE', /empty/],
        [streamed(Readable.from([]), 0), 'FILE_NOT_READABLE', /empty/],
        ...[NaN, -1, 1.5, undefined as unknown as number].map(
          (size) => [streamed(Readable.from(['a']), size), 'INVALID_INPUT', /size/] as const,
        ),
      ] as [Source, ErrorCode, RegExp, string?][])
        await fails(send(source, jobName === undefined ? {} : { jobName }), code, words);
    });

    it('rejects more than 1 GiB', async () => {
      const source = await file('big.gcode', text(1));
      await truncate(join(folder, 'big.gcode'), 1024 ** 3 + 1);
      await fails(send(source), 'INVALID_INPUT', /1073741825 bytes.*1073741824/);
      const stream = Readable.from(['a']);
      await fails(send(streamed(stream, 1024 ** 3 + 1, 'a.ufp')), 'INVALID_INPUT', /1 GiB/);
      assert.ok(stream.destroyed);
    });

    it('rejects any path without a readable file', async () => {
      await fc.assert(
        fc.asyncProperty(fc.string({ minLength: 1 }), async (words) => {
          const path = `${folder}/none/${words}.gcode`;
          const error = await start({ kind: 'file', path }).catch((thrown: unknown) => thrown);
          assert.ok(error instanceof PrintingError);
          assert.ok(['FILE_NOT_READABLE', 'INVALID_INPUT', 'UNSUPPORTED_FILE_TYPE'].includes(error.code), error.code);
        }),
      );
    });

    it('rejects an upload that the caller’s check rejects', async () => {
      const offline = new PrintingError('NOT_FOUND', phrase`No such cluster.`);
      const beforeSending = async () => Promise.reject(offline);
      await assert.rejects(send(await part(), { beforeSending }), offline);
    });

    it('rejects an upload that was aborted before it began', async () => {
      const reason = new Error('closed');
      await assert.rejects(send(await part(), { signal: AbortSignal.abort(reason) }), reason);
    });
  });

  describe('when the bytes differ from the registered ones', () => {
    afterEach(() => assert.equal(storage.bytes.size, 0, 'no wrong file counts as complete'));

    it('rejects a file that grows or shrinks during the upload', async () => {
      const source = await part(MIB);
      const path = join(folder, 'part.gcode');
      await fails(
        send(source, { beforeSending: async () => appendFileSync(path, 'G') }),
        'FILE_CHANGED',
        /1048576 bytes, but has more/,
      );
      await fails(
        send(source, { beforeSending: async () => truncateSync(path, MIB) }),
        'FILE_CHANGED',
        /1048577 bytes, but has 1048576/,
      );
      assert.equal(service.count('registerUpload'), 2, 'it is not tried again');
    });

    describe('a file that is rewritten in place at the same size', () => {
      const rewrite = (keepTime: boolean) => {
        const path = join(folder, 'part.gcode');
        const { atime, mtime, size } = statSync(path);
        const changedAt = () => statSync(path, { bigint: true }).ctimeNs;
        // The file system's clock may be too coarse to show the first write.
        for (const before = changedAt(); changedAt() === before;) writeFileSync(path, Buffer.alloc(size, ';'));
        if (keepTime) utimesSync(path, atime, mtime);
      };
      const once = (wanted: UploadStage, keepTime = false) => {
        let isDone = false;
        return (stage: UploadStage) => {
          if (isDone || stage !== wanted) return;
          isDone = true;
          rewrite(keepTime);
        };
      };
      afterEach(() => storage.bytes.clear());

      for (const compress of [false, true])
        for (const reuse of [false, true])
          it(`fails with FILE_CHANGED${compress ? ', compressed' : ''}${reuse ? ', with reuse of uploads' : ''}`, async () => {
            const source = await part(3 * MIB);
            const beforeSending = async () => rewrite(false);
            const onStage = once('uploading');
            const changes = { compress, reuse, ...(compress ? { beforeSending } : { onStage }) };
            await fails(send(source, changes), 'FILE_CHANGED', /while it was read/);
          });

      it('fails with FILE_CHANGED even if its time was set back', async () => {
        const source = await part(3 * MIB);
        await fails(send(source, { onStage: once('uploading', true) }), 'FILE_CHANGED', /while it was read/);
      });

      it('fails with FILE_CHANGED while it is hashed', async () => {
        const source = await part(1000);
        await send(source, { reuse: true });
        const work = send(source, { reuse: true, beforeSending: async () => rewrite(false) });
        await fails(work, 'FILE_CHANGED', /while it was read/);
      });
    });

    it('rejects a stream with another length', async () => {
      for (const size of [99, 101]) {
        const stream = Readable.from([text(50), text(50)]);
        await fails(send(streamed(stream, size)), 'FILE_CHANGED', /announced/);
      }
    });

    it('rejects a stream that fails before or while it is read', async () => {
      const early = new PassThrough();
      const beforeSending = async () => {
        early.destroy(new Error('pulled'));
        await settle();
      };
      await fails(send(streamed(early, 9), { beforeSending }), 'FILE_NOT_READABLE', /was interrupted/);
      const late = new PassThrough();
      late.write(text(5));
      setImmediate(() => late.destroy(Object.assign(new Error('pulled'), { code: 'EPIPE' })));
      await fails(send(streamed(late, 9)), 'FILE_NOT_READABLE', /EPIPE/);
    });

    it('rejects a stream of objects', async () => {
      const stream = Readable.from([{ line: 1 }]);
      await fails(send(streamed(stream, 9)), 'INVALID_INPUT', /objects/);
    });
  });

  describe('an interrupted upload', () => {
    it('retries with a new URL each time, after growing waits', async () => {
      storage.faults.push({ status: 503 }, { status: 500 }, { resetAt: 1 });
      const bytes = randomBytes(MIB);
      const { value, waits } = await drive(clock, start(await file('part.gcode', bytes)));
      assert.equal(value.jobId, 'job-4');
      assert.deepEqual(storage.puts, ['job-1', 'job-2', 'job-3', 'job-4']);
      assert.ok(storage.bytes.get('job-4')?.equals(bytes));
      for (const [index, least] of [1000, 2000, 4000].entries()) {
        const wait = waits[index] ?? 0;
        assert.ok(wait >= least && wait <= least * 1.2, `wait ${index} of ${wait} ms`);
      }
    });

    it('sends the whole file again after an interruption at any byte', async () => {
      const bytes = randomBytes(700_000);
      const source = await file('part.gcode', bytes);
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: bytes.length }), async (resetAt) => {
          storage.faults.push({ resetAt });
          const { jobId } = await send(source);
          assert.ok(storage.bytes.get(jobId ?? '')?.equals(bytes));
        }),
        { numRuns: 20 },
      );
    });

    it('fails after five tries', async () => {
      storage.faults.push(...Array.from({ length: 6 }, () => ({ status: 502 })));
      const error = await fails(send(await part()), 'UPLOAD_FAILED', /status 502.*try 5/);
      assert.equal(error.statusCode, 502);
      assert.deepEqual(error.ids, { jobId: 'job-5' });
      assert.equal(storage.puts.length, 5);
    });

    it('fails after two refusals', async () => {
      storage.faults.push({ status: 403 }, { status: 403 });
      await fails(send(await part()), 'UPLOAD_FAILED', /status 403/);
      assert.equal(storage.puts.length, 2);
    });

    it('follows no redirect', async () => {
      const redirect = `${storage.url}/elsewhere`;
      storage.faults.push({ redirect }, { redirect });
      await fails(send(await part()), 'UPLOAD_FAILED', /status 307/);
      assert.deepEqual(storage.puts, ['job-1', 'job-2']);
    });

    it('makes no try past its deadline', async () => {
      storage.faults.push({ status: 503 }, { status: 503 });
      await fails(send(await part(), { ms: 2_000 }), 'UPLOAD_FAILED', /status 503/);
      assert.equal(storage.puts.length, 2, 'the first wait still fits, the second does not');
    });

    it('is not repeated if only the answer was lost', async () => {
      storage.faults.push({ loseAnswer: true });
      const { value, waits } = await drive(clock, start(await part(MIB)));
      assert.equal(value.jobId, 'job-1');
      assert.deepEqual(storage.puts, ['job-1']);
      assert.deepEqual(waits, []);
    });

    for (const [what, failures, jobId] of [
      ['is not repeated if the first check', 1, 'job-1'],
      ['is repeated if every check', 3, 'job-2'],
    ] as const)
      it(`${what} for a lost answer fails`, async () => {
        storage.faults.push({ loseAnswer: true });
        const asked = () => refusalError(500, null, phrase`the stored file`);
        service.turns.push(() => undefined, ...Array.from({ length: failures }, () => asked));
        assert.equal((await send(await part())).jobId, jobId);
        if (failures === 1) assert.equal(storage.queries, 0);
      });

    it('is retried if the store can’t be reached', async () => {
      const closedServer = createServer().listen(0, '127.0.0.1');
      await once(closedServer, 'listening');
      const { port } = closedServer.address() as { port: number };
      await new Promise((resolve) => closedServer.close(resolve));
      service.onRegister = (record) => {
        if (record.job_id === 'job-1') record.upload_url = `http://127.0.0.1:${port}/job-1`;
      };
      const stream = Readable.from([text(10)]);
      assert.equal((await send(streamed(stream, 10))).jobId, 'job-2', 'an untouched stream too');
    });

    it('fails if the beginning of its stream is no longer kept', async () => {
      storage.faults.push({ resetAt: 12 * MIB });
      const stream = Readable.from(Array.from({ length: 16 }, () => text(MIB)));
      const error = await fails(send(streamed(stream, 16 * MIB)), 'UPLOAD_FAILED', /only be read once/);
      assert.deepEqual(error.ids, { jobId: 'job-1' });
      assert.equal(storage.puts.length, 1);
    });

    it('is repeated while all bytes of its stream are kept', async () => {
      storage.faults.push({ resetAt: MIB });
      const bytes = randomBytes(2 * MIB);
      const stream = Readable.from([bytes.subarray(0, MIB), bytes.subarray(MIB)]);
      const { jobId } = await send(streamed(stream, 2 * MIB));
      assert.equal(jobId, 'job-2');
      assert.ok(storage.bytes.get('job-2')?.equals(bytes));
    });

    it('is repeated from the temporary file of its compressed stream', async () => {
      storage.faults.push({ resetAt: 1 });
      const stream = Readable.from([text(10)]);
      const { jobId } = await send(streamed(stream, 10), { compress: true });
      assert.deepEqual(gunzipSync(storage.bytes.get(jobId ?? '') ?? ''), text(10));
    });
  });

  describe('registering', () => {
    it('is retried after a network failure or a 5xx', async () => {
      service.turns.push(
        () => new PrintingError('NETWORK', phrase`gone`, { outcome: 'unknown' }),
        () => refusalError(503, null, phrase`the upload`),
        () => ({ job_id: 'x', status: 'uploading' }),
      );
      assert.equal((await send(await part())).jobId, 'job-1');
      assert.equal(service.count('registerUpload'), 4);
    });

    it('is not retried after a refusal', async () => {
      service.turns.push(() => refusalError(403, null, phrase`the upload`));
      await fails(send(await part()), 'FORBIDDEN', /refused/);
      assert.equal(service.count('registerUpload'), 1);
    });

    it('reads its record from an array (trap 29)', async () => {
      service.answerOf = (record) => [record];
      assert.equal((await send(await part())).jobId, 'job-1');
    });

    it('throws SERVICE_ERROR without a safe upload URL', async () => {
      for (const target of [
        null,
        {},
        [],
        { job_id: 'x' },
        { job_id: 'x', upload_url: 'ftp://host/' },
        { job_id: 'x', upload_url: 'http://' },
        { job_id: 'x', upload_url: 'http://storage.example/file' },
      ]) {
        service.turns.push(...Array.from({ length: 5 }, () => () => target));
        await fails(send(await part(), {}), 'SERVICE_ERROR', /no valid upload address/);
      }
    });
  });

  describe('confirming', () => {
    it('polls at once, then with growing waits, until the file is stored', async () => {
      service.statuses.push(
        'uploading',
        'queued',
        { status: null },
        'UPLOADING',
        'uploading',
        'uploading',
        'uploading',
        'uploading',
        'Uploaded',
      );
      const { value, waits } = await drive(clock, start(await part()));
      assert.equal(value.status, 'Uploaded');
      assert.deepEqual(waits.map(Math.round), [500, 750, 1125, 1688, 2531, 3797, 5000, 5000]);
    });

    it('waits for a file that the service does not find yet', async () => {
      const missing = new PrintingError('NOT_FOUND', phrase`No such file.`, { outcome: 'refused' });
      service.turns.push(
        () => undefined,
        () => missing,
        () => missing,
      );
      const { value } = await drive(clock, start(await part()));
      assert.deepEqual([value.status, service.calls.length], ['uploaded', 4]);
    });

    it('fails if the service reports a failed file', async () => {
      service.statuses.push({
        status: 'upload_failed',
        status_description: 'broken, see https://store.example/x?signature=1',
      });
      const error = await fails(send(await part()), 'UPLOAD_FAILED', /\(broken, see \(address\)\)/);
      assert.deepEqual(error.ids, { jobId: 'job-1' });
    });
  });

  describe('compressing', () => {
    it('sends .gcode as .gcode.gz from a private temporary file', async () => {
      const bytes = text(3 * MIB);
      let found = ['not looked'];
      service.onRegister = () => (found = readdirSync(temporary));
      const uploaded = await send(await file('part.gcode', bytes), { compress: true });
      const stored = storage.bytes.get('job-1') ?? Buffer.alloc(0);
      assert.deepEqual(gunzipSync(stored), bytes);
      const { raw: _, ...rest } = uploaded;
      assert.deepEqual(rest, {
        ...{ jobId: 'job-1', jobName: 'part.gcode.gz', fileSize: stored.length, contentType: 'application/gzip' },
        ...{ status: 'uploaded', reusedUpload: false },
      });
      assert.deepEqual(found, []);
      assert.deepEqual(stages[0], {
        stage: 'preparing',
        progress: { jobId: null, bytesSent: 0, bytesTotal: null, percent: 0, rate: null, secondsLeft: null },
      });
    });

    it('compresses a file of another ending that is given the type of gzip', async () => {
      const bytes = text(1000);
      const options = { compress: true, mediaType: 'application/gzip' };
      const { jobId, jobName, contentType } = await send(await file('part.nc', bytes), options);
      assert.deepEqual([jobName, contentType], ['part.nc.gz', 'application/gzip']);
      assert.deepEqual(gunzipSync(storage.bytes.get(jobId ?? '') ?? Buffer.alloc(0)), bytes);
      const packed = gzipSync(bytes);
      for (const name of ['part.nc.gz', 'part.gcode.gz']) {
        const other = await send(await file(name, packed), options);
        assert.deepEqual([other.jobName, storage.bytes.get(other.jobId ?? '')], [name, packed]);
      }
    });

    it('leaves compressed files unchanged', async () => {
      for (const name of ['part.gcode.gz', 'part.ufp']) {
        const bytes = randomBytes(1000);
        const { jobId } = await send(await file(name, bytes), { compress: true });
        assert.deepEqual(storage.bytes.get(jobId ?? ''), bytes);
      }
    });

    it('accepts more than 1 GiB if the compressed file is smaller', async () => {
      const source = await file('big.gcode', text(1));
      await truncate(join(folder, 'big.gcode'), 1024 ** 3 + 1);
      const controller = new AbortController();
      const began = new Error('it began');
      const onStage = () => setImmediate(() => controller.abort(began));
      await assert.rejects(send(source, { compress: true, signal: controller.signal, onStage }), /it began/);
    });

    it('ends as soon as the compressed file is too large', async () => {
      const tooMany = new Error('too many');
      const sizes: number[] = [];
      const check = (size: number) => {
        sizes.push(size);
        if (size > 1024 ** 2) throw tooMany;
      };
      const compressing = underDeadline(systemClock, {}, (deadline) =>
        compress(bytesContent(randomBytes(4 * 1024 ** 2), 'big.gcode'), () => undefined, check, deadline),
      );
      await assert.rejects(compressing, (error: Error) => error === tooMany || error.cause === tooMany);
      assert.ok((sizes.at(-1) ?? 0) < 2 * 1024 ** 2);
    });

    it('leaves no temporary file when the upload fails', async () => {
      storage.faults.push({ status: 403 }, { status: 403 });
      await fails(send(await part(), { compress: true }), 'UPLOAD_FAILED', /403/);
      const source = await file('grows.gcode', text(10));
      const beforeSending = async () => appendFileSync(join(folder, 'grows.gcode'), 'G');
      await fails(send(source, { compress: true, beforeSending }), 'FILE_CHANGED', /announced/);
    });

    it('reports a full temporary folder', async () => {
      process.env.TMPDIR = join(folder, 'none');
      await fails(send(await part(), { compress: true }), 'FILE_NOT_WRITABLE', /ENOENT/);
    });
  });

  describe('reusing', () => {
    const reuse = true;
    const bytes = text(2000);

    it('sends the same bytes once, from any source', async () => {
      const first = await send(await file('part.gcode', bytes), { reuse });
      const second = await send(inMemory(bytes, 'part.gcode'), { reuse });
      assert.equal(storage.puts.length, 1);
      assert.equal(first.reusedUpload, false);
      assert.deepEqual(second, { ...first, reusedUpload: true });
      assert.equal(stages.at(-1)?.stage, 'preparing');
    });

    it('records streams, compressed files and files resent after an interruption', async () => {
      storage.faults.push({ resetAt: 1 }, { status: 503 });
      await send(await file('part.gcode', bytes), { reuse });
      assert.equal((await send(await file('part.gcode', bytes), { reuse })).reusedUpload, true);
      const stream = Readable.from([text(777)]);
      await send(streamed(stream, 777), { reuse });
      assert.equal((await send(inMemory(text(777)), { reuse })).reusedUpload, true);
      const packed = await send(await file('part.gcode', bytes), { reuse, compress: true });
      assert.equal(packed.reusedUpload, false, 'the type differs');
      const again = await send(await file('part.gcode', bytes), { reuse, compress: true });
      assert.deepEqual(again, { ...packed, reusedUpload: true });
    });

    it('distinguishes other bytes, names, types, workspaces and accounts', async () => {
      await send(await file('part.gcode', bytes), { reuse });
      const anew = async (...given: Parameters<typeof send>) =>
        assert.equal((await send(...given)).reusedUpload, false);
      await anew(inMemory(Buffer.from(bytes).fill(';', 100, 101), 'part.gcode'), { reuse });
      await anew(inMemory(bytes, 'other.gcode'), { reuse });
      await anew(inMemory(bytes, 'part.ufp'), { reuse });
      await anew(inMemory(bytes, 'part.gcode'), { reuse, mediaType: 'text/x-gcode' });
      await anew(await file('part.gcode', bytes), { reuse: false });
      await anew(
        await file('part.gcode', bytes),
        { reuse },
        open({ scope: () => Promise.resolve(['a2', 'service', workspace]) }),
      );
      workspace = 'w2';
      await anew(await file('part.gcode', bytes), { reuse });
      workspace = 'w1';
      assert.equal((await send(await file('part.gcode', bytes), { reuse })).jobId, 'job-1');
    });

    it('resends a file that the service lost, refuses to show, failed or changed', async () => {
      const source = await file('part.gcode', bytes);
      let { jobId } = await send(source, { reuse });
      const replaced = async (change: () => void) => {
        change();
        const next = await send(source, { reuse });
        assert.equal(next.reusedUpload, false);
        assert.notEqual(next.jobId, jobId);
        assert.equal((await send(source, { reuse })).jobId, next.jobId, 'the new one is remembered');
        jobId = next.jobId;
      };
      await replaced(() => storage.jobs.delete(jobId ?? ''));
      for (const status of [400, 403, 405, 410])
        await replaced(() => service.turns.push(() => refusalError(status, null, phrase`the stored file`)));
      await replaced(() => service.statuses.push('deleted'));
      await replaced(() => service.statuses.push({ file_size: 1 }));
    });

    it('does not resend when the service can’t be asked', async () => {
      const source = await file('part.gcode', bytes);
      await send(source, { reuse });
      service.turns.push(() => refusalError(503, null, phrase`the stored file`));
      await fails(send(source, { reuse }), 'SERVICE_ERROR', /503/);
      service.turns.push(() => refusalError(401, null, phrase`the stored file`));
      await fails(send(source, { reuse }), 'NOT_SIGNED_IN', /sign in again/);
      service.turns.push(() => refusalError(429, null, phrase`the stored file`));
      await fails(send(source, { reuse }), 'RATE_LIMITED', /asks for a pause/);
      assert.equal(storage.puts.length, 1);
    });

    it('resends when the record of earlier uploads can’t be read', async () => {
      const source = await file('part.gcode', bytes);
      await send(source, { reuse });
      store.get = async () => Promise.reject(new PrintingError('FILE_NOT_READABLE', phrase`Too many open files.`));
      assert.equal((await send(source, { reuse })).jobId, 'job-2');
    });

    describe('a large file, hashed after the upload', () => {
      const big = text(9 * MIB);

      it('reuses the upload, from any source', async () => {
        const uploads = open();
        await send(await file('part.gcode', big), { reuse }, uploads);
        await uploads.settled();
        assert.equal((await send(inMemory(big, 'part.gcode'), { reuse })).reusedUpload, true);
        assert.equal(storage.puts.length, 1);
      });

      it('lets the next upload of the same bytes wait for the hash', async () => {
        const uploads = open();
        const source = await file('part.gcode', big);
        await send(source, { reuse }, uploads);
        assert.equal((await send(source, { reuse }, uploads)).reusedUpload, true);
      });

      it('records a file that was deleted meanwhile, but not one that was changed', async () => {
        const uploads = open();
        const path = join(folder, 'part.gcode');
        await send(await file('part.gcode', big), { reuse }, uploads);
        await rm(path);
        await uploads.settled();
        assert.equal((await send(await file('part.gcode', big), { reuse }, uploads)).reusedUpload, true);

        const other = Buffer.from(big).fill(';', 0, 1);
        const changed = Buffer.from(other).fill(';', 0, 100);
        const onStage = (stage: UploadStage) => stage === 'confirming' && writeFileSync(path, changed);
        await send(await file('part.gcode', other), { reuse, onStage }, uploads);
        await uploads.settled();
        for (const bytesNow of [changed, other]) {
          const { jobId, reusedUpload } = await send(inMemory(bytesNow, 'part.gcode'), { reuse });
          assert.equal(reusedUpload, false);
          assert.ok(storage.bytes.get(jobId ?? '')?.equals(bytesNow));
        }
      });
    });

    it('sends other bytes of the same size concurrently', async () => {
      const uploads = open();
      const other = Buffer.from(bytes).fill(';', 0, 9);
      const hung = new Promise<void>((resolve) => storage.faults.push({ hang: resolve }));
      const first = new AbortController();
      const hanging = start(await file('part.gcode', bytes), { reuse, signal: first.signal }, uploads);
      await hung;
      const { jobId } = await send(inMemory(other, 'part.gcode'), { reuse }, uploads);
      assert.ok(storage.bytes.get(jobId ?? '')?.equals(other));
      first.abort(new Error('closed'));
      await assert.rejects(hanging, /closed/);
    });

    it('shares one upload between two sources with the same bytes', async () => {
      const source = await file('part.gcode', bytes);
      const uploads = open();
      const both = Promise.all([start(source, { reuse }, uploads), start(source, { reuse }, uploads)]);
      const { value } = await drive(clock, both);
      // The file system decides which of them is first.
      assert.deepEqual(value.map(({ jobId, reusedUpload }) => `${jobId} ${reusedUpload}`).sort(), [
        'job-1 false',
        'job-1 true',
      ]);
      assert.equal(storage.puts.length, 1);
    });

    it('sends the second file if the first upload fails', async () => {
      storage.faults.push({ status: 403 }, { status: 403 });
      const source = await file('part.gcode', bytes);
      const uploads = open();
      const first = start(source, { reuse }, uploads);
      const second = start(source, { reuse }, uploads);
      const settled = await drive(clock, Promise.allSettled([first, second]));
      assert.deepEqual(settled.value.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    });

    it('succeeds even if the upload can’t be recorded', async () => {
      store.put = async () => Promise.reject(new Error('disk full'));
      assert.equal((await send(await file('part.gcode', bytes), { reuse })).status, 'uploaded');
    });

    it('does not trust malformed records in the store', async () => {
      await send(await file('part.gcode', bytes), { reuse });
      for (const key of store.values.keys()) store.values.set(key, '{"jobId":7}');
      assert.equal((await send(await file('part.gcode', bytes), { reuse })).reusedUpload, false);
    });
  });

  describe('a dry run', () => {
    const dryRun = true;
    const nothing = {
      ...{ jobId: null, status: null, reusedUpload: false, fileSize: 10, contentType: 'text/plain', raw: null },
    };

    it('sends nothing', async () => {
      assert.deepEqual(await send(await part(), { dryRun }), {
        ...nothing,
        jobName: 'part.gcode',
      });
      assert.deepEqual(service.calls, []);
      await fails(send(await file('part.stl', text(10)), { dryRun }), 'UNSUPPORTED_FILE_TYPE', /slice it/);
    });

    it('names the upload that would be reused', async () => {
      const source = await part();
      await send(source, { reuse: true });
      service.calls.length = 0;
      const found = await send(source, { reuse: true, dryRun });
      assert.deepEqual([found.jobId, found.status, found.reusedUpload], ['job-1', 'uploaded', true]);
      assert.deepEqual(pluck(service.calls, 'endpoint'), ['storedJob']);
    });

    it('reports the size that a compressed file would have', async () => {
      const planned = await send(await part(MIB), { dryRun, compress: true });
      const sent = await send(await part(MIB), { compress: true });
      assert.equal(planned.fileSize, sent.fileSize);
    });
  });

  describe('an aborted upload', () => {
    let controller: AbortController;
    const reason = new PrintingError('TIMEOUT', phrase`The time is up.`);
    const registered = withIds(reason, { jobId: 'job-1' });
    const stop = () => controller.abort(reason);
    beforeEach(() => (controller = new AbortController()));

    it('ends while bytes are sent', async () => {
      let chunks = 3;
      const stream = new Readable({ read: () => chunks-- > 0 && stream.push(text(100_000)) });
      storage.faults.push({ hang: stop });
      const source = streamed(stream, 10 * MIB);
      await assert.rejects(send(source, { signal: controller.signal }), registered);
      assert.ok(stream.destroyed);
    });

    it('ends while the store is silent', async () => {
      storage.faults.push({ hang: stop });
      await assert.rejects(send(await part(20 * MIB), { signal: controller.signal }), registered);
    });

    it('ends while a stream has nothing to compress', async () => {
      const stream = new PassThrough();
      stream.write(text(100));
      const source = streamed(stream, MIB);
      const work = send(source, { signal: controller.signal, compress: true });
      setImmediate(stop);
      await assert.rejects(work, reason);
      assert.ok(stream.destroyed);
    });

    for (const [what, prepare] of [
      ['a retry', () => storage.faults.push({ status: 503 })],
      ['confirmation', () => service.statuses.push('uploading')],
    ] as const)
      it(`ends while it waits for ${what}`, async () => {
        prepare();
        const work = start(await part(), { signal: controller.signal });
        while (!clock.waiting) await settle(1);
        stop();
        await assert.rejects(work, registered);
      });

    it('ends while it waits for another upload of the same bytes', async () => {
      const first = new AbortController();
      const uploads = open();
      const source = await part(MIB);
      const hung = new Promise<void>((resolve) => storage.faults.push({ hang: resolve }));
      const sending = start(source, { reuse: true, signal: first.signal }, uploads);
      await hung;
      const waiting = start(source, { reuse: true, signal: controller.signal }, uploads);
      await settle();
      stop();
      await assert.rejects(waiting, reason);
      first.abort(new Error('closed'));
      await assert.rejects(sending, /closed/);
      assert.equal(service.count('registerUpload'), 1);
    });

    it('ends while it searches for an earlier upload', async () => {
      const source = inMemory(text(5 * MIB));
      await send(source, { reuse: true });
      const work = start(source, { reuse: true, signal: controller.signal });
      setImmediate(stop);
      await assert.rejects(work, reason);
    });
  });
});
