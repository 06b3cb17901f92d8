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

  describe('while the store is away', () => {
    const WAIT = { id: 'a', since: 0 };
    let clock: ManualClock;
    let store: MemoryStore;
    let isAway: boolean;
    let kept: PendingWaits;
    const open = () => new PendingWaits(store, clock, NO_PEERS);
    /** Replaces everything above the store. */
    async function deploy(): Promise<void> {
      await kept.close();
      kept = open();
    }
    const stored = async () => [
      await store.get(['kept-waits', ...OWNER]),
      await store.get(['kept-message', ...OWNER, 'a']),
    ];

    beforeEach(() => {
      clock = new ManualClock();
      isAway = false;
      store = new MemoryStore();
      const update = store.update.bind(store);
      store.update = (...change) => (isAway ? Promise.reject(new Error('away')) : update(...change));
      kept = open();
    });
    afterEach(() => kept.close());

    it('deletes a wait whose end was handed over as soon as it can, and reports the first failure', async () => {
      await kept.keep(OWNER, WAIT, { topic: 'mine' }, () => undefined);
      isAway = true;
      await assert.rejects(kept.drop(OWNER, WAIT), /away/);
      isAway = false;
      await clock.advance(60_000);
      assert.deepEqual(await stored(), [undefined, undefined]);
    });

    it('resumes no wait after a deploy whose end was handed over, and deletes it', async () => {
      await kept.keep(OWNER, WAIT, { topic: 'mine' }, () => undefined);
      isAway = true;
      await assert.rejects(kept.drop(OWNER, WAIT), /away/);
      await deploy();
      await assert.rejects(kept.adopt(OWNER), /away/);
      isAway = false;
      assert.deepEqual((await kept.adopt(OWNER)).waits, []);
      await clock.advance(60_000);
      assert.deepEqual(await stored(), [undefined, undefined]);
    });

    it('resumes a wait after a deploy that could not be written, and writes it', async () => {
      isAway = true;
      const keeping = kept.keep(OWNER, WAIT, { topic: 'mine' }, () => undefined);
      await clock.advance(0);
      await deploy();
      await keeping;
      isAway = false;
      assert.deepEqual((await kept.adopt(OWNER)).waits, [WAIT]);
      assert.deepEqual(await kept.readNote(OWNER, WAIT), { topic: 'mine' });
      await clock.advance(60_000);
      assert.deepEqual(await stored(), [[WAIT], { topic: 'mine' }]);
      await kept.drop(OWNER, WAIT);
      assert.deepEqual(await stored(), [undefined, undefined]);
    });

    it('writes no wait of a node that was deleted', async () => {
      isAway = true;
      const keeping = kept.keep(OWNER, WAIT, null, () => undefined);
      await clock.advance(0);
      isAway = false;
      await kept.forget(OWNER);
      await clock.advance(60_000);
      await keeping;
      assert.deepEqual((await stored())[0], undefined);
    });
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
