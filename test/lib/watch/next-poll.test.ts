import assert from 'node:assert/strict';
import fc from 'fast-check';
import { intervalOf, nextPoll, retryPoll } from '../../../lib/watch/next-poll';

const interval = 60_000;
const next = (endsIn: number | null, debt = 0, chance = 0) => nextPoll({ interval, endsIn, debt }, () => chance);

describe('nextPoll', () => {
  it('adds up to a tenth to the interval, and takes nothing off', () => {
    assert.equal(next(null, 0, 0).delay, 60_000);
    assert.equal(next(null, 0, 1).delay, 66_000);
  });

  it('stretches the waits so that a poll falls just after the end', () => {
    const { delay, debt } = next(205_000);
    assert.equal(delay, 210_000 / 3);
    assert.equal(debt, 0);
    assert.equal(next(205_000 - delay).delay, delay);
    assert.equal(next(205_000 - 2 * delay).delay, delay);
  });

  it('leaves far ends alone', () => {
    assert.equal(next(600_000).delay, 60_000);
  });

  it('shortens a wait for an end that is near, and owes the time', () => {
    assert.deepEqual(next(25_000), { delay: 30_000, debt: 30_000 });
    assert.deepEqual(next(1_000), { delay: 10_000, debt: 50_000 });
    assert.deepEqual(next(1_000, 50_000), { delay: 110_000, debt: 0 });
  });

  it('keeps the interval for a print over its time', () => {
    assert.deepEqual(next(0), { delay: 60_000, debt: 0 });
  });

  it('never polls more than the plain interval in the long run', () => {
    const prints = fc.array(fc.integer({ min: 1, max: 1200 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(prints, fc.integer({ min: 10, max: 120 }), (lengths, seconds) => {
        const each = seconds * 1000;
        const ends = lengths.map(
          (
            (sum) => (length) =>
              (sum += length * 1000)
          )(0),
        );
        let [time, polls, debt] = [0, 0, 0];
        const horizon = 4 * 3600_000;
        while (time < horizon) {
          polls++;
          const end = ends.find((moment) => moment > time);
          const step = nextPoll({ interval: each, endsIn: end === undefined ? null : end - time, debt }, () => 0);
          assert(step.delay >= 10_000);
          debt = step.debt;
          time += step.delay;
        }
        // One more at most: a shortened wait whose time is not repaid yet.
        assert(polls <= Math.ceil(horizon / each) + 1, `${polls}`);
      }),
    );
  });
});

describe('retryPoll', () => {
  it('doubles from the interval up to 15 minutes', () => {
    const waits = [1, 2, 3, 4, 5, 6].map((failures) => retryPoll({ interval, failures }, () => 0));
    assert.deepEqual(waits, [60_000, 120_000, 240_000, 480_000, 900_000, 900_000]);
    assert.equal(
      retryPoll({ interval: 3600_000, failures: 3 }, () => 0),
      3600_000,
    );
  });

  it('waits as long as the service asks', () => {
    assert.equal(
      retryPoll({ interval, failures: 1, retryAfter: 300_000 }, () => 0),
      300_000,
    );
  });
});

describe('intervalOf', () => {
  it('is at least 10 s', () => {
    assert.deepEqual([60, 10, 3, 0, NaN, -1].map(intervalOf), [60_000, 10_000, 10_000, 10_000, 10_000, 10_000]);
  });
});
