import assert from 'node:assert/strict';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { guessSeconds, printSeconds } from '../../simulator/world/gcode-time';
import { StoredBytes } from '../../simulator/storage/stored-bytes';
import { Readable } from 'node:stream';
import { samples } from '../helpers/samples';

describe('simulator: printing time of a file', () => {
  const cases: [slicer: string, text: string, seconds: number][] = [
    ['Griffin header', ';START_OF_HEADER\n;PRINT.TIME:480\n', 480],
    ['Cura', ';FLAVOR:Marlin\n;TIME:1234\n;Filament used: 1m\n', 1234],
    ['Cura, with fractions and CRLF', ';FLAVOR:Marlin\r\n;TIME:1234.6\r\n', 1235],
    ['PrusaSlicer', '; estimated printing time (normal mode) = 1h 2m 3s\n', 3723],
    ['PrusaSlicer, days', '; estimated printing time (normal mode) = 2d 1h 2m 3s\n', 176_523],
    [
      'PrusaSlicer, first layer before',
      '; estimated first layer printing time (normal mode) = 5s\n; estimated printing time (normal mode) = 52s\n',
      52,
    ],
    ['Slic3r PE', '; estimated printing time = 12m 5s\n', 725],
    ['OrcaSlicer', '; model printing time: 24m 43s; total estimated time: 30m 55s\n', 1855],
    ['model time alone', '; model printing time: 24m 43s\n', 1483],
    ['Simplify3D', ';   Build time: 1 hours 2 minutes\n', 3720],
    ['Simplify3D, one hour', ';   Build Time: 1 hour 32 minutes\n', 5520],
    ['ideaMaker', ';Print Time: 1234\n', 1234],
    ['KISSlicer', '; Calculated-during-export Build Time: 129.5 minutes\n', 7770],
    ['MatterControl', '; total print time (s) = 2836\n', 2836],
    ['a clock', '; print time: 01:02:03\n', 3723],
  ];
  for (const [slicer, text, seconds] of cases)
    it(`reads the comment of ${slicer}`, () => assert.equal(printSeconds(`G28\n${text}G1 X1\n`), seconds));

  it('guesses by size without a comment', () => {
    for (const text of [
      '',
      'G28\n',
      ';TIME_ELAPSED:12\n',
      ';TIME:0\n',
      '; fan_below_layer_time = 60\n',
      'M117 ;TIME:9\n',
    ])
      assert.equal(printSeconds(text), undefined, text);
    assert.equal(guessSeconds(10, false), 60);
    assert.equal(guessSeconds(2_000_000, false), 2000);
    assert.equal(guessSeconds(2_000_000, true), 8000);
    assert.equal(guessSeconds(1024 ** 3, true), 172_800);
  });

  describe('from a stream', () => {
    const bytes = new StoredBytes('', false);
    const read = (source: Readable, size: number, contentType = 'text/plain') =>
      bytes.store('key', source, { contentType, size });
    const filler = Buffer.alloc(3_000_000, 'G1 X1 Y1\n');

    it('reads comments at the head and at the tail of a long file', async () => {
      const head = Buffer.concat([Buffer.from(';TIME:77\n'), filler]);
      const tail = Buffer.concat([
        filler,
        Buffer.from('\n; estimated printing time (normal mode) = 1m 1s\n'),
        filler.subarray(0, 40_000),
      ]);
      for (const [file, seconds] of [
        [head, 77],
        [tail, 61],
      ] as const)
        for (const [content, type] of [
          [file, 'text/plain'],
          [gzipSync(file), 'application/gzip'],
        ] as const) {
          const chunks = Array.from({ length: Math.ceil(content.length / 50_000) }, (_, index) =>
            content.subarray(50_000 * index, 50_000 * (index + 1)),
          );
          const arrived = await read(Readable.from(chunks), content.length, type);
          assert.equal(arrived.printSeconds, seconds, type);
          assert.equal(arrived.parsed, true);
          assert.equal(arrived.size, content.length);
        }
    });

    it('guesses for an invalid gzip', async () => {
      const arrived = await read(Readable.from([Buffer.alloc(100_000, 'x')]), 100_000, 'application/gzip');
      assert.equal(arrived.parsed, false);
      assert.equal(arrived.printSeconds, 400);
    });

    const known: [file: string, seconds: number][] = [
      ['head_header_30x30x3.gcode', 480],
      ['benchy.gcode', 38 * 60 + 43],
      ['vase.gcode', 3600 + 6 * 60 + 40],
    ];
    for (const [file, seconds] of known) {
      const path = join(samples, file);
      if (samples === '' || !existsSync(path)) continue;
      it(`reads the sample ${file}`, async () => {
        assert.equal((await read(createReadStream(path), 0)).printSeconds, seconds);
        const packed = gzipSync(readFileSync(path));
        assert.equal((await read(Readable.from([packed]), packed.length, 'application/gzip')).printSeconds, seconds);
      });
    }
  });
});
