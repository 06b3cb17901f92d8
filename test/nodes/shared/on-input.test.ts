import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Node, NodeAPI } from 'node-red';
import { PrintingError } from '../../../lib/service/errors';
import { onInput, type Send } from '../../../nodes/shared/on-input';
import { phrase } from '../../../lib/words/sentence';

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

  it('ends once, without an error, after the work', async () => {
    assert.deepEqual((await run(() => Promise.resolve())).ends, [[]]);
  });

  it('ends once with the error, and adds the ids to the message', async () => {
    const ids = { clusterId: 'c', jobId: 'j', printerId: undefined };
    const error = new PrintingError('NOT_FOUND', phrase`No.`, { statusCode: 404, serviceCode: 'recordNotFound', ids });
    const { ends, msg } = await run(() => Promise.reject(error));
    assert.deepEqual(ends, [[error]]);
    assert.deepEqual(msg, { clusterId: 'c', jobId: 'j', statusCode: 404, serviceCode: 'recordNotFound' });
  });

  for (const thrown of [new TypeError('odd'), 'odd', undefined, null])
    it(`turns ${String(thrown)} into an error with a code`, async () => {
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- any value may be thrown
      const { ends, msg } = await run(() => Promise.reject(thrown));
      assert.equal(ends.length, 1);
      assert.equal((ends[0]![0] as PrintingError).code, 'SERVICE_ERROR');
      assert.deepEqual(msg, { clusterId: 'mine' });
    });

  const odd: [string, () => object][] = [
    ['is frozen', () => Object.freeze({ clusterId: 'mine', other: 1 })],
    [
      'has read-only properties',
      () => Object.defineProperty({ other: 1 }, 'clusterId', { value: 'mine', enumerable: true }),
    ],
    ['has getters', () => Object.defineProperty({ other: 1 }, 'clusterId', { get: () => 'mine', enumerable: true })],
    [
      'is of a class with getters',
      () =>
        Object.assign(
          new (class {
            other = 1;
            #own = 'mine';
            get clusterId() {
              return this.#own;
            }
          })(),
        ),
    ],
  ];
  for (const [name, made] of odd)
    it(`passes a writable copy to the work when the received message ${name}`, async () => {
      for (const fails of [false, true]) {
        const node = new EventEmitter();
        const ends: unknown[] = [];
        const error = new PrintingError('NOT_FOUND', phrase`No.`, { ids: { clusterId: 'c' } });
        const work = async (msg: Record<string, unknown>, send: Send) => {
          await Promise.resolve();
          send(Object.assign(msg, { payload: 1, clusterId: 'theirs', jobId: 'j' }));
          if (fails) throw error;
        };
        onInput(RED, node as unknown as Node, work, () => undefined);
        const sent: object[] = [];
        const send = (msg: object) => {
          sent.push({ ...msg });
          throw new Error('can not be copied');
        };
        Object.assign(node, { warn: () => undefined });
        node.emit('input', made(), send, (end?: unknown) => ends.push(end));
        await new Promise((resolve) => setImmediate(resolve));
        assert.deepEqual(sent, [{ other: 1, clusterId: 'theirs', payload: 1, jobId: 'j' }]);
        assert.deepEqual(ends, [fails ? error : undefined]);
      }
    });

  it('ends once in INVALID_INPUT, without any work, when a property of the message is unreadable', async () => {
    const node = Object.assign(new EventEmitter(), { warn: () => undefined });
    const ends: unknown[] = [];
    let worked = false;
    onInput(RED, node as unknown as Node, async () => void (worked = true), nothing);
    const unreadable = () => {
      throw new Error('no');
    };
    const msg = Object.defineProperty({}, 'printKey', { get: unreadable, enumerable: true });
    node.emit('input', msg, nothing, (end?: unknown) => ends.push((end as PrintingError).code));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([ends, worked], [['INVALID_INPUT'], false]);
  });

  it('catches every error at the end of the work', async () => {
    const fail = () => {
      throw new Error('at the end');
    };
    assert.match((await run(() => Promise.resolve(), { done: fail })).warnings[0] ?? '', /at the end/);
    assert.match((await run(() => Promise.reject(new Error('x')), { onError: fail })).warnings[0] ?? '', /at the end/);
  });
});
