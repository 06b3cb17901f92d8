import assert from 'node:assert/strict';
import type { QueueEvent, QueueEventDraft } from '../../../lib/queue/model/types';
import { EventAges } from '../../../lib/queue/records/event-ages';
import { Outbox, type Undelivered } from '../../../lib/queue/records/outbox';
import { ManualClock, settle } from '../../helpers/manual-clock';

const draftOf = (id: string): QueueEventDraft =>
  ({ id, type: 'item.queued', at: 0, clusterId: null, clusterName: null, value: null }) as unknown as QueueEventDraft;

describe('queue/outbox', () => {
  let saved: string[];
  /** Ids of the events that can't be made. */
  let odd: Set<string>;
  let warnings: string[];
  let outbox: Outbox;
  let eventAges: EventAges;
  const clock = new ManualClock();

  const record = (): Undelivered => ({
    drafts: saved.map(draftOf),
    complete: ({ id }) => {
      if (odd.has(id)) throw new RangeError('Invalid time value');
      return { item: null, print: null };
    },
    remove: async (ids) => void (saved = saved.filter((id) => !ids.has(id))),
  });
  const onWarning = ({ message }: Error) => void warnings.push(message);
  /** A node that keeps the ids of its events. */
  const node = (fail: () => boolean = () => false) => {
    const received: string[] = [];
    outbox.subscribe((events: readonly QueueEvent[]) => {
      if (fail()) throw new Error('The node is broken.');
      received.push(...events.map(({ id }) => id));
    });
    return received;
  };
  const open = () =>
    (outbox = new Outbox(
      { queueId: 'q', name: null, clock, localChanges: { eventAges } },
      {
        records: () => [record()],
        lease: () => ({ isOurs: true, lock: null }),
        telling: () => null,
        failed: (thrown) => assert.fail(String(thrown)),
      },
    ));
  const deliver = async () => {
    outbox.deliver();
    await settle();
  };

  beforeEach(() => {
    saved = ['a', 'b', 'c'];
    odd = new Set();
    warnings = [];
    process.on('warning', onWarning);
    eventAges = new EventAges();
    eventAges.changed([], saved.map(draftOf), clock.monotonic());
    open();
  });
  afterEach(() => void process.off('warning', onWarning));

  it('keeps an event that can’t be made for the next node, and tells the others', async () => {
    odd.add('b');
    const first = node();
    for (let times = 0; times < 3; times++) await deliver();
    assert.deepEqual([first, saved, warnings.length], [['a', 'c'], ['b'], 1]);
    odd.clear();
    const next = node();
    await deliver();
    assert.deepEqual([first, next, saved], [['a', 'c', 'b'], ['b'], []]);
  });

  it('keeps an event that no node could take', async () => {
    let isBroken = true;
    const first = node(() => isBroken);
    await deliver();
    assert.deepEqual([first, saved], [[], ['a', 'b', 'c']]);
    isBroken = false;
    const next = node();
    await deliver();
    assert.deepEqual([first, next, saved], [['a', 'b', 'c'], ['a', 'b', 'c'], []]);
  });

  it('tells each node an event once, although another one could not take it', async () => {
    const broken = node(() => true);
    const received = node();
    for (let times = 0; times < 3; times++) await deliver();
    assert.deepEqual([broken, received, saved], [[], ['a', 'b', 'c'], []]);
  });

  it('tells every node of a deploy the events that waited', async () => {
    await deliver();
    const one = node();
    // A change may come between the nodes.
    outbox.deliver();
    const other = node();
    await settle();
    assert.deepEqual([one, other, saved], [['a', 'b', 'c'], ['a', 'b', 'c'], []]);
  });

  it('tells a node nothing that has gone in the turn in which it came', async () => {
    const received: QueueEvent[] = [];
    outbox.subscribe((events) => received.push(...events))();
    await deliver();
    assert.deepEqual([received, saved], [[], ['a', 'b', 'c']]);
  });

  it('tells an event late that no node was there for, also over a full deploy', async () => {
    await deliver();
    open();
    const late: boolean[] = [];
    outbox.subscribe((events) => late.push(...events.map((event) => event.late)));
    await settle();
    assert.deepEqual(late, [true, true, true]);
  });

  it('tells an event in time that comes in the turn of the first node', async () => {
    const late: boolean[] = [];
    outbox.subscribe((events) => late.push(...events.map((event) => event.late)));
    outbox.deliver();
    await settle();
    assert.deepEqual(late, [false, false, false]);
  });
});
