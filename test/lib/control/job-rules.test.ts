import assert from 'node:assert/strict';
import fc from 'fast-check';
import { jobData } from '../../../lib/control/job-rules';
import { PrintingError } from '../../../lib/service/errors';

describe('control/job-rules', () => {
  const refused = (work: () => unknown, words: RegExp) =>
    assert.throws(work, (error: unknown) => {
      assert.ok(error instanceof PrintingError);
      assert.equal(error.code, 'INVALID_INPUT');
      assert.match(error.message, words);
      assert.match(error.message, /^[A-Z].*[^.]\.$/s);
      return true;
    });

  it('sends no data with pause, resume, remove and force, whatever the payload is', () => {
    for (const action of ['pause', 'resume', 'remove', 'force'])
      assert.deepEqual(jobData(action, { quantity: 3, position: 1, data: { id: 'an event', quantity: 2 } }), {});
  });

  it('sends a quantity with duplicate, 1 by default, and with abort if given', () => {
    assert.deepEqual(jobData('duplicate', {}), { quantity: 1 });
    assert.deepEqual(jobData('duplicate', { quantity: 4 }), { quantity: 4 });
    assert.deepEqual(jobData('duplicate', { quantity: null }), { quantity: 1 });
    assert.deepEqual(jobData('abort', {}), {});
    assert.deepEqual(jobData('abort', { quantity: 2 }), { quantity: 2 });
  });

  it('sends list and position with move', () => {
    assert.deepEqual(jobData('move', { position: 0 }), { list: 'queued', to_position: 0 });
    refused(() => jobData('move', {}), /msg\.position/);
  });

  it('reads an action’s fields from the payload, but prefers the message property', () => {
    assert.deepEqual(jobData('duplicate', { data: { quantity: 3, other: 1 } }), { quantity: 3 });
    assert.deepEqual(jobData('duplicate', { quantity: 2, data: { quantity: 3 } }), { quantity: 2 });
    assert.deepEqual(jobData('move', { data: { list: 'other', to_position: 5 } }), { list: 'other', to_position: 5 });
    assert.deepEqual(jobData('move', { position: 1, data: { to_position: 5 } }), { list: 'queued', to_position: 1 });
  });

  it('sends the whole payload with an unknown action', () => {
    assert.deepEqual(jobData('approve', { quantity: 2, data: { message: 'fine' } }), { message: 'fine' });
    for (const action of ['approve', 'constructor', '__proto__', 'toString']) assert.deepEqual(jobData(action, {}), {});
  });

  it('accepts only whole numbers', () => {
    const inputs = [-1, 0.5, NaN, Infinity, '2', '', true, {}, [], [1], Buffer.from('x'), Symbol('x'), 10n];
    for (const value of inputs) {
      refused(() => jobData('duplicate', { quantity: value }), /quantity/);
      refused(() => jobData('abort', { quantity: value }), /quantity/);
      refused(() => jobData('move', { position: value }), /position/);
    }
    refused(() => jobData('duplicate', { quantity: 0 }), /at least 1, but it is 0/);
    fc.assert(
      fc.property(fc.anything(), (value) => {
        try {
          const { to_position } = jobData('move', { position: value });
          assert.ok(Number.isSafeInteger(to_position) && Number(to_position) >= 0);
        } catch (error) {
          assert.equal((error as PrintingError).code, 'INVALID_INPUT');
        }
      }),
    );
  });
});
