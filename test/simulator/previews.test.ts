import assert from 'node:assert/strict';
import { Bench, call, type Wire } from './support';

describe('simulator: previews of files', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const previewOf = async (uuid: string): Promise<string> => {
    const path = `/connect/v1/clusters/${bench.clusterId()}/print_jobs/${uuid}`;
    return (await bench.api('GET', path)).json.data.preview_url;
  };

  it('shows a PNG picture of a file at a signed address of the storage host', async () => {
    const url = await previewOf(await bench.print(await bench.upload(';TIME:600\n')));
    assert.ok(url.startsWith(`${bench.simulator.storageUrl}/preview/`), url);
    const picture = await call(url);
    assert.deepEqual([picture.status, picture.headers['content-type']], [200, 'image/png']);
    assert.equal(picture.bytes.toString('latin1', 1, 4), 'PNG');
    assert.deepEqual([picture.bytes.readUInt32BE(16), picture.bytes.readUInt32BE(20)], [640, 480]);
    assert.equal(Number(picture.headers['content-length']), picture.bytes.length);
  });

  it('shows a preview in every record of a print, while it waits, prints and after its end', async () => {
    const jobId = await bench.upload(';TIME:600\n');
    await bench.print(jobId);
    await bench.print(jobId);
    const isSigned = (record: Wire) => assert.match(record.preview_url, /\/preview\/.+signature=/);
    bench.pass(100);
    (await bench.status()).print_jobs.forEach(isSigned);
    isSigned((await bench.api('GET', '/connect/v1/clusters')).json.data[0].host_current_print_job);
    (await bench.api('GET', '/connect/v1/print_jobs')).json.data.forEach(isSigned);
    bench.pass(3600);
    const ended: Wire[] = (await bench.status()).recently_completed;
    assert.equal(ended.length, 2);
    ended.forEach(isSigned);
  });

  it('draws parts by their size', async () => {
    const [small, large] = await Promise.all(
      [';TIME:600\n', ';TIME:60000\n'].map(async (file) => {
        const url = await previewOf(await bench.print(await bench.upload(file)));
        return (await call(url)).bytes;
      }),
    );
    assert.equal(small!.equals(large!), false);
  });

  it('refuses an expired or forged address of a preview, and a token', async () => {
    const url = await previewOf(await bench.print(await bench.upload(';TIME:600\n')));
    for (const forged of [
      url.replace('/preview/', '/download/'),
      url.replace(/expires=\d+/, `expires=${bench.clock.now + 1e9}`),
      url.replace(/signature=.*/, 'signature=x'),
      url.replace(/\?.*/, ''),
    ])
      assert.equal((await call(forged)).status, 403, forged);
    const headers = { authorization: `Bearer ${bench.token}` };
    assert.equal((await call(url, { headers })).status, 400);
    bench.pass(15 * 60);
    const expired = await call(url);
    assert.deepEqual([expired.status, expired.headers['content-type']], [403, 'application/xml']);
  });

  it('shows no preview of a deleted file', async () => {
    const jobId = await bench.upload(';TIME:600\n');
    const uuid = await bench.print(jobId);
    const url = await previewOf(uuid);
    await bench.api('DELETE', `/slicer/v1/jobs/${jobId}`);
    assert.equal((await call(url)).status, 404);
    assert.equal(await previewOf(uuid), undefined);
  });

  it('shows no preview of a print that was started at the printer', async () => {
    const { uuid } = bench.simulator.world.printLocally(1, { name: 'cube.ufp', seconds: 60 });
    assert.equal(await previewOf(uuid), undefined);
  });

  it('shows the preview of a stored UFP file in its record, once it is uploaded', async () => {
    await bench.simulator.close();
    bench = await Bench.start({ uploadConfirmDelay: 5000 });
    const ufp = { job_name: 'part.ufp', content_type: 'application/x-ufp' };
    const record = async (id: string): Promise<Wire> => (await bench.api('GET', `/slicer/v1/jobs/${id}`)).json.data;
    const jobId = await bench.upload('PK', ufp);
    const plain = await bench.upload('G28\n');
    const before = await record(jobId);
    assert.deepEqual([before.status, 'preview_image_url' in before], ['uploading', false]);
    bench.pass(5);
    assert.equal('preview_image_url' in (await record(plain)), false);
    const picture = await call((await record(jobId)).preview_image_url);
    assert.deepEqual([picture.status, picture.headers['content-type']], [200, 'image/png']);
  });

  it('fails to show a preview by a fault on the wire', async () => {
    const url = await previewOf(await bench.print(await bench.upload(';TIME:600\n')));
    bench.simulator.faults.add({ endpoint: 'previewGet', status: 503 });
    assert.equal((await call(url)).status, 503);
    assert.equal((await call(url)).status, 200);
  });
});
