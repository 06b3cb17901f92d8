import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { PrintingError } from '../../../lib/service/errors';
import { closed, Deadline, underDeadline } from '../../../lib/time/deadline';
import { ManualClock } from '../../helpers/manual-clock';
import { phrase } from '../../../lib/words/sentence';
import { pluck } from '../../helpers/pluck';

describe('time/deadline', () => {
  let clock: ManualClock;
  beforeEach(() => {
    clock = new ManualClock();
  });
  const outcome = async (work: Promise<unknown>): Promise<PrintingError> => {
    const thrown: unknown = await work.then(
      () => assert.fail('it should have been ended'),
      (error: unknown) => error,
    );
    assert.ok(thrown instanceof PrintingError, String(thrown));
    return thrown;
  };

  it('aborts with TIMEOUT at its limit, not before', async () => {
    const { signal, until } = new Deadline(clock, { ms: 60_000 });
    assert.equal(until, 60_000);
    await clock.advance(59_999);
    assert.equal(signal.aborted, false);
    await clock.advance(1);
    const reason = signal.reason as PrintingError;
    assert.deepEqual([reason.code, reason.outcome], ['TIMEOUT', 'unknown']);
    assert.match(reason.message, /60 s/);
  });

  it('ends with its parent and for its reason, even if the parent has already ended', () => {
    const parent = new AbortController();
    const { signal } = new Deadline(clock, { ms: 60_000, parent: parent.signal });
    const reason = closed();
    parent.abort(reason);
    assert.equal(signal.reason, reason);
    assert.equal(new Deadline(clock, { ms: 1, parent: parent.signal }).signal.reason, reason);
    assert.equal(clock.waiting, 0);
  });

  it('keeps the first reason', async () => {
    const parent = new AbortController();
    const { signal } = new Deadline(clock, { ms: 1_000, parent: parent.signal });
    await clock.advance(1000);
    parent.abort(closed());
    assert.match((signal.reason as Error).message, /within 1 s/);
  });

  it('leaves no timer and no listener after its end', async () => {
    const parent = new AbortController();
    const deadline = new Deadline(clock, { ms: 60_000, parent: parent.signal });
    assert.equal(clock.waiting, 1);
    deadline.end();
    assert.equal(clock.waiting, 0);
    assert.equal(getEventListeners(parent.signal, 'abort').length, 0);
    await clock.advance(60_000);
    assert.equal(deadline.signal.aborted, false);
    await underDeadline(clock, { ms: 60_000, parent: parent.signal }, async () => undefined);
    assert.equal(clock.waiting, 0);
    assert.equal(getEventListeners(parent.signal, 'abort').length, 0);
  });

  it('shares one listener on a signal with all other deadlines, until the last one ends', () => {
    const parent = new AbortController();
    const deadlines = [1, 2].map(() => new Deadline(clock, { ms: 60_000, parent: parent.signal }));
    assert.equal(getEventListeners(parent.signal, 'abort').length, 1);
    deadlines[0]?.end();
    assert.equal(getEventListeners(parent.signal, 'abort').length, 1);
    deadlines[1]?.end();
    assert.equal(getEventListeners(parent.signal, 'abort').length, 0);
    const next = new Deadline(clock, { ms: 60_000, parent: parent.signal });
    parent.abort(closed());
    assert.deepEqual(pluck([next, ...deadlines], 'aborted'), [true, false, false]);
  });

  it('ends no deadline that was released by the end of another one', () => {
    const parent = new AbortController();
    const first = new Deadline(clock, { ms: 60_000, parent: parent.signal });
    const released = new Deadline(clock, { ms: 60_000, parent: parent.signal });
    first.whenOver(() => released.end());
    parent.abort(closed());
    assert.deepEqual([first.aborted, released.aborted], [true, false]);
  });

  it('knows which durations still fit', async () => {
    const deadline = new Deadline(clock, { ms: 1_000 });
    assert.deepEqual([deadline.allows(1_000), deadline.allows(1_001), deadline.remaining()], [true, false, 1_000]);
    await clock.advance(400);
    assert.deepEqual([deadline.allows(600), deadline.allows(601), deadline.remaining()], [true, false, 600]);
    await clock.advance(600);
    assert.deepEqual([deadline.allows(0), deadline.remaining()], [false, 0]);
    assert.ok(new Deadline(clock).allows(1e12), 'no limit of its own');
  });

  it('limits a part of the work to less time, never to more', async () => {
    const whole = new Deadline(clock, { ms: 1_000 });
    const part = whole.within(5_000);
    assert.equal(part.until, 1_000);
    const short = whole.within(200, { reason: () => new PrintingError('NETWORK', phrase`Too slow.`) });
    await clock.advance(200);
    assert.equal((short.signal.reason as PrintingError).code, 'NETWORK');
    assert.equal(whole.signal.aborted, false);
    await clock.advance(800);
    assert.equal(part.signal.reason, whole.signal.reason);
    assert.equal(clock.waiting, 0);
  });

  it('notifies current listeners of its end, even through a part that ends with it', async () => {
    const whole = new Deadline(clock, { ms: 1_000 });
    const part = whole.within(5_000);
    const notified: string[] = [];
    whole.whenOver(() => notified.push('whole'));
    whole.whenOver(() => notified.push('left'))();
    part.whenOver(() => notified.push('part'));
    assert.deepEqual([whole.aborted, part.aborted], [false, false]);
    await clock.advance(1_000);
    assert.deepEqual(notified, ['whole', 'part']);
    assert.deepEqual([whole.aborted, part.aborted, part.reason], [true, true, whole.reason]);
    assert.equal(whole.signal.reason, whole.reason, 'a signal that is asked for later has ended too');
  });

  it('handles a rejection of the awaited work after the limit', async () => {
    const deadline = new Deadline(clock, { ms: 1_000 });
    await clock.advance(1_000);
    const unhandled: unknown[] = [];
    const listeners = process.rawListeners('unhandledRejection') as (() => void)[];
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', (reason) => unhandled.push(reason));
    try {
      assert.equal((await outcome(deadline.wait(Promise.reject(new Error('disk'))))).code, 'TIMEOUT');
      // Node reports rejections before the next turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(unhandled, []);
    } finally {
      process.removeAllListeners('unhandledRejection');
      for (const listener of listeners) process.on('unhandledRejection', listener);
    }
  });

  it('ends a wait with the outcome not-sent', async () => {
    const deadline = new Deadline(clock, { ms: 1_000 });
    const slept = outcome(deadline.sleep(5_000));
    const waited = outcome(deadline.wait(new Promise(() => undefined)));
    await clock.advance(1_000);
    for (const error of await Promise.all([slept, waited])) {
      assert.deepEqual([error.code, error.outcome], ['TIMEOUT', 'not-sent']);
    }
    assert.throws(() => deadline.throwIfOver(), { code: 'TIMEOUT', outcome: 'not-sent' });
    assert.equal((await outcome(deadline.wait(Promise.resolve(1)))).outcome, 'not-sent');
    assert.equal(clock.waiting, 0);
    assert.equal(getEventListeners(deadline.signal, 'abort').length, 0);
  });

  it('passes on the awaited result and unsubscribes', async () => {
    const deadline = new Deadline(clock, { ms: 1_000 });
    assert.equal(await deadline.wait(Promise.resolve('yes')), 'yes');
    await assert.rejects(deadline.wait(Promise.reject(new Error('no'))), /no/);
    deadline.end();
    assert.equal(getEventListeners(deadline.signal, 'abort').length, 0);
  });
});
