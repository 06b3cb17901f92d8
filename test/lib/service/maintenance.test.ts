import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readMaintenanceTask } from '../../../lib/service/printer';
import type { Json } from '../../../lib/service/json-readers';

describe('service/maintenance', () => {
  it('reads a task (wire facts 13.2)', () => {
    const wire = {
      is_due: true,
      due_date: '2024-03-01T07:15:00.250Z',
      task_rule: { code: 'modelx_clean', task_details: { type: 'time_based', value: { interval: 604800 } } },
    };
    assert.deepEqual(readMaintenanceTask(wire), {
      isDue: true,
      dueDate: '2024-03-01T07:15:00.250Z',
      code: 'modelx_clean',
      type: 'time_based',
      interval: 604800,
    });
  });

  it('reads any record, and leaves missing fields null', () => {
    const nothing = { isDue: null, dueDate: null, code: null, type: null, interval: null };
    for (const wire of [
      {},
      { task_rule: null },
      { task_rule: { task_details: [] } },
      { task_rule: { task_details: { value: 5 } } },
    ])
      assert.deepEqual(readMaintenanceTask(wire), nothing);
    const inner = fc.dictionary(fc.constantFrom('code', 'task_details', 'type', 'value'), fc.anything());
    fc.assert(
      fc.property(fc.record({ is_due: fc.anything(), due_date: fc.anything(), task_rule: inner }), (wire) => {
        assert.deepEqual(Object.keys(readMaintenanceTask(wire as Json)), Object.keys(nothing));
      }),
    );
  });
});
