import assert from 'node:assert/strict';
import { Ledger, type Entry } from '../../../lib/print/ledger';
import type { KeyOf } from '../../../lib/print/open-keys';
import type { Key, Scope } from '../../../lib/state/store';
import { FaultyStore, type StoreFault } from '../../helpers/faulty-store';
import { MemoryStore } from '../../helpers/memory-store';
import { settle } from '../../helpers/manual-clock';

const SCOPE: Scope = ['account', 'service', 'workspace'];
const EARLIER: Key = ['open-prints', ...SCOPE];
const keyOf = (clusterId: string, printKey = 'k'): KeyOf => ({ clusterId, printKey });
const entryOf = ({ clusterId, printKey }: KeyOf): Entry => ({
  attempt: { id: printKey, clusterId, jobId: 'job', begunAt: 0, earliest: 0, latest: 1, known: [] },
  note: null,
});
const byCluster = (keys: KeyOf[]) => keys.map(({ clusterId, printKey }) => `${clusterId} ${printKey}`).sort();

describe('print/open-keys', () => {
  let disk: MemoryStore;
  let fault: (step: 'read' | 'write', key: Key) => StoreFault;
  let ledger: Ledger;
  const begin = (key: KeyOf) => ledger.begin(key, entryOf(key));
  const open = async (clusterId?: string) => byCluster(await ledger.openKeys(clusterId));

  beforeEach(() => {
    disk = new MemoryStore();
    fault = () => undefined;
    const crash = () => assert.fail('a crash');
    ledger = new Ledger(new FaultyStore(disk, (step, key) => fault(step, key), crash), SCOPE);
  });

  it('lists the keys of all clusters, and those of one', async () => {
    for (const key of [keyOf('a'), keyOf('a', 'l'), keyOf('b')]) await begin(key);
    await new Ledger(disk, ['account', 'service', 'another']).begin(keyOf('c'), entryOf(keyOf('c')));
    assert.deepEqual([await open(), await open('a'), await open('c')], [['a k', 'a l', 'b k'], ['a k', 'a l'], []]);
  });

  it('removes its record with the last key of a cluster', async () => {
    for (const printKey of ['k', 'l']) await begin(keyOf('a', printKey));
    for (const [printKey, wasOpen] of [
      ['k', true],
      ['k', false],
      ['l', true],
    ] as const)
      // oxfmt-ignore
      assert.equal(await ledger.close(keyOf('a', printKey)), wasOpen);
    assert.deepEqual([...disk.values.keys()].filter((key) => key.includes('open-prints')), []); // oxfmt-ignore
  });

  it('finds and removes the keys that an earlier version has listed', async () => {
    await disk.put(EARLIER, [keyOf('a'), keyOf('b')]);
    await begin(keyOf('b'));
    await begin(keyOf('c'));
    assert.deepEqual([await open(), await open('b')], [['a k', 'b k', 'c k'], ['b k']]);
    for (const clusterId of ['a', 'b']) assert.equal(await ledger.close(keyOf(clusterId)), true);
    assert.deepEqual([await open(), await disk.get(EARLIER)], [['c k'], undefined]);
  });

  for (const clusterId of [undefined, 'b'])
    it(`lists nothing rather than too little while a record of ${clusterId ?? 'any cluster'} can’t be read`, async () => {
      await begin(keyOf('b'));
      fault = (step, [kind]) => (step === 'read' && kind === 'open-prints' ? 'unreadable' : undefined);
      await assert.rejects(open(clusterId), { code: 'FILE_NOT_READABLE' });
    });

  describe('of many printers that begin at once', () => {
    const MANY = Array.from({ length: 1_000 }, (_, n) => keyOf(`cluster ${n}`));

    it('writes little for each, however many there are', async () => {
      let characters = 0;
      const update = disk.update.bind(disk);
      disk.update = async (key, ...rest) => {
        const value = await update(key, ...rest);
        characters += JSON.stringify(value ?? null).length;
        return value;
      };
      await Promise.all(MANY.map(begin));
      assert.equal((await open()).length, MANY.length);
      await Promise.all(MANY.map((key) => ledger.close(key)));
      assert.ok(characters < MANY.length * 500, `${characters} characters`);
    });

    it('refuses exactly the keys that can’t be written, and begins them when they are repeated', async () => {
      const isFull = ({ clusterId }: KeyOf) => clusterId.endsWith('7');
      for (const kind of ['open-prints', 'print-key']) {
        const full = MANY.filter(isFull);
        fault = (step, key) =>
          step === 'write' && key[0] === kind && isFull(keyOf(key[4] ?? '')) ? 'unwritable' : undefined;
        const outcomes = await Promise.allSettled(MANY.map(begin));
        const failed = MANY.filter((_, at) => outcomes[at]?.status === 'rejected');
        assert.deepEqual(failed, full);
        const begun = await Promise.all(MANY.map((key) => ledger.find(key)));
        assert.deepEqual(MANY.filter((_, at) => begun[at] === undefined), full); // oxfmt-ignore
        fault = () => undefined;
        await Promise.all(full.map(begin));
        assert.deepEqual(await open(), byCluster(MANY));
        for (const key of MANY) await ledger.release(key, entryOf(key), undefined);
        assert.deepEqual(await open(), []);
      }
    });

    it('begins the key of a printer while the records of all others are being written', async () => {
      const update = disk.update.bind(disk);
      let write: () => void = () => undefined;
      const written = new Promise<void>((resolve) => (write = resolve));
      disk.update = async (key, ...rest) => {
        if (key[0] === 'open-prints' && key[4] !== 'free') await written;
        return update(key, ...rest);
      };
      const others = Promise.all(MANY.map(begin));
      await settle();
      await begin(keyOf('free'));
      assert.deepEqual(await open(), ['free k']);
      write();
      await others;
    });
  });
});
