import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { closed, deadline } from '../../../lib/time/deadline';
import { PrintingError } from '../../../lib/service/errors';
import { ManualClock } from '../../helpers/manual-clock';

describe('time/deadline', () => {
  let clock: ManualClock;
  beforeEach(() => {
    clock = new ManualClock();
  });

  it('aborts with TIMEOUT when the time is over, not before', async () => {
    const { signal, until } = deadline(clock, 60);
    assert.equal(until, 60_000);
    await clock.advance(59_999);
    assert.equal(signal.aborted, false);
    await clock.advance(1);
    assert.equal(signal.aborted, true);
    const reason = signal.reason as PrintingError;
    assert.ok(reason instanceof PrintingError);
    assert.equal(reason.code, 'TIMEOUT');
    assert.equal(reason.outcome, 'unknown');
    assert.match(reason.message, /60 s/);
  });

  it('ends with its parent, and for its reason', () => {
    const parent = new AbortController();
    const { signal } = deadline(clock, 60, parent.signal);
    const reason = closed();
    parent.abort(reason);
    assert.equal(signal.reason, reason);
  });

  it('is over at once where its parent is', () => {
    const reason = closed();
    assert.equal(deadline(clock, 60, AbortSignal.abort(reason)).signal.reason, reason);
  });

  it('keeps the first reason', async () => {
    const parent = new AbortController();
    const { signal } = deadline(clock, 1, parent.signal);
    await clock.advance(1000);
    parent.abort(closed());
    assert.match((signal.reason as Error).message, /within 1 s/);
  });

  it('leaves no timer and no listener once it is cleared', async () => {
    const parent = new AbortController();
    const limit = deadline(clock, 60, parent.signal);
    assert.equal(clock.waiting, 1);
    assert.equal(getEventListeners(parent.signal, 'abort').length, 1);
    limit.clear();
    assert.equal(clock.waiting, 0);
    assert.equal(getEventListeners(parent.signal, 'abort').length, 0);
    parent.abort(closed());
    await clock.advance(60_000);
    assert.equal(limit.signal.aborted, false);
  });
});
