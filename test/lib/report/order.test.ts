import assert from 'node:assert/strict';
import type { ApiClient } from '../../../lib/account/api-client';
import { orderReport, readReport } from '../../../lib/report/order';
import { PrintingError } from '../../../lib/service/errors';
import { ManualClock } from '../../helpers/manual-clock';
import { limit } from '../../helpers/limits';
import { ScriptedService } from '../../helpers/scripted-service';
import { phrase } from '../../../lib/words/sentence';
import { pluck } from '../../helpers/pluck';

const URL = 'https://storage.example/report';
const range = { from: Date.parse('2026-01-01T00:00:00Z'), to: Date.parse('2026-01-02T00:00:00.5Z') };

describe('report/order', () => {
  let clock: ManualClock;
  let known: string[];
  beforeEach(() => {
    clock = new ManualClock();
    known = [];
  });
  const limits = () => ({ deadline: limit(clock) });
  const order = (service: ApiClient) =>
    orderReport(service, {
      clusterIds: ['a', 'b'],
      reportType: 'print_jobs',
      range,
      ...limits(),
      onOrdered: (id) => known.push(id),
    });
  /** The result after a time, or its absence. */
  async function after<T>(seconds: number, work: Promise<T>): Promise<T | 'still waiting'> {
    const ended = work.catch((error: unknown) => Promise.reject(error as Error));
    ended.catch(() => undefined);
    await clock.advance(seconds * 1000);
    return Promise.race([ended, Promise.resolve('still waiting' as const)]);
  }
  const answered = (status: unknown, changes = {}) => ({ report_id: 'r', status, ...changes });
  const done = answered('success', { download_url: URL });

  it('requests a report of the clusters, the type and the range', async () => {
    const service = new ScriptedService([done]);
    assert.deepEqual(await order(service), { reportId: 'r', url: URL, raw: done });
    assert.equal(service.calls.length, 1);
    assert.deepEqual(service.calls[0]?.data, {
      cluster_ids: ['a', 'b'],
      start_date: '2026-01-01T00:00:00.000Z',
      end_date: '2026-01-02T00:00:00.500Z',
      report_type: 'print_jobs',
    });
    assert.deepEqual(known, ['r']);
  });

  it('waits for a report that the service does not find yet, but not for one that is gone', async () => {
    const missing = new PrintingError('NOT_FOUND', phrase`No such report.`, { outcome: 'refused' });
    const found = new ScriptedService([answered('pending'), missing, missing, answered('pending'), missing, done]);
    assert.deepEqual(await after(20, order(found)), { reportId: 'r', url: URL, raw: done });
    const gone = new ScriptedService([answered('pending'), answered('pending'), missing]);
    await assert.rejects(after(20, order(gone)), { code: 'NOT_FOUND' });
  });

  it('polls at growing intervals', async () => {
    const service = new ScriptedService([
      answered('pending'),
      answered('processing'),
      answered(null),
      answered('Processing'),
    ]);
    const work = order(service);
    assert.equal(await after(600, work), 'still waiting');
    assert.ok(service.calls.length > 110 && service.calls.length < 135, String(service.calls.length));
    assert.deepEqual(service.calls.at(-1)?.ids, { report_id: 'r' });
    assert.deepEqual(known, ['r']);
  });

  it('ends with REPORT_FAILED at once after a failure', async () => {
    await assert.rejects(after(1, order(new ScriptedService([answered('failed')]))), {
      code: 'REPORT_FAILED',
      message: /\(failed\)/,
    });
  });

  for (const [name, answer, said] of [
    ['unknown', answered('unknown'), /\(unknown\)/],
    ['an unknown status', answered('expired'), /\(expired\)/],
    ['a success without a URL', answered('success'), /\(no address\)/],
  ] as const)
    it(`waits a minute with ${name}, then ends with REPORT_FAILED`, async () => {
      assert.equal(await after(59, order(new ScriptedService([answer]))), 'still waiting');
      await assert.rejects(after(66, order(new ScriptedService([answer]))), { code: 'REPORT_FAILED', message: said });
      const recovering = new ScriptedService([answer, answered('processing'), answer, done]);
      assert.deepEqual(await after(30, order(recovering)), { reportId: 'r', url: URL, raw: done });
    });

  it('repeats a request whose answer was lost, a few times', async () => {
    const lost = new PrintingError('NETWORK', phrase`No.`, { outcome: 'unknown' });
    const service = new ScriptedService([lost, lost, done]);
    assert.deepEqual(await after(30, order(service)), { reportId: 'r', url: URL, raw: done });
    assert.equal(service.calls.length, 3);
    await assert.rejects(after(60, order(new ScriptedService([lost]))), { code: 'NETWORK' });
    const refused = new ScriptedService([new PrintingError('FORBIDDEN', phrase`No.`, { outcome: 'refused' })]);
    await assert.rejects(after(60, order(refused)), { code: 'FORBIDDEN' });
    assert.equal(refused.calls.length, 1);
  });

  it('rejects an answer without a report id', async () => {
    for (const answer of [{ status: 'pending' }, { report_id: 7 }, [], 'yes'] as object[])
      await assert.rejects(after(1, order(new ScriptedService([answer]))), {
        code: 'SERVICE_ERROR',
        message: /named no report/,
      });
    assert.equal(clock.waiting, 0);
  });

  it('accepts a list of one, and reads the URL again', async () => {
    const service = new ScriptedService([[answered('processing')], [done]]);
    const found = await after(5, readReport(service, 'r', limits()));
    assert.deepEqual(found, { reportId: 'r', url: URL, raw: [done] });
    assert.deepEqual(pluck(service.calls, 'endpoint'), ['getReport', 'getReport']);
  });
});
