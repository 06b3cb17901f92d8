import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { followAbort } from '../../../lib/time/follow-abort';

describe('time/follow-abort', () => {
  it('tells all who follow, for one listener of the signal', () => {
    const { signal, ...controller } = followed();
    const told: string[] = [];
    followAbort(signal, () => told.push('one'));
    followAbort(signal, () => told.push('other'));
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    controller.abort();
    assert.deepEqual(told, ['one', 'other']);
  });

  it('tells nobody who left, also while the others are told', () => {
    const { signal, ...controller } = followed();
    const told: string[] = [];
    const leaveFirst = followAbort(signal, () => told.push('left before'));
    followAbort(signal, () => {
      told.push('stayed');
      leaveLast();
    });
    const leaveLast = followAbort(signal, () => told.push('left meanwhile'));
    leaveFirst();
    controller.abort();
    assert.deepEqual(told, ['stayed']);
  });

  it('leaves the signal with the last of them, and comes back with the next', () => {
    const { signal, ...controller } = followed();
    const told: string[] = [];
    const leaves = [1, 2].map(() => followAbort(signal, () => told.push('left')));
    for (const leave of leaves) leave();
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    followAbort(signal, () => told.push('new'));
    controller.abort();
    assert.deepEqual(told, ['new']);
  });
});

function followed() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
