import assert from 'node:assert/strict';
import { SingleFlight } from '../../../lib/time/concurrency';
import { settle } from '../../helpers/manual-clock';

/** Work that the test completes. */
class Work {
  begun = 0;
  signal: AbortSignal | undefined;
  report: (progress: number) => void = () => undefined;
  resolve: (result: string) => void = () => undefined;
  reject: (error: Error) => void = () => undefined;

  run = (signal: AbortSignal, report: (progress: number) => void): Promise<string> => {
    this.begun++;
    this.signal = signal;
    this.report = report;
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      signal.addEventListener('abort', () => reject(new Error('called off')));
    });
  };
}

describe('time/single-flight', () => {
  let shared: SingleFlight<string, number>;
  let work: Work;
  const one = () => {
    const controller = new AbortController();
    const progress: number[] = [];
    const result = shared.join('key', work.run, { signal: controller.signal, onProgress: (n) => progress.push(n) });
    result.catch(() => undefined);
    return { controller, progress, result };
  };

  beforeEach(() => {
    shared = new SingleFlight();
    work = new Work();
  });

  it('runs the work once for concurrent callers, and again afterwards', async () => {
    const [a, b] = [one(), one()];
    await settle(1);
    assert.equal(work.begun, 1);
    work.resolve('first');
    assert.deepEqual(await Promise.all([a.result, b.result]), ['first', 'first']);
    const c = one();
    await settle(1);
    work.resolve('second');
    assert.equal(await c.result, 'second');
    assert.equal(work.begun, 2);
  });

  it('keeps keys apart', async () => {
    const { signal } = new AbortController();
    const both = ['x', 'y'].map((key) => shared.join(key, work.run, { signal }));
    for (const result of both) result.catch(() => undefined);
    await settle(1);
    assert.equal(work.begun, 2);
  });

  it('reports progress to every caller, and the last progress to a late one', async () => {
    const a = one();
    await settle(1);
    work.report(1);
    work.report(2);
    const b = one();
    await settle(1);
    work.report(3);
    assert.deepEqual(
      [a.progress, b.progress],
      [
        [1, 2, 3],
        [2, 3],
      ],
    );
  });

  it('ends one caller’s wait without disturbing the others', async () => {
    const [a, b] = [one(), one()];
    await settle(1);
    a.controller.abort(new Error('enough'));
    await assert.rejects(a.result, /enough/);
    assert.equal(work.signal?.aborted, false);
    work.report(1);
    assert.deepEqual([a.progress, b.progress], [[], [1]]);
    work.resolve('there');
    assert.equal(await b.result, 'there');
  });

  it('aborts the work with its last caller, and begins again for the next', async () => {
    const [a, b] = [one(), one()];
    await settle(1);
    a.controller.abort(new Error('enough'));
    b.controller.abort(new Error('me too'));
    await assert.rejects(b.result, /me too/);
    assert.equal(work.signal?.aborted, true);
    const c = one();
    await settle(1);
    assert.equal(work.begun, 2);
    work.resolve('there');
    assert.equal(await c.result, 'there');
  });

  it('reports a failure to all callers, even one before the first wait', async () => {
    const [a, b] = [one(), one()];
    await settle(1);
    work.reject(new Error('broken'));
    await assert.rejects(a.result, /broken/);
    await assert.rejects(b.result, /broken/);
    const { signal } = new AbortController();
    const thrown = shared.join(
      'other',
      () => {
        throw new Error('at once');
      },
      { signal },
    );
    await assert.rejects(thrown, /at once/);
  });

  it('does not begin for a caller that has already aborted', async () => {
    await assert.rejects(shared.join('key', work.run, { signal: AbortSignal.abort(new Error('gone')) }), /gone/);
    assert.equal(work.begun, 0);
  });
});
