import assert from 'node:assert/strict';
import fc from 'fast-check';
import * as attempts from '../../../lib/queue/model/item-changes';
import * as items from '../../../lib/queue/model/item-changes';
import { countCopies, isOpen, lastAttempt, itemStateOf, waitingCopies } from '../../../lib/queue/model/item';
import type { ItemRecord } from '../../../lib/queue/model/types';
import { CONTEXT, item, NOW, PRINT, typesOf } from './items';

const FIRST = { copy: 1, attempt: 1 };
const end = (outcome: attempts.AttemptEnd['outcome']) => ({ outcome, at: NOW, seconds: 60, cost: null });
const sent = (record: ItemRecord, copy = 1): ItemRecord => {
  const assigned = attempts.assigned(record, { ...PRINT, copy }, CONTEXT);
  const { attempt } = lastAttempt(assigned, copy) ?? { attempt: 0 };
  return attempts.dispatched(assigned, { copy, attempt }, `print-${copy}-${attempt}`, CONTEXT);
};
const begun = (record: ItemRecord) =>
  attempts.started(sent(record), FIRST, { clusterJobId: 'print-1-1', printerId: null }, CONTEXT);
const RETRY = { ...CONTEXT, rules: { ...CONTEXT.rules, retries: 1 } };
const CONFIRM = { ...CONTEXT, rules: { ...CONTEXT.rules, gate: 'confirm' as const } };

describe('queue/item-changes', () => {
  it('finishes an item after each copy was printed well', () => {
    const one = attempts.ended(begun(item({ copies: 2 })), FIRST, end('finished'), CONTEXT);
    assert.deepEqual([itemStateOf(one), waitingCopies(one), one.endedAt], ['waiting', [2], null]);
    const both = attempts.ended(sent(one, 2), { copy: 2, attempt: 1 }, end('finished'), CONTEXT);
    assert.deepEqual([itemStateOf(both), both.endedAt, both.ends], ['finished', NOW, 1]);
    assert.deepEqual(typesOf(both), [
      ...['print.dispatched', 'print.started', 'print.finished'],
      ...['print.dispatched', 'print.finished', 'item.finished'],
    ]);
  });

  it('assigns a copy to one printer at a time', () => {
    const once = attempts.assigned(item(), { ...PRINT, copy: 1 }, CONTEXT);
    const other = { ...PRINT, clusterId: 'C2' };
    assert.equal(attempts.assigned(once, { ...other, copy: 1 }, CONTEXT), once);
    assert.equal(attempts.assigned(item(), { ...other, copy: 2 }, CONTEXT).prints.length, 0);
  });

  it('forgets an assignment of which nothing was sent, and no other', () => {
    const assigned = attempts.assigned(item(), { ...PRINT, copy: 1 }, CONTEXT);
    assert.deepEqual(attempts.unassigned(assigned, FIRST, CONTEXT), item());
    assert.equal(attempts.unassigned(sent(item()), FIRST, CONTEXT).prints.length, 1);
  });

  it('prints a failed copy again while retries last', () => {
    const failed = attempts.ended(begun(item()), FIRST, end('failed'), RETRY);
    assert.deepEqual([itemStateOf(failed), waitingCopies(failed)], ['waiting', [1]]);
    const twice = attempts.ended(sent(failed), { copy: 1, attempt: 2 }, end('failed'), RETRY);
    assert.deepEqual([itemStateOf(twice), typesOf(twice).at(-1)], ['failed', 'item.failed']);
    const revived = items.retried(twice, CONTEXT);
    assert.deepEqual([itemStateOf(revived), typesOf(revived).at(-1)], ['waiting', 'item.reopened']);
    const again = attempts.ended(sent(revived), { copy: 1, attempt: 3 }, end('failed'), RETRY);
    assert.equal(itemStateOf(again), 'waiting', 'the earlier failures no longer count');
  });

  it('holds an aborted copy until a person decides', () => {
    const aborted = attempts.ended(begun(item()), FIRST, end('aborted'), RETRY);
    assert.deepEqual([itemStateOf(aborted), waitingCopies(aborted)], ['held', []]);
    assert.deepEqual(waitingCopies(items.released(aborted, CONTEXT)), [1]);
    assert.equal(itemStateOf(items.removed(aborted, CONTEXT)), 'cancelled');
  });

  it('keeps a copy of unknown outcome from being printed until a person settles it', () => {
    const lost = attempts.unknown(attempts.assigned(item(), { ...PRINT, copy: 1 }, CONTEXT), FIRST, CONTEXT);
    assert.deepEqual([itemStateOf(lost), waitingCopies(lost), typesOf(lost)], ['blocked', [], ['print.unknown']]);
    const printed = items.settled(lost, { outcome: 'printed', copy: null }, CONTEXT);
    assert.equal(itemStateOf(printed), 'finished');
    const owed = items.settled(lost, { outcome: 'not-printed', copy: 1 }, CONTEXT);
    assert.deepEqual([itemStateOf(owed), waitingCopies(owed)], ['waiting', [1]]);
    assert.throws(() => items.settled(owed, { outcome: 'printed', copy: null }, CONTEXT), /nothing to settle/);
  });

  it('gives a copy its print back that showed up later, or reports an extra one once', () => {
    const lost = attempts.unknown(attempts.assigned(item(), { ...PRINT, copy: 1 }, CONTEXT), FIRST, CONTEXT);
    const owed = items.settled(lost, { outcome: 'not-printed', copy: null }, CONTEXT);
    const back = attempts.showedUp(owed, FIRST, 'late', CONTEXT);
    assert.deepEqual([itemStateOf(back), lastAttempt(back, 1)?.state], ['active', 'dispatched']);
    const again = attempts.assigned(owed, { ...PRINT, copy: 1 }, CONTEXT);
    const extra = attempts.showedUp(attempts.showedUp(again, FIRST, 'late', CONTEXT), FIRST, 'late', CONTEXT);
    assert.deepEqual(typesOf(extra).filter((type) => type === 'print.extra').length, 1);
    assert.equal(extra.prints.filter(isOpen).length, 1);
  });

  it('owes a rejected copy again at the front, and reopens its item', () => {
    const done = attempts.ended(begun(item({ copies: 2 })), FIRST, end('finished'), CONTEXT);
    const both = attempts.ended(sent(done, 2), { copy: 2, attempt: 1 }, end('finished'), CONTEXT);
    const bad = attempts.judged(both, { copy: 2, attempt: 1 }, false, CONTEXT);
    assert.deepEqual([itemStateOf(bad), waitingCopies(bad), countCopies(bad).rejected], ['waiting', [2], 1]);
    assert.deepEqual(typesOf(bad).slice(-2), ['print.rejected', 'item.reopened']);
    const waiting = attempts.judged(done, FIRST, false, CONTEXT);
    assert.deepEqual(waitingCopies(waiting), [1, 2]);
    const anew = attempts.ended(sent(bad, 2), { copy: 2, attempt: 2 }, end('finished'), CONTEXT);
    const ids = anew.outbox.filter(({ type }) => type === 'item.finished').map(({ id }) => id);
    assert.equal(new Set(ids).size, 2, 'the end comes anew, under another id');
  });

  it('owes no rejected copy again that is not wanted any more', () => {
    const done = attempts.ended(begun(item({ copies: 1 })), FIRST, end('finished'), CONTEXT);
    const more = sent(items.updated(done, { copies: 3 }, 'm', CONTEXT), 3);
    const bad = attempts.judged(
      attempts.ended(more, { copy: 3, attempt: 1 }, end('finished'), CONTEXT),
      { copy: 3, attempt: 1 },
      false,
      CONTEXT,
    );
    assert.deepEqual(waitingCopies(bad), [3, 2]);
    assert.deepEqual(waitingCopies(items.updated(bad, { copies: 2 }, 'm', CONTEXT)), [2]);
  });

  it('counts a copy as good after its plate was cleared as good, where the plate is to be confirmed', () => {
    const printed = attempts.ended(begun(item()), FIRST, end('finished'), CONFIRM);
    assert.deepEqual([itemStateOf(printed), typesOf(printed).at(-1)], ['active', 'print.finished']);
    const good = attempts.judged(printed, FIRST, true, CONFIRM);
    assert.deepEqual([itemStateOf(good), typesOf(good).at(-1)], ['finished', 'item.finished']);
    assert.deepEqual(waitingCopies(attempts.judged(printed, FIRST, false, CONFIRM)), [1]);
  });

  it('recalls a job without spending a retry', () => {
    const back = attempts.recalled(sent(item()), FIRST, CONTEXT);
    assert.deepEqual(
      [itemStateOf(back), waitingCopies(back), typesOf(back).at(-1)],
      ['waiting', [1], 'print.recalled'],
    );
    const failed = attempts.ended(sent(back), { copy: 1, attempt: 2 }, end('failed'), RETRY);
    assert.equal(itemStateOf(failed), 'waiting');
  });

  it('keeps every copy in one place over any sequence of changes, and reports each event once', () => {
    const step = fc.tuple(fc.nat(20), fc.nat(9), fc.nat(9));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (steps, copies) => {
        let record = item({ copies });
        for (const [kind, a, b] of steps) record = change(record, kind, a, b);
        const { waiting, active, good, failed, held, unknown, total } = countCopies(record);
        const cancelled = Object.values(record.touched).filter((state) => state === 'cancelled').length;
        assert.equal(waiting + active + good + failed + held + unknown + cancelled, total);
        for (let copy = 1; copy <= copies; copy++) {
          const open = record.prints.filter((attempt) => attempt.copy === copy && isOpen(attempt));
          const state = record.touched[copy];
          assert.ok(open.length <= 1, 'one printer at a time');
          assert.equal(open.length === 1, state === 'unknown' || (state === 'active' && open.length === 1));
          if (state === 'good') assert.equal(lastFinished(record, copy), true, 'a good copy was printed');
        }
        const ids = record.outbox.map(({ id }) => id);
        assert.equal(new Set(ids).size, ids.length, `told twice: ${ids.join(' ')}`);
        assert.equal(record.endedAt !== null, waiting + active + held + unknown === 0);
      }),
      { numRuns: 2000 },
    );
  });
});

const lastFinished = ({ prints }: ItemRecord, copy: number) =>
  prints.some((attempt) => attempt.copy === copy && attempt.state === 'finished');

/** Applies a change that was chosen by chance; a refused one changes nothing. */
function change(record: ItemRecord, kind: number, a: number, b: number): ItemRecord {
  const waiting = waitingCopies(record);
  const of = record.prints.length > 0 ? (record.prints[a % record.prints.length] ?? FIRST) : FIRST;
  const outcome = (['finished', 'failed', 'aborted'] as const)[b % 3] ?? 'failed';
  const context = [CONTEXT, RETRY, CONFIRM][b % 3] ?? CONTEXT;
  const changes: (() => ItemRecord)[] = [
    () => attempts.assigned(record, { ...PRINT, copy: waiting[0] ?? 1 }, context),
    () => attempts.assigned(record, { ...PRINT, copy: waiting.at(-1) ?? 1 }, context),
    () => attempts.unassigned(record, of, context),
    () => attempts.dispatched(record, of, b % 2 ? null : `print-${of.copy}-${of.attempt}`, context),
    () => attempts.unknown(record, of, context),
    () => attempts.started(record, of, { clusterJobId: 'x', printerId: null }, context),
    () => attempts.ended(record, of, end(outcome), context),
    () => attempts.ended(record, of, end('finished'), context),
    () => attempts.recalled(record, of, context),
    () => attempts.showedUp(record, of, 'late', context),
    () => attempts.judged(record, of, b % 2 === 0, context),
    () => items.retried(record, context),
    () => items.released(record, CONTEXT),
    () => items.heldBack(record),
    () => items.removed(record, context),
    () => items.settled(record, { outcome: b % 2 ? 'printed' : 'not-printed', copy: null }, context),
    () => items.withBlocked(record, b % 2 === 0, context),
    () => items.overdue(record, context),
  ];
  try {
    return changes[kind % changes.length]?.() ?? record;
  } catch {
    return record;
  }
}
