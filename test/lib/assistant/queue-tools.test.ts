import assert from 'node:assert/strict';
import { Assistant } from '../../../lib/assistant/assistant';
import type { Client } from '../../../lib/client';
import { MemoryStore } from '../../helpers/memory-store';
import { QueueFarm, type Runtime, SCOPE } from '../../helpers/queue-farm';

type Told = Record<string, unknown>;

describe('lib/assistant/acting, on a queue', () => {
  let all: QueueFarm;
  let one: Runtime;
  let assistant: Assistant;

  const begin = async (rules: Parameters<QueueFarm['begin']>[0] = {}) => {
    one = await all.begin({ printers: ['C1'], ...rules });
    assistant = new Assistant({
      ...{
        allow: 'act',
        expires: 600_000,
        nodeId: 'node',
        store: new MemoryStore(),
        scope: () => Promise.resolve(SCOPE),
      },
      clock: one.memory.clock,
      workshop: { client, queue: one.queue, prices, nameOf: (id) => Promise.resolve(`Printer ${id}`) },
      ...{ signal: new AbortController().signal, translate: String, warn: () => undefined },
      ...{ ask: () => undefined, report: () => undefined },
    });
  };
  let keys = 0;
  const look = async (tool: string, given: object = {}): Promise<Told> =>
    (await one.ask(() => assistant.call(tool, given, null))).structured as Told;
  const call = (tool: string, given: object) => look(tool, { key: `key ${++keys}`, ...given });

  const material = { material: 'PLA', weight: 1.1 };
  const extruders = [{ extruder_index: 0, estimated_material_volume: 900, material }];
  const raw = { metadata: { extruders, print: { estimated_time: 600 } } };
  const stored = { payload: { name: 'part.gcode', status: 'uploaded' }, raw };
  const client = { queries: { ask: () => Promise.resolve(stored) } } as unknown as Client;
  const prices = { currency: 'EUR', hour: 6.6, kilogram: { '*': 0 } };

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  it('refuses to hold, move or release an item that has ended, also in a dry run', async () => {
    await begin();
    const { itemId } = (await one.add('a')).item;
    await all.pass(80);
    for (const tool of ['hold_item', 'move_item', 'release_item'])
      for (const dryRun of [false, true]) {
        const given = { itemId, dryRun, ...(tool === 'move_item' && { position: 1 }) };
        assert.equal((await call(tool, given)).code, 'NOT_ACCEPTED', tool);
      }
  });

  it('finds out in a dry run whether a verdict on a plate is taken, and records nothing', async () => {
    await begin({ gate: 'confirm' });
    await one.add('a', { wanted: 2, perPrint: 2 });
    await all.pass(80);
    const [{ judges } = { judges: null }] = await one.printers();
    const clear = (given: object, dryRun = true) => call('plate_cleared', { clusterId: 'C1', dryRun, ...given });
    assert.equal((await clear({ good: true, judges: 'another' })).code, 'NOT_ACCEPTED');
    assert.equal((await clear({ good: true, goodParts: 3, judges })).code, 'INVALID_INPUT');
    assert.equal((await clear({ good: false, goodParts: 1, judges })).code, 'INVALID_INPUT');
    assert.equal(
      (await call('plate_cleared', { clusterId: 'C9', dryRun: true, good: true, judges })).code,
      'NOT_FOUND',
    );
    assert.equal((await clear({ good: true, judges })).state, 'done');
    assert.equal((await one.printers())[0]?.plate, 'awaiting');
    assert.equal((await clear({ good: true, goodParts: 2, judges }, false)).state, 'done');
    assert.equal((await one.printers())[0]?.plate, 'clear');
    assert.equal((await clear({ good: false, judges })).code, 'NOT_ACCEPTED');
  });

  it('says how many parts a verdict calls good, and on the plate of which member of a group', async () => {
    all.farm.changes.set('C1', {
      printers: ['A', 'B'].map((uuid) => ({ uuid, friendly_name: `Printer ${uuid}`, status: 'idle', enabled: true })),
    });
    await begin({ gate: 'confirm' });
    all.farm.printByHand('C1');
    await all.pass(80);
    const printer = (await one.printers()).find(({ plate }) => plate === 'awaiting') ?? assert.fail();
    const { printerId, judges } = printer;
    const given = { clusterId: 'C1', printerId, judges, dryRun: true, good: true, goodParts: 0 };
    assert.equal(
      (await call('plate_cleared', given)).sentence,
      `Say that the plate of Printer ${printerId} is clear, good parts of its last print: 0. The next print starts.`,
    );
  });

  it('says how many entries of the queue and of its forecast it leaves out', async () => {
    await begin();
    await one.add('a');
    assert.equal((await look('list_queue')).left, 0);
    for (let more = 0; more < 102; more++) await one.add(`item ${more}`);
    const { items, left } = await look('list_queue');
    assert.deepEqual([(items as []).length, left], [100, 3]);
    const foretold = await look('queue_forecast');
    const { length } = (await one.ask((queue) => queue.forecast())).items;
    assert.ok(length > 100);
    assert.equal(foretold.left, length - 100);
  });

  it('tells what several prints take and cost without the traces of binary fractions', async () => {
    await begin();
    const told = await call('add_to_queue', { jobId: 'job', copies: 3, dryRun: true });
    assert.deepEqual(told.estimate, { seconds: 1800, grams: [3.3], cost: 3.3, currency: 'EUR' });
  });
});
