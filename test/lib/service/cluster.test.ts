import assert from 'node:assert/strict';
import { readCluster } from '../../../lib/service/cluster';

const nulls = (...names: string[]) => Object.fromEntries(names.map((name) => [name, null]));

describe('readCluster', () => {
  const wire = {
    ...{ cluster_id: 'C1', host_guid: 'G1', host_name: 'host-1', friendly_name: 'Workshop', status: 'active' },
    ...{ is_online: true, printer_count: 2, host_print_job_count: 3, printer_type: 'brand_modelx' },
    ...{ capabilities: ['webcam_snapshot', 7, ''], note: { note: 'left of the door' }, maintenance_due: true },
    display_status: 'printing',
    host_printer: { uuid: 'P1', friendly_name: 'Left', machine_variant: 'Brand Model X', status: 'printing' },
    host_current_print_job: { uuid: 'J1', status: 'printing' },
  };

  it('reads a whole record', () => {
    const cluster = readCluster(wire);
    assert(cluster);
    const { printers, current, ...rest } = cluster;
    assert.deepEqual(rest, {
      ...{ clusterId: 'C1', name: 'Workshop', hostGuid: 'G1', model: 'brand_modelx', online: true },
      ...{ authorized: true, capabilities: ['webcam_snapshot'], note: 'left of the door', maintenanceDue: true },
      displayStatus: 'printing',
      ...{ printerCount: 2, jobCount: 3 },
    });
    assert.deepEqual(
      printers.map(({ printerId, name, model, status }) => ({ printerId, name, model, status })),
      [{ printerId: 'P1', name: 'Left', model: 'Brand Model X', status: 'printing' }],
    );
    assert.equal(current?.clusterJobId, 'J1');
    assert.equal(current.clusterId, 'C1');
  });

  it('reads an offline cluster: no host printer, no current job (trap 15)', () => {
    const cluster = readCluster({ ...wire, is_online: false, host_printer: undefined, host_current_print_job: null });
    assert.deepEqual(cluster?.printers, []);
    assert.equal(cluster.current, null);
    assert.equal(cluster.online, false);
  });

  it('reads no GUID of a host that has the nil one, which many share (trap 14)', () => {
    for (const nil of ['00000000-0000-0000-0000-000000000000', '{00000000-0000-0000-0000-000000000000}'])
      assert.equal(readCluster({ ...wire, host_guid: nil })?.hostGuid, null);
  });

  it('falls back to the host printer’s model and to the host’s name', () => {
    const cluster = readCluster({ ...wire, printer_type: null, friendly_name: ' ' });
    assert.equal(cluster?.model, 'Brand Model X');
    assert.equal(cluster.name, 'host-1');
  });

  it('reads the authorization, which is not a printer state (trap 18)', () => {
    assert.equal(readCluster({ ...wire, status: 'inactive' })?.authorized, false);
    assert.equal(readCluster({ ...wire, status: 'a_new_word' })?.authorized, null);
  });

  it('reads the nil GUID as none', () => {
    for (const host_guid of ['00000000-0000-0000-0000-000000000000', '{00000000-0000-0000-0000-000000000000}'])
      assert.equal(readCluster({ ...wire, host_guid })?.hostGuid, null);
  });

  it('is null without an id, and leaves missing fields null', () => {
    assert.equal(readCluster({ ...wire, cluster_id: '' }), null);
    assert.deepEqual(readCluster({ cluster_id: 'C1' }), {
      ...{ clusterId: 'C1', printers: [] },
      ...nulls('name', 'hostGuid', 'model', 'online', 'authorized', 'capabilities', 'note', 'maintenanceDue'),
      displayStatus: null,
      ...nulls('printerCount', 'jobCount', 'current'),
    });
  });
});
