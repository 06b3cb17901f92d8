import assert from 'node:assert/strict';
import { readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { materialNeeds } from '../../simulator/world/gcode-materials';
import { samples } from '../helpers/samples';

describe('simulator: material of a file', () => {
  it('is read from a Griffin header, in the order of the extruders', () => {
    const header = [
      ';START_OF_HEADER',
      ';EXTRUDER_TRAIN.1.MATERIAL.VOLUME_USED:120',
      ';EXTRUDER_TRAIN.1.NOZZLE.NAME:BB 0.4',
      ';EXTRUDER_TRAIN.0.INITIAL_TEMPERATURE:235',
      ';EXTRUDER_TRAIN.0.MATERIAL.VOLUME_USED:2911.5',
      ';EXTRUDER_TRAIN.0.MATERIAL.GUID:03f24266-0291-43c2-a6da-5211892a2699',
      ';END_OF_HEADER',
    ];
    const needs = [
      { extruder: 0, volume: 2911.5, guid: '03f24266-0291-43c2-a6da-5211892a2699', printCore: null },
      { extruder: 1, volume: 120, guid: null, printCore: 'BB 0.4' },
    ];
    assert.deepEqual(materialNeeds(header.join('\n')), needs);
    assert.deepEqual(materialNeeds(header.join('\r\n')), needs);
  });

  it("is read from PrusaSlicer's comment, in cubic centimetres per extruder", () => {
    const volumes = (figures: string) =>
      materialNeeds(`G28\n; filament used [mm] = 4282.06\n; filament used [cm3] = ${figures}\n`).map((need) => [
        need.extruder,
        need.volume,
      ]);
    assert.deepEqual(volumes('10.30'), [[0, 10_300]]);
    assert.deepEqual(volumes('10.30, 0.00,2'), [
      [0, 10_300],
      [2, 2000],
    ]);
  });

  it('is unknown without a comment, or with one that states no volume', () => {
    for (const text of [
      '',
      'G28\n',
      'M117 ;EXTRUDER_TRAIN.0.MATERIAL.VOLUME_USED:5\n',
      ';EXTRUDER_TRAIN.0.MATERIAL.GUID:03f24266-0291-43c2-a6da-5211892a2699\n',
      ';EXTRUDER_TRAIN.0.MATERIAL.VOLUME_USED:\n',
      ';EXTRUDER_TRAIN.0.MATERIAL.VOLUME_USED:   \n',
      ';EXTRUDER_TRAIN.0.MATERIAL.VOLUME_USED:-5\n',
      ';EXTRUDER_TRAIN.0.MATERIAL.VOLUME_USED:1e999\n',
      ';EXTRUDER_TRAIN.16.MATERIAL.VOLUME_USED:5\n',
      `;EXTRUDER_TRAIN.0.MATERIAL.VOLUME_USED:${'9'.repeat(400)}\n`,
      '; filament used [cm3] = \n',
      '; filament used [cm3] = 1.2.3\n',
      '; filament used [g] = 12.77\n',
    ])
      assert.deepEqual(materialNeeds(text), [], text.slice(0, 80));
  });

  it('is read without a blank GUID or a blank print core', () => {
    const blank = ['MATERIAL.GUID', 'NOZZLE.NAME'].map((field) => `;EXTRUDER_TRAIN.0.${field}:  \n`).join('');
    assert.deepEqual(materialNeeds(`${blank};EXTRUDER_TRAIN.0.MATERIAL.VOLUME_USED:5\n`), [
      { extruder: 0, volume: 5, guid: null, printCore: null },
    ]);
  });

  for (const [what, part] of [
    ['blanks after a field', ' '],
    ['fields in one line', ';EXTRUDER_TRAIN.0.NOZZLE.NAME:'],
    ['lines of fields', ';EXTRUDER_TRAIN.0.NOZZLE.NAME:AA 0.4\n'],
    ['figures', '1, '],
    ['digits', '1'],
    ['line breaks', '\n'],
    ['half comments', '\n; filament used [cm3] = '],
  ] as const)
    it(`is read from a comment with 1 MB of ${what} in linear time`, () => {
      const read = (size: number) => {
        const hostile = `${part.repeat(Math.ceil(size / part.length))}${'x'.repeat(100)}`;
        const start = process.cpuUsage();
        for (const head of [';EXTRUDER_TRAIN.0.NOZZLE.NAME:', '; filament used [cm3] = ', ''])
          materialNeeds(`${head}${hostile}`);
        const { user } = process.cpuUsage(start);
        return user / 1000;
      };
      read(1024);
      assert.ok(read(1024 * 1024) < 1000);
    });

  for (const [file, volume] of [
    ['head_header_30x30x3.gcode', 2911],
    ['benchy.gcode', 10_300],
    ['vase.gcode', 7210],
  ] as const) {
    const path = join(samples, file);
    if (samples === '' || !existsSync(path)) continue;
    it(`is read from the sample ${file}`, () => {
      const [need, ...others] = materialNeeds(readFileSync(path, 'latin1'));
      assert.equal(need?.volume, volume);
      assert.deepEqual(others, []);
    });
  }
});
