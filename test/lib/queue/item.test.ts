import assert from 'node:assert/strict';
import * as changes from '../../../lib/queue/model/item-changes';
import type { ItemRecord } from '../../../lib/queue/model/types';
import { waitsOver } from '../../../lib/queue/model/item';
import { CONTEXT, item, NOW, PRINT } from './items';

const HOUR = 3_600_000;
const CONFIRM = { ...CONTEXT.rules, gate: 'confirm' as const, retries: 1 };
const at = (hours: number) => ({ ...CONTEXT, rules: CONFIRM, now: NOW + hours * HOUR });

/** The record after an attempt of its first copy was sent. */
const sent = (record: ItemRecord, attempt: number, hours: number) => {
  const assigned = changes.assigned(record, { ...PRINT, copy: 1 }, at(hours));
  return changes.dispatched(assigned, { copy: 1, attempt }, `print-${attempt}`, at(hours));
};
const begin = (record: ItemRecord, attempt: number, hours: number) =>
  changes.started(record, { copy: 1, attempt }, { clusterJobId: null, printerId: null }, at(hours));
const end = (record: ItemRecord, outcome: 'finished' | 'failed' | 'aborted', hours: number) =>
  changes.ended(record, { copy: 1, attempt: 1 }, { outcome, at: at(hours).now, seconds: 60, cost: null }, at(hours));
/** Waits in hours when the next attempt is sent and begins. */
const wait = (record: ItemRecord, attempt: number, hours: number): number[] => {
  const before = sent(record, attempt, hours);
  return waitsOver(before, begin(before, attempt, hours)).map((ms) => ms / HOUR);
};
const begun = begin(sent(item(), 1, 0), 1, 0);

describe('queue/item: waits of copies', () => {
  it('measures from the addition of an item to the beginning of a print', () => {
    assert.deepEqual(wait(item(), 1, 5), [5]);
  });

  it('counts a beginning once, and no other change', () => {
    const before = sent(item(), 1, 1);
    assert.deepEqual(waitsOver(item(), before), []);
    const after = begin(before, 1, 2);
    assert.deepEqual(waitsOver(after, end(after, 'finished', 3)), []);
    assert.deepEqual(waitsOver(after, after), []);
  });

  it('begins anew with a release, also by an update', () => {
    const held = item({ held: true });
    assert.deepEqual(wait(changes.released(held, at(2)), 1, 5), [3]);
    assert.deepEqual(wait(changes.updated(held, { held: false }, 'm', at(2)), 1, 5), [3]);
    assert.deepEqual(wait(changes.updated(item(), { held: false }, 'm', at(2)), 1, 5), [5]);
    assert.deepEqual(wait(changes.released(end(begun, 'aborted', 1), at(2)), 2, 5), [3]);
  });

  it('begins anew with a retry', () => {
    const rules = { ...CONFIRM, retries: 0 };
    const failed = changes.ended(
      begun,
      { copy: 1, attempt: 1 },
      { outcome: 'failed', at: at(1).now, seconds: 60, cost: null },
      { ...at(1), rules },
    );
    assert.deepEqual(wait(changes.retried(failed, at(4)), 2, 5), [1]);
  });

  it('begins with the time before which an item must not start', () => {
    assert.deepEqual(wait(item({ notBefore: NOW + 4 * HOUR }), 1, 5), [1]);
  });

  it('begins with the end of the print before, where a copy is owed again', () => {
    assert.deepEqual(wait(end(begun, 'failed', 3), 2, 5), [2]);
    const rejected = changes.judged(end(begun, 'finished', 1), { copy: 1, attempt: 1 }, false, at(2));
    assert.deepEqual(wait(rejected, 2, 5), [4]);
  });

  it('goes on through an attempt that never began', () => {
    const recalled = changes.recalled(sent(item(), 1, 1), { copy: 1, attempt: 1 }, at(2));
    assert.deepEqual(wait(recalled, 2, 5), [5]);
  });
});
