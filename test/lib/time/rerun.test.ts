import assert from 'node:assert/strict';
import { Rerun } from '../../../lib/time/concurrency';

describe('time/concurrency Rerun', () => {
  it('runs once more after a run in which others were requested, and never two at a time', async () => {
    const ends: (() => void)[] = [];
    let running = 0;
    const rerun = new Rerun(async () => {
      assert.equal(++running, 1);
      await new Promise<void>((end) => ends.push(end));
      running--;
    });
    const first = rerun.request();
    const others = [rerun.request(), rerun.request()];
    assert.equal(ends.length, 1);
    ends[0]?.();
    await new Promise(setImmediate);
    assert.equal(ends.length, 2);
    assert.ok(rerun.isRunning);
    ends[1]?.();
    await Promise.all([first, ...others]);
    assert.equal(ends.length, 2);
    assert.ok(!rerun.isRunning);
  });

  it('runs again for a request at the very end of a run', async () => {
    let runs = 0;
    const rerun = new Rerun(async () => {
      if (++runs === 1) await Promise.resolve().then(() => void rerun.request());
    });
    await rerun.request();
    assert.equal(runs, 2);
    await rerun.request();
    assert.equal(runs, 3);
  });
});
