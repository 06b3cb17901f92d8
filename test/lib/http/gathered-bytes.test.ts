import assert from 'node:assert/strict';
import fc from 'fast-check';
import { GatheredBytes, joined } from '../../../lib/http/gathered-bytes';

const MIB = 1024 * 1024;

describe('http/gathered-bytes', () => {
  it('contains the parts in their order, whatever was announced', async () => {
    await fc.assert(
      fc.asyncProperty(
        // Sizes alone: it takes long to draw so many bytes.
        fc.array(fc.nat(200_000)),
        fc.option(fc.nat(3 * MIB)),
        async (sizes, announced) => {
          const parts = sizes.map((size, nth) => Buffer.alloc(size, `part ${nth} of ${size} bytes `));
          const whole = Buffer.concat(parts);
          for (const size of [announced, whole.length]) {
            const bytes = new GatheredBytes(size);
            for (const part of parts) bytes.add(part);
            assert.equal(bytes.length, whole.length);
            const all = await bytes.all();
            assert.ok(all.equals(whole));
            assert.equal(all.buffer.byteLength, whole.length, 'no byte is left unused');
          }
        },
      ),
    );
  });

  /** Adds 64 MiB, and returns the largest buffer that was allocated after each MiB. */
  function allocations(announced: number | null): { bytes: GatheredBytes; sizes: number[] } {
    const { allocUnsafeSlow } = Buffer;
    const sizes: number[] = [];
    Buffer.allocUnsafeSlow = (size) => (sizes.push(size), allocUnsafeSlow(size));
    try {
      const bytes = new GatheredBytes(announced);
      for (let at = 0; at < 64; at++) bytes.add(Buffer.alloc(MIB, at));
      return { bytes, sizes };
    } finally {
      Buffer.allocUnsafeSlow = allocUnsafeSlow;
    }
  }

  it('allocates announced bytes once, as soon as one of 64 has arrived', async () => {
    const { bytes, sizes } = allocations(64 * MIB);
    assert.equal(sizes.pop(), 64 * MIB);
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= MIB, `${sizes.join()} bytes`);
    assert.equal((await bytes.all()).buffer.byteLength, 64 * MIB);
  });

  it('allocates no more than blocks of a MiB for bytes that are announced in vain, or not at all', async () => {
    for (const announced of [null, 0, 1, 5000 * MIB, Infinity]) {
      const { bytes, sizes } = allocations(announced);
      assert.ok(Math.max(...sizes) <= MIB, `${Math.max(...sizes)} bytes`);
      const all = await bytes.all();
      for (const at of [0, 40 * MIB, 64 * MIB - 1]) assert.equal(all[at], Math.floor(at / MIB));
    }
  });

  it('lets the event loop turn after each MiB that it joins', async () => {
    let turns = 0;
    let waiting: NodeJS.Immediate;
    const count = () => (waiting = setImmediate(() => (turns++, count())));
    count();
    const whole = Buffer.alloc(20 * MIB, 7);
    assert.ok((await joined([whole])).equals(whole));
    clearImmediate(waiting!);
    assert.ok(turns >= 19, `${turns} turns`);
  });
});
