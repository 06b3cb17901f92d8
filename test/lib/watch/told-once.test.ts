import assert from 'node:assert/strict';
import { pluck } from '../../helpers/pluck';
import { answer, job, type Wire } from '../events/observations';
import { ScriptedAccount } from './scripted-account';

const MINUTE = 60_000;
const extruder = (guid: string, core: string, left: number): Wire => ({
  ...{ extruder_index: 0, print_core_id: core, material: { guid, brand: 'B', material: 'PLA', color: guid } },
  ...{ estimated_material_volume: left, original_material_volume: 1000 },
});
const loaded = (guid: string, core: string, left: number): Wire =>
  answer({ printers: [{ uuid: 'P1', status: 'idle', configuration: [extruder(guid, core, left)] }] });

describe('an event over a process that is killed', () => {
  let account: ScriptedAccount;
  let service: ScriptedAccount['service'];
  let clock: ScriptedAccount['clock'];
  /** Ends the process without its last writes, and starts another one on what was stored. */
  const kill = async () => {
    const put = account.store.put.bind(account.store);
    account.store.put = () => Promise.reject(new Error('killed'));
    await account.watcher.close();
    account.store.put = put;
    account.start();
  };
  const fillDisk = () => {
    const put = account.store.put.bind(account.store);
    account.store.put = () => Promise.reject(new Error('ENOSPC'));
    return () => (account.store.put = put);
  };
  const watched = () => account.watched('C1', { milestones: [] });
  const show = async (status: Wire, listed: Wire = {}) => {
    service.cluster('C1', status, listed);
    await clock.advance(11 * MINUTE);
  };

  beforeEach(() => {
    account = new ScriptedAccount();
    ({ service, clock } = account);
    service.cluster('C1', loaded('red', 'AA 0.4', 500));
  });
  afterEach(() => account.watcher.close());

  it('has one id, although the disk was full and the rest of the material is another figure now', async () => {
    const before = await watched();
    await clock.advance(MINUTE);
    const clear = fillDisk();
    await show(loaded('blue', 'BB 0.4', 400));
    await kill();
    clear();
    service.cluster('C1', loaded('blue', 'BB 0.4', 380));
    const after = await watched();
    assert.deepEqual(pluck(before.events, 'type').sort(), ['material.changed', 'printcore.changed']);
    assert.deepEqual(pluck(after.events, 'id'), pluck(before.events, 'id'));
  });

  it('has one id for each move to another cluster id, although the disk was full', async () => {
    const before = await watched();
    await clock.advance(MINUTE);
    const clear = fillDisk();
    const move = (from: string, to: string) => {
      service.remove(from);
      service.cluster(to, answer(), { host_guid: 'G-C1' });
    };
    move('C1', 'N1');
    await clock.advance(11 * MINUTE);
    await kill();
    clear();
    const after = await watched();
    await clock.advance(11 * MINUTE);
    const moves = () => [before, after].map(({ events }) => events.filter(({ type }) => type === 'cluster.rebound'));
    const [first, again] = moves().map((events) => pluck(events, 'id'));
    assert.equal(first?.length, 1);
    assert.deepEqual(again, first);
    for (const [from, to] of [
      ['N1', 'C1'],
      ['C1', 'N1'],
    ] as const) {
      move(from, to);
      await clock.advance(11 * MINUTE);
    }
    const ids = pluck(after.events, 'id').filter((id) => id.includes('rebound'));
    assert.equal(new Set(ids).size, 3, ids.join());
  });

  for (const [type, occurring, over] of [
    ['maintenance.due', [answer(), { maintenance_due: true }], [answer(), { maintenance_due: false }]],
    [
      'printer.fault',
      [answer({ printers: [{ uuid: 'P1', status: 'idle', faults: [{ code: 'DOOR' }] }] })],
      [answer({ printers: [{ uuid: 'P1', status: 'idle', faults: [] }] })],
    ],
    [
      'job.attention',
      [answer({ print_jobs: [job('a', 'wait_user_action')] })],
      [answer({ print_jobs: [job('a', 'queued')] })],
    ],
  ] as [string, [Wire, Wire?], [Wire, Wire?]][])
    it(`is told each time that it occurs, if the process is killed after the end of a ${type}`, async () => {
      service.cluster('C1', ...over);
      const before = await watched();
      await show(...occurring);
      await show(...over);
      await kill();
      service.cluster('C1', ...occurring);
      const after = await watched();
      await clock.advance(11 * MINUTE);
      const ids = [...before.events, ...after.events].filter((event) => event.type === type).map(({ id }) => id);
      assert.equal(ids.length, 2);
      assert.equal(new Set(ids).size, 2);
    });
});
