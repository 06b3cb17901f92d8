import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { NodeMessage } from 'node-red';
import type { StoredFile, StoredJob } from '../../lib/service/stored-file';
import type { Simulator } from '../../simulator';
import { OtherStorage } from '../helpers/other-storage';
import { helperNode, type Definition, type Flow, type Inbox } from '../helpers/flow';
import { NodeBench } from './support';

const MESH = 'solid cube\nendsolid cube\n';
const GCODE = ';TIME:60\nG28\n';
const stored = (msg: NodeMessage) => msg.payload as StoredFile;

describe('nodes/library-file', () => {
  let simulator: Simulator;
  let flow: Flow;
  let folder: string;

  const bench = new NodeBench(
    {
      id: 'library',
      type: 'remote-printing-library-file',
      operation: 'upload',
      kind: 'file',
      source: 'payload',
      timeout: 20,
    },
    { sentence: /^\S.*[^.]\.$/ },
  );
  const { deploy, one: done } = bench;
  async function failed(msg: NodeMessage, code: string, words?: RegExp): Promise<NodeMessage> {
    const error = await bench.shownFailed(msg, code, words);
    assert.doesNotMatch(JSON.stringify(error.error), /signature|https?:/, 'no signed address');
    return error;
  }
  const payload = (changes: NodeMessage = {}): NodeMessage => ({ payload: MESH, filename: 'cube.stl', ...changes });
  /** Uploads with the node, then deploys another operation. */
  async function uploaded(operation: string, changes = {}, msg: NodeMessage = payload()): Promise<NodeMessage> {
    await deploy({ ...changes, operation: 'upload', file: '' });
    const { fileId, jobId } = await done(msg);
    await deploy({ ...changes, operation });
    return fileId ? { fileId } : { jobId };
  }

  beforeEach(async () => ({ simulator, flow, folder } = await bench.start()));
  afterEach(() => bench.stop());

  describe('upload', () => {
    it('stores a project file, and passes on the other properties of the message', async () => {
      await deploy();
      const req = { socket: {} };
      const message = await done(payload({ req, topic: 'mine', other: { deep: 1 } }));
      const { fileId, uploadedAt, ...rest } = stored(message);
      assert.deepEqual(rest, {
        ...{ name: 'cube.stl', fileSize: MESH.length, contentType: 'model/stl', status: 'uploaded' },
        ...{ statusDescription: null, projectId: null, uploadedBy: simulator.users[0]?.username },
      });
      assert.match(uploadedAt ?? '', /^\d{4}-.*Z$/);
      assert.equal(message.fileId, fileId);
      assert.equal('jobId' in message, false);
      assert.equal((message.raw as { file_id: string }).file_id, fileId);
      assert.equal(message.req, req);
      assert.deepEqual([message.topic, message.other, message.filename], ['mine', { deep: 1 }, 'cube.stl']);
      const [file] = simulator.world.libraryFiles();
      assert.deepEqual([file?.fileId, file?.fileName], [fileId, 'cube.stl']);
      assert.ok(flow.statuses('library').some(({ text }) => String(text).includes('uploading')));
      assert.match(String(flow.statuses('library').at(-1)?.text), /done\.upload/);
    });

    it('stores a toolpath as a print job', async () => {
      await deploy({ kind: 'job' });
      const message = await done({ payload: Buffer.from(GCODE), filename: 'part.gcode' });
      assert.deepEqual([stored(message).name, stored(message).contentType], ['part.gcode', 'text/plain']);
      assert.equal(message.jobId, stored(message).jobId);
      assert.equal('fileId' in message, false);
      assert.equal(simulator.world.storedJobs()[0]?.jobId, message.jobId);
      assert.equal(simulator.world.libraryFiles().length, 0);
    });

    it('reads a file from disk, by msg.filename or by the setting', async () => {
      const path = join(folder, 'disk.pdf');
      await writeFile(path, 'a document');
      await deploy({ source: 'file' });
      assert.equal(stored(await done({ filename: path })).name, 'disk.pdf');
      await deploy({ source: 'file', file: 'where.it.is', fileType: 'msg' });
      const message = await done({ where: { it: { is: path } }, filename: 'ignored.stl' });
      assert.equal(stored(message).contentType, 'application/pdf');
    });

    it('does not read msg.jobName for a file from disk', async () => {
      const path = join(folder, 'named.pdf');
      await writeFile(path, 'a document');
      await deploy({ source: 'file' });
      assert.equal(stored(await done({ filename: path, jobName: { no: 'text' } })).name, 'named.pdf');
    });

    it('reads a stream, and the name from msg.jobName', async () => {
      await deploy();
      const message = await done({
        payload: Readable.from([Buffer.from(MESH)]),
        fileSize: MESH.length,
        jobName: 'b.stl',
      });
      assert.equal(stored(message).name, 'b.stl');
    });

    it('stores a file of the type that msg.mediaType gives', async () => {
      await deploy({ kind: 'job' });
      const job = stored(await done({ payload: GCODE, filename: 'part.nc', mediaType: 'text/x-gcode' }));
      assert.deepEqual([job.name, job.contentType], ['part.nc', 'text/x-gcode']);
      await failed({ payload: GCODE, filename: 'part.nc', mediaType: 'gcode' }, 'INVALID_INPUT', /msg\.mediaType/);
      await deploy();
      const file = stored(await done(payload({ filename: 'scan.jfif', mediaType: 'image/jpeg' })));
      assert.deepEqual([file.name, file.contentType], ['scan.jfif', 'image/jpeg']);
      await failed(payload({ filename: 'scan.jfif' }), 'UNSUPPORTED_FILE_TYPE', /msg\.mediaType/);
    });

    it('names the kind that accepts a refused file', async () => {
      await deploy();
      await failed(payload({ filename: 'part.gcode' }), 'UNSUPPORTED_FILE_TYPE', /choose the kind "print job"/);
      await failed(payload({ filename: 'part.exe' }), 'UNSUPPORTED_FILE_TYPE');
      await deploy({ kind: 'job' });
      await failed(payload(), 'UNSUPPORTED_FILE_TYPE', /choose the kind "project file"/);
    });

    it('refuses invalid input before the first request', async () => {
      await deploy();
      await failed({ payload: MESH }, 'INVALID_INPUT');
      await failed(payload({ payload: { an: 'object' } }), 'INVALID_INPUT');
      await failed(payload({ filename: 'con.stl' }), 'INVALID_INPUT', /reserved device name/);
      await failed(payload({ payload: '' }), 'FILE_NOT_READABLE');
      await deploy({ source: 'file', file: join(folder, 'none.stl'), fileType: 'str' });
      await failed({}, 'FILE_NOT_READABLE');
      assert.equal(simulator.requests.count('registerFile'), 0);
    });

    it('reports a stream of another size as FILE_CHANGED', async () => {
      await deploy();
      await failed(payload({ payload: Readable.from([Buffer.from(MESH)]), fileSize: 1000 }), 'FILE_CHANGED');
    });

    it('destroys the stream of a message with an unreadable property', async () => {
      await deploy();
      const stream = Readable.from([Buffer.from(MESH)]);
      const get = () => {
        throw new Error('odd');
      };
      await failed(
        Object.defineProperty(payload({ payload: stream }), 'other', { get, enumerable: true }),
        'INVALID_INPUT',
      );
      assert.ok(stream.destroyed);
    });

    it('destroys the stream of a message with invalid input', async () => {
      await deploy();
      for (const [changes, code] of [
        [{ fileSize: undefined }, 'INVALID_INPUT'],
        [{ fileSize: 3, jobName: { no: 'text' } }, 'INVALID_INPUT'],
      ] as const) {
        const stream = Readable.from([Buffer.from(MESH)]);
        await failed(payload({ payload: stream, ...changes }), code);
        assert.ok(stream.destroyed);
      }
    });

    it("reports a refusal by the storage as UPLOAD_FAILED, with the file's id", async () => {
      await deploy();
      simulator.faults.add({ endpoint: 'storagePut', times: 'always', status: 403 });
      const error = await failed(payload(), 'UPLOAD_FAILED');
      assert.ok(simulator.world.libraryFiles().some(({ fileId }) => fileId === error.fileId));
    });

    it("ends in TIMEOUT, with the file's id, when the upload is never confirmed", async () => {
      await deploy({ timeout: 1 });
      simulator.faults.add({ endpoint: 'getFile', times: 'always', set: { 'data.status': 'uploading' } });
      const error = await failed(payload(), 'TIMEOUT');
      assert.equal(error.fileId, simulator.world.libraryFiles()[0]?.fileId);
    });
  });

  describe('info', () => {
    for (const [kind, name, content] of [
      ['file', 'cube.stl', MESH],
      ['job', 'part.gcode', GCODE],
    ] as const)
      it(`returns the record of a stored ${kind}`, async () => {
        simulator.world.setParsing({ seconds: 0 });
        const ids = await uploaded('info', { kind }, { payload: content, filename: name });
        const message = await done({ ...ids, payload: 'old', other: 1 });
        const { uploadedAt: _, contentType: __, metadata, ...rest } = stored(message) as StoredJob;
        const source = { projectId: null, uploadedBy: simulator.users[0]?.username };
        assert.deepEqual(rest, {
          ...{ ...ids, name, fileSize: content.length, status: 'uploaded', statusDescription: null },
          ...source,
          ...(kind === 'job' && { parsingStatus: 'success' }),
        });
        assert.equal(metadata?.seconds, kind === 'job' ? 60 : undefined);
        assert.equal((message.raw as { file_size: number }).file_size, content.length);
        assert.equal(message.other, 1);
      });

    it('reads the id from the setting; for a job also from msg.fileId', async () => {
      const { jobId } = await uploaded('info', { kind: 'job' }, { payload: GCODE, filename: 'part.gcode' });
      assert.equal(stored(await done({ fileId: jobId })).jobId, jobId);
      await deploy({ operation: 'info', kind: 'job', fileId: String(jobId), fileIdType: 'str' });
      assert.equal((await done({ jobId: 'ignored' })).jobId, jobId);
    });

    it('requires the id of an existing file', async () => {
      await deploy({ operation: 'info' });
      await failed({}, 'INVALID_INPUT', /msg\.fileId/);
      await failed({ fileId: { no: 'text' } }, 'INVALID_INPUT');
      await failed({ fileId: '../secrets' }, 'INVALID_INPUT');
      const error = await failed({ fileId: 'x'.repeat(44) }, 'NOT_FOUND');
      assert.deepEqual([error.fileId, error.statusCode, error.serviceCode], ['x'.repeat(44), 404, 'recordNotFound']);
      await deploy({ operation: 'info', kind: 'job' });
      await failed({}, 'INVALID_INPUT', /msg\.jobId/);
    });
  });

  describe('download', () => {
    it('decodes a file that the storage compresses, as a Buffer and into a file', async () => {
      const storage = await OtherStorage.compressed(MESH, 'model/stl');
      try {
        const ids = await uploaded('download', { file: 'to', fileType: 'msg' });
        simulator.faults.add({
          endpoint: 'getFile',
          times: 'always',
          set: { 'data.download_url': `${storage.url}/file` },
        });
        assert.equal(String((await done(ids)).payload), MESH);
        const to = join(folder, 'cube.stl');
        assert.equal((await done({ ...ids, to })).payload, to);
        flow.useSettings({ fileWorkingDirectory: folder });
        assert.equal((await done({ ...ids, to: 'relative.stl' })).payload, join(folder, 'relative.stl'));
        assert.equal(await readFile(to, 'utf8'), MESH);
      } finally {
        await storage.stop();
      }
    });

    it('returns the content, and leaves msg.filename alone', async () => {
      const ids = await uploaded('download');
      const trap = join(folder, 'trap.stl');
      const message = await done({ ...ids, filename: trap });
      assert.deepEqual(message.payload, Buffer.from(MESH));
      assert.deepEqual([message.fileId, message.filename], [ids.fileId, trap]);
      assert.equal((message.raw as { file_id: string }).file_id, ids.fileId);
      assert.deepEqual(await readdir(folder), []);
      assert.ok(flow.statuses('library').some(({ text }) => String(text).includes('downloading')));
    });

    it('saves to the file of the setting', async () => {
      const path = join(folder, 'saved.gcode');
      const kind = { kind: 'job', file: path, fileType: 'str' };
      const ids = await uploaded('download', kind, { payload: GCODE, filename: 'part.gcode' });
      const message = await done(ids);
      assert.equal(message.payload, path);
      assert.equal(await readFile(path, 'utf8'), GCODE);
      assert.deepEqual(await readdir(folder), ['saved.gcode']);
    });

    it('saves to msg.filename when the setting says so', async () => {
      const ids = await uploaded('download', { file: 'filename', fileType: 'msg' }, payload());
      const path = join(folder, 'wanted.stl');
      assert.equal((await done({ ...ids, filename: path })).payload, path);
      assert.equal(await readFile(path, 'utf8'), MESH);
    });

    it("reports a target that can't be written, and leaves no file there", async () => {
      const ids = await uploaded('download', { file: 'to', fileType: 'msg' });
      await failed({ ...ids, to: folder }, 'FILE_NOT_WRITABLE');
      await failed({ ...ids, to: join(folder, 'no-such-folder', 'a.stl') }, 'FILE_NOT_WRITABLE');
      assert.deepEqual(await readdir(folder), []);
    });

    it('downloads again from a fresh address when the download breaks off', async () => {
      const ids = await uploaded('download');
      simulator.faults.add({ endpoint: 'storageGet', cut: 'connection' });
      assert.deepEqual((await done(ids)).payload, Buffer.from(MESH));
      assert.equal(simulator.requests.count('getFile'), 3, 'upload, first and second try');
    });

    it('survives a token that expires during the download', async () => {
      const ids = await uploaded('download');
      const refreshes = simulator.tokens.refreshes;
      // The first read of the record expires the token; the download breaks off, and the second read needs a refresh.
      const expire = (body: unknown) => {
        simulator.tokens.expireAccessTokens();
        return body;
      };
      simulator.faults.add({ endpoint: 'getFile', transform: expire });
      simulator.faults.add({ endpoint: 'storageGet', cut: 'connection' });
      assert.deepEqual((await done(ids)).payload, Buffer.from(MESH));
      assert.deepEqual([simulator.tokens.refreshes - refreshes, simulator.tokens.reuseDetections], [1, 0]);
    });

    it('refuses a file that is too large for a message', async () => {
      const ids = await uploaded('download');
      simulator.faults.add({ endpoint: 'getFile', set: { 'data.file_size': 256 * 1024 * 1024 + 1 } });
      await failed(ids, 'TOO_LARGE');
      assert.equal(simulator.requests.count('storageGet'), 0);
    });

    it('reports content of another length as FILE_CHANGED and an unfinished upload as NOT_FOUND', async () => {
      const ids = await uploaded('download', { timeout: 2 });
      simulator.faults.add({ endpoint: 'getFile', times: 'always', set: { 'data.file_size': 5 } });
      await failed(ids, 'FILE_CHANGED');
      simulator.faults.clear();
      simulator.faults.add({ endpoint: 'getFile', set: { 'data.status': 'uploading' }, remove: ['data.download_url'] });
      await failed(ids, 'NOT_FOUND', /status uploading/);
    });
  });

  describe('delete', () => {
    for (const [kind, name, content] of [
      ['file', 'cube.stl', MESH],
      ['job', 'part.gcode', GCODE],
    ] as const)
      it(`deletes a stored ${kind} once`, async () => {
        const ids = await uploaded('delete', { kind }, { payload: content, filename: name });
        const message = await done({ ...ids, other: 1 });
        assert.deepEqual([message.payload, message.other], [{ deleted: true }, 1]);
        assert.deepEqual({ ...ids, ...message }, message);
        assert.equal(simulator.world.libraryFiles().length + simulator.world.storedJobs().length, 0);
        await failed(ids, 'NOT_FOUND', /already been deleted/);
      });

    it('explains that the service may not support deletion', async () => {
      const ids = await uploaded('delete');
      simulator.faults.add({ endpoint: 'deleteFile', status: 405 });
      const error = await failed(ids, 'SERVICE_ERROR', /set another path for deleteFile in the account/);
      assert.equal(error.statusCode, 405);
    });

    it("uses the account's path for deletion", async () => {
      const paths = JSON.stringify({ deleteFile: 'DELETE {storage}/jobs/{file_id}' });
      await deploy({ kind: 'job' });
      const { jobId } = await done({ payload: GCODE, filename: 'part.gcode' });
      await deploy({ operation: 'delete' }, { account: { ...flow.account, paths } });
      assert.deepEqual((await done({ fileId: jobId })).payload, { deleted: true });
      assert.equal(simulator.world.storedJobs().length, 0);
    });
  });

  describe('every operation', () => {
    const faults: [string, object, number?][] = [
      ['FORBIDDEN', { status: 403 }, 403],
      ['NOT_ACCEPTED', { status: 409 }, 409],
      ['RATE_LIMITED', { status: 429, retryAfter: 30 }, 429],
      ['SERVICE_ERROR', { status: 418 }, 418],
    ];
    for (const [code, fault, statusCode] of faults)
      it(`reports ${code}`, async () => {
        for (const [operation, endpoint] of [
          ['upload', 'registerFile'],
          ['info', 'getFile'],
          ['download', 'getFile'],
          ['delete', 'deleteFile'],
        ] as const) {
          await deploy({ operation, timeout: 5 });
          simulator.faults.add({ endpoint, ...fault });
          const error = await failed(payload({ fileId: 'some-id' }), code);
          assert.equal(error.statusCode, statusCode);
          assert.equal(error.fileId, 'some-id');
        }
      });

    it('ends in TIMEOUT when the service hangs', async () => {
      await deploy({ operation: 'info', timeout: 1 });
      simulator.faults.add({ endpoint: 'getFile', hang: true });
      const error = await failed({ fileId: 'some-id' }, 'TIMEOUT');
      assert.equal(error.fileId, 'some-id');
    });

    it('requires an operation', async () => {
      await deploy({ operation: 'toString' });
      await failed(payload(), 'NOT_CONFIGURED');
    });
  });

  it('uploads, downloads and deletes in its example flow', async () => {
    const path = join(__dirname, '../../examples/14-library-files.json');
    const example = JSON.parse(await readFile(path, 'utf8')) as Definition[];
    const account = example.find(({ type }) => type === 'remote-printing-account')!;
    const nodes = example.filter(({ type }) => type === 'remote-printing-library-file');
    const shown = ['stored file', 'content', 'deleted', 'errors'].map((name) => {
      const { id } = example.find((node) => node.type === 'debug' && node.name === name)!;
      return { ...helperNode(id), z: 'tab' };
    });
    await flow.deploy([...nodes.map((node) => ({ ...node, z: 'tab' })), ...shown], { account, credentials: {} });
    const [file, content, gone] = shown.map(({ id }) => flow.listen(id)) as [Inbox, Inbox, Inbox];
    flow.send(nodes[0]!.id, payload());
    assert.equal(stored(await file.at(0)).name, 'cube.stl');
    assert.deepEqual((await content.at(0)).payload, Buffer.from(MESH));
    assert.deepEqual((await gone.at(0)).payload, { deleted: true });
  });

  describe('a redeploy', () => {
    for (const [operation, endpoint] of [
      ['upload', 'storagePut'],
      ['download', 'storageGet'],
    ] as const)
      it(`leaves nothing behind of an interrupted ${operation}`, async () => {
        const path = join(folder, 'saved.stl');
        const ids = await uploaded(operation, operation === 'download' ? { file: path, fileType: 'str' } : {});
        const hanging = simulator.faults.add({ endpoint, hang: true });
        flow.send('library', payload(ids));
        while (hanging.hits === 0) await new Promise((resolve) => setImmediate(resolve));
        await flow.closesAtOnce(() => deploy());
        for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve));
        // The removal of an unfinished file may take longer.
        while ((await readdir(folder)).length > 0) await new Promise((resolve) => setImmediate(resolve));
        assert.equal(bench.sent.all.length, 0);
        assert.equal(stored(await done(payload({ filename: 'next.stl' }))).name, 'next.stl');
      });
  });
});
