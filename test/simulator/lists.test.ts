import assert from 'node:assert/strict';
import { MODELS } from '../../simulator/world/models';
import { Bench, type Wire } from './support';

/** Second form of an empty bay (wire facts 6.2). */
const NIL_BAY = { guid: '00000000-0000-0000-0000-000000000000', brand: 'empty', material: 'empty', color: 'empty' };

describe('simulator: a list', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const names = async (query: string): Promise<string[]> =>
    (await bench.api('GET', `/connect/v1/print_jobs${query}`)).json.data.map((job: Wire) => job.name);

  it('filters print jobs of all clusters by cluster, state, source and text', async () => {
    const { world } = bench.simulator;
    const [cube, vase] = [
      await bench.upload(';TIME:60\n', { job_name: 'cube.gcode' }),
      await bench.upload(';TIME:6000\n', { job_name: 'vase.gcode' }),
    ];
    await bench.print(cube, 1);
    bench.pass(600);
    await bench.print(vase, 1);
    await bench.print(vase, 1);
    world.printLocally(2, { name: 'Boat.ufp', seconds: 900, from: 'network' });
    bench.pass(10);

    assert.deepEqual(await names(''), ['vase.gcode', 'vase.gcode', 'cube.gcode', 'Boat.ufp']);
    assert.deepEqual(await names(`?cluster_ids=${bench.clusterId(2)}`), ['Boat.ufp']);
    assert.equal((await names(`?cluster_ids=${bench.clusterId(1)},${bench.clusterId(2)}`)).length, 4);
    assert.deepEqual(await names('?status=history'), ['cube.gcode']);
    assert.deepEqual(await names('?status=waiting'), ['vase.gcode']);
    assert.deepEqual(await names('?status=in_progress&status=history'), ['vase.gcode', 'cube.gcode', 'Boat.ufp']);
    assert.deepEqual(await names('?sent_from=network'), ['Boat.ufp']);
    assert.deepEqual(await names('?search=boat'), ['Boat.ufp']);
    assert.equal((await names('?search=mona')).length, 3);
    assert.deepEqual(await names('?page=2&limit=3'), ['Boat.ufp']);
    assert.deepEqual(await names('?private_only=true'), ['vase.gcode', 'vase.gcode', 'cube.gcode']);
    assert.equal((await names('?private_only=false')).length, 4);
    assert.equal((await bench.api('GET', '/connect/v1/print_jobs?private_only=yes')).status, 400);
  });

  it('finds print jobs by their printer while they wait, are under way and have ended', async () => {
    const { world } = bench.simulator;
    const search = async (text: string): Promise<string[]> => {
      const { data } = (await bench.api('GET', `/connect/v1/print_jobs?search=${text}`)).json;
      return data.map((job: Wire) => `${job.name} ${job.state}`).sort();
    };
    for (const name of ['one.gcode', 'two.gcode'])
      await bench.print(await bench.upload(';TIME:60\n', { job_name: name }));
    bench.pass(10);
    assert.deepEqual(await search('WORKBENCH'), ['one.gcode in_progress', 'two.gcode waiting']);
    bench.pass(600);
    assert.deepEqual(await search('workbench'), ['one.gcode history', 'two.gcode in_progress']);

    const member = encodeURIComponent(world.cluster(4).printers[1]!.name);
    for (const name of ['a.gcode', 'b.gcode', 'c.gcode']) world.printLocally(4, { name, seconds: 60 });
    bench.pass(10);
    assert.deepEqual(await search(member), ['b.gcode in_progress']);
    world.setEnabled(4, false, 1);
    assert.deepEqual(await search(member), ['b.gcode in_progress', 'c.gcode waiting']);
    bench.pass(600);
    assert.deepEqual(await search(member), ['b.gcode history', 'c.gcode in_progress']);
  });

  it('contains the stored jobs, newest first', async () => {
    for (const name of ['one.gcode', 'two.gcode']) await bench.upload('G28', { job_name: name });
    const { json } = await bench.api('GET', '/slicer/v1/jobs');
    assert.deepEqual(
      json.data.map((job: Wire) => [job.job_name, job.status, job.username]),
      [
        ['two.gcode', 'uploaded', 'maker'],
        ['one.gcode', 'uploaded', 'maker'],
      ],
    );
    assert.equal(json.meta.page.total_count, 2);
  });

  it("filters clusters by authorization and by the model's display name", async () => {
    bench.simulator.world.setAuthorized(3, false);
    const ids = async (query: string): Promise<string[]> =>
      (await bench.api('GET', `/connect/v1/clusters${query}`)).json.data.map((cluster: Wire) => cluster.cluster_id);
    assert.deepEqual(
      await ids('?status=active'),
      [1, 2, 4, 5].map((number) => bench.clusterId(number)),
    );
    assert.deepEqual(await ids('?status=inactive'), [bench.clusterId(3)]);
    assert.deepEqual(await ids(`?machine_variant=${encodeURIComponent(MODELS[1]!.display)}`), [bench.clusterId(3)]);
    assert.deepEqual(await ids(`?machine_variant=${MODELS[1]!.id}`), []);
  });

  it('updates only the clusters that a call needs', async () => {
    const { world } = bench.simulator;
    const ids = [1, 2, 3].map((number) => bench.clusterId(number));
    for (const number of [1, 2, 3]) world.printLocally(number, { name: 'boat.ufp', seconds: 900 });
    const untouched = (): string[] =>
      world.listed().flatMap(({ clusterId, queue }) => (queue[0]?.status === 'queued' ? [clusterId] : []));
    bench.pass(200);
    assert.deepEqual(untouched(), ids);
    assert.equal((await bench.status(1)).print_jobs[0].status, 'printing');
    assert.deepEqual(untouched(), ids.slice(1));
    const { json } = await bench.api('GET', '/connect/v1/clusters?limit=1&page=2');
    assert.equal(json.data[0].host_current_print_job.status, 'printing');
    assert.deepEqual(untouched(), ids.slice(2));
    assert.deepEqual(await names(`?status=in_progress&cluster_ids=${ids[0]!}`), ['boat.ufp']);
    assert.deepEqual(untouched(), ids.slice(2));
  });

  it('finds a cluster by its id after it was reconnected, added or removed', async () => {
    const { world } = bench.simulator;
    const status = async (id: string): Promise<number> =>
      (await bench.api('GET', `/connect/v1/clusters/${id}/status`)).status;
    const old = bench.clusterId(2);
    const bound = world.rebind(2);
    const added = world.addCluster({ name: 'Tenth' });
    world.removeCluster(1);
    assert.deepEqual([await status(old), await status(bound), await status(added)], [404, 200, 200]);
    assert.equal(bench.clusterId(1), bound);
  });

  it('contains the special cases of the wire facts', async () => {
    await bench.print(await bench.upload('G28'), 1);
    const [one, two, three, four, five] = (await bench.api('GET', '/connect/v1/clusters')).json.data;
    assert.match(one.host_guid, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.match(five.host_guid, /^[0-9A-F]{20}$/);
    assert.equal(five.host_printer.uuid, '00000000-0000-0000-0000-000000000000');
    assert.deepEqual(two.host_printer.configuration[1].material, { material: 'empty' });
    assert.deepEqual(
      three.host_printer.configuration.map((extruder: Wire) => extruder.material),
      [NIL_BAY, NIL_BAY],
    );
    assert.deepEqual([four.printer_count, four.printer_type], [2, one.printer_type]);
    assert.equal(one.host_current_print_job.status, 'sent_to_printer');
    assert.equal('host_current_print_job' in two, false);
    for (const { cluster_id: id } of [one, two, three, four, five]) {
      assert.match(id, /^[\w-]+={1,3}$/);
      assert.equal(id.length, 44);
    }
  });
});
