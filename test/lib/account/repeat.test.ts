import assert from 'node:assert/strict';
import { repeated } from '../../../lib/account/repeat';
import { PrintingError } from '../../../lib/service/errors';
import { ManualClock } from '../../helpers/manual-clock';

describe('account/repeat', () => {
  const lost = () => new PrintingError('NETWORK', 'Broken.', { outcome: 'unknown' });
  const failing = (errors: Error[]) => {
    const at: number[] = [];
    const clock = new ManualClock();
    const work = () => {
      at.push(clock.monotonic());
      const error = errors.shift();
      return error ? Promise.reject(error) : Promise.resolve('done');
    };
    const run = async (until = 1e9, signal = new AbortController().signal) => {
      const result = repeated(clock, { signal, until }, work).then(
        (done) => done,
        (error: unknown) => error,
      );
      await clock.advance(60_000);
      return result;
    };
    return { run, at };
  };

  it('tries up to three more times, with growing waits', async () => {
    const { run, at } = failing([
      lost(),
      new PrintingError('SERVICE_ERROR', 'Broken.', { outcome: 'unknown' }),
      lost(),
    ]);
    assert.equal(await run(), 'done');
    const gaps = at.slice(1).map((ms, index) => ms - (at[index] ?? 0));
    assert.ok(gaps.length === 3 && (gaps[0] ?? 0) >= 1000 && (gaps[1] ?? 0) >= 3000 && (gaps[2] ?? 0) >= 9000);
    const errors = [lost(), lost(), lost(), lost()];
    const [, , , last] = errors;
    assert.equal(await failing(errors).run(), last);
  });

  it('does not try again what was refused, nor past its limit', async () => {
    for (const error of [
      new PrintingError('SERVICE_ERROR', 'No.', { outcome: 'refused' }),
      new PrintingError('NOT_ACCEPTED', 'No.'),
      new PrintingError('TIMEOUT', 'No.', { outcome: 'unknown' }),
    ]) {
      const { run, at } = failing([error]);
      assert.equal(await run(), error);
      assert.equal(at.length, 1);
    }
    const { run, at } = failing([lost()]);
    assert.ok((await run(900)) instanceof PrintingError);
    assert.equal(at.length, 1);
  });

  it('ends with the reason of its signal', async () => {
    const controller = new AbortController();
    const { run } = failing([lost()]);
    const result = run(1e9, controller.signal);
    controller.abort(new PrintingError('TIMEOUT', 'Over.'));
    assert.equal(((await result) as PrintingError).code, 'TIMEOUT');
  });
});
