import assert from 'node:assert/strict';
import sinon from 'sinon';
import { isoTime, sleep, systemClock } from '../../../lib/time/clock';
import { ManualClock } from '../../helpers/manual-clock';

describe('time/clock', () => {
  describe('sleep', () => {
    it('resolves when its time has passed', async () => {
      const clock = new ManualClock();
      let awake = false;
      void sleep(clock, 1000).then(() => (awake = true));
      await clock.advance(999);
      assert.equal(awake, false);
      await clock.advance(1);
      assert.equal(awake, true);
    });

    it('rejects with the reason of its signal and leaves no timer', async () => {
      const clock = new ManualClock();
      const controller = new AbortController();
      const reason = new Error('closed');
      const asleep = sleep(clock, 1000, controller.signal);
      controller.abort(reason);
      await assert.rejects(asleep, reason);
      assert.equal(clock.waiting, 0);
      await assert.rejects(sleep(clock, 1000, controller.signal), reason);
      assert.equal(clock.waiting, 0);
    });

    it('leaves no listener on its signal', async () => {
      const clock = new ManualClock();
      const { signal } = new AbortController();
      const added = sinon.spy(signal, 'addEventListener');
      const removed = sinon.spy(signal, 'removeEventListener');
      await clock.during(10, sleep(clock, 10, signal));
      assert.equal(added.callCount, 1);
      assert.deepEqual(removed.firstCall.args.slice(0, 2), added.firstCall.args.slice(0, 2));
    });
  });

  describe('systemClock', () => {
    let timers: sinon.SinonFakeTimers;
    beforeEach(() => (timers = sinon.useFakeTimers({ now: 1_000_000 })));
    afterEach(() => timers.restore());

    it('runs an action once, unless it is cancelled', () => {
      const action = sinon.spy();
      systemClock.after(50, action);
      systemClock.after(50, action)();
      timers.tick(500);
      assert.equal(action.callCount, 1);
    });

    it('does not fire at once for a wait longer than a timer can hold', () => {
      const action = sinon.spy();
      const cancel = systemClock.after(2 ** 31 + 5, action);
      timers.tick(60_000);
      assert.equal(action.callCount, 0);
      cancel();
      systemClock.after(-5, action);
      timers.tick(1);
      assert.equal(action.callCount, 1);
    });

    it('returns wall time, and a time that only increases', () => {
      assert.equal(systemClock.now(), 1_000_000);
      const before = systemClock.monotonic();
      timers.setSystemTime(5);
      timers.tick(100);
      assert.equal(systemClock.now(), 105);
      assert.equal(systemClock.monotonic() - before, 100);
    });
  });

  it('formats a time as UTC with milliseconds', () =>
    assert.equal(isoTime(1_700_000_000_123), '2023-11-14T22:13:20.123Z'));
});
