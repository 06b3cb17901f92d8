import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readClusterStatus, statusRecord } from '../../../lib/service/cluster';
import { pluck } from '../../helpers/pluck';
import { EMPTY_BAYS, extruder, freeSlot, slot, stationPrinter } from '../../helpers/station';

const context = {
  clusterId: 'C1',
  receivedAt: '2026-01-01T00:00:01.000Z',
  identity: {
    ...{ name: 'Workshop', hostGuid: 'G1', model: 'brand_modelx', authorized: true },
    ...{ capabilities: ['webcam_snapshot'], note: 'left of the door', maintenanceDue: true },
    displayStatus: 'printing',
  },
};
const nulls = (...names: string[]) => Object.fromEntries(names.map((name) => [name, null]));
const read = (wire: Record<string, unknown>) => readClusterStatus(wire, context);

describe('readClusterStatus', () => {
  it('keeps 16 extruders of a printer, and 16 materials, 20 changes and 20 impediments of a job', () => {
    const many = Array.from({ length: 5_000 }, (_, index) => ({ extruder_index: index, print_core_id: 'AA 0.4' }));
    const used = many.map((one) => ({ ...one, estimated_material_volume: 1 }));
    const { printers, jobs } = read({
      printers: [{ uuid: 'P1', configuration: many }],
      print_jobs: [
        {
          ...{ uuid: 'J1', configuration: used, source: { metadata: { extruders: used } } },
          ...{ configuration_changes_required: many, impediments_to_printing: many },
        },
      ],
    });
    assert.equal(printers[0]?.extruders.length, 16);
    const { materials = [], changesRequired, problems } = jobs[0] ?? {};
    assert.deepEqual([materials.length, changesRequired?.length, problems?.length], [16, 20, 20]);
  });

  it('has no infinite number, whatever the service says', () => {
    const { printers } = read({
      printers: [
        { air_manager: { filter_age: 1e308 }, chamber: { temperature: -1e308 }, build_plate: { temperature: '9e999' } },
      ],
    });
    assert.deepEqual(pluck(printers, 'airFilter'), [{ status: null, age: null, limit: null }]);
    assert.deepEqual([printers[0]?.chamber?.temperature, printers[0]?.buildPlate?.temperature], [null, null]);
  });

  it('refuses a status with more than 1,000 faults in all', () => {
    const faulty = (count: number) => ({
      printers: Array.from({ length: count }, (_, printer) => ({
        uuid: `P${printer}`,
        faults: Array.from({ length: 20 }, (_, index) => ({ code: `F${index}` })),
      })),
    });
    assert.equal(read(faulty(50)).printers.length, 50);
    assert.throws(() => read(faulty(51)), { code: 'SERVICE_ERROR' });
  });

  it('reads a whole answer and adds the identity from the list', () => {
    const status = read({
      generated_time: '2026-01-01T00:00:00.500Z',
      is_online: true,
      printers: [
        {
          ...{ uuid: 'P1', friendly_name: 'Left', machine_variant: 'Brand Model X', status: 'printing' },
          status_detail: 'heating',
          ...{ enabled: true, reserved_by: 'J1', maintenance_required: false, firmware_version: '9.0.1' },
          ...{ latest_available_firmware: '9.1.0', firmware_update_status: 'update_available' },
          configuration: [
            {
              ...{ extruder_index: 0, print_core_id: 'AA 0.4', temperature: 210.5 },
              ...{ estimated_material_volume: 1200.5, original_material_volume: 4800 },
              material: { guid: 'M1', brand: 'Generic', material: 'PLA', color: 'Red', diameter: 2.85, density: 1.24 },
            },
            { extruder_index: 1, material: { material: 'empty' } },
          ],
          material_station: {
            supported: true,
            material_slots: [
              {
                ...{ slot_index: 0, extruder_index: 1, compatible: true, material_remaining: 0.25 },
                print_core_id: 'BB 0.4',
                material: { guid: 'M1', brand: 'Generic', material: 'PLA', color: 'Red' },
              },
              { slot_index: 1, extruder_index: 1, compatible: false, material_remaining: -1, material_empty: true },
              freeSlot(2),
            ],
          },
          build_plate: { type: 'glass', temperature: 60 },
          chamber: { temperature: 38.5 },
          air_manager: { supported: true, filter_status: 'peak_performance', filter_age: 12.5, filter_max_age: 1500 },
          faults: [
            {
              ...{ code: 'DOOR_OPEN', message: 'The door is open', severity: '3' },
              ...{ timestamp: '2026-01-01T00:00:00.000Z', uuid: 'F1' },
            },
          ],
          errors: [
            { code: 'DOOR_OPEN', uuid: 'F1' },
            { code: 'BED_COLD', uuid: 'F2' },
          ],
        },
      ],
      print_jobs: [
        { uuid: 'J2', status: 'queued' },
        { uuid: 'J1', status: 'printing', time_elapsed: 10, time_total: 40 },
      ],
      recently_completed: [{ uuid: 'J0', status: 'finished' }],
    });
    assert.deepEqual(
      { ...status, jobs: null, history: null, current: null },
      {
        ...context.identity,
        ...{ clusterId: 'C1', online: true, stale: false, generatedAt: '2026-01-01T00:00:00.500Z' },
        receivedAt: '2026-01-01T00:00:01.000Z',
        hasHistory: true,
        printers: [
          {
            ...{ printerId: 'P1', name: 'Left', model: 'Brand Model X', status: 'printing', enabled: true },
            statusDetail: 'heating',
            ...{ maintenanceRequired: false, reservedBy: 'J1' },
            firmware: { version: '9.0.1', latest: '9.1.0', updateStatus: 'update_available' },
            extruders: [
              {
                ...{ index: 0, printCore: 'AA 0.4', temperature: 210.5, volumeLeft: 1200.5, volumeFull: 4800 },
                material: { guid: 'M1', brand: 'Generic', name: 'PLA', color: 'Red', diameter: 2.85, density: 1.24 },
              },
              { index: 1, printCore: null, temperature: null, volumeLeft: null, volumeFull: null, material: null },
            ],
            slots: [
              {
                index: 0,
                extruder: 1,
                printCore: 'BB 0.4',
                compatible: true,
                material: { guid: 'M1', brand: 'Generic', name: 'PLA', color: 'Red', diameter: null, density: null },
                remaining: 0.25,
              },
              { index: 1, extruder: 1, printCore: null, compatible: false, material: null, remaining: null },
              { index: 2, extruder: null, printCore: null, compatible: false, material: null, remaining: null },
            ],
            buildPlate: { type: 'glass', temperature: 60 },
            chamber: { temperature: 38.5 },
            airFilter: { status: 'peak_performance', age: 45_000, limit: 5_400_000 },
            faults: [
              { code: 'DOOR_OPEN', message: 'The door is open', severity: '3', at: '2026-01-01T00:00:00.000Z' },
              { code: 'BED_COLD', message: null, severity: null, at: null },
            ],
            errors: [
              { code: 'DOOR_OPEN', message: null, severity: null, at: null },
              { code: 'BED_COLD', message: null, severity: null, at: null },
            ],
          },
        ],
        jobs: null,
        history: null,
        current: null,
      },
    );
    assert.deepEqual(pluck(status.jobs, 'clusterJobId'), ['J2', 'J1']);
    assert.equal(status.current?.clusterJobId, 'J1');
    assert.equal(status.history[0]?.state, 'finished');
    assert.equal(status.history[0].clusterId, 'C1');
  });

  for (const [at, material] of EMPTY_BAYS.entries())
    it(`reads form ${at + 1} of an empty bay as no material, in an extruder and in a slot`, () => {
      const printers = [stationPrinter([slot(0, 0, material)], { configuration: [extruder(0, material)] })];
      const [printer] = read({ printers }).printers;
      assert.deepEqual([printer?.extruders[0]?.material, printer?.slots[0]?.material], [null, null]);
    });

  it('makes a job in preparation current only if none is under way', () => {
    const jobs = [{ uuid: 'a', status: 'pre_print' }];
    assert.equal(read({ print_jobs: jobs }).current?.clusterJobId, 'a');
    const both = [...jobs, { uuid: 'b', status: 'paused' }];
    assert.equal(read({ print_jobs: both }).current?.clusterJobId, 'b');
    assert.equal(read({ print_jobs: [{ uuid: 'c', status: 'queued' }] }).current, null);
  });

  it('limits the history to 10', () => {
    const many = Array.from({ length: 12 }, (_, index) => ({ uuid: `j${index}`, status: 'finished' }));
    assert.equal(read({ recently_completed: many }).history.length, 10);
  });

  it('reads an empty answer without the list', () => {
    assert.deepEqual(readClusterStatus({}, { ...context, identity: null }), {
      ...nulls('name', 'hostGuid', 'model', 'online', 'authorized', 'capabilities', 'note', 'maintenanceDue'),
      displayStatus: null,
      ...{ clusterId: 'C1', stale: true, receivedAt: context.receivedAt, printers: [], jobs: [], history: [] },
      hasHistory: false,
      ...nulls('generatedAt', 'current'),
    });
  });

  it('finds the record in an array, and none in other values (trap 29)', () => {
    assert.deepEqual(statusRecord([{ is_online: true }]), { is_online: true });
    assert.deepEqual(statusRecord([]), {});
    for (const wrong of [null, undefined, 'offline', 5]) assert.equal(statusRecord(wrong), null);
  });

  it('reads anything without throwing', () => {
    const names = ['generated_time', 'is_online', 'printers', 'print_jobs', 'recently_completed'];
    const wire = fc.record(Object.fromEntries(names.map((name) => [name, fc.jsonValue()])), { requiredKeys: [] });
    fc.assert(fc.property(wire, (record) => void JSON.stringify(read(record))));
  });
});
