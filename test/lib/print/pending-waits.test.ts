import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PendingWaits, type WaitOwner } from '../../../lib/print/pending-waits';
import { NO_PEERS } from '../../../lib/watch/replication/peers';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';

const OWNER: WaitOwner = ['account', 'service', 'workspace', 'node'];

describe('print/pending-waits', () => {
  it('has the note of a wait that is not written yet', async () => {
    const store = new MemoryStore();
    store.put = () => new Promise(() => undefined);
    const kept = new PendingWaits(store, new ManualClock(), NO_PEERS);
    const wait = { id: 'a', since: 0 };
    void kept.keep(OWNER, wait, { topic: 'mine' }, () => undefined);
    const { waits } = await kept.adopt(OWNER);
    assert.deepEqual(waits, [wait]);
    assert.deepEqual(await kept.readNote(OWNER, wait), { topic: 'mine' });
  });

  it('causes no listener warning, however many waits can’t be written', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore();
    store.put = () => Promise.reject(new Error('away'));
    store.update = () => Promise.reject(new Error('away'));
    const kept = new PendingWaits(store, clock, NO_PEERS);
    const warned: string[] = [];
    const onWarning = ({ name }: Error) => warned.push(name);
    process.on('warning', onWarning);
    const waits = Array.from({ length: 20 }, (_, n) => {
      return kept.keep(OWNER, { id: String(n), since: 0 }, null, () => undefined);
    });
    await clock.advance(0);
    assert.equal(clock.waiting, 20);
    // Node emits warnings in order.
    const last = once(process, 'warning');
    process.emitWarning('the last one', 'Last');
    await last;
    process.off('warning', onWarning);
    await kept.close();
    await Promise.all(waits);
    assert.deepEqual(warned, ['Last']);
  });
});
