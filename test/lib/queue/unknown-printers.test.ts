import assert from 'node:assert/strict';
import { readClusterStatus } from '../../../lib/service/cluster';
import { QueueFarm, type Runtime } from '../../helpers/queue-farm';

const UNKNOWN = 'The service does not know the printer: check the ID and the workspace.';

describe('queue: a named printer that the service does not know', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => {
    all = new QueueFarm();
    all.farm.metadata.set('job', { machine_variant: 'Maker' });
  });
  afterEach(() => all.close());

  const begin = async (...given: Parameters<QueueFarm['start']>) => (one = await all.begin(...given));
  const board = () => one.ask((queue) => queue.board());
  const kinds = async () => (await board()).todo.map(({ kind }) => kind);
  const show = async (key = 'a') => {
    const { state, waitingFor } = await one.item(key);
    return [state, ...waitingFor.map(({ code, text }) => `${code}: ${String(text)}`)];
  };
  const blocked = [
    'blocked',
    'NO_PRINTER: No printer of the queue could take it: change a printer or the item.',
    `STALE: ${UNKNOWN}`,
  ];

  it('blocks an item that no other printer could take, and the board shows it', async () => {
    await begin({ printers: ['C1', 'C9'] });
    await one.add('a', { require: { printers: ['C9'] } });
    await all.pass(40);
    assert.equal((await show())[0], 'blocked');
    assert.deepEqual(await one.codes('a'), ['NO_PRINTER', 'NOT_CHOSEN', 'STALE']);
    assert.deepEqual(one.types('item.'), ['item.queued', 'item.blocked']);
    assert.deepEqual(await kinds(), ['blocked']);
    const [, unknown] = await one.printers();
    assert.deepEqual([unknown?.free, unknown?.code, String(unknown?.text)], [false, 'STALE', UNKNOWN]);
  });

  it('does not keep an item that the other printers can’t take from being blocked', async () => {
    await begin({ printers: ['C1', 'C9'], match: 'strict' });
    await one.add('a', { require: { tags: ['food-safe'], models: ['Maker'] } });
    await all.pass(40);
    assert.equal((await show())[0], 'blocked');
    assert.deepEqual(one.types('item.'), ['item.queued', 'item.blocked']);
  });

  it('does not hide that a material is short', async () => {
    const configuration = [{ extruder_index: 0, material: { guid: 'red', material: 'PLA' } }];
    const printers = [{ uuid: 'P', status: 'idle', enabled: true, configuration }];
    all.farm.changes.set('C1', { printers });
    all.farm.metadata.set('job', {
      extruders: [{ extruder_index: 0, material: { guid: 'blue' }, material_volume: 9 }],
    });
    await begin({ printers: ['C1', 'C9'], material: 'guid', match: 'strict' });
    await one.add('a');
    await all.pass(70);
    assert.deepEqual(one.types('material.'), ['material.short']);
    assert.ok((await kinds()).includes('material'));
  });

  it('is one that was removed from the account while an item waited for it', async () => {
    await begin({ printers: ['C1'] });
    await one.pause('C1');
    await one.add('a');
    all.farm.clusters.delete('C1');
    await all.pass(10);
    assert.equal((await show())[0], 'waiting', 'a single odd list proves nothing');
    await all.pass(30);
    assert.deepEqual(await show(), blocked);
    assert.deepEqual(one.types('item.'), ['item.queued', 'item.blocked']);
  });

  it('is used as soon as the service knows it', async () => {
    await begin({ printers: ['C9'] });
    await one.add('a');
    await all.pass(40);
    assert.deepEqual(await show(), blocked);
    all.farm.clusters.set('C9', {});
    await all.pass(20);
    assert.deepEqual(all.farm.sent, ['C9 job']);
    assert.deepEqual(one.types('item.'), ['item.queued', 'item.blocked', 'item.unblocked']);
  });

  it('counts as offline once the list has it again, although its status is not found', async () => {
    await begin({ printers: ['C9'] });
    await one.add('a');
    await all.pass(40);
    assert.deepEqual(await show(), blocked);
    const unread = readClusterStatus({}, { clusterId: 'C9', receivedAt: '', identity: null });
    one.holdListeners.get('C9')?.listed({ ...unread, online: false, stale: true });
    await all.clock.advance(1000);
    const [state, ...reasons] = await show();
    assert.deepEqual([state, reasons], ['waiting', ['OFFLINE: The printer is offline.']]);
    assert.deepEqual(one.types('item.'), ['item.queued', 'item.blocked', 'item.unblocked']);
    assert.deepEqual(await kinds(), ['offline']);
  });

  it('is not one that can’t be read', async () => {
    all.farm.unreadable.add('C9');
    await begin({ printers: ['C1', 'C9'] });
    await one.add('a', { require: { printers: ['C9'] } });
    await all.pass(900);
    assert.equal((await show())[0], 'waiting');
    assert.deepEqual(one.types('item.'), ['item.queued']);
  });

  it('is not one that the queue itself has read between two polls that did not find it', async () => {
    await begin({ printers: ['C1'] });
    const { missing } = one.holdListeners.get('C1') ?? {};
    const since = all.clock.monotonic() - 60_000;
    missing?.(since);
    assert.equal((await one.printers())[0]?.code, null);
    await one.add('a');
    await all.pass(20);
    assert.deepEqual(all.farm.sent, ['C1 job']);
    assert.deepEqual(one.types('item.'), ['item.queued']);
  });

  it('blocks an item once, over restarts and takeovers', async () => {
    await begin({ printers: ['C9'] });
    await one.add('a');
    const other = await all.begin({ printers: ['C9'] });
    await all.pass(40);
    assert.deepEqual(await show(), blocked);
    all.kill(one);
    await all.pass(120);
    const again = await all.begin({ printers: ['C9'] });
    await all.pass(60);
    all.kill(other);
    await all.pass(120);
    const types = [one, other, again].flatMap((runtime) => runtime.types('item.'));
    assert.deepEqual(types, ['item.queued', 'item.blocked']);
    one = again;
    assert.deepEqual(await show(), blocked);
  });

  it('keeps an item blocked after a restart, before any poll', async () => {
    await begin({ printers: ['C9'] });
    await one.add('a');
    await all.pass(40);
    all.kill(one);
    const again = all.start({ printers: ['C9'] });
    await all.clock.advance(60_000);
    await all.pass(40);
    assert.deepEqual(again.types('item.'), []);
  });

  it('leaves unknown how a print has ended that was sent there', async () => {
    await begin({ printers: ['C1'] });
    await one.add('a', { copies: 2 });
    await all.pass(20);
    all.farm.clusters.delete('C1');
    await all.pass(30);
    assert.equal((await one.item('a')).copies.active, 1);
    for (const { end } of one.followed) end({ outcome: 'ended', job: null, isDisconnected: true });
    await all.pass(30);
    const { copies, state } = await one.item('a');
    assert.deepEqual([state, copies.unknown, copies.waiting], ['blocked', 1, 1]);
    all.farm.clusters.set('C1', {});
    await all.pass(120);
    assert.equal(all.farm.sent.length, 2);
  });
});
