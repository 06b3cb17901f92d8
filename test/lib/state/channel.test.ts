import assert from 'node:assert/strict';
import fc from 'fast-check';
import { RemoteUpdates } from '../../../lib/watch/replication/remote-updates';
import { Channel, decodeMessage, encodeMessage, type ChannelMessage } from '../../../lib/state/channel';
import type { Key } from '../../../lib/state/store';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';

/** A channel on which the test says what it wants. */
function scripted(clock = new ManualClock()) {
  let heard: (words: string | null) => void = () => assert.fail('nobody listens');
  const faults: unknown[] = [];
  const database = { listen: (_: string, listener: typeof heard) => ((heard = listener), () => undefined) };
  const channel = new Channel({ database, clock, own: 'me', fault: (error) => faults.push(error) });
  return { clock, channel, faults, say: (words: string | null) => heard(words) };
}

/** Any JSON, mostly in the shape of a notice. */
const anyWords = fc.oneof(
  fc.string(),
  fc.json(),
  fc
    .record(
      {
        by: fc.oneof(fc.string(), fc.jsonValue()),
        key: fc.oneof(fc.array(fc.oneof(fc.string(), fc.jsonValue())), fc.jsonValue()),
        topic: fc.oneof(fc.string(), fc.jsonValue()),
      },
      { requiredKeys: [] },
    )
    .map((said) => JSON.stringify(said)),
);

describe('state/channel', () => {
  it('passes on nothing but keys of words and topics, whatever anybody sends', () => {
    const { channel, faults, say } = scripted();
    const heard: (ChannelMessage | null)[] = [];
    channel.listen((said) => heard.push(said));
    const property = fc.property(anyWords, (words) => {
      heard.length = 0;
      say(words);
      for (const said of heard) {
        if (said === null) continue;
        assert.equal(typeof said.by, 'string');
        assert.ok(said.key === undefined || said.key.every((word) => typeof word === 'string'));
        assert.ok(said.topic === undefined || typeof said.topic === 'string');
      }
    });
    fc.assert(property, { numRuns: 2_000 });
    assert.deepEqual(faults, []);
  });

  it('lets no notice throw out of what follows the printers', () => {
    const { clock, channel, faults, say } = scripted();
    const own: unknown[] = [];
    const store = new MemoryStore() as MemoryStore & { onChange: (listener: (key: Key | null) => void) => () => void };
    store.onChange = (listener) => channel.listen((said) => listener(said?.key ?? null));
    new RemoteUpdates({
      store,
      scope: () => ({ scope: ['account', 'service', 'workspace'] }) as never,
      list: () => ({ learn: () => Promise.resolve() }) as never,
      pollers: new Map(),
      moved: () => Promise.resolve(),
      fault: (thrown) => own.push(thrown),
    });
    say('{"key":5}');
    const property = fc.property(anyWords, (words) => say(words));
    fc.assert(property, { numRuns: 1_000 });
    assert.deepEqual([faults, own, clock.waiting > 1], [[], [], false]);
  });

  it('keeps a listener that throws from the others and from the process', () => {
    const { channel, faults, say } = scripted();
    let heard = 0;
    channel.listen(() => {
      throw new TypeError('a fault of ours');
    });
    channel.listen(() => heard++);
    say('{"by":"another","key":["grant"]}');
    assert.deepEqual([heard, faults.length], [1, 1]);
  });

  it('makes of a flood one reading a second', async () => {
    const { clock, channel, say } = scripted();
    const heard: (ChannelMessage | null)[] = [];
    const end = channel.listen((said) => heard.push(said));
    for (let n = 0; n < 10_000; n++) say('{"by":"another","key":["grant"]}');
    assert.ok(heard.length <= 200, `${heard.length}`);
    heard.length = 0;
    await clock.advance(1_000);
    assert.deepEqual(heard, [null]);
    say('{"by":"another","key":["grant"]}');
    assert.deepEqual(heard[1], { by: 'another', key: ['grant'] });
    end();
    assert.equal(clock.waiting, 0);
  });

  it('reads no text that is longer than a notification can be', () => {
    const long = JSON.stringify({ by: 'another', key: ['grant', 'x'.repeat(9_000)] });
    assert.equal(decodeMessage(long), null);
    assert.deepEqual(decodeMessage(encodeMessage({ by: 'another', key: ['grant', 'x'.repeat(9_000)] })), {
      by: 'another',
    });
  });
});
