import assert from 'node:assert/strict';
import { PrintingError } from '../../../lib/service/errors';
import { milestone, parseMilestones } from '../../../lib/events/edges';

describe('parseMilestones', () => {
  it('reads rising numbers without duplicates', () => {
    assert.deepEqual(parseMilestones('75, 25,50,25'), [25, 50, 75]);
    assert.deepEqual(parseMilestones('0.5,100'), [0.5, 100]);
    assert.deepEqual(parseMilestones(' '), []);
  });

  for (const wrong of ['0', '-5', '101', 'half', '25,,50', '25;50', '1e1', 'NaN', '25%']) {
    it(`rejects ${wrong}`, () => {
      assert.throws(
        () => parseMilestones(wrong),
        (error) => error instanceof PrintingError && error.code === 'NOT_CONFIGURED',
      );
    });
  }
});

describe('milestone', () => {
  it('returns the highest milestone passed, including the end itself', () => {
    assert.equal(milestone(0, 80, [25, 50, 75]), 75);
    assert.equal(milestone(0, 25, [25, 50, 75]), 25);
    assert.equal(milestone(25, 49, [25, 50, 75]), null);
    assert.equal(milestone(0, 100, []), null);
  });
});
