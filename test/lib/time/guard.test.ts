import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { guard } from '../../../lib/time/guard';
import type { PrintingError } from '../../../lib/service/errors';

describe('guard', () => {
  const reported = () => {
    const errors: PrintingError[] = [];
    return { errors, onFault: (error: PrintingError) => void errors.push(error) };
  };

  it('passes the arguments on', () => {
    const { errors, onFault } = reported();
    let sum = 0;
    guard((one: number, other: number) => (sum = one + other), onFault)(1, 2);
    assert.equal(sum, 3);
    assert.deepEqual(errors, []);
  });

  it('reports a throw as an error', () => {
    const { errors, onFault } = reported();
    guard(() => {
      throw new TypeError('bad input');
    }, onFault)();
    const [error] = errors;
    assert.equal(error?.code, 'SERVICE_ERROR');
    assert.match(
      error.message,
      /^Something unexpected happened inside the pack \(TypeError, guard\.test\.ts:\d+\): please report it\.$/,
    );
    assert.equal((error.cause as Error).message, 'bad input');
  });

  it('reports a rejection', async () => {
    const { errors, onFault } = reported();
    guard(() => Promise.reject(new Error('late')), onFault)();
    await turn();
    assert.equal(errors.length, 1);
  });

  it('survives a report that throws', () => {
    guard(
      () => {
        throw new Error('first');
      },
      () => {
        throw new Error('second');
      },
    )();
  });
});
