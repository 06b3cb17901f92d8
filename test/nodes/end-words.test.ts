import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import type { PrintEvent } from '../../lib/events/print-event';
import type { ClusterStatus } from '../../lib/service/cluster';
import { pluck } from '../helpers/pluck';
import { GCODE, printNode, TimedBench, watchNode } from './support';

const MINUTE = 60;

type Wire = Record<string, unknown>;

describe('nodes at printers that name the end of a print', () => {
  const bench = new TimedBench('results', 'progress', 'status', 'events');
  const { status, events } = bench.inboxes as Record<'status' | 'events', (typeof bench.inboxes)[string]>;
  /** Fields of the jobs in each status from now on; null: as the simulator has them. */
  let shown: Wire | null;

  const clusterId = () => bench.simulator.world.cluster(1).clusterId;
  const types = () =>
    pluck(
      events.all.map((msg: NodeMessage) => msg.payload as PrintEvent),
      'type',
    );
  const last = () => (status.all.at(-1)?.payload as ClusterStatus | undefined) ?? assert.fail();
  const ends = () => types().filter((type) => /^job\.(finished|failed|aborted|ended)$|^plate/.test(type));
  const show = async (words: Wire | null, seconds = 24) => {
    shown = words;
    await bench.time.pass(seconds);
  };

  beforeEach(async () => {
    await bench.start();
    shown = null;
    bench.simulator.faults.add({
      ...{ endpoint: 'clusterStatus', times: 'always' },
      transform: (body) => {
        const answer = structuredClone(body) as { data: { print_jobs: Wire[] } };
        for (const job of answer.data.print_jobs) Object.assign(job, shown);
        return answer;
      },
    });
  });
  afterEach(() => bench.stop());

  for (const kind of ['aborted', 'failed'])
    it(`reports a print that ${kind} at once and once, and its plate once it waits`, async () => {
      await bench.deploy([watchNode({ cluster: clusterId(), plateWait: 5 })]);
      await bench.time.settled();
      bench.simulator.world.printLocally(1, { name: 'part.gcode', seconds: 7200 });
      await bench.time.pass(3 * MINUTE);
      await show({ status: `${kind}_post_print` });
      assert.deepEqual(ends(), [`job.${kind}`]);
      assert.equal(last().current?.state, kind, 'the printer is still occupied');
      await show({ status: `${kind}_wait_user_action` }, 10 * MINUTE);
      await show({ status: `${kind}_wait_cleanup` });
      assert.equal(last().current, null);
      assert.deepEqual(ends(), [`job.${kind}`]);
      await bench.time.pass(30 * MINUTE);
      assert.deepEqual(ends(), [`job.${kind}`, 'plate.awaiting']);
    });

  it('shows why a print failed, in its event, in statuses and in the error of the message that waits for it', async () => {
    await bench.deploy([
      watchNode({ cluster: clusterId() }),
      printNode({ cluster: clusterId(), waitFor: 'finished', jobName: 'part.gcode' }),
    ]);
    const run = bench.send('print', { payload: GCODE });
    await bench.time.pass(3 * MINUTE);
    shown = {
      status: 'failed_wait_cleanup',
      impediments_to_printing: [{ translation_key: 'does_not_fit_in_build_volume', severity: 'UNFIXABLE' }],
      status_message: { body: 'Too\nbig', user_id: 'u', username: 'Ada' },
      status_detail: 'a_detail',
      ...{ assigned_to: 'Left', deleted_at: '2026-01-31T10:00:00.000Z' },
    };
    await bench.time.pass(MINUTE);
    const { error } = await bench.time.until(run);
    const { code, message } = (error as { error?: { code?: string; message?: string } }).error ?? {};
    assert.equal(code ?? 'PRINT_FAILED', 'PRINT_FAILED');
    const why = 'The service says: The print does not fit in the printer; “Too big”; a_detail.';
    assert.equal(message, `The print failed: check the printer. ${why}`);
    const event = events.all
      .map((msg: NodeMessage) => msg.payload as PrintEvent)
      .find(({ type }) => type === 'job.failed');
    const { problems, statusMessage, statusDetail, assignedTo, deletedAt } = event?.job ?? assert.fail();
    const text = 'The print does not fit in the printer.';
    assert.deepEqual(problems, [{ code: 'does_not_fit_in_build_volume', severity: 'UNFIXABLE', text }]);
    assert.deepEqual(
      [statusMessage, statusDetail, assignedTo, deletedAt],
      ['Too big', 'a_detail', 'Left', '2026-01-31T10:00:00.000Z'],
    );
    assert.deepEqual(last().jobs[0]?.problems, problems);
  });
});
