import assert from 'node:assert/strict';
import { get } from 'node:http';
import { collectGarbage } from '../helpers/collect-garbage';
import { pluck } from '../helpers/pluck';
import { Bench, call, type Reply, type Wire } from './support';

describe('simulator: a report', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const order = (values: Record<string, unknown> = {}): Promise<Reply> => {
    const data = {
      cluster_ids: [bench.clusterId(1), bench.clusterId(2)],
      start_date: '2030-01-01T00:00:00.000Z',
      end_date: '2030-01-31T00:00:00.000Z',
      report_type: 'print_jobs',
    };
    return bench.api('PUT', '/report/v1/reports', { data: { ...data, ...values } });
  };
  const read = async (id: string): Promise<Wire> => (await bench.api('GET', `/report/v1/reports/${id}`)).json.data;
  /** Orders a report and waits for it; returns its address. */
  const address = async (values?: Record<string, unknown>): Promise<string> => {
    const { report_id: id } = (await order(values)).json.data;
    bench.pass(1);
    return (await read(id)).download_url;
  };
  /** Parses a plain CSV. */
  const table = (text: string, separator = ','): Record<string, string>[] => {
    const [header, ...lines] = text.trimEnd().split('\n');
    const names = header!.split(separator);
    return lines.map((line) => Object.fromEntries(line.split(separator).map((cell, at) => [names[at]!, cell])));
  };
  /** Prints a file to its end. */
  const finish = async (name = 'part.gcode', number = 1): Promise<string> => {
    const uuid = await bench.print(await bench.upload(';TIME:60\n', { job_name: name }), number);
    bench.pass(600);
    return uuid;
  };

  it('is pending, then processing, then successful with a CSV', async () => {
    const uuid = await finish();
    const { data } = (await order()).json;
    assert.deepEqual(data, { report_id: data.report_id, status: 'pending' });
    bench.pass(0.6);
    assert.deepEqual(await read(data.report_id), { report_id: data.report_id, status: 'processing' });
    bench.pass(0.4);
    const { status, download_url: url } = await read(data.report_id);
    assert.equal(status, 'success');
    const download = await call(url);
    assert.equal(download.headers['content-type'], 'text/csv; charset=utf-8');
    assert.deepEqual(table(download.text), [
      {
        ...{ printer_model: bench.simulator.world.cluster(1).model, printer_name: 'Workbench printer' },
        ...{ printer_uuid: bench.simulator.world.cluster(1).printers[0]!.uuid, job_uuid: uuid },
        ...{ job_name: 'part.gcode', queued_at: '2030-01-01T00:00:00.000Z' },
        ...{ started_at: '2030-01-01T00:01:35.000Z', removed_at: '2030-01-01T00:08:35.000Z' },
        ...{ extruder_1_material: 'Generic PLA Black', extruder_2_material: 'Generic PLA Red' },
      },
    ]);
    assert.equal((await call(url, { headers: { authorization: `Bearer ${bench.token}` } })).status, 400);
    bench.pass(16 * 60);
    assert.equal((await call(url)).status, 403);
    assert.equal((await call((await read(data.report_id)).download_url)).status, 200);
  });

  it('succeeds immediately without a delay', async () => {
    const quick = await Bench.start({ reportDelay: 0 });
    try {
      const { json } = await quick.api('PUT', '/report/v1/reports', {
        data: {
          cluster_ids: [quick.clusterId()],
          start_date: '2029-12-31T00:00:00Z',
          end_date: '2030-01-01T00:00:00+01:00',
          report_type: 'print_jobs',
        },
      });
      assert.equal(json.data.status, 'success');
      assert.equal(table((await call(json.data.download_url)).text).length, 0);
    } finally {
      await quick.simulator.close();
    }
  });

  it('contains all ended prints of its clusters, whatever their outcome', async () => {
    const { world } = bench.simulator;
    for (let count = 0; count < 12; count++) await finish(`part ${count}.gcode`);
    await finish('other printer.gcode', 2);
    await bench.print(await bench.upload(';TIME:600\n', { job_name: 'broken.gcode' }));
    bench.pass(195);
    world.fail(1);
    bench.pass(400);
    world.printLocally(1, { name: 'by hand.ufp', seconds: 60 });
    bench.pass(600);
    await bench.print(await bench.upload(';TIME:60\n', { job_name: 'vanished.gcode' }));
    bench.pass(600);
    world.clusters();
    world.vanish(1, world.cluster(1).history[0]!.uuid);
    await bench.print(await bench.upload(';TIME:6000\n', { job_name: 'still at it.gcode' }));
    const rows = table((await call(await address())).text);
    assert.deepEqual(pluck(rows, 'job_name'), [
      ...Array.from({ length: 12 }, (_, count) => `part ${count}.gcode`),
      'other printer.gcode',
      'broken.gcode',
      'by hand.ufp',
    ]);
    const [, broken] = rows.slice(-3);
    assert.equal(Date.parse(broken!.removed_at!) - Date.parse(broken!.started_at!), 460_000);

    assert.equal(table((await call(await address({ cluster_ids: [bench.clusterId(2)] }))).text).length, 1);
    const range = { start_date: '2030-01-01T00:10:00Z', end_date: '2030-01-01T00:30:00.000Z' };
    assert.equal(table((await call(await address(range))).text).length, 2);
    // A partial overlap with either end of the range suffices.
    const within = { start_date: '2030-01-01T00:02:00Z', end_date: '2030-01-01T00:03:00Z' };
    assert.equal(table((await call(await address(within))).text).length, 1);
    const after = bench.simulator.world.rebind(1);
    assert.equal(table((await call(await address({ cluster_ids: [after] }))).text).length, 14);
  });

  for (const [what, values, status] of [
    ['no clusters', { cluster_ids: [] }, 400],
    ['a cluster id instead of a list', { cluster_ids: 'x' }, 400],
    ['an unknown cluster', { cluster_ids: ['x'] }, 404],
    ['another type', { report_type: 'materials' }, 400],
    ['a date without a time', { start_date: '2030-01-01' }, 400],
    ['a time without a zone', { start_date: '2030-01-01T00:00:00' }, 400],
    ['an invalid date', { start_date: '2030-13-01T00:00:00Z' }, 400],
    ['an end before the start', { end_date: '2029-01-01T00:00:00Z' }, 400],
    ['no end', { end_date: undefined }, 400],
    ['an unknown field', { format: 'csv' }, 400],
  ] as const)
    it(`is refused for ${what}`, async () => {
      assert.equal((await order(values)).status, status);
    });

  it('is invisible to other workspaces', async () => {
    const { report_id: id } = (await order()).json.data;
    const { apiUrl, users } = bench.simulator;
    const headers = { authorization: `Bearer ${users[1]!.apiToken}` };
    assert.equal((await call(`${apiUrl}/report/v1/reports/${id}`, { headers })).status, 404);
    const foreign = bench.simulator.world.cluster(6).clusterId;
    assert.equal((await order({ cluster_ids: [foreign] })).status, 404);
  });

  it('ends as the switch specifies', async () => {
    const { world } = bench.simulator;
    const after = async (seconds: number): Promise<Wire> => {
      const { report_id: id } = (await order()).json.data;
      bench.pass(seconds);
      return read(id);
    };
    for (const outcome of ['failed', 'unknown'] as const) {
      world.setReports({ outcome });
      const report = await after(1);
      assert.deepEqual([report.status, report.download_url], [outcome, undefined]);
    }
    world.setReports({ outcome: 'stuck' });
    assert.equal((await after(3600)).status, 'processing');
    world.setReports({ seconds: 20 });
    assert.equal((await after(19)).status, 'processing');
    world.setReports();
    assert.equal((await after(1)).status, 'success');
  });

  it('comes in every CSV dialect', async () => {
    const { world } = bench.simulator;
    await finish();
    const text = async (made: Parameters<typeof world.setReports>[0]): Promise<string> => {
      world.setReports(made);
      return (await call(await address())).text;
    };
    assert.match(await text({ separator: ';' }), /^printer_model;printer_name;/);
    assert.equal(table(await text({ separator: '\t' }), '\t')[0]!.job_name, 'part.gcode');
    assert.match(await text({ bom: true }), /^\uFEFFprinter_model,/);
    const crlf = await text({ crlf: true });
    assert.deepEqual([crlf.split('\r\n').length, crlf.split('\n').length], [3, 3]);
    assert.match(await text({ repeatedColumns: true }), /,extruder_material,extruder_material\n/);
    assert.match(await text({ hardNames: true }), /,"""part\.gcode"", part 1\n of ""2""",2030-/);
    assert.match(await text({ hardNames: true, separator: ';' }), /;"""part\.gcode""; part 1\n of ""2""";2030-/);
    assert.equal((await text({ rows: 0 })).split('\n').length, 2);
    const invented = table(await text({ rows: 1000 }));
    assert.equal(invented.length, 1000);
    assert.equal(new Set(invented.map((row) => row.job_uuid)).size, 1000);
    assert.deepEqual(new Set(invented.map((row) => row.printer_uuid)).size, 2);
  });

  it('breaks off on demand', async () => {
    const { world } = bench.simulator;
    world.setReports({ rows: 10_000, cutAfter: 100_000 });
    const url = await address();
    let received = 0;
    await assert.rejects(
      new Promise((resolve, reject) => {
        get(url, (response) => {
          response.on('data', (chunk: Buffer) => (received += chunk.length));
          response.on('end', resolve).on('error', reject);
        }).on('error', reject);
      }),
    );
    assert.equal(received, 100_000);
  });

  it('needs little memory for a hundred thousand lines', async function () {
    bench.simulator.world.setReports({ rows: 100_000 });
    const url = await address();
    const used = () => {
      collectGarbage();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const before = used();
    let [most, lines, measured] = [0, 0, 0];
    await new Promise((resolve, reject) => {
      get(url, (response) => {
        response.on('data', (chunk: Buffer) => {
          for (const byte of chunk) if (byte === 10) lines++;
          if (lines - measured < 10_000) return;
          measured = lines;
          most = Math.max(most, used());
        });
        response.on('end', resolve).on('error', reject);
      }).on('error', reject);
    });
    assert.equal(lines, 100_001);
    assert.ok(most - before < 10 * 1024 * 1024, `${Math.round((most - before) / 1024 / 1024)} MiB more`);
  });
});
