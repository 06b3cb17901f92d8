import assert from 'node:assert/strict';
import { Outbox } from '../../../lib/queue/records/outbox';
import type { QueueEventDraft } from '../../../lib/queue/model/types';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { NOW } from './items';

const draft = (id: string, at = NOW, type: QueueEventDraft['type'] = 'item.queued'): QueueEventDraft => ({
  ...{ id, type, at, print: null, clusterId: null, clusterName: null, value: null },
});

describe('queue/outbox', () => {
  let saved: QueueEventDraft[];
  let now: number;
  let fails: boolean;
  let outbox: Outbox;
  let failures: number;

  beforeEach(() => {
    saved = [];
    now = NOW;
    fails = false;
    failures = 0;
    const clock = { ...new ManualClock(), now: () => now };
    outbox = new Outbox({ queueId: 'queue', name: 'Queue', clock }, () => failures++);
  });

  function deliver(): void {
    // The events of plates are in a record of their own.
    outbox.deliver(
      [true, false].map((isPlate) => ({
        drafts: saved.filter(({ type }) => type.startsWith('plate.') === isPlate),
        complete: () => ({ item: null, print: null }),
        remove: async (ids) => {
          await settle(1);
          if (fails) throw new Error('full');
          saved = saved.filter(({ id }) => !ids.has(id));
        },
      })),
    );
  }
  function node(): string[] {
    const received: string[] = [];
    outbox.subscribe((events) => events.forEach(({ id, late }) => received.push(late ? `${id} late` : id)));
    deliver();
    return received;
  }

  it('delivers each event once to every node, in the order in which it happened, and then removes it', async () => {
    const [one, other] = [node(), node()];
    saved = [draft('b', NOW + 1, 'plate.awaiting'), draft('a')];
    deliver();
    deliver();
    saved = [...saved, draft('c', NOW + 2)];
    deliver();
    await settle();
    deliver();
    assert.deepEqual(one, ['a', 'b', 'c']);
    assert.deepEqual(other, one);
    assert.deepEqual(saved, []);
  });

  it('delivers the events of a record in their order, although the clock was set back between them', () => {
    const received = node();
    saved = [draft('awaiting', NOW + 1e9, 'plate.awaiting'), draft('cleared', NOW, 'plate.cleared'), draft('item')];
    deliver();
    assert.deepEqual(received, ['item', 'awaiting', 'cleared']);
  });

  it('keeps events while no node is there, and delivers them late', async () => {
    saved = [draft('a')];
    deliver();
    assert.equal(saved.length, 1);
    const received = node();
    saved = [...saved, draft('b')];
    deliver();
    await settle();
    assert.deepEqual(received, ['a late', 'b']);
    assert.deepEqual(saved, []);
  });

  it('repeats no event whose removal failed', async () => {
    fails = true;
    const received = node();
    saved = [draft('a')];
    deliver();
    await settle();
    fails = false;
    deliver();
    await settle();
    assert.deepEqual([received, saved, failures], [['a'], [], 1]);
  });
});
