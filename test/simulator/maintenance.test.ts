import assert from 'node:assert/strict';
import { Bench, type Wire } from './support';

describe('simulator: maintenance', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const path = (): string => `/connect/v1/clusters/${bench.clusterId()}/maintenance`;
  const due = async (): Promise<string[]> =>
    (await bench.api('GET', `${path()}/pending`)).json.data
      .filter((task: Wire) => task.is_due)
      .map((task: Wire) => task.task_rule.code);

  it('becomes due, is completed, and becomes due again', async () => {
    const [task] = (await bench.api('GET', `${path()}/pending`)).json.data;
    assert.deepEqual(task, {
      is_due: false,
      due_date: '2030-01-08T00:00:00.000Z',
      task_rule: {
        code: 'simulated_maker_one_clean_build_plate',
        task_details: { type: 'time_based', value: { interval: 604_800 } },
      },
    });
    bench.pass(604_800);
    assert.deepEqual(await due(), [task.task_rule.code]);
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).json.data[0].maintenance_due, true);

    const done = await bench.api('PUT', path(), { data: { task_codes: [task.task_rule.code] } });
    assert.deepEqual([done.status, done.text], [204, '']);
    assert.deepEqual(await due(), []);
    const { json } = await bench.api('GET', `${path()}/completed?limit=10`);
    assert.deepEqual(
      json.data.map((entry: Wire) => [entry.completed_at, entry.task_codes, entry.username]),
      [['2030-01-08T00:00:00.000Z', [task.task_rule.code], 'maker']],
    );
    assert.equal(json.meta.page.total_count, 1);
    bench.pass(604_800);
    assert.deepEqual(await due(), [task.task_rule.code]);
  });

  it('becomes due on demand', async () => {
    const code = 'simulated_maker_one_clean_fans';
    bench.simulator.world.setMaintenanceDue(1, [code]);
    assert.deepEqual(await due(), [code]);
    await bench.api('PUT', path(), { data: { task_codes: [code] } });
    assert.deepEqual(await due(), []);
  });

  it("refuses tasks that the printer doesn't have", async () => {
    for (const data of [undefined, {}, { task_codes: [] }, { task_codes: 'x' }, { task_codes: ['x'] }, { tasks: [] }])
      assert.equal((await bench.api('PUT', path(), data && { data })).status, 400, JSON.stringify(data));
    assert.equal((await bench.api('GET', '/connect/v1/clusters/x/maintenance/pending')).status, 404);
  });
});
