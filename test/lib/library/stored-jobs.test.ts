import assert from 'node:assert/strict';
import fc from 'fast-check';
import { listStoredJobs } from '../../../lib/library/stored-jobs';
import { PrintingError } from '../../../lib/service/errors';
import { limit } from '../../helpers/limits';
import { pluck } from '../../helpers/pluck';
import { ScriptedService, WholeAnswer } from '../../helpers/scripted-service';

const job = (name: string, at: number, more: object = {}) => ({
  ...{ job_id: `id-${name}`, job_name: name, file_size: 12, status: 'uploaded', username: 'Ada' },
  ...{ uploaded_at: new Date(at).toISOString(), ...more },
});
const list = (data: unknown, search = '') => listStoredJobs(new ScriptedService([data]), search, limit());
const names = async (data: unknown, search?: string) => pluck(await list(data, search), 'name');

describe('library/stored-jobs', () => {
  it('lists uploaded files, the newest first and each once', async () => {
    const waiting = ['uploading', 'queued', 'failed', null].map((status) => job('none', 9, { status }));
    const jobs = [
      job('b', 2),
      ...waiting,
      job('c', 3),
      job('a', 1),
      job('c', 3),
      job('late', 4, { uploaded_at: null }),
    ];
    assert.deepEqual(await names(jobs), ['c', 'b', 'a', 'late']);
    assert.deepEqual((await list([job('a', 0)]))[0], {
      ...{ jobId: 'id-a', name: 'a', fileSize: 12, uploadedAt: '1970-01-01T00:00:00.000Z', uploadedBy: 'Ada' },
    });
  });

  it('finds the words of a search in name, uploader and ID, in any case', async () => {
    const jobs = [job('Red bracket.gcode', 2), job('hinge.ufp', 1, { username: 'Bob' })];
    for (const [search, found] of [
      [' BRACKET  red ', 'Red bracket.gcode'],
      ['bob', 'hinge.ufp'],
      ['hinge bob', 'hinge.ufp'],
      ['id-hinge.ufp', 'hinge.ufp'],
    ] as const)
      assert.deepEqual(await names(jobs, search), [found], search);
    assert.deepEqual(await names(jobs, 'bracket bob'), []);
    assert.deepEqual(await names(jobs, 'x'.repeat(1_000_000)), []);
  });

  it('reads all pages, and gives the newest 1,000 that the search finds', async () => {
    const page = (from: number) =>
      new WholeAnswer({
        data: Array.from({ length: 250 }, (_, n) => job(`${n % 2 ? 'odd' : 'even'} ${from + n}`, from + n)),
        meta: { page: { total_pages: 10 } },
      });
    const pages = Array.from({ length: 10 }, (_, index) => page(250 * index));
    const service = new ScriptedService([...pages, () => assert.fail('asked too often')]);
    const found = await listStoredJobs(service, 'odd', limit());
    assert.deepEqual([found.length, found[0]?.name, found.at(-1)?.name], [1000, 'odd 2499', 'odd 501']);
    assert.deepEqual(
      service.calls.map(({ endpoint, query }) => [endpoint, query?.limit, query?.page]),
      Array.from({ length: 10 }, (_, n) => ['storedJobs', '250', n === 0 ? undefined : String(n + 1)]),
    );
  });

  it('refuses an answer that is no list, and a list without an end', async () => {
    const endless = new WholeAnswer({ data: [job('a', 1)], meta: { page: { total_pages: 1e9 } } });
    for (const answer of ['<html>', null, 5, endless])
      await assert.rejects(list(answer), (error) => error instanceof PrintingError && error.code === 'SERVICE_ERROR');
  });

  it('reads any records', async () => {
    const field = fc.constantFrom('job_id', 'file_id', 'job_name', 'file_size', 'uploaded_at', 'username', 'status');
    const wire = fc.dictionary(field, fc.oneof(fc.anything(), fc.constantFrom('uploaded', 'a', 7)));
    await fc.assert(
      fc.asyncProperty(fc.array(wire), fc.string(), async (wires, search) => {
        for (const { jobId, fileSize, ...texts } of await list(wires, search)) {
          assert.equal(typeof jobId, 'string');
          assert.ok(fileSize === null || Number.isFinite(fileSize));
          for (const text of Object.values(texts)) assert.ok(text === null || typeof text === 'string');
        }
      }),
    );
  });
});
