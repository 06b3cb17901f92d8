import assert from 'node:assert/strict';
import { inflateSync } from 'node:zlib';
import { Bench, call } from './support';

/** Decodes width, height and pixels of an 8-bit RGB PNG without filters. */
function decode(file: Buffer): { width: number; height: number; pixel: (x: number, y: number) => number[] } {
  assert.equal(file.toString('latin1', 1, 4), 'PNG');
  let data = Buffer.alloc(0);
  let [width, height] = [0, 0];
  for (let at = 8; at < file.length;) {
    const size = file.readUInt32BE(at);
    const type = file.toString('latin1', at + 4, at + 8);
    const body = file.subarray(at + 8, at + 8 + size);
    if (type === 'IHDR') {
      [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
      assert.deepEqual([...body.subarray(8)], [8, 2, 0, 0, 0]);
    }
    if (type === 'IDAT') data = Buffer.concat([data, body]);
    if (type === 'IEND') break;
    at += 12 + size;
  }
  const lines = inflateSync(data);
  assert.equal(lines.length, height * (1 + 3 * width));
  return {
    width,
    height,
    pixel(x, y) {
      const at = y * (1 + 3 * width) + 1 + 3 * x;
      return [...lines.subarray(at, at + 3)];
    },
  };
}

describe('simulator: a picture', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  /** Takes a snapshot; returns its address. */
  const snapshot = async (): Promise<string> => {
    const { uuid } = bench.simulator.world.cluster(1).printers[0]!;
    const reply = await bench.action(`printers/${uuid}/action/get_webcam_snapshot`, {});
    assert.equal(reply.status, 201);
    bench.pass(1);
    const { status, status_details: details } = await bench.actionStatus(reply.json.data.action_id);
    assert.deepEqual([status, details.type], ['success', 'webcam_snapshot']);
    return details.value.image_url;
  };

  it('shows the growing part', async () => {
    await bench.print(await bench.upload(';TIME:6000\n'));
    bench.pass(95 + 600);
    const early = await call(await snapshot());
    bench.pass(4800);
    const late = await call(await snapshot());
    assert.equal(early.headers['content-type'], 'image/png');
    assert.equal(Number(early.headers['content-length']), early.bytes.length);
    const [a, b] = [decode(early.bytes), decode(late.bytes)];
    assert.deepEqual([a.width, a.height], [640, 480]);
    // The part stands in the middle of the plate; the upper pixel shows it only in the later picture.
    assert.deepEqual(a.pixel(320, 350), b.pixel(320, 350));
    assert.notDeepEqual(a.pixel(320, 250), b.pixel(320, 250));
    // The progress bar is green up to the percentage.
    const green = (picture: typeof a): number =>
      Array.from({ length: 616 }, (_, x) => picture.pixel(12 + x, 470)).filter(([r, g]) => g! > 2 * r!).length;
    assert.deepEqual([green(a), green(b)], [62, 554]);
  });

  it('shows the finished part until the next print starts', async () => {
    const pixel = async () => decode((await call(await snapshot())).bytes).pixel(320, 250);
    const empty = await pixel();
    const stored = await bench.upload(';TIME:600\n');
    await bench.print(stored);
    bench.pass(95 + 600 + 10);
    const part = await pixel();
    assert.notDeepEqual(part, empty);
    bench.pass(4 * 3600);
    assert.equal((await bench.status()).printers[0].status, 'idle');
    assert.deepEqual(await pixel(), part);
    await bench.print(stored);
    bench.pass(10);
    assert.notDeepEqual(await pixel(), part);
  });

  it('shows an empty plate after manual cleaning', async () => {
    const { world } = bench.simulator;
    const pixel = async () => decode((await call(await snapshot())).bytes).pixel(320, 250);
    const empty = await pixel();
    world.setCleaning(1, 'manual');
    await bench.print(await bench.upload(';TIME:600\n'));
    bench.pass(95 + 600 + 60 + 3600);
    assert.notDeepEqual(await pixel(), empty);
    world.clean(1);
    assert.deepEqual(await pixel(), empty);
  });

  it('shows the moment of the snapshot', async () => {
    await bench.print(await bench.upload(';TIME:6000\n'));
    bench.pass(1000);
    const url = await snapshot();
    const { bytes } = await call(url);
    bench.pass(300);
    assert.deepEqual((await call(url)).bytes, bytes);
  });

  it('needs only its signed address, which expires', async () => {
    const url = await snapshot();
    assert.equal(new URL(url).origin, bench.simulator.storageUrl);
    assert.equal((await call(url, { headers: { authorization: `Bearer ${bench.token}` } })).status, 400);
    assert.equal((await call(url.replace(/signature=.*/, 'signature=x'))).status, 403);
    assert.equal((await call(url.replace('/image/', '/download/'))).status, 403);
    bench.pass(16 * 60);
    const late = await call(url);
    assert.deepEqual([late.status, late.headers['content-type']], [403, 'application/xml']);
  });

  it('can be huge, of another type, or without a Content-Length', async () => {
    const { world, faults } = bench.simulator;
    const url = await snapshot();
    world.setPicture(1, { bytes: 3_000_000 });
    const huge = await call(url);
    assert.deepEqual([huge.headers['content-length'], huge.bytes.length], ['3000000', 3_000_000]);
    assert.equal(decode(huge.bytes).width, 640);
    world.setPicture(1, { bytes: 3_000_000, chunked: true });
    const chunked = await call(url);
    assert.deepEqual([chunked.headers['content-length'], chunked.bytes.length], [undefined, 3_000_000]);
    world.setPicture(1, { contentType: 'text/html' });
    const page = await call(url);
    assert.equal(page.headers['content-type'], 'text/html');
    assert.match(page.text, /^<!doctype html>/);
    world.setPicture(1);
    faults.add({ endpoint: 'imageGet', status: 503 });
    assert.equal((await call(url)).status, 503);
    assert.equal((await call(url)).status, 200);
  });

  it("doesn't exist when the action failed", async () => {
    bench.simulator.world.setActions(1, { outcome: 'failed' });
    const { uuid } = bench.simulator.world.cluster(1).printers[0]!;
    const { json } = await bench.action(`printers/${uuid}/action/get_webcam_snapshot`);
    bench.pass(1);
    const status = await bench.actionStatus(json.data.action_id);
    assert.deepEqual(status, { action_id: json.data.action_id, status: 'failed' });
  });
});
