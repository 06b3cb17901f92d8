import assert from 'node:assert/strict';
import { SimulatedQueue } from '../../../lib/queue/plan/forecast';
import { materialStocks } from '../../../lib/queue/plan/materials';
import type { QueuePrinter } from '../../../lib/queue/model/types';
import { readPrices } from '../../../lib/queue/model/rules';
import { type Life, QueueFarm, type Runtime } from '../../helpers/queue-farm';
import { feed, file, item, material, NOW, obstacle, planInput, printer, rulesOf } from '../../helpers/queue-inputs';

const need = (guid: string, type = 'PLA', color = guid) => ({ guid, type, color });
const needing = (guid: string, volume: number | null, weight: number | null = null) => ({
  ...file({ materials: [need(guid)], volumes: [volume] }),
  weights: [weight],
});
const spool = (guid: string, volume: number | null, density: number | null = 1) => ({
  ...feed('AA 0.4', { ...material(guid, 'PLA', guid), density }, volume),
});
const loaded = (clusterId: string, ...extruders: QueuePrinter['extruders'] & object) =>
  printer(clusterId, { extruders });

/** Needed, loaded and missing volumes and weights by material. */
const stocks = (items: ReturnType<typeof item>[], printers: QueuePrinter[], rule = 'guid' as const) =>
  Object.fromEntries(
    materialStocks(items, printers, [], rule).map(
      ({ material: { guid, type, color }, needed, loaded: there, missing, isShort }) => [
        guid ?? [type, color].filter(Boolean).join(' '),
        [...[needed, there, missing].map(({ volume, weight }) => `${volume}/${weight}`), isShort],
      ],
    ),
  );

describe('queue/materials', () => {
  it('adds what the waiting copies need, and what is loaded in printers and slots, also of those that are offline', () => {
    const items = [
      item('a', { files: [needing('red', 100, 10)], waiting: [1, 2] }),
      item('b', { files: [needing('red', 50, 5), needing('blue', 1, 1)], waiting: [1] }),
    ];
    const station = printer('c2', {
      obstacle: obstacle('OFFLINE'),
      extruders: [
        {
          printCore: 'AA 0.4',
          sources: [
            // The station has loaded it from the slot.
            { slot: null, printCore: 'AA 0.4', material: { ...material('red'), density: 1 }, volumeLeft: 40 },
            { slot: 0, printCore: 'AA 0.4', material: { ...material('red'), density: 1 }, volumeLeft: 40 },
            { slot: 1, printCore: 'AA 0.4', material: { ...material('blue'), density: 1 }, volumeLeft: 999 },
          ],
        },
      ],
    });
    assert.deepEqual(stocks(items, [loaded('c1', spool('red', 200)), station]), {
      red: ['250/25', '240/0.24', '10/1', true],
    });
  });

  it('counts no held items, and those that are blocked for their material', () => {
    const held = { code: 'HELD' as const, sentence: obstacle('BUSY').sentence };
    const items = [
      item('a', { files: [needing('red', 100)], obstacle: held }),
      item('b', { files: [needing('green', 70)] }),
      item('c', { files: [needing('red', 1)], waiting: [] }),
    ];
    assert.deepEqual(stocks(items, [loaded('c1', spool('red', 10))]), { green: ['70/null', '0/0', '70/null', true] });
  });

  it('takes what is loaded for enough where a volume is unknown', () => {
    const items = [item('a', { files: [needing('red', 100, 10)] }), item('b', { files: [needing('blue', null)] })];
    const printers = [loaded('c1', spool('red', 10), spool('blue', 5)), loaded('c2', spool('red', null))];
    assert.deepEqual(stocks(items, printers), {
      red: ['100/10', 'null/null', '0/0', false],
      blue: ['null/null', '5/0.01', 'null/null', false],
    });
    assert.deepEqual(stocks(items.slice(1), []), { blue: ['null/null', '0/0', 'null/null', true] });
  });

  it('groups materials as the queue compares them', () => {
    const items = [item('a', { files: [needing('red', 10)] }), item('b', { files: [needing('blue', 20)] })];
    const printers = [loaded('c1', spool('red', 25))];
    const groups = (rule: 'guid' | 'type-color' | 'type' | 'any') => stocks(items, printers, rule as 'guid');
    assert.deepEqual(Object.keys(groups('guid')), ['red', 'blue']);
    assert.deepEqual(Object.keys(groups('type-color')), ['PLA red', 'PLA blue']);
    assert.deepEqual(groups('type'), { PLA: ['30/null', '25/0.03', '5/null', true] });
    assert.deepEqual(groups('any'), { '': ['30/null', '25/0.03', '5/null', true] });
  });

  it('says when the forecast runs out of a material', () => {
    const forecast = (volume: number) => {
      const items = [item('a', { files: [needing('red', 100)], waiting: [1, 2, 3] })];
      const rules = rulesOf({ gate: 'automatic' });
      const input = planInput({ items, printers: [loaded('c1', spool('red', volume))], rules });
      const queue = new SimulatedQueue({ ...input, orders: new Map(), active: [], obstacleEndsAt: Infinity });
      while (queue.step());
      return queue.result().materials.map(({ shortAt }) => shortAt);
    };
    assert.deepEqual(forecast(300), [null]);
    assert.deepEqual(forecast(250), [NOW + 2 * 3_600_000]);
    // Too little for a single print keeps it from starting.
    assert.deepEqual(forecast(50), [NOW]);
  });
});

const METADATA = {
  print: { estimated_time: 100 },
  machine_variant: 'Maker',
  extruders: [
    { extruder_index: 0, print_core_id: 'AA 0.4', material: { guid: 'red' }, estimated_material_volume: 600 },
  ],
};
const endsAs = (second: number, word: string): Life => [
  [0, 'printing'],
  [second, word],
];

describe('queue/materials: of a queue', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => {
    all = new QueueFarm();
    all.farm.metadata.set('job', METADATA);
  });
  afterEach(() => all.close());

  const load = (volume: number | null) => {
    const status = { uuid: 'P of C1', status: 'idle', enabled: true };
    const configuration = [
      {
        ...{ extruder_index: 0, print_core_id: 'AA 0.4', estimated_material_volume: volume },
        material:
          volume === null ? null : { guid: 'red', material: 'PLA', color: 'Red', brand: 'Brand', density: 1.25 },
      },
    ];
    all.farm.changes.set('C1', { printers: [{ ...status, machine_variant: 'Maker', configuration }] });
  };
  const begin = async () => (one = await all.begin({ printers: ['C1'], material: 'guid', gate: 'automatic' }));
  const shorts = () => one.events.filter(({ type }) => type === 'material.short');

  it('tells once that a material is short, and again only after it was enough', async () => {
    load(1000);
    await begin();
    await one.pause();
    await one.add('a', { copies: 1 });
    await all.pass(30);
    assert.equal(shorts().length, 0);
    await one.update('a', { copies: 3 });
    await all.pass(30);
    const [first] = shorts();
    assert.equal(first?.item, null);
    const { materials } = await one.ask((queue) => queue.forecast());
    const told = first?.value as (typeof materials)[number];
    assert.ok(told.shortAt);
    assert.deepEqual(told, { ...materials[0], shortAt: told.shortAt });
    assert.equal(materials[0]?.missing.volume, 800);
    await one.update('a', { copies: 4 });
    await all.pass(30);
    all.kill(one);
    await begin();
    await all.pass(30);
    assert.equal(shorts().length, 0);
    load(5000);
    await all.pass(30);
    load(1000);
    await all.pass(30);
    assert.equal(shorts().length, 1);
    assert.notEqual(shorts()[0]?.id, first?.id);
  });

  it('keeps a printer whose spool is short for one item from no smaller one', async () => {
    all.farm.metadata.set('small', {
      ...METADATA,
      extruders: [{ ...METADATA.extruders[0], estimated_material_volume: 10 }],
    });
    load(100);
    await begin();
    await one.add('large');
    await one.add('small', { jobId: 'small' });
    all.farm.changes.delete('C1');
    await all.pass(10);
    assert.deepEqual(all.farm.sent, ['C1 small']);
  });

  it('records what a print used, and of one that did not finish the share by time, which its costs count', async () => {
    load(5000);
    const prices = readPrices({ currency: 'EUR', hour: 36, kilogram: { '*': 0 } });
    one = await all.begin({ printers: ['C1'], material: 'guid', gate: 'automatic', prices });
    all.farm.lives.push(endsAs(15, 'failed'));
    await one.add('a', { orderId: 'o' });
    await all.pass(30);
    const [failed] = (await one.item('a')).prints;
    assert.equal(failed?.state, 'failed');
    const [used] = failed?.used ?? [];
    assert.deepEqual([used?.extruder, used?.slot, used?.guid, used?.estimated], [0, null, 'red', true]);
    // A print of the farm lasts 60 seconds.
    const share = (failed?.seconds ?? 0) / 60;
    assert.ok(share > 0.2 && share < 0.6, String(share));
    assert.equal(used?.volume, Math.round(600 * share * 100) / 100);
    assert.equal(failed?.cost, null);
    await one.clear(true);
    await one.does('retry', 'a');
    await all.pass(90);
    const [, finished] = (await one.item('a')).prints;
    assert.deepEqual(finished?.used, [
      { extruder: 0, slot: null, guid: 'red', volume: 600, weight: null, estimated: false },
    ]);
  });

  it('adds up what the prints of an item have cost, the failed ones included', async () => {
    load(5000);
    const extruders = METADATA.extruders.map((extruder) => ({ ...extruder, material: { guid: 'red', weight: 100 } }));
    all.farm.metadata.set('job', { ...METADATA, extruders });
    const prices = readPrices({ currency: 'EUR', hour: 36, kilogram: { '*': 10 } });
    one = await all.begin({ printers: ['C1'], material: 'guid', gate: 'automatic', prices });
    all.farm.lives.push(endsAs(15, 'failed'));
    const { item } = await one.add('a', {});
    assert.equal(item.cost, 0);
    await all.pass(30);
    await one.clear(true);
    await one.does('retry', 'a');
    await all.pass(90);
    const { prints, cost } = await one.item('a');
    assert.deepEqual(
      prints.map(({ state }) => state),
      ['failed', 'finished'],
    );
    const [failed = 0, finished = 0] = prints.map((print) => print.cost ?? 0);
    assert.ok(failed > 0 && failed < finished, `${failed} ${finished}`);
    assert.ok(Math.abs((cost ?? 0) - failed - finished) < 1e-9, String(cost));
  });

  it('rounds the sum of costs as it rounds each', async () => {
    load(5000);
    const extruders = METADATA.extruders.map((extruder) => ({ ...extruder, material: { guid: 'red', weight: 10.1 } }));
    all.farm.metadata.set('job', { ...METADATA, extruders });
    const prices = readPrices({ currency: 'EUR', hour: 6, kilogram: { '*': 20 } });
    one = await all.begin({ printers: ['C1'], material: 'guid', gate: 'automatic', prices });
    await one.add('a', { orderId: 'o', copies: 3 });
    await all.pass(300);
    const { prints, cost } = await one.item('a');
    const order = one.events.find(({ type }) => type === 'order.finished');
    const ofOrder = (order?.value as { cost: number } | undefined)?.cost;
    assert.deepEqual([...prints.map((print) => print.cost), cost, ofOrder], [0.302, 0.302, 0.302, 0.906, 0.906]);
  });

  it('knows the cost of a file that states only the GUID of its material, once a printer has shown its type', async () => {
    load(5000);
    const extruders = METADATA.extruders.map((extruder) => ({ ...extruder, material: { guid: 'red', weight: 100 } }));
    all.farm.metadata.set('job', { ...METADATA, extruders });
    const prices = readPrices({ currency: 'EUR', hour: 36, kilogram: { PLA: 10 } });
    one = await all.begin({ printers: ['C1'], material: 'guid', gate: 'automatic', prices });
    await one.add('a', { orderId: 'o' });
    await all.pass(90);
    const { requires, estimate, prints, cost } = await one.item('a');
    assert.deepEqual(
      requires.materials.map((need) => need?.type),
      ['PLA'],
    );
    // The slicer estimates 100 seconds; the print takes 60.
    assert.deepEqual([estimate.cost, cost, ...prints.map((print) => print.cost)], [2, 1.6, 1.6]);
    const order = one.events.find(({ type }) => type === 'order.finished');
    assert.deepEqual(order?.value, { orderId: 'o', good: 1, wanted: 1, cost: 1.6, currency: 'EUR' });
  });
});
