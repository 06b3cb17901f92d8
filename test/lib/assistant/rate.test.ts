import assert from 'node:assert/strict';
import { CallRate } from '../../../lib/assistant/rate';
import { ManualClock } from '../../helpers/manual-clock';

describe('lib/assistant/rate', () => {
  it('takes 60 calls within any 60 s, and says when it takes the next one', async () => {
    const clock = new ManualClock();
    const rate = new CallRate(clock);
    for (let call = 0; call < 30; call += 1) assert.equal(rate.take(), 0);
    await clock.advance(20_000);
    for (let call = 0; call < 30; call += 1) assert.equal(rate.take(), 0);
    assert.equal(rate.take(), 40);
    await clock.advance(39_999);
    assert.equal(rate.take(), 1);
    await clock.advance(1);
    for (let call = 0; call < 30; call += 1) assert.equal(rate.take(), 0);
    assert.equal(rate.take(), 20);
  });
});
