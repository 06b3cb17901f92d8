import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { followAbort } from '../../../lib/time/deadline';

describe('time/follow-abort', () => {
  it('notifies all followers through one listener on the signal', () => {
    const { signal, ...controller } = followed();
    const notified: string[] = [];
    followAbort(signal, () => notified.push('one'));
    followAbort(signal, () => notified.push('other'));
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    controller.abort();
    assert.deepEqual(notified, ['one', 'other']);
  });

  it('notifies no follower that has unsubscribed, even during the notification', () => {
    const { signal, ...controller } = followed();
    const notified: string[] = [];
    const leaveFirst = followAbort(signal, () => notified.push('left before'));
    followAbort(signal, () => {
      notified.push('stayed');
      leaveLast();
    });
    const leaveLast = followAbort(signal, () => notified.push('left meanwhile'));
    leaveFirst();
    controller.abort();
    assert.deepEqual(notified, ['stayed']);
  });

  it('removes its listener with the last follower and adds it again with the next', () => {
    const { signal, ...controller } = followed();
    const notified: string[] = [];
    const leaves = [1, 2].map(() => followAbort(signal, () => notified.push('left')));
    for (const leave of leaves) leave();
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    followAbort(signal, () => notified.push('new'));
    controller.abort();
    assert.deepEqual(notified, ['new']);
  });
});

function followed() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
