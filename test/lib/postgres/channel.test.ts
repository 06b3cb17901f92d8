import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Channel, decodeMessage, encodeMessage, type ChannelMessage } from '../../../lib/postgres/channel';
import { ManualClock } from '../../helpers/manual-clock';
import { anyPayload } from './notifications';

/** A channel whose incoming notifications the test sends. */
function scripted(clock = new ManualClock()) {
  let received: (payload: string | null) => void = () => assert.fail('there is no listener');
  const faults: unknown[] = [];
  const database = { listen: (_: string, listener: typeof received) => ((received = listener), () => undefined) };
  const channel = new Channel({ database, clock, own: 'me', fault: (error) => faults.push(error) });
  return { clock, channel, faults, send: (payload: string | null) => received(payload) };
}

describe('postgres/channel', () => {
  it('passes on only string keys and string topics of arbitrary messages', () => {
    const { channel, faults, send } = scripted();
    const received: (ChannelMessage | null)[] = [];
    channel.listen((message) => received.push(message));
    const property = fc.property(anyPayload, (payload) => {
      received.length = 0;
      send(payload);
      for (const message of received) {
        if (message === null) continue;
        assert.equal(typeof message.by, 'string');
        assert.ok(message.key === undefined || message.key.every((part) => typeof part === 'string'));
        assert.ok(message.topic === undefined || typeof message.topic === 'string');
      }
    });
    fc.assert(property, { numRuns: 2_000 });
    assert.deepEqual(faults, []);
  });

  it('isolates a throwing listener from the others and from the process', () => {
    const { channel, faults, send } = scripted();
    let received = 0;
    channel.listen(() => {
      throw new TypeError('a listener fault');
    });
    channel.listen(() => received++);
    send('{"by":"another","key":["grant"]}');
    assert.deepEqual([received, faults.length], [1, 1]);
  });

  it('collapses a flood into one null per second', async () => {
    const { clock, channel, send } = scripted();
    const received: (ChannelMessage | null)[] = [];
    const end = channel.listen((message) => received.push(message));
    for (let n = 0; n < 10_000; n++) send('{"by":"another","key":["grant"]}');
    assert.ok(received.length <= 200, `${received.length}`);
    received.length = 0;
    await clock.advance(1_000);
    assert.deepEqual(received, [null]);
    send('{"by":"another","key":["grant"]}');
    assert.deepEqual(received[1], { by: 'another', key: ['grant'] });
    end();
    assert.equal(clock.waiting, 0);
  });

  it('ignores a text that is longer than a notification can be', () => {
    const long = JSON.stringify({ by: 'another', key: ['grant', 'x'.repeat(9_000)] });
    assert.equal(decodeMessage(long), null);
    assert.deepEqual(decodeMessage(encodeMessage({ by: 'another', key: ['grant', 'x'.repeat(9_000)] })), {
      by: 'another',
    });
  });
});
