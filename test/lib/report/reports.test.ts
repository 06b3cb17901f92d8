import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '../../../lib/client';
import type { Row } from '../../../lib/report/csv';
import type { Slice } from '../../../lib/report/outputs';
import type { Report, ReportProgress, ReportRequest } from '../../../lib/report/reports';
import type { PrintingError } from '../../../lib/service/errors';
import { startSimulator, type Simulator } from '../../../simulator';
import { systemClock } from '../../../lib/time/clock';
import type { Deadline } from '../../../lib/time/deadline';
import { MemoryStore } from '../../helpers/memory-store';
import { signedInClient } from '../../helpers/simulated-client';
import { limit } from '../../helpers/limits';
import { TurnedTime } from '../../helpers/turned-time';
import { pluck } from '../../helpers/pluck';

describe('report/reports', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let client: Client;
  let folder: string;
  let results: { report: Report; payload: unknown }[];
  let slices: Slice[];
  let progress: ReportProgress[];

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ reportDelay: 0, now: time.now });
    client = await signedInClient(simulator, { store: new MemoryStore(), clock: systemClock });
    folder = await mkdtemp(join(tmpdir(), 'reports-'));
    [results, slices, progress] = [[], [], []];
  });
  afterEach(async () => {
    await time.until(client.close());
    for (const deadline of deadlines.splice(0)) deadline.end();
    await simulator.close();
    await rm(folder, { recursive: true, force: true });
    time.restore();
  });

  const deadlines: Deadline[] = [];
  const within = (options: { seconds: number; signal?: AbortSignal }): Deadline => {
    const deadline = limit(client.clock, options);
    deadlines.push(deadline);
    return deadline;
  };
  const run = (changes: Partial<ReportRequest> = {}) =>
    time.until(
      client.reports.run({
        clusterIds: null,
        reportType: 'print_jobs',
        range: { from: Date.parse('2026-01-01T00:00:00Z'), to: Date.parse('2026-01-08T00:00:00Z') },
        format: 'rows',
        path: '',
        onlyNew: null,
        deadline: within({ seconds: 3000 }),
        onProgress: (step) => progress.push(step),
        onResult: (report, payload) => results.push({ report, payload }),
        onRows: (_report, slice) => void slices.push(slice),
        ...changes,
      }),
    );
  const rows = () => results.map(({ payload }) => (payload as object[]).length);
  const downloads = () => simulator.requests.count('reportGet');

  for (const [name, fault] of [
    ['a broken connection', { cut: 'connection' }],
    ['an expired URL', { status: 403 }],
    ['a failure of the storage', { status: 503 }],
  ] as const)
    it(`downloads again with a fresh URL after ${name}`, async () => {
      simulator.world.setReports({ rows: 100 });
      simulator.faults.add({ endpoint: 'reportGet', ...fault, times: 3 });
      await run();
      assert.deepEqual(rows(), [100]);
      assert.equal(downloads(), 4);
      assert.equal(simulator.requests.count('getReport'), 3);
    });

  it('gives up after four more tries, and keeps the old file', async () => {
    const path = join(folder, 'weekly.csv');
    await writeFile(path, 'the old one');
    simulator.world.setReports({ rows: 5_000, cutAfter: 500_000 });
    await assert.rejects(run({ format: 'file', path }), (error: PrintingError) => {
      assert.equal(error.code, 'NETWORK');
      assert.equal(typeof error.ids.reportId, 'string');
      return true;
    });
    assert.equal(downloads(), 5);
    assert.deepEqual(await readdir(folder), ['weekly.csv']);
    assert.equal(await readFile(path, 'utf8'), 'the old one');
    assert.deepEqual(results, []);
  });

  it('does not retry a final refusal of the storage', async () => {
    simulator.faults.add({ endpoint: 'reportGet', status: 418 });
    await assert.rejects(run(), { code: 'SERVICE_ERROR' });
    assert.equal(downloads(), 1);
  });

  it('delivers a stream slice by slice, with turns of the event loop in between', async () => {
    simulator.world.setReports({ rows: 5_000 });
    let turned = true;
    await run({
      format: 'stream',
      onRows: (report, slice) => {
        assert.ok(turned);
        turned = false;
        setImmediate(() => (turned = true));
        assert.ok(slice.rows.length <= 250);
        assert.equal(report.columns.length, 10);
        slices.push(slice);
      },
    });
    assert.equal(slices.flatMap((slice) => slice.rows).length, 5_000);
    slices.reduce((first, slice) => {
      assert.equal(slice.first, first);
      return first + slice.rows.length;
    }, 0);
    assert.deepEqual(pluck(slices, 'count'), [...slices.slice(1).map(() => null), 5_000]);
    assert.ok(slices.length > 10);
    assert.deepEqual(results, []);
  });

  it('ends a stream when its consumer fails, and does not restart it', async () => {
    simulator.world.setReports({ rows: 5_000 });
    const onRows = () => {
      throw new Error('full');
    };
    await assert.rejects(run({ format: 'stream', onRows }), /full/);
    assert.equal(downloads(), 1);
  });

  it('records exactly the delivered rows when it is closed in the middle', async () => {
    simulator.world.setReports({ rows: 5_000 });
    const closing = new AbortController();
    const onRows = (_report: Report, slice: Slice) => {
      slices.push(slice);
      if (slices.length === 10) closing.abort(new Error('closed'));
    };
    await assert.rejects(
      run({ format: 'stream', onlyNew: 'node', onRows, deadline: within({ seconds: 3000, signal: closing.signal }) }),
      /closed/,
    );
    const handed = slices.flatMap(({ rows }) => rows);
    assert.ok(handed.length > 250 && handed.length < 5_000);
    await run({ onlyNew: 'node' });
    const rest = results.flatMap(({ payload }) => payload as Row[]);
    assert.deepEqual(new Set([...handed, ...rest].map((row) => row.job_uuid)).size, 5_000);
    assert.equal(handed.length + rest.length, 5_000);
  });

  describe('with any answer of the storage', () => {
    const broken = 'a,b\n1,2\n3,"never closed\n4,5\n';
    let storage: Server;
    let answer: { type: string; body: string };
    let headers: IncomingHttpHeaders[];
    beforeEach(async () => {
      headers = [];
      storage = createServer((request, response) => {
        headers.push(request.headers);
        response.setHeader('content-type', answer.type);
        response.end(answer.body);
      });
      await new Promise<void>((resolve) => storage.listen(0, '127.0.0.1', resolve));
      const { port } = storage.address() as AddressInfo;
      const set = { 'data.download_url': `http://127.0.0.1:${port}/report` };
      for (const endpoint of ['createReport', 'getReport'] as const)
        simulator.faults.add({ endpoint, set, times: 'always' });
    });
    afterEach(() => new Promise((resolve) => storage.close(resolve)));

    it('delivers text or a file unchanged, even if it is not a table', async () => {
      answer = { type: 'application/octet-stream', body: `\uFEFF${broken}` };
      const path = join(folder, 'broken.csv');
      await run({ format: 'csv' });
      await run({ format: 'file', path });
      assert.deepEqual(results.map(({ payload }) => payload), [broken, path]); // oxfmt-ignore
      for (const { report } of results) assert.deepEqual([report.columns, report.rowCount], [['a', 'b'], null]);
      assert.equal(await readFile(path, 'utf8'), `\uFEFF${broken}`);
      assert.equal(headers[0]?.authorization, undefined, 'without a bearer');
    });

    it('rejects anything but a table if rows are requested', async () => {
      answer = { type: 'text/csv', body: broken };
      await assert.rejects(run(), { code: 'SERVICE_ERROR', message: /CSV_QUOTE_NOT_CLOSED/ });
      await assert.rejects(run({ format: 'stream' }), { code: 'SERVICE_ERROR', message: /CSV_QUOTE_NOT_CLOSED/ });
      assert.equal(headers.length, 2, 'not asked for again');
      answer = { type: 'text/csv', body: '' };
      await run();
      await run({ format: 'stream' });
      for (const { report, payload } of results) assert.deepEqual([report.columns, payload], [[], []]);
    });

    it('rejects a web page', async () => {
      answer = { type: 'text/html; charset=utf-8', body: '<h1>a,b' };
      await assert.rejects(run({ format: 'csv' }), { code: 'SERVICE_ERROR', message: /web page/ });
      assert.equal(headers.length, 5);
    });
  });

  it('reports its progress', async () => {
    simulator.world.setReports({ rows: 3, seconds: 0.2 });
    await run({ clusterIds: [simulator.world.clusters()[0]?.clusterId ?? ''] });
    assert.deepEqual(progress[0], { stage: 'creating', rows: 0 });
    assert.deepEqual(progress[1], { stage: 'waiting', rows: 0 });
    assert.deepEqual(progress[2], { stage: 'downloading', rows: 0 });
    const [{ report } = assert.fail()] = results;
    assert.deepEqual([report.from, report.to], ['2026-01-01T00:00:00.000Z', '2026-01-08T00:00:00.000Z']);
    assert.equal(report.clusterId, simulator.world.clusters()[0]?.clusterId);
  });

  it('ends with TIMEOUT in the middle of a download, and leaves no file behind', async () => {
    simulator.faults.add({ endpoint: 'reportGet', hang: true });
    await assert.rejects(run({ format: 'file', path: join(folder, 'x.csv'), deadline: within({ seconds: 50 }) }), {
      code: 'TIMEOUT',
    });
    // The removal of the unfinished file continues after the message.
    while ((await readdir(folder)).length > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('ends when it is closed, and settles when its files are deleted', async () => {
    const closing = new AbortController();
    simulator.world.setReports({ rows: 300_000 });
    const path = join(folder, 'x.csv');
    const running = run({ format: 'file', path, deadline: within({ seconds: 30_000, signal: closing.signal }) });
    while ((await readdir(folder)).length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    closing.abort(new Error('closed'));
    const ended = assert.rejects(running);
    await client.reports.settled();
    assert.deepEqual(await readdir(folder), []);
    await ended;
  });
});
