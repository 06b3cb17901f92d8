import assert from 'node:assert/strict';
import fc from 'fast-check';
import { factsOfMetadata } from '../../../lib/toolpath/read-facts';
import { readMetadata } from '../../../lib/service/stored-file';

const GUID = '03f24266-0291-43c2-a6da-5211892a2699';
const METADATA = {
  flavor: 'griffin',
  header_version: '0.1',
  machine_variant: 'Model X',
  generator: { name: 'slicer', version: '5.4.0', build_date: '2026-01-01' },
  build_plate: { type: 'glass', initial_temperature: 60 },
  extruders: [
    {
      ...{ extruder_index: 1, print_core_id: 'AA 0.4', nozzle_diameter: 0.4, estimated_material_volume: 2911 },
      material: {
        ...{ guid: GUID, brand: 'Generic', color: 'Red', material: 'PLA', diameter: 2.85, density: 1.24 },
        weight: 3.6,
      },
    },
  ],
  print: { estimated_time: 480, max_size: { x: 138.45, y: 129.45, z: 2.8 }, min_size: { x: 9, y: 6, z: 0.4 } },
};

describe("the facts in a stored job's metadata", () => {
  it('reads each field that the service sends', () => {
    assert.deepEqual(readMetadata(METADATA), {
      ...{ model: 'Model X', generator: { name: 'slicer', version: '5.4.0' }, printCores: [null, 'AA 0.4'] },
      nozzles: [null, 0.4],
      materials: [null, { guid: GUID, brand: 'Generic', type: 'PLA', color: 'Red', volume: 2911, weight: 3.6 }],
      ...{ buildPlate: 'glass', seconds: 480, size: { x: 129.45, y: 123.45, z: 2.4 } },
    });
    assert.deepEqual(factsOfMetadata(METADATA), {
      ...{ source: 'service', model: 'Model X', printCores: [null, 'AA 0.4'] },
      ...{ materials: [null, { guid: GUID, type: 'PLA', brand: 'Generic', color: 'Red' }], volumes: [null, 2911] },
      ...{ weights: [null, 3.6], nozzles: [null, 0.4], buildPlate: 'glass', seconds: 480 },
      size: { x: 129.45, y: 123.45, z: 2.4 },
    });
  });

  it('answers null before the service has parsed the file, and if it found nothing', () => {
    for (const wire of [undefined, null, 'none', 5, []]) {
      assert.equal(readMetadata(wire), null);
      assert.equal(factsOfMetadata(wire), null);
    }
    for (const wire of [{}, { extruders: [] }, { extruders: [{ extruder_index: 0 }] }])
      assert.equal(factsOfMetadata(wire), null);
  });

  it('leaves out an extruder of which the print needs nothing', () => {
    const extruders = [
      { extruder_index: 0, print_core_id: 'BB 0.4', estimated_material_volume: 0 },
      { extruder_index: 1, print_core_id: 'AA 0.4', estimated_material_volume: 5 },
    ];
    assert.deepEqual(factsOfMetadata({ extruders })?.printCores, [null, 'AA 0.4']);
  });

  it('has each extruder and no figure, if the slicer wrote only zeros', () => {
    const extruders = ['AA 0.8', 'BB 0.4'].map((id) => ({ print_core_id: id, estimated_material_volume: 0 }));
    const facts = factsOfMetadata({ extruders, print: { estimated_time: 0 } });
    assert.deepEqual([facts?.printCores, facts?.volumes, facts?.seconds], [['AA 0.8', 'BB 0.4'], [null, null], null]);
  });

  it('counts the extruders without an index in the order of the list, up to 16', () => {
    const core = (id: string, extruder_index?: unknown) => ({ print_core_id: id, extruder_index });
    const cores = (...extruders: unknown[]) => readMetadata({ extruders })?.printCores;
    assert.deepEqual(cores(core('AA'), core('BB')), ['AA', 'BB']);
    assert.deepEqual(cores(core('AA', 1e9), core('BB', -1), core('CC', 0.5), core('DD', 16)), []);
    assert.equal(cores(...Array.from({ length: 1000 }, (_, n) => core(`C${n}`)))?.length, 16);
  });

  it('answers null for a field that is missing or of another type', () => {
    const fields = fc.constantFrom(...pathsOf(METADATA));
    const values = fc.constantFrom(undefined, null, '', 'x', -1, NaN, true, [], {}, [[]], '5');
    fc.assert(
      fc.property(fc.array(fc.tuple(fields, values), { maxLength: 6 }), (changes) => {
        const wire: unknown = structuredClone(METADATA);
        for (const [path, value] of changes) change(wire, path, value);
        const metadata = readMetadata(wire);
        const facts = factsOfMetadata(wire);
        assert.ok(metadata && facts !== undefined);
        assert.ok(metadata.model === null || typeof metadata.model === 'string');
        assert.ok(metadata.seconds === null || metadata.seconds >= 0);
        for (const material of metadata.materials) assert.ok(material === null || Number(material.volume) >= 0);
        assert.equal(facts?.printCores.length ?? 0, facts?.materials.length ?? 0);
      }),
      { numRuns: 500 },
    );
  });
});

function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[key], ...pathsOf(inner).map((path) => [key, ...path])]);
}

function change(node: unknown, [key = '', ...rest]: string[], value: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  const holder = node as Record<string, unknown>;
  if (rest.length > 0) change(holder[key], rest, value);
  else holder[key] = value;
}
