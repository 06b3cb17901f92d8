import assert from 'node:assert/strict';
import type { PollPlan } from '../../../../lib/watch/polling/scheduler';
import { Subscriptions } from '../../../../lib/watch/polling/subscriptions';
import type { PollResult, Subscriber } from '../../../../lib/watch/polling/types';

describe('watch/polling/subscriptions', () => {
  const plan = { admit: () => true, lastPollOf: () => -Infinity, setLastPoll: () => undefined, phaseOf: () => 0 };
  const POLL = { start: 0, asked: false, isOurs: true };
  let subscriptions: Subscriptions;
  let received: PollResult[];
  beforeEach(() => {
    received = [];
    subscriptions = new Subscriptions('C1', plan as unknown as PollPlan, { fault: assert.fail });
    for (let nth = 0; nth < 5; nth++) {
      const onPoll = (result: PollResult) => void received.push(result);
      const subscriber = { paused: false, interval: 60_000, events: null, onPoll } as unknown as Subscriber;
      subscriptions.add(subscriber, 0, { known: false, by: 0 });
    }
  });
  const resultOf = (raw: unknown) =>
    ({ clusterId: 'C1', status: { jobs: [] }, raw, error: null }) as unknown as PollResult;

  it('copies a result for its receivers in turns of the event loop', async () => {
    let now = 0;
    const clock = { monotonic: () => (now += 5) };
    let turns = 0;
    let waiting: NodeJS.Immediate;
    const count = () => (waiting = setImmediate(() => (turns++, count())));
    count();
    const raw = Array.from({ length: 20 }, (_, n) => ({ n }));
    const copies = await subscriptions.copies(resultOf(raw), POLL, 2, clock);
    clearImmediate(waiting!);
    assert.equal(copies.length, 6, 'one receiver gets the result itself');
    assert.ok(turns >= 30, `${turns} turns`);
    subscriptions.distribute(resultOf(raw), POLL, [(result) => received.push(result)], copies);
    for (const result of received) assert.deepEqual(result, resultOf(raw));
    assert.equal(new Set(received.map((result) => result.raw)).size, 6);
    assert.equal(new Set(received.map(({ status }) => status)).size, 6);
  });

  it('reports a result that can’t be copied to all receivers but one', async () => {
    const raw = { count: 1n };
    const copies = await subscriptions.copies(resultOf(raw), POLL, 0, { monotonic: () => 0 });
    subscriptions.distribute(resultOf(raw), POLL, [], copies);
    assert.deepEqual(received.map(({ error }) => error?.code).sort(), [
      ...Array<string>(4).fill('SERVICE_ERROR'),
      undefined,
    ]);
  });
});
