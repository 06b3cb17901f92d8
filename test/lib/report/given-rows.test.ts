import assert from 'node:assert/strict';
import type { Row } from '../../../lib/report/csv';
import { remembering } from '../../../lib/report/given-rows';
import { MemoryStore } from '../../helpers/memory-store';

describe('report/given-rows', () => {
  let store: MemoryStore;
  beforeEach(() => {
    store = new MemoryStore();
  });
  /** Which of these rows are new, once they have been given. */
  const fresh = (rows: Row[], name = 'node', accountId = 'account') =>
    remembering(store, { scope: [accountId, 'service', 'workspace'], name }, async (memory) => {
      const found = rows.filter((row) => memory.isNew(row));
      memory.add(found);
      return found;
    });

  it('knows rows by the print job they tell of, whatever else of them has changed', async () => {
    assert.equal((await fresh([{ cluster_job_id: '1', status: 'printing' }])).length, 1);
    assert.equal((await fresh([{ cluster_job_id: '1', status: 'finished' }])).length, 0);
    assert.equal((await fresh([{ uuid: '1', status: 'finished' }])).length, 0, 'by another of its names');
    assert.equal((await fresh([{ 'Cluster Job ID': '1', uuid: '2' }])).length, 0);
    assert.equal((await fresh([{ clusterJobId: '1' }, { clusterJobId: '3' }])).length, 1);
  });

  it('does not take the stored file for a printing of it', async () => {
    assert.equal((await fresh([{ job_id: 'file', ended_at: 'monday' }])).length, 1);
    assert.equal((await fresh([{ job_id: 'file', ended_at: 'tuesday' }])).length, 1);
    assert.equal((await fresh([{ job_id: 'file', ended_at: 'monday' }])).length, 0);
  });

  it('knows rows that name no print job as a whole', async () => {
    const rows = [
      { uuid: ' ', name: 'a' },
      { uuid: '', name: 'b' },
    ];
    assert.equal((await fresh(rows)).length, 2);
    assert.equal((await fresh([...rows, { uuid: '', name: 'c' }])).length, 1);
  });

  it('lets one report say a thing twice, and another node or account have its own', async () => {
    assert.equal((await fresh([{ uuid: '1' }, { uuid: '1' }])).length, 2);
    assert.equal((await fresh([{ uuid: '1' }], 'other')).length, 1);
    assert.equal((await fresh([{ uuid: '1' }], 'node', 'other')).length, 1);
  });

  it('remembers what was given before the work failed', async () => {
    const work = remembering(store, { scope: ['account', 'service', 'workspace'], name: 'node' }, async (memory) => {
      memory.add([{ uuid: '1' }]);
      throw new Error('broken off');
    });
    await assert.rejects(work, /broken off/);
    assert.deepEqual(await fresh([{ uuid: '1' }, { uuid: '2' }]), [{ uuid: '2' }]);
  });

  it('forgets the oldest of more than a hundred thousand', async () => {
    const many = Array.from({ length: 100_001 }, (_, number) => ({ uuid: String(number) }));
    assert.equal((await fresh(many)).length, 100_001);
    assert.deepEqual(await fresh([{ uuid: '0' }, { uuid: '1' }]), [{ uuid: '0' }]);
    assert.deepEqual(await fresh([{ uuid: '1' }, { uuid: '2' }]), [{ uuid: '1' }]);
    const [saved = ''] = store.values.values();
    assert.ok(saved.length < 2_000_000);
  });

  it('lets one report after the other look and remember', async () => {
    const both = await Promise.all([fresh([{ uuid: '1' }]), fresh([{ uuid: '1' }])]);
    assert.deepEqual(both.map(({ length }) => length), [1, 0]); // prettier-ignore
  });
});
