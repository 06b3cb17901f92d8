import assert from 'node:assert/strict';
import { AccountState, type SeenCluster } from '../../../lib/board/account-state';
import { readClusterStatus } from '../../../lib/service/cluster';
import type { Json } from '../../../lib/service/json-readers';
import { systemClock } from '../../../lib/time/clock';
import { MOST } from '../../helpers/hostile-texts';
import { ManualClock } from '../../helpers/manual-clock';
import { nominalStand } from '../../helpers/nominal-time';

const NOW = Date.parse('2026-11-26T10:00:00.000Z');
const job = (changes: Json = {}): Json => ({
  ...{ uuid: 'job', name: 'vase.gcode', status: 'printing', time_elapsed: 600, time_total: 3600, time_remaining: 3000 },
  printer_uuid: 'one',
  ...changes,
});
const printer = (changes: Json = {}): Json => ({ uuid: 'one', friendly_name: 'One', status: 'idle', ...changes });
const cluster = (wire: Json, { age = 1_000, clusterId = 'c' } = {}): SeenCluster => {
  const read = { clusterId, receivedAt: '', identity: null };
  const status = readClusterStatus({ is_online: true, printers: [printer()], print_jobs: [], ...wire }, read);
  return { clusterId, listed: { name: 'Shelf', online: true }, view: { status, printers: status.printers, age } };
};
const account = () => new AccountState(new ManualClock(NOW));
const stateOf = (...clusters: SeenCluster[]) => account().of(clusters, true);
const shown = async (one: SeenCluster) => (await stateOf(one)).printers[0] ?? assert.fail();

describe('lib/board/account-state', () => {
  it('shows a print with its progress and its end by the age of the figures', async () => {
    const { state, progress, endAt, job: of } = await shown(cluster({ print_jobs: [job()] }, { age: 60_000 }));
    assert.deepEqual([state, Math.round(progress ?? 0)], ['printing', 17]);
    assert.equal(endAt, new Date(NOW - 60_000 + 3_000_000).toISOString());
    assert.equal(of?.clusterJobId, 'job');
  });

  for (const [wire, state] of [
    [{}, 'idle'],
    [{ is_online: false }, 'offline'],
    [{ printers: [printer({ status: 'unreachable' })] }, 'offline'],
    [{ printers: [printer({ status: 'error' })] }, 'fault'],
    [{ printers: [printer({ status: 'maintenance' })] }, 'maintenance'],
    [{ printers: [printer({ firmware_update_status: 'update_in_progress' })] }, 'maintenance'],
    [{ printers: [printer({ faults: [{ code: 'F1', severity: 'critical' }] })] }, 'fault'],
    [{ printers: [printer({ enabled: false })] }, 'disabled'],
    [{ print_jobs: [job({ status: 'paused' })] }, 'paused'],
    [{ print_jobs: [job({ status: 'wait_cleanup' })] }, 'plate'],
    [{ print_jobs: [job({ status: 'wait_user_action' })] }, 'attention'],
    [{ print_jobs: [job({ status: 'queued' })] }, 'preparing'],
    [{ printers: [printer({ status: 'something_new' })] }, 'unknown'],
  ] as [Json, string][])
    it(`calls ${JSON.stringify(wire)} ${state}`, async () => {
      assert.equal((await shown(cluster(wire))).state, state);
    });

  it('says the age of old figures', async () => {
    assert.equal((await shown(cluster({}, { age: 119_000 }))).seenAt, null);
    assert.equal((await shown(cluster({}, { age: 600_000 }))).seenAt, new Date(NOW - 600_000).toISOString());
  });

  it('lists needs for what is offline, for faults and for the sign-in', async () => {
    const kinds = async (...clusters: SeenCluster[]) => (await stateOf(...clusters)).todo.map(({ kind }) => kind);
    assert.deepEqual(await kinds(cluster({})), []);
    assert.deepEqual(await kinds(cluster({ is_online: false })), ['offline']);
    assert.deepEqual(await kinds(cluster({ printers: [printer({ errors: [{ message: 'Motor' }] })] })), ['fault']);
    const { todo } = await account().of([], false);
    assert.deepEqual(
      todo.map(({ kind }) => kind),
      ['sign-in'],
    );
  });

  it('keeps the id of a need while it is the same', async () => {
    const id = async (one: SeenCluster) => (await stateOf(one)).todo[0]?.id;
    assert.equal(await id(cluster({ is_online: false })), await id(cluster({ is_online: false }, { age: 900_000 })));
  });

  it('shows the members of a group one by one, each with its own print', async () => {
    const members = [printer(), printer({ uuid: 'two', friendly_name: 'Two' })];
    const group = cluster({ printers: members, print_jobs: [job({ printer_uuid: 'two' })] });
    assert.deepEqual(
      (await stateOf(group)).printers.map(({ printerId, printerName, state }) => [printerId, printerName, state]),
      [
        ['one', 'One', 'idle'],
        ['two', 'Two', 'printing'],
      ],
    );
  });

  it('shows a printer that was never read by what the list says', async () => {
    const unread = (online: boolean | null): SeenCluster => ({
      clusterId: 'c',
      listed: { name: 'Shelf', online },
      view: undefined,
    });
    assert.equal((await shown(unread(false))).state, 'offline');
    assert.equal((await shown(unread(null))).state, 'unknown');
  });

  it('returns the same objects for what has not changed, and others for what has', async () => {
    const state = account();
    const [one, two] = [cluster({ is_online: false }), cluster({}, { clusterId: 'd' })];
    const before = await state.of([one, two], true);
    const later = { ...one, view: one.view && { ...one.view, age: 60_000 }, listed: { name: 'Shelf', online: true } };
    const renamed = { ...two, listed: { name: 'Table', online: true } };
    const after = await state.of([later, renamed], true);
    assert.equal(after.printers[0], before.printers[0]);
    assert.equal(after.todo[0], before.todo[0]);
    assert.equal(after.printers[1]?.clusterName, 'Table');
    const old = await state.of([{ ...one, view: one.view && { ...one.view, age: 180_000 } }], true);
    assert.equal(old.printers[0]?.seenAt, new Date(NOW - 180_000).toISOString());
    assert.equal((await state.of([cluster({})], true)).printers[0]?.state, 'idle');
  });

  it(`blocks the event loop for less than ${MOST} ms with 10,000 printers`, async () => {
    const jobs = [job()];
    const clusters = Array.from({ length: 10_000 }, (_, nth) => cluster({ print_jobs: jobs }, { clusterId: `${nth}` }));
    const ms = await nominalStand(async () => {
      const { printers } = await new AccountState(systemClock).of(clusters, true);
      assert.equal(printers.length, clusters.length);
    }, MOST);
    assert.ok(ms < MOST, `${ms} ms`);
  });
});
