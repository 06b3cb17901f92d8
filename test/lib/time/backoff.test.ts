import assert from 'node:assert/strict';
import fc from 'fast-check';
import { waitBefore, WORK_IN_PROGRESS } from '../../../lib/time/retry';

describe('time/backoff', () => {
  it('doubles up to the longest wait', () => {
    const waits = [0, 1, 2, 3, 4, 5, 50].map((attempt) => waitBefore(attempt, { first: 1_000, longest: 30_000 }));
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it('adds jitter', () => {
    const backoff = { first: 1_000, longest: 30_000, jitter: 0.2 };
    assert.equal(
      waitBefore(0, backoff, () => 0),
      1_000,
    );
    assert.equal(
      waitBefore(10, backoff, () => 0.5),
      33_000,
    );
  });

  it('starts at 0.5 s and slows down to 5 s for work in progress', () => {
    assert.equal(waitBefore(0, WORK_IN_PROGRESS), 500);
    assert.equal(waitBefore(20, WORK_IN_PROGRESS), 5_000);
  });

  it('never decreases and stays within its bounds', () => {
    const backoffs = fc.record({
      first: fc.integer({ min: 1, max: 60_000 }),
      longest: fc.integer({ min: 60_000, max: 600_000 }),
      factor: fc.double({ min: 1, max: 10, noNaN: true }),
    });
    fc.assert(
      fc.property(backoffs, fc.nat(2_000), (backoff, attempt) => {
        const wait = waitBefore(attempt, backoff);
        assert.ok(wait >= backoff.first && wait <= backoff.longest);
        assert.ok(waitBefore(attempt + 1, backoff) >= wait);
      }),
    );
  });
});
