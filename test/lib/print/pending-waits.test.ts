import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PendingWaits, type WaitOwner } from '../../../lib/print/pending-waits';
import type { Key } from '../../../lib/state/store';
import { NO_PEERS } from '../../../lib/watch/replication/peers';
import { FaultyStore, type StoreFault } from '../../helpers/faulty-store';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';

const OWNER: WaitOwner = ['account', 'service', 'workspace', 'node'];
const unexpected = (error: unknown) => assert.fail(String(error));

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

  describe('of many prints at once', () => {
    const MANY = Array.from({ length: 1_000 }, (_, n) => ({ id: `wait ${n}`, since: 0 }));
    let clock: ManualClock;
    let disk: MemoryStore;
    let fault: (step: 'read' | 'write', key: Key) => StoreFault;
    /** Number of writes of the index so far. */
    let writes: number;
    let kept: PendingWaits;
    const listed = async () =>
      ((await disk.get<typeof MANY>(['kept-waits', ...OWNER])) ?? []).map(({ id }) => id).sort();
    const idsOf = (waits: readonly { id: string }[]) => waits.map(({ id }) => id).sort();

    beforeEach(() => {
      clock = new ManualClock();
      disk = new MemoryStore();
      fault = () => undefined;
      writes = 0;
      const onStep = (step: 'read' | 'write', key: Key) => {
        if (step === 'write' && key[0] === 'kept-waits') writes++;
        return fault(step, key);
      };
      kept = new PendingWaits(new FaultyStore(disk, onStep, () => undefined), clock, NO_PEERS);
    });
    afterEach(() => kept.close());

    it('writes the index a few times only, when they begin and when they end', async () => {
      await Promise.all(MANY.map((wait) => kept.keep(OWNER, wait, null, unexpected)));
      assert.deepEqual(await listed(), idsOf(MANY));
      await Promise.all(MANY.map((wait) => kept.drop(OWNER, wait)));
      assert.deepEqual([...disk.values], []);
      assert.ok(writes <= 10, `${writes} writes`);
    });

    it('reports exactly the waits of a write that failed, and writes them later', async () => {
      fault = (step, [kind]) => (step === 'write' && kind === 'kept-waits' && writes === 2 ? 'unwritable' : undefined);
      const failed: typeof MANY = [];
      const keeping = MANY.map((wait) => kept.keep(OWNER, wait, null, () => failed.push(wait)));
      await clock.advance(0);
      assert.ok(failed.length > 0 && failed.length < MANY.length / 2, `${failed.length} failed`);
      const written = MANY.filter((wait) => !failed.includes(wait));
      assert.deepEqual(await listed(), idsOf(written));
      assert.deepEqual(idsOf((await kept.adopt(OWNER)).waits), idsOf(MANY));
      await clock.advance(60_000);
      await Promise.all(keeping);
      assert.deepEqual(await listed(), idsOf(MANY));
    });

    it('reports exactly the ends whose deletion failed, and repeats it', async () => {
      await Promise.all(MANY.map((wait) => kept.keep(OWNER, wait, null, unexpected)));
      writes = 0;
      fault = (step, [kind]) => (step === 'write' && kind === 'kept-waits' && writes === 2 ? 'unwritable' : undefined);
      const outcomes = await Promise.allSettled(MANY.map((wait) => kept.drop(OWNER, wait)));
      const failed = MANY.filter((_, at) => outcomes[at]?.status === 'rejected');
      assert.ok(failed.length > 0 && failed.length < MANY.length / 2, `${failed.length} failed`);
      assert.deepEqual(await listed(), idsOf(failed));
      assert.deepEqual((await kept.adopt(OWNER)).waits, []);
      await clock.advance(60_000);
      assert.deepEqual([...disk.values], []);
    });

    it('hands over each end once, although some owners are lost and some deliveries throw', async () => {
      const peers = { id: 'here', isLiving: () => true, onChange: () => () => undefined };
      kept = new PendingWaits(disk, clock, peers);
      await Promise.all(MANY.map((wait) => kept.keep(OWNER, wait, null, unexpected)));
      const isLost = (at: number) => at % 7 === 0;
      const throws = (at: number) => at % 5 === 0;
      const elsewhere = MANY.map((wait, at) => ({ ...wait, by: isLost(at) ? 'elsewhere' : 'here' }));
      await disk.put(['kept-waits', ...OWNER], elsewhere);
      const delivered: number[] = [];
      const deliver = (at: number) => () => {
        if (throws(at)) throw new Error('no delivery');
        delivered.push(at);
      };
      const outcomes = await Promise.allSettled(MANY.map((wait, at) => kept.handOver(OWNER, wait, deliver(at))));
      for (const [at, outcome] of outcomes.entries())
        if (isLost(at)) assert.deepEqual(outcome, { status: 'fulfilled', value: null });
        else if (throws(at)) assert.match(String(outcome.status === 'rejected' && outcome.reason), /no delivery/);
        else await (outcome.status === 'fulfilled' ? outcome.value?.saved : assert.fail());
      const isLeft = (at: number) => isLost(at) || throws(at);
      assert.deepEqual(delivered, [...MANY.keys()].filter((at) => !isLeft(at))); // oxfmt-ignore
      assert.deepEqual(await listed(), idsOf(MANY.filter((_, at) => isLeft(at)))); // oxfmt-ignore
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
