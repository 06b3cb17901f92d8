import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { samples } from '../helpers/samples';
import { ufp, zip } from '../helpers/zip';
import { Bench, call, type Wire } from './support';

const GUID = '03f24266-0291-43c2-a6da-5211892a2699';
const GRIFFIN = `;START_OF_HEADER
;HEADER_VERSION:0.1
;FLAVOR:Griffin
;GENERATOR.NAME:slicer
;GENERATOR.VERSION:4.5.0
;TARGET_MACHINE.NAME:Simulated Maker One
;EXTRUDER_TRAIN.1.MATERIAL.VOLUME_USED:2500
;EXTRUDER_TRAIN.1.MATERIAL.GUID:${GUID}
;EXTRUDER_TRAIN.1.NOZZLE.DIAMETER:0.4
;EXTRUDER_TRAIN.1.NOZZLE.NAME:BB 0.4
;BUILD_PLATE.TYPE:glass
;PRINT.TIME:480
;PRINT.SIZE.MIN.X:9
;PRINT.SIZE.MIN.Y:6
;PRINT.SIZE.MIN.Z:0.4
;PRINT.SIZE.MAX.X:138.45
;PRINT.SIZE.MAX.Y:129.45
;PRINT.SIZE.MAX.Z:2.8
;END_OF_HEADER
G28
`;
const METADATA = {
  ...{ flavor: 'Griffin', header_version: '0.1', machine_variant: 'Simulated Maker One' },
  ...{ generator: { name: 'slicer', version: '4.5.0' }, build_plate: { type: 'glass' } },
  extruders: [
    {
      ...{ extruder_index: 1, print_core_id: 'BB 0.4', nozzle_diameter: 0.4, estimated_material_volume: 2500 },
      material: { guid: GUID, diameter: 2.85, density: 1.24, weight: 3.1 },
    },
  ],
  print: { estimated_time: 480, min_size: { x: 9, y: 6, z: 0.4 }, max_size: { x: 138.45, y: 129.45, z: 2.8 } },
};
const UFP = { job_name: 'part.ufp', content_type: 'application/x-ufp' };

describe('simulator: parsing', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const read = async (jobId: string, of = bench): Promise<[status: unknown, metadata: Wire]> => {
    const { parsing_status: status, metadata } = (await of.api('GET', `/slicer/v1/jobs/${jobId}`)).json.data;
    return [status, metadata];
  };
  const parsed = async (body: Buffer | string, values: Record<string, unknown> = {}): Promise<[unknown, Wire]> => {
    const jobId = await bench.upload(body, values);
    bench.pass(2);
    return read(jobId);
  };
  const world = (action: string, body: Record<string, unknown>) =>
    call(`${bench.simulator.controlUrl}/world/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  it('ends two virtual seconds after the upload', async () => {
    const record = await bench.register(Buffer.from(GRIFFIN));
    assert.deepEqual(await read(record.job_id), [undefined, undefined]);
    await bench.put(record, Buffer.from(GRIFFIN));
    assert.deepEqual(await read(record.job_id), ['pending', undefined]);
    bench.pass(1.999);
    assert.deepEqual(await read(record.job_id), ['pending', undefined]);
    bench.pass(0.001);
    assert.deepEqual(await read(record.job_id), ['success', METADATA]);
  });

  it('ends sooner in a faster world', async () => {
    const fast = await Bench.start({ timeFactor: 60 });
    try {
      const jobId = await fast.upload(GRIFFIN);
      fast.pass(0.04);
      assert.deepEqual(await read(jobId, fast), ['success', METADATA]);
    } finally {
      await fast.simulator.close();
    }
  });

  it('ends later, never, or in a failure, for files that arrive from then on', async () => {
    const before = await bench.upload(GRIFFIN);
    const files: string[] = [];
    for (const parsing of [{ seconds: 60 }, { outcome: 'stuck' }, { outcome: 'failed', seconds: 0 }, {}]) {
      assert.equal((await world('parsing', parsing)).status, 200);
      files.push(await bench.upload(GRIFFIN));
    }
    const statuses = () => Promise.all([before, ...files].map(async (id) => (await read(id))[0]));
    assert.deepEqual(await statuses(), ['pending', 'pending', 'pending', 'failed', 'pending']);
    bench.pass(2);
    assert.deepEqual(await statuses(), ['success', 'pending', 'pending', 'failed', 'success']);
    bench.pass(58);
    assert.deepEqual(await statuses(), ['success', 'success', 'pending', 'failed', 'success']);
    bench.pass(1e6);
    assert.deepEqual(await statuses(), ['success', 'success', 'pending', 'failed', 'success']);
    assert.equal((await read(files[2]!))[1], undefined);
  });

  it('refuses unknown switches', async () => {
    for (const body of [{ outcome: 'unknown' }, { seconds: -1 }, { delay: 5 }])
      assert.equal((await world('parsing', body)).status, 400);
  });

  it('lasts over a restart', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'parsing-'));
    const first = await Bench.start({ dataDir });
    first.simulator.world.setParsing({ seconds: 60 });
    const jobId = await first.upload(GRIFFIN);
    await first.simulator.close();
    const second = await Bench.start({ dataDir });
    try {
      assert.deepEqual(await read(jobId, second), ['pending', undefined]);
      second.pass(60);
      assert.deepEqual(await read(jobId, second), ['success', METADATA]);
    } finally {
      await second.simulator.close();
      await rm(dataDir, { recursive: true });
    }
  });

  it('reads a Griffin header, also in a gzip and in a UFP file', async () => {
    const GZIP = { job_name: 'part.gcode.gz', content_type: 'application/gzip' };
    assert.deepEqual(await parsed(gzipSync(GRIFFIN), GZIP), ['success', METADATA]);
    assert.deepEqual(await parsed(ufp(GRIFFIN), UFP), ['success', METADATA]);
    assert.deepEqual(await parsed(ufp(GRIFFIN, { stored: true }), UFP), ['success', METADATA]);
    assert.deepEqual(await parsed(GRIFFIN.replaceAll('\n', '\r\n')), ['success', METADATA]);
  });

  it('reads a UFP file that arrives in parts', async () => {
    bench.simulator.world.setUploadMode('session');
    assert.deepEqual(await parsed(ufp(GRIFFIN), UFP), ['success', METADATA]);
  });

  it('sets the printing time and the material of a UFP file', async () => {
    const job = bench.simulator.world.storedJob(await bench.upload(ufp(GRIFFIN), UFP));
    assert.deepEqual([job.printSeconds, job.needs?.length], [480, 1]);
  });

  it("reads Cura's comments for other printers", async () => {
    const sizes = ';MINX:1\n;MINY:2\n;MINZ:0.2\n;MAXX:11\n;MAXY:22\n;MAXZ:30\n';
    assert.deepEqual(await parsed(`;FLAVOR:Marlin\n;TIME:6666\n${sizes};TARGET_MACHINE.NAME:Model C\nG28\n`), [
      'success',
      {
        flavor: 'Marlin',
        machine_variant: 'Model C',
        extruders: [],
        print: { estimated_time: 6666, min_size: { x: 1, y: 2, z: 0.2 }, max_size: { x: 11, y: 22, z: 30 } },
      },
    ]);
  });

  for (const [what, toolpath] of [
    ['an unfinished header', GRIFFIN.replace(';END_OF_HEADER\n', '')],
    ['a command in the header', GRIFFIN.replace(';PRINT.TIME', 'G28\n;PRINT.TIME')],
    ['a repeated field', GRIFFIN.replace(';PRINT.TIME:480', ';PRINT.TIME:480\n;PRINT.TIME:480')],
    ['a time that is no number', GRIFFIN.replace('480', '8 min')],
    ['a volume that is no number', GRIFFIN.replace('2500', '')],
    ['another flavour', GRIFFIN.replace('Griffin', 'Marlin')],
  ] as const)
    it(`fails for ${what}`, async () => {
      assert.deepEqual(await parsed(toolpath), ['failed', undefined]);
      assert.deepEqual(await parsed(ufp(toolpath), UFP), ['failed', undefined]);
    });

  for (const [what, bytes] of [
    ['no zip', Buffer.from(GRIFFIN)],
    ['an empty zip', zip([])],
    ['a zip without a toolpath', zip([{ name: '/3D/other.gcode', bytes: Buffer.from(GRIFFIN) }])],
    ['a zip whose names lack their slash', zip([{ name: '3D/model.gcode', bytes: Buffer.from(GRIFFIN) }])],
    ['an encrypted toolpath', ufp(GRIFFIN, { encrypted: true })],
    ['a toolpath of another size', ufp(GRIFFIN, { stated: { uncompressed: 5 } })],
    ['a toolpath beyond the end', ufp(GRIFFIN, { stated: { offset: 4_000_000_000 } })],
    ['a toolpath of 4 GB', ufp(GRIFFIN, { stated: { compressed: 4_000_000_000 } })],
    ['a toolpath whose bytes are damaged', damaged(ufp(GRIFFIN))],
    ['a directory that is cut', ufp(GRIFFIN).subarray(0, -30)],
  ] as const)
    it(`fails for a UFP file with ${what}`, async () => {
      assert.deepEqual(await parsed(bytes, UFP), ['failed', undefined]);
    });

  it('succeeds without metadata for a file without comments', async () => {
    assert.deepEqual(await parsed('G28\n'), ['success', undefined]);
  });

  const sample = join(samples, 'head_header_30x30x3.gcode');
  if (samples !== '' && existsSync(sample))
    it('reads a real file', async () => {
      const [status, metadata] = await parsed(ufp(readFileSync(sample)), UFP);
      assert.deepEqual(
        [status, metadata.machine_variant, metadata.print.estimated_time],
        ['success', 'Ultimaker 3', 480],
      );
    });
});

function damaged(bytes: Buffer): Buffer {
  const at = bytes.indexOf('/3D/model.gcode', bytes.indexOf('/3D/model.gcode.rels') + 1) + 20;
  return Buffer.concat([bytes.subarray(0, at), Buffer.alloc(20, 0xff), bytes.subarray(at + 20)]);
}
