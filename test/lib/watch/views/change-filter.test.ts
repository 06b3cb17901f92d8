import assert from 'node:assert/strict';
import { changed } from '../../../../lib/watch/views/watch';
import { answer, at, observation } from '../../events/observations';

const status = (percent: number, more: Record<string, unknown> = {}, time = 0) =>
  observation(answer({ print_jobs: [at('a', 'printing', percent)], ...more }), time).status;

describe('watch/views/change-filter', () => {
  it('ignores times, temperatures and less than a whole percent of progress', () => {
    const plate = (temperature: number) => ({
      printers: [{ uuid: 'P1', build_plate: { type: 'glass', temperature } }],
    });
    assert(!changed(status(10, plate(60)), status(10.9, plate(65), 3)));
  });

  it('detects a whole percent, a state, a new job, a fault and an outage', () => {
    const before = status(10);
    assert(changed(before, status(11)));
    assert(changed(before, status(10, { print_jobs: [at('a', 'paused', 10)] })));
    assert(changed(before, status(10, { print_jobs: [at('a', 'printing', 10), at('b', 'queued', 0)] })));
    assert(changed(before, status(10, { printers: [{ uuid: 'P1', faults: [{ code: 'DOOR' }] }] })));
    assert(changed(before, { ...before, stale: true }));
    assert(changed(before, status(10, { is_online: false })));
  });

  it('detects progress that appears or disappears', () => {
    assert(changed({ progress: null }, { progress: 0.5 }));
    assert(changed(undefined, status(10)));
    assert(changed([], {}));
    assert(!changed(null, null));
  });
});
