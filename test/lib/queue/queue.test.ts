import assert from 'node:assert/strict';
import type { EndedPrint, PlateGate } from '../../../lib/queue/model/gate';
import {
  busyFollowed,
  NEW_QUEUE,
  oldForgotten,
  orderFollowed,
  plateFollowed,
  type QueueRecord,
} from '../../../lib/queue/model/queue-record';
import { QueueData } from '../../../lib/queue/records/data';
import { LocalChanges } from '../../../lib/queue/records/records';
import { ManualClock } from '../../helpers/manual-clock';
import { LateStore } from '../../helpers/memory-store';
import { CONTEXT, GATE, NOW, RULES } from './items';

const closed = (closings: number, changed: Partial<EndedPrint> = {}): PlateGate => ({
  ...GATE,
  closings,
  ended: {
    ...{
      id: `print-${closings}`,
      outcome: 'failed',
      at: NOW,
      cleanup: 'unseen',
      hadShownCleanup: false,
      clearedAt: null,
    },
    ...changed,
  },
});
const idsOf = ({ outbox }: QueueRecord) => outbox.map(({ type, id }) => `${type} ${id.split('/').at(-1)}`);
const follow = (gates: PlateGate[], mode: 'automatic' | 'confirm' = 'confirm') =>
  gates.reduce((record, gate) => plateFollowed(record, gate, mode, CONTEXT), NEW_QUEUE);

describe('queue/queue', () => {
  it('keeps a change that is made while the state is read', async () => {
    const store = new LateStore();
    const parts = { queueId: 'queue', rules: RULES, store, localChanges: new LocalChanges(), clock: new ManualClock() };
    const owner = {
      lease: () => null,
      changed: () => undefined,
      failed: (thrown: unknown) => assert.fail(String(thrown)),
    };
    const { state: saved } = new QueueData(parts, ['account', 'service', 'workspace'], owner);
    store.delayNext();
    const loaded = saved.load();
    await saved.change((record) => ({ ...record, oldBefore: 5 }));
    store.release();
    await loaded;
    assert.equal(saved.record.oldBefore, 5);
  });

  it('reports the closing and the opening of a gate once each', () => {
    const cleared = closed(1, { clearedAt: NOW });
    const record = follow([GATE, closed(1), closed(1), cleared, cleared]);
    assert.deepEqual(idsOf(record), ['plate.awaiting 1', 'plate.cleared 1']);
  });

  it('reports both closings when another print ended before anybody looked', () => {
    assert.deepEqual(idsOf(follow([closed(1), closed(2)])), [
      'plate.awaiting 1',
      'plate.cleared 1',
      'plate.awaiting 2',
    ]);
  });

  it('reports a closing that a person ended before anybody looked', () => {
    const cleared = closed(2, { clearedAt: NOW });
    const both = ['plate.awaiting 2', 'plate.cleared 2'];
    for (const before of [GATE, closed(1, { outcome: 'finished' })])
      assert.deepEqual(idsOf(follow([before, cleared, cleared], 'automatic')), both);
  });

  it('reports no closing from before the queue saw the printer, and none that needed nobody', () => {
    assert.deepEqual(idsOf(follow([closed(1, { clearedAt: NOW })])), []);
    const ejected = closed(1, { outcome: 'finished', clearedAt: NOW });
    assert.deepEqual(idsOf(follow([GATE, ejected], 'automatic')), []);
  });

  it('reports no closing that the queue’s mode opens at once', () => {
    assert.deepEqual(idsOf(follow([closed(1, { outcome: 'finished' })], 'automatic')), []);
  });

  it('reports a plate whose print did not end as it seemed', () => {
    const record = follow([closed(1, { outcome: 'finished' }), closed(1, { outcome: 'aborted' })], 'automatic');
    assert.deepEqual(idsOf(record), ['plate.awaiting 1']);
  });

  it('reports once that nothing is left to do, each time', () => {
    const steps = [false, true, true, false, false, true, false];
    const record = steps.reduce((after, isBusy) => busyFollowed(after, isBusy, CONTEXT), NEW_QUEUE);
    assert.deepEqual(idsOf(record), ['queue.idle 1', 'queue.idle 2']);
  });

  it('forgets orders whose items are not listed any more, and never uses the id of an event again', () => {
    const DAY = 86_400_000;
    const ends = ['old', 'recent', 'open'].reduce(
      (after, orderId) => orderFollowed(after, orderId, 1, null, CONTEXT),
      NEW_QUEUE,
    );
    const items = [
      { orderId: 'old', endedAt: NOW - 2 * DAY },
      { orderId: 'recent', endedAt: NOW },
      { orderId: 'open', endedAt: null },
      { orderId: 'open', endedAt: NOW - 2 * DAY },
    ];
    const before = oldForgotten(ends, null, items);
    assert.equal(before, ends);
    const after = oldForgotten(before, NOW - DAY, items);
    assert.deepEqual(Object.keys(after.orders), ['recent', 'open']);
    const anew = orderFollowed(after, 'old', 1, null, CONTEXT);
    assert.deepEqual(idsOf(anew).slice(3), ['order.finished 2']);
  });

  it('reports the end of an order anew after further ends of its items', () => {
    const record = [1, 1, 3, 3].reduce((after, ends) => orderFollowed(after, 'order', ends, null, CONTEXT), NEW_QUEUE);
    assert.deepEqual(idsOf(record), ['order.finished 1', 'order.finished 2']);
  });
});
