import assert from 'node:assert/strict';
import { SPOOL } from '../../simulator/world/spools';
import { Bench, call, type Reply, type Wire } from './support';

/** A file of 600 s that needs 6,000 mm³ on the first extruder. */
const GRIFFIN = [
  ';START_OF_HEADER',
  ';PRINT.TIME:600',
  ';EXTRUDER_TRAIN.0.NOZZLE.NAME:AA 0.4',
  ';EXTRUDER_TRAIN.0.MATERIAL.GUID:03f24266-0291-43c2-a6da-5211892a2699',
  ';EXTRUDER_TRAIN.0.MATERIAL.VOLUME_USED:6000',
  ';END_OF_HEADER\n',
].join('\n');

describe('simulator: material of a printer', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const extruders = async (number = 1): Promise<Wire[]> => (await bench.status(number)).printers[0].configuration;
  const left = async (): Promise<number[]> => (await extruders()).map((extruder) => extruder.estimated_material_volume);
  const world = (action: string, body: Record<string, unknown>): Promise<Reply> =>
    call(`${bench.simulator.controlUrl}/world/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ cluster: 1, ...body }),
    });

  it('falls by what a print needs when the print ends, before its plate is cleared', async () => {
    bench.simulator.world.setCleaning(1, 'manual');
    const [first, second] = await left();
    await bench.print(await bench.upload(GRIFFIN));
    bench.pass(95 + 600 + 59);
    assert.deepEqual(await left(), [first, second]);
    bench.pass(1);
    assert.equal((await bench.status()).print_jobs[0].status, 'wait_cleanup');
    assert.deepEqual(await left(), [first! - 6000, second]);
    bench.simulator.world.clean(1);
    bench.pass(3600);
    assert.deepEqual(await left(), [first! - 6000, second]);
  });

  for (const [how, stop] of [
    ['is aborted', () => bench.simulator.world.abort(1)],
    ['fails', () => bench.simulator.world.fail(1)],
  ] as const)
    it(`falls by the printed share of a print that ${how}`, async () => {
      const [first] = await left();
      await bench.print(await bench.upload(GRIFFIN));
      bench.pass(95 + 150);
      assert.equal((await bench.status()).print_jobs[0].time_elapsed, 150);
      stop();
      bench.pass(3600);
      assert.equal((await left())[0], first! - 1500);
    });

  it('stays the same when a waiting print leaves the queue', async () => {
    const before = await left();
    bench.simulator.world.setTrouble(1, 'error');
    await bench.print(await bench.upload(GRIFFIN));
    bench.simulator.world.vanish(1);
    bench.simulator.world.setTrouble(1, null);
    bench.pass(3600);
    assert.deepEqual(await left(), before);
  });

  it('falls by the printing time, on the first extruder, for a print of an unknown file', async () => {
    const before = await left();
    bench.simulator.world.printLocally(1, { name: 'cube.ufp', seconds: 100 });
    bench.pass(3600);
    assert.deepEqual(await left(), [before[0]! - 400, before[1]]);
  });

  it('continues on a full spool once a print has emptied one', async () => {
    bench.simulator.world.load(1, 0, {}, 5000);
    await bench.print(await bench.upload(GRIFFIN));
    bench.pass(3600);
    assert.equal((await left())[0], SPOOL - 1000);
    // Exactly empty, and just about.
    for (const volume of [6000, 6000.4]) {
      bench.simulator.world.load(1, 0, {}, volume);
      await bench.print(await bench.upload(GRIFFIN));
      bench.pass(3600);
      assert.equal((await left())[0], SPOOL);
    }
  });

  it('stays between nothing and a full spool after a print that needs more than any spool holds', async () => {
    await bench.print(await bench.upload(GRIFFIN.replace(':6000', ':1e300')));
    bench.pass(3600);
    const [first] = await left();
    assert.ok(first! > 0 && first! <= SPOOL);
  });

  it('is stated per extruder in the records of a print and of its file', async () => {
    const jobId = await bench.upload(GRIFFIN);
    const uuid = await bench.print(jobId);
    const [job] = (await bench.status()).print_jobs;
    const [{ material, ...configuration }] = job.configuration;
    assert.deepEqual(configuration, { extruder_index: 0, print_core_id: 'AA 0.4', estimated_material_volume: 6000 });
    assert.deepEqual([material.material, 'diameter' in material, 'density' in material], ['PLA', false, false]);
    // Extruders that it doesn't use are missing.
    assert.equal(job.configuration.length, 1);

    bench.pass(2);
    const metadata = {
      extruders: [
        {
          extruder_index: 0,
          print_core_id: 'AA 0.4',
          estimated_material_volume: 6000,
          material: { guid: '03f24266-0291-43c2-a6da-5211892a2699', diameter: 2.85, density: 1.24, weight: 7.44 },
        },
      ],
      print: { estimated_time: 600 },
    };
    assert.deepEqual((await bench.api('GET', `/slicer/v1/jobs/${jobId}`)).json.data.metadata, metadata);
    const path = `/connect/v1/clusters/${bench.clusterId()}/print_jobs/${uuid}`;
    assert.deepEqual((await bench.api('GET', path)).json.data.source.metadata, metadata);
  });

  it('is missing in the record of a file whose comments state no time', async () => {
    const jobId = await bench.upload('G28\n');
    bench.pass(2);
    assert.equal('metadata' in (await bench.api('GET', `/slicer/v1/jobs/${jobId}`)).json.data, false);
  });

  it('is loaded and removed through the control host', async () => {
    await world('load', { extruder: 0, material: 'PETG', brand: 'Example', color: 'Blue', volumeLeft: 1000 });
    const [{ material, ...loaded }] = await extruders();
    assert.deepEqual(
      [material.material, material.brand, material.color, 'density' in material],
      ['PETG', 'Example', 'Blue', false],
    );
    assert.deepEqual([loaded.estimated_material_volume, loaded.original_material_volume], [1000, SPOOL]);

    await world('load', { extruder: 0, guid: material.guid });
    const [again] = await extruders();
    assert.deepEqual(
      [again.material.guid, again.material.material, again.estimated_material_volume],
      [material.guid, 'PLA', SPOOL],
    );

    await world('load', { extruder: 0, material: null });
    const [empty] = await extruders();
    assert.deepEqual(empty.material, { material: 'empty' });
    assert.equal('estimated_material_volume' in empty || 'original_material_volume' in empty, false);
  });

  it('passes a print core that is replaced and removed through the control host', async () => {
    await world('print-core', { extruder: 1, value: 'CC 0.6' });
    assert.equal((await extruders())[1].print_core_id, 'CC 0.6');
    await world('print-core', { extruder: 1, value: null });
    assert.equal('print_core_id' in (await extruders())[1], false);
  });

  for (const [what, action, body, status] of [
    ['an extruder that is missing', 'load', { extruder: 2 }, 404],
    ['no extruder', 'load', {}, 400],
    ['half an extruder', 'load', { extruder: 0.5 }, 400],
    ['more than a full spool', 'load', { extruder: 0, volumeLeft: SPOOL + 1 }, 400],
    ['a negative rest', 'load', { extruder: 0, volumeLeft: -1 }, 400],
    ['a rest as text', 'load', { extruder: 0, volumeLeft: '5' }, 400],
    ['a material without a name', 'load', { extruder: 0, material: '' }, 400],
    ['a print core in a missing extruder', 'print-core', { extruder: 2, value: 'AA 0.4' }, 404],
    ['a print core without a name', 'print-core', { extruder: 0, value: '' }, 400],
  ] as const)
    it(`stays the same when the control host refuses ${what}`, async () => {
      const before = await extruders();
      assert.equal((await world(action, body)).status, status);
      assert.deepEqual(await extruders(), before);
    });

  it('belongs to printers without a chamber and an air filter, except for the model with a station', async () => {
    const printer = async (number: number) => (await bench.status(number)).printers[0];
    for (const number of [1, 2, 4, 5]) {
      const plain = await printer(number);
      assert.deepEqual(
        [plain.material_station, plain.air_manager, 'chamber' in plain],
        [{ supported: false, status: 'unavailable', material_slots: [] }, { supported: false }, false],
      );
    }
    const { air_manager: air, chamber } = await printer(3);
    assert.deepEqual(
      [air.supported, air.status, air.filter_status, air.filter_age, air.filter_max_age],
      [true, 'available', 'peak_performance', 0, 1500],
    );
    assert.ok(chamber.temperature > 20 && chamber.temperature < 22);
    bench.simulator.world.printLocally(3, { name: 'tower.ufp', seconds: 3 * 3600 });
    bench.pass(4 * 3600);
    assert.equal((await printer(3)).air_manager.filter_age, 3);
  });

  it('is used by no further print while a plate waits for a person', async () => {
    await world('cleaning', { value: 'manual' });
    const [first] = await left();
    const file = await bench.upload(GRIFFIN);
    await bench.print(file);
    await bench.print(file);
    bench.pass(24 * 3600);
    const [waiting, next] = (await bench.status()).print_jobs;
    assert.deepEqual([waiting.status, waiting.time_elapsed, next.status], ['wait_cleanup', 600, 'queued']);
    assert.equal((await left())[0], first! - 6000);
    assert.equal((await bench.status()).printers[0].reserved_by, waiting.uuid);
    await world('clean', {});
    const { print_jobs: jobs, recently_completed: ended, printers } = await bench.status();
    assert.deepEqual([jobs[0].uuid, jobs.length, ended[0].status], [next.uuid, 1, 'finished']);
    assert.equal(printers[0].reserved_by, next.uuid);
    bench.pass(95 + 600 + 60);
    assert.equal((await left())[0], first! - 12_000);
  });
});
