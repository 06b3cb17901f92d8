import assert from 'node:assert/strict';
import { accountState, type SeenCluster } from '../../../lib/board/account-state';
import { readClusterStatus } from '../../../lib/service/cluster';
import type { Json } from '../../../lib/service/json-readers';

const NOW = Date.parse('2026-11-26T10:00:00.000Z');
const job = (changes: Json = {}): Json => ({
  ...{ uuid: 'job', name: 'vase.gcode', status: 'printing', time_elapsed: 600, time_total: 3600, time_remaining: 3000 },
  printer_uuid: 'one',
  ...changes,
});
const printer = (changes: Json = {}): Json => ({ uuid: 'one', friendly_name: 'One', status: 'idle', ...changes });
const cluster = (wire: Json, { age = 1_000 } = {}): SeenCluster => {
  const read = { clusterId: 'c', receivedAt: '', identity: null };
  const status = readClusterStatus({ is_online: true, printers: [printer()], print_jobs: [], ...wire }, read);
  return { clusterId: 'c', listed: { name: 'Shelf', online: true }, view: { status, printers: status.printers, age } };
};
const stateOf = (...clusters: SeenCluster[]) => accountState({ clusters, isSignedIn: true, now: NOW });
const shown = (one: SeenCluster) => {
  const [first] = stateOf(one).printers;
  return first ?? assert.fail();
};

describe('lib/board/account-state', () => {
  it('shows a print with its progress and its end by the age of the figures', () => {
    const { state, progress, endAt, job: of } = shown(cluster({ print_jobs: [job()] }, { age: 60_000 }));
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
    [{ printers: [printer({ enabled: false })] }, 'disabled'],
    [{ print_jobs: [job({ status: 'paused' })] }, 'paused'],
    [{ print_jobs: [job({ status: 'wait_cleanup' })] }, 'plate'],
    [{ print_jobs: [job({ status: 'wait_user_action' })] }, 'attention'],
    [{ print_jobs: [job({ status: 'queued' })] }, 'preparing'],
    [{ printers: [printer({ status: 'something_new' })] }, 'unknown'],
  ] as [Json, string][])
    it(`calls ${JSON.stringify(wire)} ${state}`, () => assert.equal(shown(cluster(wire)).state, state));

  it('says the age of old figures', () => {
    assert.equal(shown(cluster({}, { age: 119_000 })).seenAt, null);
    assert.equal(shown(cluster({}, { age: 600_000 })).seenAt, new Date(NOW - 600_000).toISOString());
  });

  it('lists needs for what is offline, for faults and for the sign-in', () => {
    const kinds = (...clusters: SeenCluster[]) => stateOf(...clusters).todo.map(({ kind }) => kind);
    assert.deepEqual(kinds(cluster({})), []);
    assert.deepEqual(kinds(cluster({ is_online: false })), ['offline']);
    assert.deepEqual(kinds(cluster({ printers: [printer({ errors: [{ message: 'Motor' }] })] })), ['fault']);
    const { todo } = accountState({ clusters: [], isSignedIn: false, now: NOW });
    assert.deepEqual(
      todo.map(({ kind }) => kind),
      ['sign-in'],
    );
  });

  it('keeps the id of a need while it is the same', () => {
    const id = (one: SeenCluster) => stateOf(one).todo[0]?.id;
    assert.equal(id(cluster({ is_online: false })), id(cluster({ is_online: false }, { age: 900_000 })));
  });

  it('shows the members of a group one by one, each with its own print', () => {
    const members = [printer(), printer({ uuid: 'two', friendly_name: 'Two' })];
    const group = cluster({ printers: members, print_jobs: [job({ printer_uuid: 'two' })] });
    assert.deepEqual(
      stateOf(group).printers.map(({ printerId, printerName, state }) => [printerId, printerName, state]),
      [
        ['one', 'One', 'idle'],
        ['two', 'Two', 'printing'],
      ],
    );
  });

  it('shows a printer that was never read by what the list says', () => {
    const unread = (online: boolean | null): SeenCluster => ({
      clusterId: 'c',
      listed: { name: 'Shelf', online },
      view: undefined,
    });
    assert.deepEqual([shown(unread(false)).state, shown(unread(null)).state], ['offline', 'unknown']);
  });
});
