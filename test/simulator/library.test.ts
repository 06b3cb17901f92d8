import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bench, call, type Wire } from './support';

describe('simulator: a library file', () => {
  let bench: Bench;
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'simulator-test-'));
    bench = await Bench.start({ dataDir });
  });
  afterEach(async () => {
    await bench.simulator.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const mesh = Buffer.from('solid cube\nendsolid cube\n');
  const good = { file_name: 'cube.stl', file_size: mesh.length, content_type: 'model/stl' };
  const register = (values: Record<string, unknown> = {}) =>
    bench.api('PUT', '/slicer/v1/files/upload', { data: { ...good, ...values } });
  const upload = async (values: Record<string, unknown> = {}): Promise<Wire> => {
    const record = (await register(values)).json.data;
    await bench.put(record, mesh, values.origin === undefined ? {} : { origin: String(values.origin) });
    return (await bench.api('GET', `/slicer/v1/files/${record.file_id}`)).json.data;
  };

  it('is registered, uploaded, confirmed and downloaded', async () => {
    const announced = await register();
    assert.equal(announced.status, 200);
    const { data } = announced.json;
    assert.deepEqual([data.status, data.file_name, data.file_size], ['uploading', 'cube.stl', mesh.length]);
    assert.equal('download_url' in data, false);
    assert.equal((await bench.put(data, mesh)).status, 200);
    assert.equal((await bench.put(data, mesh)).status, 403);

    const { json } = await bench.api('GET', `/slicer/v1/files/${data.file_id}`);
    assert.deepEqual(
      [json.data.status, json.data.username, json.data.uploaded_at],
      ['uploaded', 'maker', '2030-01-01T00:00:00.000Z'],
    );
    assert.equal('upload_url' in json.data, false);
    const file = await call(json.data.download_url);
    assert.deepEqual([file.headers['content-type'], file.bytes], ['model/stl', mesh]);
    bench.pass(16 * 60);
    assert.equal((await call(json.data.download_url)).status, 403);
  });

  it('can belong to a project of the workspace, and have an origin', async () => {
    const [project] = (await bench.api('GET', '/slicer/v1/projects')).json.data;
    const file = await upload({ library_project_id: project.library_project_id, origin: 'https://example.org' });
    assert.deepEqual(
      [file.library_project_id, file.origin, file.status],
      [project.library_project_id, 'https://example.org', 'uploaded'],
    );
    const other = await register({ library_project_id: `${'x'.repeat(43)}=` });
    assert.deepEqual([other.status, other.json.errors[0].meta.record_name], [404, 'LibraryProject']);
  });

  it('can be the source of a job', async () => {
    const { file_id: id } = await upload();
    const job = await bench.register(Buffer.from('G28'), { source_file_id: id });
    assert.equal(job.source_file_id, id);
    const body = {
      job_name: 'a.gcode',
      file_size: 3,
      content_type: 'text/plain',
      source_file_id: `${'x'.repeat(43)}=`,
    };
    assert.equal((await bench.api('PUT', '/slicer/v1/jobs/upload', { data: body })).status, 404);
  });

  for (const [what, values, field] of [
    ['a toolpath', { content_type: 'application/x-ufp' }, 'content_type'],
    ['no name', { file_name: undefined }, 'file_name'],
    ['a name with a slash', { file_name: 'a/b.stl' }, 'file_name'],
    ['no bytes', { file_size: 0 }, 'file_size'],
    ['an empty project', { library_project_id: '' }, 'library_project_id'],
    ['the name of a job', { job_name: 'cube.gcode' }, 'job_name'],
  ] as const)
    it(`is refused for ${what}`, async () => {
      const reply = await register(values);
      assert.deepEqual([reply.status, reply.json.errors[0].meta.field_name], [400, field]);
    });

  it('is deleted with its bytes, like a stored job', async () => {
    const { file_id: fileId } = await upload();
    const jobId = await bench.upload('G28');
    const { world } = bench.simulator;
    const keys = [world.libraryFile(fileId).key, world.storedJob(jobId).key].map((key) => join(dataDir, 'files', key));
    for (const path of [`/slicer/v1/files/${fileId}`, `/slicer/v1/jobs/${jobId}`]) {
      const removed = await bench.api('DELETE', path);
      assert.deepEqual([removed.status, removed.text], [204, '']);
      for (const method of ['GET', 'DELETE']) assert.equal((await bench.api(method, path)).status, 404);
    }
    while (keys.some(existsSync)) await new Promise(setImmediate);
  });

  it('belongs to one workspace', async () => {
    const { file_id: id } = await upload();
    const { apiUrl, users } = bench.simulator;
    for (const method of ['GET', 'DELETE']) {
      const headers = { authorization: `Bearer ${users[1]!.apiToken}` };
      assert.equal((await call(`${apiUrl}/slicer/v1/files/${id}`, { method, headers })).status, 404);
    }
    assert.equal((await bench.api('GET', `/slicer/v1/files/${id}`)).status, 200);
  });

  it('can be truncated during download', async () => {
    const { download_url: url } = await upload();
    const { faults } = bench.simulator;
    faults.add({ endpoint: 'storageGet', cut: 'connection' });
    await assert.rejects(call(url));
    faults.add({ endpoint: 'storageGet', cut: 'body' });
    assert.deepEqual((await call(url)).bytes, mesh.subarray(0, Math.floor(mesh.length / 2)));
    assert.deepEqual((await call(url)).bytes, mesh);
  });
});
