import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Node, NodeAPI } from 'node-red';
import { PrintingError } from '../../../lib/service/errors';
import { onInput } from '../../../nodes/shared/on-input';
import { say } from '../../../lib/words/say';

describe('nodes/shared/on-input', () => {
  const RED = { _: (key: string) => key } as NodeAPI;
  const nothing = (): void => undefined;
  const run = async (work: () => Promise<void>, { done = nothing, onError = nothing } = {}) => {
    const ends: unknown[][] = [];
    const warnings: string[] = [];
    const node = Object.assign(new EventEmitter(), { warn: (sentence: string) => warnings.push(sentence) });
    onInput(RED, node as unknown as Node, work, onError);
    const msg: Record<string, unknown> = { clusterId: 'mine' };
    node.emit(
      'input',
      msg,
      () => undefined,
      (...args: unknown[]) => {
        ends.push(args);
        done();
      },
    );
    await new Promise((resolve) => setImmediate(resolve));
    return { ends, msg, warnings };
  };

  it('ends once, without an error, when the work is done', async () => {
    assert.deepEqual((await run(() => Promise.resolve())).ends, [[]]);
  });

  it('ends once with the error, on a message with what is known', async () => {
    const ids = { clusterId: 'c', jobId: 'j', printerId: undefined };
    const error = new PrintingError('NOT_FOUND', say`No.`, { statusCode: 404, serviceCode: 'recordNotFound', ids });
    const { ends, msg } = await run(() => Promise.reject(error));
    assert.deepEqual(ends, [[error]]);
    assert.deepEqual(msg, { clusterId: 'c', jobId: 'j', statusCode: 404, serviceCode: 'recordNotFound' });
  });

  for (const thrown of [new TypeError('odd'), 'odd', undefined, null])
    it(`makes an error with a code of ${String(thrown)}`, async () => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- whatever may be thrown
      const { ends, msg } = await run(() => Promise.reject(thrown));
      assert.equal(ends.length, 1);
      assert.equal((ends[0]?.[0] as PrintingError).code, 'SERVICE_ERROR');
      assert.deepEqual(msg, { clusterId: 'mine' });
    });

  it('lets nothing that goes wrong at the end reach the runtime', async () => {
    const fail = () => {
      throw new Error('at the end');
    };
    assert.match((await run(() => Promise.resolve(), { done: fail })).warnings[0] ?? '', /at the end/);
    assert.match((await run(() => Promise.reject(new Error('x')), { onError: fail })).warnings[0] ?? '', /at the end/);
  });
});
