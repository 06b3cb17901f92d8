import assert from 'node:assert/strict';
import { checkClock } from '../../../lib/connection/user-checks';

const SERVICE = Date.parse('2030-01-01T12:00:00Z');

/** An answer written at noon; `off` is how far this computer's clock was ahead then, ms. */
const answer = (off: number, roundTrip = 0, headers: Record<string, string> = {}) => ({
  status: 200,
  headers: { date: new Date(SERVICE).toUTCString(), ...headers },
  body: null,
  sentAt: SERVICE + 500 + off - roundTrip / 2,
  arrivedAt: SERVICE + 500 + off + roundTrip / 2,
});

describe('connection/clock-check', () => {
  for (const [off, ok, words] of [
    [0, true, /agrees/],
    [-900, true, /agrees/],
    [30_000, true, /30 s ahead of/],
    [-60_000, true, /60 s behind/],
    [61_000, false, /61 s ahead of .*Correct it/],
    [-3_600_000, false, /60 min behind .*Correct it/],
    [86_400_000, false, /24 h ahead of/],
  ] as const)
    it(`reports a clock that is ${off / 1000} s ahead, and whether that is too much`, () => {
      const check = checkClock(answer(off));
      assert.equal(check.ok, ok);
      assert.match(String(check.detail), words);
    });

  it('subtracts half of the round trip', () => {
    assert.match(String(checkClock(answer(0, 40_000)).detail), /agrees/);
  });

  it('is undecided about an answer with no date, with a broken one, or from a cache', () => {
    assert.equal(checkClock(undefined).ok, null);
    for (const headers of [{ date: 'noon' }, { date: '' }, { age: '90' }])
      assert.equal(checkClock(answer(0, 0, headers)).ok, null);
  });
});
