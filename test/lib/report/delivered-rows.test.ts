import assert from 'node:assert/strict';
import type { Row } from '../../../lib/report/csv';
import { withDeliveredRows, type DeliveredRows } from '../../../lib/report/delivered-rows';
import { PrintingError } from '../../../lib/service/errors';
import { Deadline } from '../../../lib/time/deadline';
import { collectGarbage } from '../../helpers/collect-garbage';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { phrase } from '../../../lib/words/sentence';

describe('report/delivered-rows', () => {
  let store: MemoryStore;
  let clock: ManualClock;
  let deadline: Deadline;
  beforeEach(() => {
    store = new MemoryStore();
    clock = new ManualClock();
    deadline = new Deadline(clock);
  });
  const remembering = <T>(name: string, accountId: string, work: (delivered: DeliveredRows) => Promise<T>) =>
    withDeliveredRows(store, { scope: [accountId, 'service', 'workspace'], name, deadline }, work);
  /** Delivers rows; returns the new ones among them. */
  const fresh = (rows: Row[], name = 'node', accountId = 'account') =>
    remembering(name, accountId, async (delivered) => {
      const found = rows.filter((row) => delivered.isNew(row));
      await delivered.add(found);
      return found;
    });

  it('recognizes rows by their print job, whatever else in them has changed', async () => {
    assert.equal((await fresh([{ cluster_job_id: '1', status: 'finished', cost: '' }])).length, 1);
    assert.equal((await fresh([{ cluster_job_id: '1', status: 'finished', cost: '2' }])).length, 0);
    assert.equal((await fresh([{ uuid: '1', status: 'finished' }])).length, 0, 'by another of its names');
    assert.equal((await fresh([{ 'Cluster Job ID': '1', uuid: '2' }])).length, 0);
    assert.equal((await fresh([{ clusterJobId: '1' }, { clusterJobId: '3' }])).length, 1);
  });

  it('delivers the row of a print that goes on once, and once more after its end', async () => {
    const lives = [
      ['printing', 'paused', 'Printing', 'wait_cleanup', 'finished', 'finished'],
      ['queued', 'pre_print', 'aborted_wait_cleanup', 'aborted'],
      ['printing', 'a new word', 'finished'],
      ['a new word', 'a new word'],
    ];
    const delivered: string[][] = [];
    for (const [id, life] of lives.entries()) {
      const rows = life.map((status) => [{ uuid: String(id), status }]);
      const found: string[] = [];
      for (const row of rows) found.push(...(await fresh(row)).map(({ status }) => status ?? ''));
      delivered.push(found);
    }
    assert.deepEqual(delivered, [
      ['printing', 'finished'],
      ['queued', 'aborted_wait_cleanup'],
      ['printing', 'finished'],
      ['a new word'],
    ]);
  });

  it('recognizes the end of a print in a report without a status, and in any spelling of a column', async () => {
    const at = '2030-01-01T10:00:00Z';
    for (const [id, under, over] of [
      ['1', { removed_at: '' }, { removed_at: at }],
      ['2', { 'Removed At': ' ' }, { 'Removed At': at }],
      ['3', { Status: 'printing' }, { Status: 'finished' }],
      ['4', { status: '', removedAt: '' }, { status: '', removedAt: at }],
      ['5', { status: 'printing', removed_at: at }, { status: 'finished', removed_at: at }],
    ] as const) {
      const delivered = [];
      for (const cells of [under, under, over, over])
        delivered.push((await fresh([{ job_uuid: id, started_at: at, ...cells }])).length);
      assert.deepEqual(delivered, [1, 0, 1, 0], id);
    }
    // Without both columns, nothing says whether a print goes on.
    for (const count of [1, 0]) assert.equal((await fresh([{ job_uuid: '6', started_at: at }])).length, count);
  });

  it('does not mistake a stored file for a printing of it', async () => {
    assert.equal((await fresh([{ job_id: 'file', ended_at: 'monday' }])).length, 1);
    assert.equal((await fresh([{ job_id: 'file', ended_at: 'tuesday' }])).length, 1);
    assert.equal((await fresh([{ job_id: 'file', ended_at: 'monday' }])).length, 0);
  });

  it('recognizes rows without a print job by their whole text', async () => {
    const rows = [
      { uuid: ' ', name: 'a' },
      { uuid: '', name: 'b' },
    ];
    assert.equal((await fresh(rows)).length, 2);
    assert.equal((await fresh([...rows, { uuid: '', name: 'c' }])).length, 1);
  });

  it('allows repeats within one report, and separates nodes and accounts', async () => {
    assert.equal((await fresh([{ uuid: '1' }, { uuid: '1' }])).length, 2);
    assert.equal((await fresh([{ uuid: '1' }], 'other')).length, 1);
    assert.equal((await fresh([{ uuid: '1' }], 'node', 'other')).length, 1);
  });

  it('records the rows delivered before a failure', async () => {
    const work = remembering('node', 'account', async (delivered) => {
      await delivered.add([{ uuid: '1' }]);
      throw new Error('broken off');
    });
    await assert.rejects(work, /broken off/);
    assert.deepEqual(await fresh([{ uuid: '1' }, { uuid: '2' }]), [{ uuid: '2' }]);
  });

  it('drops the oldest of more than a hundred thousand rows', async () => {
    const many = Array.from({ length: 100_001 }, (_, number) => ({ uuid: String(number) }));
    assert.equal((await fresh(many)).length, 100_001);
    assert.deepEqual(await fresh([{ uuid: '0' }, { uuid: '1' }]), [{ uuid: '0' }]);
    assert.deepEqual(await fresh([{ uuid: '1' }, { uuid: '2' }]), [{ uuid: '1' }]);
    const [saved = ''] = store.values.values();
    assert.ok(saved.length < 2_000_000);
  });

  it('holds no more marks than it records, however many rows a report has', async () => {
    await remembering('node', 'account', async (delivered) => {
      const addMany = async (from: number, to: number) => {
        for (let at = from; at < to; at += 1_000)
          await delivered.add(Array.from({ length: 1_000 }, (_, index) => ({ uuid: String(at + index) })));
        collectGarbage();
        return process.memoryUsage().heapUsed;
      };
      const first = await addMany(0, 100_000);
      const growth = (await addMany(100_000, 500_000)) - first;
      assert.ok(growth < 10_000_000, `${growth} bytes`);
    });
    assert.deepEqual(await fresh([{ uuid: '399999' }, { uuid: '400000' }]), [{ uuid: '399999' }]);
  });

  it('lets the event loop turn while it adds many rows', async () => {
    let now = 0;
    clock.monotonic = () => now++;
    let turns = 0;
    const count = () => (waiting = setImmediate(() => (turns++, count())));
    let waiting: NodeJS.Immediate;
    count();
    await fresh(Array.from({ length: 1_000 }, (_, number) => ({ uuid: String(number) })));
    clearImmediate(waiting!);
    assert.ok(turns > 50, `${turns} turns`);
  });

  it('serializes reports of the same name', async () => {
    const both = await Promise.all([fresh([{ uuid: '1' }]), fresh([{ uuid: '1' }])]);
    assert.deepEqual(both.map(({ length }) => length), [1, 0]); // oxfmt-ignore
  });

  it('delivers nothing while the record of delivered rows can’t be read', async () => {
    await fresh([{ uuid: '1' }]);
    store.update = async () => Promise.reject(new PrintingError('FILE_NOT_READABLE', phrase`Too many open files.`));
    await assert.rejects(fresh([{ uuid: '1' }]), { code: 'FILE_NOT_READABLE' });
  });

  it('keeps the delivery if the record can’t be written', async () => {
    const { update } = store;
    store.update = async (...given) => {
      await update.apply(store, given as Parameters<typeof update>);
      throw new PrintingError('FILE_NOT_WRITABLE', phrase`The disk is full.`);
    };
    assert.equal((await fresh([{ uuid: '1' }])).length, 1);
  });

  it('waits for another report of the same name only until its deadline', async () => {
    let end = () => {};
    const first = remembering('node', 'account', () => new Promise<void>((resolve) => (end = resolve)));
    deadline = new Deadline(clock, { ms: 5_000 });
    await assert.rejects(clock.during(5_000, fresh([{ uuid: '1' }])), { code: 'TIMEOUT' });
    end();
    await first;
  });

  it('writes nothing if nothing was delivered', async () => {
    await fresh([{ uuid: '1' }]);
    const [before] = store.values.values();
    assert.equal((await fresh([{ uuid: '1' }])).length, 0);
    assert.equal([...store.values.values()][0], before);
  });
});
