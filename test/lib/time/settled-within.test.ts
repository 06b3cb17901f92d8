import assert from 'node:assert/strict';
import { settledWithin } from '../../../lib/time/concurrency';
import { ManualClock, settle } from '../../helpers/manual-clock';

describe('time/settled-within', () => {
  for (const [title, work] of [
    ['resolves with the work and leaves no timer', () => Promise.resolve()],
    ['resolves with work that fails', () => Promise.reject(new Error('broken'))],
  ] as const)
    it(title, async () => {
      const clock = new ManualClock();
      await settledWithin(clock, 5_000, work());
      assert.equal(clock.waiting, 0);
    });

  it('resolves after the grace period although the work continues', async () => {
    const clock = new ManualClock();
    let isOver = false;
    void settledWithin(clock, 5_000, new Promise(() => undefined)).then(() => (isOver = true));
    await clock.advance(4_999);
    await settle();
    assert.equal(isOver, false);
    await clock.advance(1);
    await settle();
    assert.equal(isOver, true);
  });
});
