import assert from 'node:assert/strict';
import { RetryTimer } from '../../../lib/time/retry';
import { ManualClock } from '../../helpers/manual-clock';

describe('time/retry-timer', () => {
  let clock: ManualClock;
  let timer: RetryTimer;
  let attempts: number[];
  const plan = () => timer.plan(() => attempts.push(clock.monotonic() - began));
  let began: number;

  beforeEach(() => {
    clock = new ManualClock();
    timer = new RetryTimer(clock, { first: 1_000, longest: 4_000 });
    attempts = [];
    began = clock.monotonic();
  });

  it('lengthens the wait with each failure in a row, up to the limit', async () => {
    const again = () => {
      attempts.push(clock.monotonic() - began);
      timer.plan(again);
    };
    timer.plan(again);
    await clock.advance(11_000);
    assert.deepEqual(attempts, [1_000, 3_000, 7_000, 11_000]);
    timer.stop();
    assert.equal(clock.waiting, 0);
  });

  it('counts one failure and plans one attempt, however often the plan is repeated', async () => {
    plan();
    plan();
    assert.equal(timer.isArmed, true);
    await clock.advance(60_000);
    assert.deepEqual([attempts, timer.isArmed], [[1_000], false]);
    plan();
    await clock.advance(2_000);
    assert.deepEqual(attempts, [1_000, 62_000]);
  });

  it('starts from the first wait after a success', async () => {
    plan();
    await clock.advance(1_000);
    timer.succeeded();
    plan();
    await clock.advance(1_000);
    assert.deepEqual(attempts, [1_000, 2_000]);
  });

  it('can plan again after a stop', async () => {
    plan();
    timer.stop();
    assert.deepEqual([timer.isArmed, clock.waiting], [false, 0]);
    plan();
    await clock.advance(2_000);
    assert.deepEqual(attempts, [2_000]);
  });
});
