import assert from 'node:assert/strict';
import type { NewCluster } from '../../simulator/index';
import { pluck } from '../helpers/pluck';
import { Bench, call, type Wire } from './support';

describe('simulator: a farm', () => {
  const farm: NewCluster[] = [
    { name: 'Left', materials: [{ material: 'PLA', color: 'Red' }, null], printCores: ['AA 0.8'] },
    { name: 'Right', model: 'simulated_maker_one', materials: [{ material: 'PLA', color: 'Red' }], buildPlate: 'pei' },
    { name: 'Tall', model: 'simulated_maker_duo', station: false, variant: 'Tall Printer T5' },
    { name: 'Pair', model: 'simulated_maker_one', printers: 2, station: true, cleaning: 'none', mismatch: 'ignored' },
  ];
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start({ farm })));
  afterEach(() => bench.simulator.close());

  const printers = async (number: number): Promise<Wire[]> => (await bench.status(number)).printers;

  it('has the printers, materials, print cores and build plates of its list', async () => {
    const clusters = (await bench.api('GET', '/connect/v1/clusters')).json.data;
    assert.deepEqual(
      clusters.map((cluster: Wire) => [cluster.friendly_name, cluster.printer_type, cluster.printer_count]),
      [
        ['Left', 'simulated_maker_one', 1],
        ['Right', 'simulated_maker_one', 1],
        ['Tall', 'tall_printer_t5', 1],
        ['Pair', 'simulated_maker_one', 2],
      ],
    );
    const [[left], [right], [tall]] = [await printers(1), await printers(2), await printers(3)];
    assert.deepEqual(
      left.configuration.map((extruder: Wire) => [extruder.print_core_id, extruder.material.color]),
      [
        ['AA 0.8', 'Red'],
        ['BB 0.4', undefined],
      ],
    );
    assert.equal(left.configuration[1].material.material, 'empty');
    assert.deepEqual([left.build_plate.type, right.build_plate.type], ['glass', 'pei']);
    assert.deepEqual([tall.machine_variant, tall.material_station.supported], ['Tall Printer T5', false]);
    assert.equal((await printers(4))[1].material_station.supported, true);
    assert.equal(bench.simulator.world.cluster(4).cleaning, 'none');
  });

  it('has one GUID for the same material everywhere, and others for other colours', async () => {
    const guid = async (number: number): Promise<string> => (await printers(number))[0].configuration[0].material.guid;
    assert.equal(await guid(1), await guid(2));
    bench.simulator.world.load(2, 0, { color: 'Green' });
    assert.notEqual(await guid(1), await guid(2));
  });

  it('compares files with printers unless a printer says otherwise', () => {
    assert.deepEqual(pluck(bench.simulator.world.clusters(), 'mismatch'), [
      'queued',
      'queued',
      'queued',
      'ignored',
      'ignored',
    ]);
  });

  it('changes the printers of a group one by one', async () => {
    const { world } = bench.simulator;
    world.load(4, 0, { material: 'ABS', color: 'White' }, undefined, 2);
    const [slot] = (await printers(4))[1].material_station.material_slots;
    world.setPrintCore(4, 0, 'CC 0.6', 2);
    world.setBuildPlate(4, 'pei', 2);
    world.setEnabled(4, false, 1);
    world.setTrouble(4, 'maintenance', 2);
    const [one, two] = await printers(4);
    assert.deepEqual(
      [one.configuration[0].print_core_id, one.build_plate.type, one.enabled, one.status],
      ['AA 0.4', 'glass', false, 'idle'],
    );
    assert.deepEqual(
      [two.configuration[0].print_core_id, two.build_plate.type, two.enabled, two.status],
      ['CC 0.6', 'pei', true, 'maintenance'],
    );
    assert.deepEqual([slot.material.material, slot.material.color], ['ABS', 'White']);
    assert.notDeepEqual(one.material_station.material_slots[0].material, slot.material);
    assert.throws(() => world.setBuildPlate(4, 'pei', 3), /found/i);
  });

  it('grows by printers of any kind through the control host', async () => {
    const add = async (about: unknown): Promise<Wire> =>
      call(`${bench.simulator.controlUrl}/world/add-cluster`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(about),
      });
    const { json } = await add({
      name: 'New',
      model: 'simulated_maker_one',
      printers: 2,
      materials: ['ABS Black', null],
      station: true,
    });
    const cluster = bench.simulator.world.cluster(json.cluster);
    assert.deepEqual(
      cluster.printers.map(({ slots }) => slots!.map(({ material }) => material?.material ?? null)),
      [
        ['ABS', null, null, null, null, null],
        ['ABS', null, null, null, null, null],
      ],
    );
    assert.equal(cluster.mismatch, 'ignored');
    for (const wrong of [
      ...[{ materials: 'ABS' }, { materials: ['a b c'] }, { cleaning: 'never' }, { colour: 'Red' }],
      ...[{ printers: 1_001 }, { printers: -1 }, { printers: '2' }],
    ])
      assert.equal((await add(wrong)).status, 400, JSON.stringify(wrong));
  });
});
