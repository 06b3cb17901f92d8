import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Dispatcher } from 'undici';
import { GrowingBytes } from '../../../lib/http/growing-bytes';
import { WholeText } from '../../../lib/http/whole-text';
import { collectGarbage } from '../../helpers/collect-garbage';

describe('http/growing-bytes', () => {
  it('contains the parts in their order', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20_000)), (sizes) => {
        const parts = sizes.map((size, nth) => Buffer.alloc(size, `part ${nth} of ${size} bytes `));
        const bytes = new GrowingBytes();
        for (const part of parts) bytes.add(part);
        assert.equal(
          bytes.length,
          parts.reduce((sum, { length }) => sum + length, 0),
        );
        assert.ok(bytes.all.equals(Buffer.concat(parts)));
      }),
    );
  });

  it('leaves at most a fifth of a large buffer unused', () => {
    const bytes = new GrowingBytes();
    for (let at = 0; at < 5_000; at++) bytes.add(Buffer.alloc(1_000));
    assert.ok(bytes.all.buffer.byteLength <= 1.25 * bytes.length);
  });
});

describe('http/whole-text', () => {
  it('retains no object for each chunk of an answer in chunks of one byte', async () => {
    const CHUNKS = 200_000;
    const used = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    let grown = 0;
    const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
    /** Sends one long text, byte by byte. */
    const dispatcher = {
      dispatch: (_options: unknown, handler: Dispatcher.DispatchHandler) => {
        handler.onRequestStart?.(controller, {});
        handler.onResponseStart?.(controller, 200, {});
        const before = used();
        for (let at = 0; at < CHUNKS; at++)
          handler.onResponseData?.(controller, Buffer.from(at === 0 || at === CHUNKS - 1 ? '"' : 'a'));
        grown = used() - before;
        handler.onResponseEnd?.(controller, {});
        return true;
      },
    } as unknown as Dispatcher;
    const options = { method: 'GET', path: '/' } as const;
    const { size } = await new WholeText(undefined, () => undefined).request(dispatcher, options);
    assert.equal(size.bytes, CHUNKS);
    assert.ok(grown < 20 * CHUNKS, `${grown} bytes`);
  });
});
