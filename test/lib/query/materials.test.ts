import assert from 'node:assert/strict';
import { sumMaterials } from '../../../lib/query/materials';
import { readPrinterFilter } from '../../../lib/service/printer-filter';
import { systemClock } from '../../../lib/time/clock';
import { printerEntry, readCluster } from '../../../lib/service/cluster';
import type { Json } from '../../../lib/service/json-readers';
import { pluck } from '../../helpers/pluck';

const PLA = { guid: 'g', brand: 'Generic', material: 'PLA', color: 'Red' };

function printer(clusterId: string, host: Json) {
  const cluster = readCluster({ cluster_id: clusterId, host_printer: { friendly_name: clusterId, ...host } });
  assert.ok(cluster);
  return printerEntry(cluster);
}

const summed = (printers: Parameters<typeof sumMaterials>[0], material: string[] = []) =>
  sumMaterials(printers, readPrinterFilter({ material }).materials, systemClock);

describe('query/materials', () => {
  const printers = [
    printer('a', {
      configuration: [
        { extruder_index: 0, material: PLA, estimated_material_volume: 100, original_material_volume: 400 },
        { extruder_index: 1, material: { material: 'empty' } },
      ],
      material_station: {
        material_slots: [
          { slot_index: 0, extruder_index: 0, compatible: true, material: PLA, material_remaining: 0.25 },
          { slot_index: 1, extruder_index: 0, material: { material: 'ABS', color: 'Blue' }, material_remaining: -1 },
        ],
      },
    }),
    printer('b', { configuration: [{ extruder_index: 0, material: PLA, estimated_material_volume: 50 }] }),
    printer('c', { configuration: [{ extruder_index: 0, material: { material: 'abs', color: 'blue' } }] }),
  ];

  it('sums each material over the printers, and shows where it is', async () => {
    const [pla, abs, ...others] = await summed(printers);
    assert.equal(others.length, 0);
    const place = { printerId: null, extruder: 0, slot: null, compatible: null };
    assert.deepEqual(pla, {
      guid: 'g',
      brand: 'Generic',
      name: 'PLA',
      color: 'Red',
      volumeLeft: 150,
      printers: [
        { ...place, clusterId: 'a', name: 'a', volumeLeft: 100, remaining: 0.25 },
        { ...place, clusterId: 'a', name: 'a', slot: 0, compatible: true, volumeLeft: null, remaining: 0.25 },
        { ...place, clusterId: 'b', name: 'b', volumeLeft: 50, remaining: null },
      ],
    });
    assert.deepEqual(
      [abs?.name, abs?.volumeLeft, abs?.printers.map(({ clusterId, slot }) => [clusterId, slot])],
      [
        'ABS',
        null,
        [
          ['a', 1],
          ['c', null],
        ],
      ],
    );
  });

  it('leaves out the materials that are not wanted', async () => {
    assert.deepEqual(pluck(await summed(printers, ['blue abs']), 'name'), ['ABS']);
  });

  it('lists a slot that is not compatible or feeds no extruder, and matches neither', async () => {
    const station = printer('d', {
      material_station: {
        material_slots: [
          { slot_index: 0, extruder_index: 0, compatible: false, material: PLA },
          { slot_index: 1, extruder_index: -1, compatible: true, material: PLA },
          { slot_index: 2, extruder_index: 1, compatible: true, material: PLA },
        ],
      },
    });
    const places = async (wanted: string[]) =>
      (await summed([station], wanted)).flatMap(({ printers: all }) =>
        all.map(({ slot, extruder, compatible }) => [slot, extruder, compatible]),
      );
    assert.deepEqual(await places([]), [
      [0, 0, false],
      [1, null, true],
      [2, 1, true],
    ]);
    assert.deepEqual(await places(['red PLA']), [[2, 1, true]]);
  });
});
