import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AccountConfig } from '../../../lib/account/settings';
import type { Client } from '../../../lib/client';
import { Http } from '../../../lib/http/http';
import { Library } from '../../../lib/library/library';
import { PrintingError, type ErrorCode } from '../../../lib/service/errors';
import { PROJECT_FILES, TOOLPATHS } from '../../../lib/service/file-types';
import type { StoredKind, StoredRef } from '../../../lib/service/stored-file';
import type { Source } from '../../../lib/upload/content';
import { startSimulator, type Simulator } from '../../../simulator';
import { collectGarbage } from '../../helpers/collect-garbage';
import { MemoryStore } from '../../helpers/memory-store';
import { signedInClient } from '../../helpers/simulated-client';
import { printingError } from '../../helpers/printing-error';
import { ScriptedService, WholeAnswer } from '../../helpers/scripted-service';
import { limit } from '../../helpers/limits';
import { TurnedTime } from '../../helpers/turned-time';
import { systemClock } from '../../../lib/time/clock';
import type { Deadline } from '../../../lib/time/deadline';
import { phrase } from '../../../lib/words/sentence';

const MIB = 1024 * 1024;
const MESH = Buffer.from('solid cube\nendsolid cube\n');

describe('library/library', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let client: Client;
  let folder: string;
  let closing: AbortController;

  async function open(config: AccountConfig = {}): Promise<void> {
    client = await signedInClient(simulator, { store: new MemoryStore(), clock: systemClock, config });
  }
  const deadlines: Deadline[] = [];
  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ now: time.now });
    folder = await mkdtemp(join(tmpdir(), 'library-'));
    closing = new AbortController();
    await open();
  });
  afterEach(async () => {
    await time.until(client.close());
    for (const deadline of deadlines.splice(0)) deadline.end();
    await simulator.close();
    await rm(folder, { recursive: true });
    time.restore();
    assert.equal(getEventListeners(closing.signal, 'abort').length, 0, 'lets go of its node');
  });

  const limits = (timeout = 600) => {
    const deadline = limit(client.clock, { seconds: timeout, signal: closing.signal });
    deadlines.push(deadline);
    return { deadline };
  };
  const bytes = (content: Buffer, name: string): Source => ({ kind: 'bytes', bytes: content, name });
  const store = (source: Source, kind: StoredKind = 'file', timeout = 600) =>
    time.until(client.library.upload(source, kind, { ...limits(timeout), onStage: () => undefined }));
  async function stored(content = MESH): Promise<StoredRef & { kind: 'file' }> {
    const { file } = await store(bytes(content, 'cube.stl'));
    simulator.requests.clear();
    return { kind: 'file', id: file.fileId ?? '' };
  }
  const fetched = async (ref: StoredRef, path: string | null = null, timeout = 600) =>
    (await time.until(client.library.download(ref, { ...limits(timeout), path, onProgress: () => undefined }))).content;
  const fails = (work: Promise<unknown>, code: ErrorCode, words?: RegExp) =>
    time.until(printingError(work, code, words));
  const count = (endpoint: string) => simulator.requests.count(endpoint);

  describe('upload', () => {
    for (const [kind, types] of [
      ['file', PROJECT_FILES],
      ['job', TOOLPATHS],
    ] as const)
      for (const { extension, contentType } of types)
        it(`sends ${extension} as ${contentType}, as a ${kind}`, async () => {
          const content = randomBytes(5000);
          const { file, raw } = await store(bytes(content, `Part${extension}`), kind);
          assert.deepEqual(
            [file.name, file.fileSize, file.contentType, file.status],
            [`Part${extension}`, 5000, contentType, 'uploaded'],
          );
          const id = kind === 'job' ? file.jobId : file.fileId;
          assert.equal(raw[`${kind}_id`], id);
          assert.deepEqual(await fetched({ kind, id: id ?? '' }), content);
          const [register, other] =
            kind === 'job' ? ['registerUpload', 'registerFile'] : ['registerFile', 'registerUpload'];
          assert.deepEqual([count(register), count(other)], [1, 0]);
        });

    it('sends the origin of the account', async () => {
      await client.close();
      await open({ origin: 'https://flows.example.org' });
      const { raw } = await store(bytes(MESH, 'cube.stl'));
      assert.equal(raw.origin, 'https://flows.example.org');
    });

    it('resends an interrupted upload to a new URL', async () => {
      simulator.faults.add({ endpoint: 'storagePut', resetAtByte: 10_000 });
      const content = randomBytes(200_000);
      const { file } = await store(bytes(content, 'cube.stl'));
      assert.equal(count('registerFile'), 2);
      assert.deepEqual(await fetched({ kind: 'file', id: file.fileId ?? '' }), content);
    });

    it('waits for the confirmation, and fills in the missing fields of the record', async () => {
      simulator.faults.add({ endpoint: 'getFile', times: 3, set: { 'data.status': 'uploading' } });
      simulator.faults.add({ endpoint: 'getFile', remove: ['data.file_name', 'data.file_size', 'data.content_type'] });
      const { file } = await store(bytes(MESH, 'cube.stl'));
      assert.deepEqual([file.name, file.fileSize, file.contentType], ['cube.stl', MESH.length, 'model/stl']);
      assert.equal(count('getFile'), 4);
    });

    it('reports a file that the service rejected, with its id', async () => {
      const fault = { 'data.status': 'failed', 'data.status_description': 'no mesh in it' };
      simulator.faults.add({ endpoint: 'getFile', set: fault });
      const error = await fails(store(bytes(MESH, 'cube.stl')), 'UPLOAD_FAILED', /no mesh in it/);
      assert.equal(error.ids.fileId, simulator.world.libraryFiles()[0]?.fileId);
    });

    it('rejects invalid files before anything is sent', async () => {
      await fails(store(bytes(MESH, 'cube.gcode')), 'UNSUPPORTED_FILE_TYPE', /choose the kind "print job"/);
      await fails(store(bytes(MESH, 'cube.stl'), 'job'), 'UNSUPPORTED_FILE_TYPE', /choose the kind "project file"/);
      await fails(store(bytes(MESH, 'nul.stl')), 'INVALID_INPUT', /file name .* reserved/);
      await fails(store(bytes(Buffer.alloc(0), 'cube.stl')), 'FILE_NOT_READABLE');
      const big: Source = { kind: 'stream', stream: Readable.from([MESH]), size: 1024 ** 3 + 1, name: 'cube.stl' };
      await fails(store(big), 'INVALID_INPUT', /1 GiB/);
      assert.equal(count('registerFile') + count('registerUpload'), 0);
    });

    it('consumes every stream, and reports a wrong size', async () => {
      const good = Readable.from([MESH]);
      await store({ kind: 'stream', stream: good, size: MESH.length, name: 'cube.stl' });
      const short = Readable.from([MESH]);
      await fails(store({ kind: 'stream', stream: short, size: 1000, name: 'cube.stl' }), 'FILE_CHANGED');
      const unwanted = Readable.from([MESH]);
      await fails(store({ kind: 'stream', stream: unwanted, size: 5, name: 'cube.exe' }), 'UNSUPPORTED_FILE_TYPE');
      assert.deepEqual([good.destroyed, short.destroyed, unwanted.destroyed], [true, true, true]);
    });

    it('ends at its timeout, or when its node closes', async () => {
      simulator.faults.add({ endpoint: 'storagePut', hang: true, times: 'always' });
      await fails(store(bytes(MESH, 'cube.stl'), 'file', 10), 'TIMEOUT', /within 10 s/);
      const work = store(bytes(MESH, 'cube.stl'));
      setTimeout(() => closing.abort(new PrintingError('TIMEOUT', phrase`The node was closed.`)), 50);
      await fails(work, 'TIMEOUT', /closed/);
      await fails(store(bytes(MESH, 'cube.stl')), 'TIMEOUT', /closed/);
    });
  });

  describe('download', () => {
    // The simulator's store rejects requests with a bearer.
    it('downloads into memory and into a file, with progress and without a bearer', async () => {
      const content = randomBytes(3 * MIB);
      const ref = await stored(content);
      const reported: [number, number | null][] = [];
      const path = join(folder, 'saved.stl');
      const { content: where, raw } = await client.library.download(ref, {
        ...limits(),
        path,
        onProgress: (...progress) => reported.push(progress),
      });
      assert.equal(where, path);
      assert.equal(raw.file_id, ref.id);
      assert.deepEqual(await readFile(path), content);
      assert.deepEqual(await fetched(ref), content);
      assert.deepEqual(reported[0], [0, content.length]);
      assert.deepEqual(reported.at(-1), [content.length, content.length]);
      assert.ok(reported.every(([bytes], index) => bytes >= (reported[index - 1]?.[0] ?? 0)));
    });

    it('needs little memory for a large file', async () => {
      const path = join(folder, 'big.stl');
      const size = 32 * MIB;
      const block = randomBytes(MIB);
      await writeFile(path, Buffer.concat(Array.from({ length: 32 }, () => block)));
      const { file } = await store({ kind: 'file', path });
      collectGarbage();
      const before = process.memoryUsage();
      let most = 0;
      let next = 0;
      await client.library.download(
        { kind: 'file', id: file.fileId ?? '' },
        {
          ...limits(60_000),
          path: join(folder, 'copy.stl'),
          onProgress: (bytes) => {
            if (bytes < next) return;
            next = bytes + 4 * MIB;
            // Collect garbage first, as released memory does not count.
            collectGarbage();
            const { arrayBuffers } = process.memoryUsage();
            most = Math.max(most, arrayBuffers - before.arrayBuffers);
          },
        },
      );
      const hash = async (name: string) => {
        const sum = createHash('sha256');
        await pipeline(createReadStream(join(folder, name)), sum);
        return sum.digest('hex');
      };
      assert.equal(await hash('copy.stl'), await hash('big.stl'));
      assert.ok(most < size / 2, `${Math.round(most / MIB)} MiB`);
    });

    for (const cut of ['connection', 'body'] as const)
      it(`resumes with a fresh URL after a ${cut} is cut off, and never shows a partial file`, async () => {
        const content = randomBytes(MIB);
        const ref = await stored(content);
        const path = join(folder, 'saved.stl');
        await writeFile(path, 'earlier');
        simulator.faults.add({ endpoint: 'storageGet', times: 2, cut });
        assert.equal(await fetched(ref, path), path);
        assert.deepEqual(await readFile(path), content);
        assert.deepEqual([count('getFile'), count('storageGet')], [3, 3]);
        assert.deepEqual(await readdir(folder), ['saved.stl']);
      });

    it('reads a fresh URL once if the URL has expired', async () => {
      const ref = await stored();
      simulator.faults.add({ endpoint: 'storageGet', status: 403 });
      assert.deepEqual(await fetched(ref), MESH);
      simulator.faults.add({ endpoint: 'storageGet', status: 403, times: 'always' });
      const error = await fails(fetched(ref), 'SERVICE_ERROR', /refused the library file with status 403/);
      assert.deepEqual([error.statusCode, error.ids.fileId], [403, ref.id]);
      assert.equal(count('storageGet'), 4);
    });

    it('gives up after five tries, and keeps the earlier file', async () => {
      const ref = await stored();
      const path = join(folder, 'saved.stl');
      await writeFile(path, 'earlier');
      simulator.faults.add({ endpoint: 'storageGet', reset: true, times: 'always' });
      const error = await fails(fetched(ref, path), 'NETWORK');
      assert.equal(error.ids.fileId, ref.id);
      assert.equal(count('storageGet'), 5);
      assert.deepEqual(await readdir(folder), ['saved.stl']);
      assert.equal(await readFile(path, 'utf8'), 'earlier');
    });

    it('begins no wait beyond its timeout', async () => {
      const ref = await stored();
      simulator.faults.add({ endpoint: 'storageGet', status: 503, times: 'always' });
      await fails(fetched(ref, null, 12), 'SERVICE_ERROR', /failed with status 503/);
      assert.ok(count('storageGet') < 5);
    });

    it('reports a file that is longer or shorter than its record says', async () => {
      const ref = await stored();
      for (const size of [5, 5000]) {
        const fault = simulator.faults.add({ endpoint: 'getFile', times: 'always', set: { 'data.file_size': size } });
        const sent = size === 5 ? 'more' : String(MESH.length);
        await fails(fetched(ref), 'FILE_CHANGED', new RegExp(`${size} bytes but sent ${sent}`));
        fault.remove();
      }
    });

    it('accepts any length for a record without a size', async () => {
      const ref = await stored();
      simulator.faults.add({ endpoint: 'getFile', remove: ['data.file_size'] });
      assert.deepEqual(await fetched(ref), MESH);
    });

    it('rejects a file too large for a message, but not for the disk', async () => {
      const ref = await stored();
      const size = 256 * MIB + 1;
      simulator.faults.add({ endpoint: 'getFile', times: 'always', set: { 'data.file_size': size } });
      await fails(fetched(ref), 'TOO_LARGE', /256 MiB/);
      assert.equal(count('storageGet'), 0);
      await fails(fetched(ref, join(folder, 'saved.stl')), 'FILE_CHANGED');
    });

    it('reports a record without a download URL', async () => {
      const ref = await stored();
      const remove = ['data.download_url'];
      simulator.faults.add({ endpoint: 'getFile', set: { 'data.status': 'uploading' }, remove });
      await fails(fetched(ref), 'NOT_FOUND', /nothing to download .*status uploading/);
      simulator.faults.add({ endpoint: 'getFile', remove });
      await fails(fetched(ref), 'SERVICE_ERROR', /no download address/);
      simulator.faults.add({ endpoint: 'getFile', times: 'always', set: { 'data.download_url': 'ftp://elsewhere/' } });
      await fails(fetched(ref), 'SERVICE_ERROR', /no valid address/);
    });

    it('ends at its timeout or when its node closes, without leaving a file', async () => {
      const ref = await stored();
      const path = join(folder, 'saved.stl');
      simulator.faults.add({ endpoint: 'storageGet', hang: true, times: 'always' });
      const error = await fails(fetched(ref, path, 10), 'TIMEOUT', /within 10 s/);
      assert.equal(error.ids.fileId, ref.id);
      const work = fetched(ref, path);
      setTimeout(() => closing.abort(new PrintingError('TIMEOUT', phrase`The node was closed.`)), 50);
      await fails(work, 'TIMEOUT', /closed/);
      // The removal of the unfinished file continues after its message.
      while ((await readdir(folder)).length > 0) await new Promise((resolve) => setImmediate(resolve));
    });
  });

  describe('reading or deleting a file', () => {
    it('reports an empty answer', async () => {
      const ref = await stored();
      simulator.faults.add({ endpoint: 'getFile', transform: () => ({ data: [] }) });
      await fails(client.library.info(ref, limits()), 'SERVICE_ERROR', /is empty/);
      assert.equal((await client.library.info(ref, limits())).file.name, 'cube.stl');
    });

    for (const status of [200, 202, 204])
      it(`treats ${status} as a successful deletion`, async () => {
        const ref = await stored();
        // The simulator itself answers 204.
        if (status !== 204) simulator.faults.add({ endpoint: 'deleteFile', when: 'after', status });
        await client.library.remove(ref, limits());
        assert.equal(simulator.world.libraryFiles().length, 0);
      });

    it('counts nothing but an empty answer, or data, as a deletion', async () => {
      const remove = (body: unknown) => {
        const service = new ScriptedService([new WholeAnswer(body)]);
        const library = new Library({ service, http: new Http(), clock: systemClock, origin: undefined });
        return library.remove({ kind: 'file', id: 'f' }, limits());
      };
      for (const body of [{ meta: {} }, { message: 'OK' }, {}, []])
        assert.deepEqual((await fails(remove(body), 'SERVICE_ERROR', /something unexpected/)).ids, { fileId: 'f' });
      for (const body of [null, { data: null }, { data: { file_id: 'f' } }]) await remove(body);
    });

    it('explains a refused deletion', async () => {
      const ref = await stored();
      simulator.faults.add({ endpoint: 'deleteFile', status: 405 });
      const error = await fails(client.library.remove(ref, limits()), 'SERVICE_ERROR', /may not support deleting/);
      assert.deepEqual([error.statusCode, error.ids.fileId], [405, ref.id]);
      await client.library.remove(ref, limits());
      const gone = await fails(client.library.remove(ref, limits()), 'NOT_FOUND', /already been deleted/);
      assert.deepEqual([gone.statusCode, gone.serviceCode], [404, 'recordNotFound']);
      await fails(client.library.remove({ kind: 'job', id: 'x'.repeat(44) }, limits()), 'NOT_FOUND', /the stored job/);
    });

    it('sends a deletion once', async () => {
      const ref = await stored();
      simulator.faults.add({ endpoint: 'deleteFile', when: 'after', reset: true });
      await fails(client.library.remove(ref, limits()), 'NETWORK');
      assert.equal(count('deleteFile'), 1);
    });
  });
});
