import assert from 'node:assert/strict';
import { isClear } from '../../../lib/queue/model/gate';
import { PlateGates } from '../../../lib/queue/records/gates';
import { QueueStore } from '../../../lib/queue/records/records';
import { ManualClock } from '../../helpers/manual-clock';
import { LateStore, MemoryStore } from '../../helpers/memory-store';
import { answer, at, observation, type Wire } from '../events/observations';

const idle = { uuid: 'P1', status: 'idle' };

describe('queue/gates', () => {
  let gates: PlateGates;
  const open = () =>
    new PlateGates(new QueueStore(memory, ['account', 'service', 'workspace']), clock, () => undefined);
  let memory: MemoryStore;
  let clock: ManualClock;

  beforeEach(() => {
    memory = new MemoryStore();
    clock = new ManualClock();
    gates = open();
  });

  const see = async (clusterId: string, wire: Wire, hostGuid: string | null = 'host') => {
    const { status } = observation(answer({ printers: [idle], ...wire }));
    await gates.observe({ ...status, clusterId, hostGuid });
    const gate = gates.of(clusterId, null);
    return gate && isClear(gate, 'printer');
  };

  it('keeps a gate closed when the machine is connected anew under another id, also after a restart', async () => {
    assert.equal(await see('C1', {}), true);
    const failed = { recently_completed: [at('a', 'failed', 50)] };
    assert.equal(await see('C1', failed), false);
    assert.equal(await see('C2', {}, 'other'), true, 'another machine');
    gates = open();
    await gates.load();
    assert.deepEqual([await see('C3', {}), await see('C3', failed)], [false, false]);
    await gates.confirm({ clusterId: 'C3', printerId: null }, true);
    assert.equal(await see('C3', failed), true);
  });

  it('clears no plate for the id of another printer', async () => {
    await see('C1', { recently_completed: [at('a', 'failed', 50)] });
    await assert.rejects(gates.confirm({ clusterId: 'C1', printerId: 'P2' }, true), { code: 'NOT_FOUND' });
    assert.equal(isClear(gates.of('C1', null)!, 'confirm'), false);
    await gates.confirm({ clusterId: 'C1', printerId: 'P1' }, true);
    assert.equal(isClear(gates.of('C1', null)!, 'confirm'), true);
  });

  it('keeps a gate closed that closes while all gates are read', async () => {
    const late = new LateStore();
    memory = late;
    gates = open();
    await see('C1', {});
    late.delayNext();
    const loaded = gates.load();
    await gates.close({ clusterId: 'C1', printerId: null }, 'print', 'finished');
    late.release();
    await loaded;
    assert.equal(isClear(gates.of('C1', null)!, 'confirm'), false);
  });

  it('gives no gate while what was seen can’t be written, as an open one may have closed', async () => {
    await see('C1', {});
    const update = memory.update.bind(memory);
    memory.update = () => Promise.reject(new Error('The disk is full'));
    await assert.rejects(see('C1', { recently_completed: [at('a', 'failed', 50)] }), /full/);
    assert.equal(gates.of('C1', null), undefined);
    memory.update = update;
    assert.equal(await see('C1', { recently_completed: [at('a', 'failed', 50)] }), false);
  });

  it('makes up no gate for a group of printers', async () => {
    await see('C1', { printers: [idle, { ...idle, uuid: 'P2' }] });
    await gates.close({ clusterId: 'C1', printerId: null }, 'print', 'finished');
    assert.deepEqual(gates.all.map(({ printerId }) => printerId).sort(), ['P1', 'P2']);
    await assert.rejects(gates.confirm({ clusterId: 'C1', printerId: null }, true), { code: 'INVALID_INPUT' });
  });
});
