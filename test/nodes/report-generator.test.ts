import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeMessage } from 'node-red';
import type { Row } from '../../lib/report/csv';
import type { Simulator } from '../../simulator';
import type { Flow } from '../helpers/flow';
import { OtherStorage } from '../helpers/other-storage';
import { pluck } from '../helpers/pluck';
import { clustersOf, codeOf, NodeBench, partsOf } from './support';

/** Printers of the rows, in order of appearance. */
const printersOf = (msg: NodeMessage) => [...new Set((msg.payload as Row[]).map((row) => row.printer_uuid))];
const rowsOf = (msg: NodeMessage) => msg.payload as Row[];

describe('nodes/report-generator', () => {
  let simulator: Simulator;
  let flow: Flow;
  let folder: string;

  const bench = new NodeBench(
    { id: 'report', type: 'remote-printing-report-generator', timeout: 120 },
    { simulator: { reportDelay: 0 }, sentence: /^[A-Z"“/].*[^.]\.$/ },
  );
  const { deploy, run, one } = bench;
  async function all(msg?: NodeMessage): Promise<NodeMessage[]> {
    const { sent, error } = await run(msg);
    assert.equal(error?.error, undefined);
    return sent;
  }
  const failed = (code: string, msg: NodeMessage = {}) => bench.failed(msg, code);
  let storage: OtherStorage | undefined;
  /** Lets the next report consist of this table. */
  async function sendsTable(table: string): Promise<void> {
    storage = await OtherStorage.start((_request, response) => {
      response.setHeader('content-type', 'text/csv');
      response.end(table);
    });
    const set = { 'data.download_url': `${storage.url}/report` };
    for (const endpoint of ['createReport', 'getReport'] as const) simulator.faults.add({ endpoint, set });
  }
  const clusterId = (number = 0) => clustersOf(simulator)[number]?.clusterId ?? '';
  const printerUuid = (number: number) => simulator.world.cluster(number + 1).printers[0]!.uuid;
  const ordered = () => simulator.requests.count('createReport');
  const statusOf = () => flow.statuses('report').at(-1);

  beforeEach(async () => ({ simulator, flow, folder } = await bench.start()));
  afterEach(async () => {
    await bench.stop();
    await storage?.stop();
    storage = undefined;
  });

  it('sends a summary in figures, and says how many rows it has', async () => {
    await sendsTable(
      'printer_name,started_at,removed_at\nA,2030-01-01T10:00:00Z,2030-01-01T11:30:00Z\nA,2030-01-02T10:00:00Z,\n',
    );
    await deploy({ format: 'summary' });
    const { payload, rowCount, columns, attachments } = (await one()) as NodeMessage & Record<string, unknown>;
    assert.deepEqual(payload, {
      ...{ prints: 2, finished: null, failed: null, aborted: null, hours: 1.5 },
      ...{ printers: [{ name: 'A', prints: 2, hours: 1.5 }], materials: null },
    });
    assert.deepEqual([rowCount, attachments], [2, undefined]);
    assert.deepEqual(columns, ['printer_name', 'started_at', 'removed_at']);
  });

  it('decodes a report that the storage compresses, as text and as rows', async () => {
    storage = await OtherStorage.compressed('a,b\n1,2\n', 'text/csv');
    const set = { 'data.download_url': `${storage.url}/report` };
    for (const endpoint of ['createReport', 'getReport'] as const)
      simulator.faults.add({ endpoint, set, times: 'always' });
    await deploy({ format: 'csv' });
    assert.equal((await one()).payload, 'a,b\n1,2\n');
    await deploy({ format: 'rows' });
    assert.deepEqual((await one()).payload, [{ a: '1', b: '2' }]);
  });

  describe('rows', () => {
    it('sends an array of objects, and passes on the other properties of the message', async () => {
      await deploy();
      simulator.world.setReports({ rows: 3 });
      const req = { socket: {} };
      const message = await one({ req, other: { deep: 1 }, topic: 'mine', filename: '/never/here.csv' });
      const [row] = rowsOf(message);
      assert.equal(rowsOf(message).length, 3);
      assert.deepEqual(Object.keys(row ?? {}), message.columns);
      assert.equal(row?.job_name, 'bracket.gcode');
      assert.equal(row.extruder_2_material, '');
      assert.equal(message.rowCount, 3);
      assert.equal(message.req, req);
      assert.deepEqual([message.other, message.topic, message.filename], [{ deep: 1 }, 'mine', '/never/here.csv']);
      assert.equal(typeof message.reportId, 'string');
      assert.equal((message.raw as { report_id: string }).report_id, message.reportId);
      assert.equal(message.clusterId, undefined);
      assert.equal(message.simulated, undefined);
      assert.match(statusOf()?.text as string, /doneRows/);
    });

    it('reads a table whose lines end in CR alone', async () => {
      await deploy();
      await sendsTable('job;status\rone;finished\rtwo;aborted\r');
      const message = await one();
      assert.deepEqual(rowsOf(message), [
        { job: 'one', status: 'finished' },
        { job: 'two', status: 'aborted' },
      ]);
      assert.equal(message.rowCount, 2);
    });

    it('reports on all clusters and the last 7 days by default', async () => {
      await deploy();
      const before = Date.now();
      const message = await one();
      const [from, to] = [Date.parse(message.from as string), Date.parse(message.to as string)];
      assert.ok(to >= before && to <= Date.now());
      assert.ok(Math.abs(to - from - 7 * 24 * 3600_000) <= 3600_000);
      assert.deepEqual([message.payload, message.rowCount], [[], 0]);
      simulator.world.setReports({ rows: 9 });
      assert.deepEqual(printersOf(await one()), [0, 1, 2].map(printerUuid));
    });

    it('reads blank settings from the message', async () => {
      await deploy();
      simulator.world.setReports({ rows: 9 });
      const message = await one({ clusterId: [clusterId(1)], from: '2026-01-01', to: new Date('2026-02-01T00:00Z') });
      assert.deepEqual(printersOf(message), [printerUuid(1)]);
      assert.equal(message.clusterId, clusterId(1));
      assert.equal(message.from, new Date(2026, 0, 1).toISOString());
      assert.equal(message.to, '2026-02-01T00:00:00.000Z');
      await bench.failed({ reportType: 'other' }, 'SERVICE_ERROR', /report_type|400/);
    });

    it('prefers a setting over the message', async () => {
      await deploy({
        clusters: `${clusterId(0)}, ${clusterId(2)}`,
        reportType: 'print_jobs',
        from: '1767225600000',
        fromType: 'jsonata',
        to: 'yesterday',
        toType: 'relative',
      });
      simulator.world.setReports({ rows: 9 });
      const message = await one({ clusterId: clusterId(1), reportType: 'other', from: 'today', to: 'today' });
      assert.deepEqual(printersOf(message), [printerUuid(0), printerUuid(2)]);
      assert.equal(message.from, '2026-01-01T00:00:00.000Z');
      assert.equal(message.to, new Date(new Date().setHours(0, 0, 0, 0)).toISOString());
      assert.equal(message.clusterId, clusterId(1), 'the incoming value stays');
    });

    for (const made of [
      { separator: ';', bom: true, crlf: true },
      { separator: '\t', hardNames: true },
    ] as const)
      it(`reads tables with ${JSON.stringify(made)}`, async () => {
        await deploy();
        simulator.world.setReports({ rows: 5, repeatedColumns: true, ...made });
        const { columns, payload } = await one();
        assert.deepEqual((columns as string[]).slice(-2), ['extruder_material', 'extruder_material_2']);
        const names = (payload as Row[]).map((row) => row.job_name);
        assert.equal(names.length, 5);
        assert.equal(names[0], 'hardNames' in made ? `"bracket.gcode"\t part 1\n of "2"` : 'bracket.gcode');
      });

    it('survives a token that expires during the work', async () => {
      await deploy();
      simulator.world.setReports({ seconds: 0.2, rows: 2 });
      const expire = (body: unknown) => {
        simulator.tokens.expireAccessTokens();
        return body;
      };
      // Expires the token after the order, and again between two reads of the report.
      simulator.faults.add({ endpoint: 'createReport', transform: expire });
      simulator.faults.add({ endpoint: 'getReport', transform: expire });
      assert.equal(rowsOf(await one()).length, 2);
      assert.ok(simulator.tokens.refreshes >= 1);
      assert.equal(simulator.tokens.reuseDetections, 0);
    });

    it('waits for a slow report', async () => {
      await deploy();
      await one();
      const before = flow.statuses('report').length;
      simulator.world.setReports({ seconds: 0.8, rows: 1 });
      assert.equal(rowsOf(await one()).length, 1);
      const shown = pluck(flow.statuses('report').slice(before), 'text').map((text) => text?.replace(/.*status\./, ''));
      assert.deepEqual(shown, ['creating', 'waiting', 'downloading', 'doneRows']);
    });
  });

  describe('csv and file', () => {
    it('sends the text unchanged', async () => {
      await deploy({ format: 'csv' });
      simulator.world.setReports({ rows: 2, bom: true, separator: ';' });
      const message = await one();
      const lines = (message.payload as string).split('\n');
      assert.equal(lines.length, 4);
      assert.equal(lines[0], (message.columns as string[]).join(';'));
      assert.equal(message.rowCount, 2);
    });

    it('attaches the report to a mail, beside earlier attachments', async () => {
      await deploy({ format: 'csv', from: '2026-03-01', fromType: 'str', to: '2026-03-31', toType: 'str' });
      const content = 'mine';
      const { payload, attachments, filename } = await one({ attachments: [{ content }], filename: 'mine.txt' });
      assert.deepEqual(attachments, [{ content }, { filename: 'report-20260301-20260331.csv', content: payload }]);
      assert.equal(filename, 'mine.txt');
      const path = join(folder, 'weekly.csv');
      await deploy({ format: 'file', file: path, fileType: 'str' });
      assert.deepEqual((await one({ attachments: 'none' })).attachments, [{ filename: 'weekly.csv', path }]);
      await deploy({ format: 'rows' });
      assert.equal((await one()).attachments, undefined);
    });

    it('writes a file with a relative path where Node-RED’s own file nodes do', async () => {
      flow.useSettings({ fileWorkingDirectory: folder });
      await deploy({ format: 'file', file: 'relative.csv', fileType: 'str' });
      assert.equal((await one()).payload, join(folder, 'relative.csv'));
    });

    it('writes a file atomically', async () => {
      const path = join(folder, 'weekly.csv');
      await writeFile(path, 'the old one');
      await deploy({ format: 'file', file: 'target', fileType: 'msg' });
      simulator.world.setReports({ rows: 500 });
      const message = await one({ target: path, filename: join(folder, 'another.csv') });
      assert.equal(message.payload, path);
      assert.equal(message.rowCount, 500);
      assert.equal((await readFile(path, 'utf8')).split('\n').length, 502);
      assert.deepEqual(await readdir(folder), ['weekly.csv']);
    });

    it('never writes to msg.filename by default', async () => {
      await deploy({ format: 'file' });
      await bench.failed({ filename: join(folder, 'x.csv') }, 'INVALID_INPUT', /Choose a file/);
      assert.deepEqual(await readdir(folder), []);
      assert.equal(ordered(), 0);
    });

    it('reports an unwritable file before it orders the report', async () => {
      await mkdir(join(folder, 'taken'));
      await writeFile(join(folder, 'file'), '');
      await deploy({ format: 'file', file: 'target', fileType: 'msg' });
      for (const [path, reason] of [
        [join(folder, 'missing', 'x.csv'), /no folder for the file/],
        [join(folder, 'taken'), /not a file but a folder/],
        [join(folder, 'file', 'x.csv'), /no folder for the file/],
      ] as const)
        await bench.failed({ target: path }, 'FILE_NOT_WRITABLE', reason);
      await failed('INVALID_INPUT', {});
      assert.equal(ordered(), 0);
    });
  });

  describe('stream', () => {
    it('puts the printers of a report of several into no row', async () => {
      await deploy({ format: 'stream', clusters: 'order.printers', clustersType: 'msg' });
      simulator.world.setReports({ rows: 3 });
      const printers = simulator.world.clusters(simulator.users[0]?.organizations[0]?.organizationId);
      const ids = printers.map(({ clusterId }) => clusterId);
      const sent = await all({ order: { printers: ids, customer: 'one' } });
      assert.deepEqual(
        sent.map(({ order }) => order),
        Array(3).fill({ customer: 'one' }),
      );
    });

    it('sends each row as its own message, the last one with the count', async () => {
      await deploy({ format: 'stream' });
      simulator.world.setReports({ rows: 1234 });
      const res = { app: {} };
      const sent = await all({ topic: 'mine', res, deep: { list: [{ a: 1 }] }, flat: { a: 1 }, list: [1, 2] });
      assert.equal(sent.length, 1234);
      const [first, second] = sent as [NodeMessage, NodeMessage];
      assert.deepEqual(Object.keys(first.payload as Row), first.columns);
      sent.forEach((message, index) => {
        const { id, type, index: at, count } = partsOf(message) ?? assert.fail();
        assert.deepEqual([id, type, at], [partsOf(first)?.id, 'array', index]);
        assert.equal(count, index === 1233 ? 1234 : undefined);
        assert.deepEqual([message.topic, message.reportId], ['mine', first.reportId]);
        assert.equal(message.res, res);
        assert.equal((message.payload as Row).job_uuid?.slice(0, 8), index.toString(16).padStart(8, '0'));
      });
      assert.equal(sent.at(-1)?.rowCount, 1234);
      for (const name of ['deep', 'flat', 'list', 'columns', 'raw']) {
        assert.deepEqual(second[name], first[name]);
        assert.notEqual(second[name], first[name], `${name} is a separate copy`);
      }
      assert.notEqual((second.deep as { list: object[] }).list[0], (first.deep as { list: object[] }).list[0]);
    });

    it('sends one message with an empty array when there are no rows', async () => {
      await deploy({ format: 'stream' });
      const message = await one({ parts: { id: 'x', index: 0 } });
      assert.deepEqual([message.payload, message.rowCount], [[], 0]);
      assert.equal((message.columns as string[]).length, 10);
    });

    it('fails without a retry when the stream breaks off, so that no row is sent twice', async () => {
      await deploy({ format: 'stream' });
      simulator.world.setReports({ rows: 4_000, cutAfter: 400_000 });
      const { sent, error } = await run();
      assert.equal(error && codeOf(error), 'NETWORK');
      assert.ok(sent.length > 100 && sent.length < 20_000);
      assert.deepEqual(new Set(sent.map((message) => partsOf(message)?.index)).size, sent.length);
      assert.equal(simulator.requests.count('reportGet'), 1);
      assert.equal(typeof error?.reportId, 'string');
    });

    it('stops when the node closes', async () => {
      await deploy({ format: 'stream' });
      simulator.world.setReports({ rows: 200_000 });
      flow.send('report', {});
      await bench.sent.at(500);
      const inbox = bench.sent;
      await deploy({ format: 'stream' });
      const sent = inbox.all.length;
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.equal(inbox.all.length, sent);
      assert.ok(sent < 200_000);
    });
  });

  describe('only new rows', () => {
    for (const format of ['rows', 'stream']) {
      it(`leaves known rows out of ${format}, even after a redeploy`, async () => {
        await deploy({ format, onlyNew: true });
        simulator.world.setReports({ rows: 3 });
        const rows = (sent: NodeMessage[]) => sent.flatMap(({ payload }) => payload) as Row[];
        assert.equal(rows(await all()).length, 3);
        assert.deepEqual(rows(await all()), []);
        simulator.world.setReports({ rows: 5 });
        await deploy({ format, onlyNew: true });
        const fresh = await all();
        assert.deepEqual(
          rows(fresh).map((row) => row.job_uuid?.slice(0, 8)),
          ['00000003', '00000004'],
        );
        if (format === 'stream') assert.deepEqual(fresh.map((message) => partsOf(message)?.index), [0, 1]); // oxfmt-ignore
        assert.equal(fresh.at(-1)?.rowCount, 2);
        await deploy({ format, onlyNew: false });
        assert.equal(rows(await all()).length, 5);
      });
    }

    it('remembers the rows that an interrupted stream has sent', async () => {
      await deploy({ format: 'stream', onlyNew: true });
      simulator.world.setReports({ rows: 4_000, cutAfter: 400_000 });
      const first = (await run()).sent.length;
      assert.ok(first > 100);
      simulator.world.setReports({ rows: 4_000 });
      const rest = await all();
      assert.equal(first + rest.length, 4_000);
      assert.equal(partsOf(rest[0] ?? {})?.index, 0);
    });

    it('requires rows or a stream', async () => {
      await deploy({ format: 'csv', onlyNew: true });
      await failed('INVALID_INPUT');
    });
  });

  describe('failures', () => {
    it('names invalid input', async () => {
      await deploy();
      for (const [msg, pattern] of [
        [{ clusterId: 7 }, /printers must be/],
        [{ clusterId: [clusterId(), null] }, /printers must be/],
        [{ clusterId: [] }, /list of printers is empty/],
        [{ from: 'soon' }, /from must look/],
        [{ from: '2026-01-02', to: '2026-01-01' }, /range is empty/],
        [{ reportType: {} }, /reportType must be/],
      ] as const)
        await bench.failed({ ...msg }, 'INVALID_INPUT', pattern);
      assert.equal(ordered(), 0);
    });

    it('ends in NOT_FOUND for an unknown cluster or an account without clusters', async () => {
      await deploy();
      const error = await failed('NOT_FOUND', { clusterId: 'A'.repeat(44) });
      assert.deepEqual([error.clusterId, error.statusCode], ['A'.repeat(44), 404]);
      for (const { clusterId: id } of simulator.world.clusters()) simulator.world.removeCluster(id);
      await bench.failed({}, 'NOT_FOUND', /has no printers/);
    });

    it('ends in REPORT_FAILED when the report ends without success', async () => {
      await deploy();
      simulator.world.setReports({ outcome: 'failed' });
      const error = await failed('REPORT_FAILED', { clusterId: clusterId() });
      assert.equal(typeof error.reportId, 'string');
      assert.equal(error.clusterId, clusterId());
      assert.match(statusOf()?.text as string, /error\.REPORT_FAILED/);
    });

    it('ends in TIMEOUT when the report takes too long', async () => {
      await deploy({ timeout: 0.7 });
      simulator.world.setReports({ outcome: 'stuck' });
      await failed('TIMEOUT');
    });

    it('ends in NOT_CONFIGURED with an unknown format', async () => {
      await deploy({ format: 'xml' });
      await failed('NOT_CONFIGURED');
    });

    it('ends in TOO_LARGE when the rows exceed the memory limit', async () => {
      await deploy({ timeout: 600 });
      const row = `${'x'.repeat(2 ** 17)}\n`;
      await sendsTable(`job\n${row.repeat(560)}`);
      await bench.failed({}, 'TOO_LARGE', /64 MiB/);
    });

    it('ends in SERVICE_ERROR for an order without an id and for an invalid download address', async () => {
      await deploy();
      simulator.faults.add({ endpoint: 'createReport', remove: ['data.report_id'] });
      await failed('SERVICE_ERROR');
      const set = { 'data.download_url': 'ftp://example.org/x' };
      simulator.faults.add({ endpoint: 'getReport', set, times: 'always' });
      simulator.faults.add({ endpoint: 'createReport', set });
      await failed('SERVICE_ERROR');
    });

    it('orders the report again when the answer is lost', async () => {
      await deploy();
      simulator.faults.add({ endpoint: 'createReport', reset: true, when: 'after' });
      await one();
      assert.equal(ordered(), 2);
    });
  });
});
