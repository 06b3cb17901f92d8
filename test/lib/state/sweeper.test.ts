import assert from 'node:assert/strict';
import { Sweeper } from '../../../lib/state/file-store';
import { ManualClock } from '../../helpers/manual-clock';

describe('state/sweeper', () => {
  const HOUR = 3_600_000;
  it('sweeps an hour after the first user began, then daily, until the last has left', async () => {
    const clock = new ManualClock();
    const warnings: string[] = [];
    let [sweeps, ended] = [0, 0];
    const upkeep = new Sweeper({
      clock,
      sweep: async () => {
        if (++sweeps === 2) throw new Error('unreadable');
      },
      ended: async () => {
        ended++;
      },
      warn: (sentence) => warnings.push(String(sentence)),
    });
    const [one, two] = [upkeep.use(), upkeep.use()];
    await clock.advance(HOUR - 1);
    assert.equal(sweeps, 0, 'not at the start: the clock may be wrong');
    await clock.advance(1);
    assert.equal(sweeps, 1);
    await one();
    await one();
    await clock.advance(24 * HOUR);
    assert.deepEqual([sweeps, warnings.length, ended], [2, 1, 0]);
    await two();
    await clock.advance(100 * HOUR);
    assert.deepEqual([sweeps, ended, clock.waiting], [2, 1, 0]);
    upkeep.use();
    await clock.advance(HOUR);
    assert.equal(sweeps, 3, 'and begins anew');
  });

  it('passes on whether another user has begun since the last one left', async () => {
    let ask: () => boolean = () => assert.fail();
    const [sweep, warn] = [() => Promise.resolve(), () => undefined];
    const ended = (isInUse: () => boolean) => Promise.resolve(void (ask = isInUse));
    const upkeep = new Sweeper({ clock: new ManualClock(), sweep, ended, warn });
    await upkeep.use()();
    assert.equal(ask(), false);
    const leave = upkeep.use();
    assert.equal(ask(), true);
    await leave();
    assert.equal(ask(), false);
  });
});
