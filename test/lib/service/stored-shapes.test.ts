import assert from 'node:assert/strict';
import { observation, answer, at } from '../events/observations';
import { advance } from '../../../lib/events/advance';
import { readCheckpoint } from '../../../lib/events/checkpoint';
import { fingerprint } from '../../../lib/events/fingerprint';
import { storedStatus } from '../../../lib/service/stored-shapes';

/** Removes fields from a plain value, at every depth. */
const without = (value: unknown, fields: readonly string[]): unknown =>
  JSON.parse(JSON.stringify(value, (name, found: unknown) => (fields.includes(name) ? undefined : found)));

/** Fields that version 1.0.0-rc.1 did not store. */
const NEW = [
  ...[
    'capabilities',
    'note',
    'maintenanceDue',
    'reservedBy',
    'slots',
    'chamber',
    'airFilter',
    'errors',
    'volumeLeft',
    'volumeFull',
  ],
  ...['estimatedTime', 'materials', 'hasPreview', 'extruders', 'plates', 'maintenance'],
];

describe('stored-shapes', () => {
  const seen = observation(
    answer({
      print_jobs: [at('a', 'printing', 10), at('b', 'wait_cleanup', 100)],
      recently_completed: [at('c', 'finished', 100)],
    }),
  );

  it('completes figures that an earlier version stored', () => {
    const old = storedStatus(without(seen.status, NEW));
    assert.deepEqual(old, seen.status);
    assert(old);
    assert.equal(old.current, old.jobs[0]);
    assert.equal(typeof fingerprint({ ...seen, status: old }), 'string');
  });

  it('completes a checkpoint that an earlier version stored, so that the next observation makes no false events', () => {
    const { checkpoint } = advance(null, seen);
    const old = readCheckpoint(without(checkpoint, NEW));
    const { drafts, checkpoint: after } = advance(old, seen);
    assert.deepEqual(drafts, []);
    assert.deepEqual(after.jobs, checkpoint.jobs);
  });

  it('survives values that no version stored', () => {
    for (const wrong of [null, 5, 'status', [], [1]]) assert.equal(storedStatus(wrong), null);
    const empty = storedStatus({ jobs: 5, printers: null, current: { clusterJobId: 'a' } });
    assert.deepEqual([empty?.jobs, empty?.printers, empty?.history, empty?.current], [[], [], [], null]);
  });
});
