import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import type { PrintEvent } from '../../lib/events/print-event';
import { TimedBench, watchNode } from './support';

const MINUTE = 60;
const HOUR = 60 * MINUTE;

type Wire = Record<string, unknown>;
interface StatusAnswer {
  data: { generated_time: string; print_jobs: Wire[]; recently_completed: Wire[] };
}

describe('nodes/cluster-status: answers with wrong dates', () => {
  const bench = new TimedBench('status', 'events');
  const { events } = bench.inboxes as Record<'status' | 'events', (typeof bench.inboxes)[string]>;
  /** Difference between the date of the answers and the service's time, s; null: they have no date. */
  let ahead: number | null;
  /** Change to the lists of the answers. */
  let lists: (data: StatusAnswer['data']) => unknown;

  const clusterId = () => bench.simulator.world.cluster(1).clusterId;
  const short = ({ payload }: NodeMessage) => {
    const { type, job } = payload as PrintEvent;
    return `${type} ${job?.name ?? ''}`.trim();
  };
  const ends = () =>
    events.all.map(short).filter((event) => /^job\.(finished|failed|aborted|ended)|^plate/.test(event));
  const watch = async (changes = {}) => {
    await bench.deploy([watchNode({ cluster: clusterId(), ...changes })]);
    await bench.time.settled();
  };
  /** Makes a print that no poll shows under way. */
  const printUnseen = (name: string) => {
    const { world } = bench.simulator;
    world.printLocally(1, { name, seconds: 3 });
    world.advance(10 * MINUTE);
  };

  beforeEach(async () => {
    await bench.start();
    ahead = 0;
    lists = () => undefined;
    bench.simulator.faults.add({
      ...{ endpoint: 'clusterStatus', times: 'always' },
      transform: (body) => {
        const answer = structuredClone(body) as StatusAnswer;
        const { data } = answer;
        if (ahead === null) Reflect.deleteProperty(data, 'generated_time');
        else data.generated_time = new Date(Date.parse(data.generated_time) + ahead * 1000).toISOString();
        lists(data);
        return answer;
      },
    });
  });
  afterEach(() => bench.stop());

  it('reports a waiting plate by the time that it waited, whatever one answer is dated', async () => {
    bench.simulator.world.setCleaning(1, 'manual');
    await watch({ plateWait: 30, interval: 60 });
    bench.simulator.world.printLocally(1, { name: 'part', seconds: 100 });
    await bench.time.pass(10 * MINUTE);
    assert.deepEqual(ends(), ['job.finished part']);
    for (ahead of [HOUR, -2 * HOUR, 0]) await bench.time.pass(2 * MINUTE);
    assert.deepEqual(ends(), ['job.finished part']);
    await bench.time.pass(30 * MINUTE);
    assert.deepEqual(ends(), ['job.finished part', 'plate.awaiting part']);
  });

  it('reports the real end of a print that was missing from one answer dated two days ahead', async () => {
    await watch();
    bench.simulator.world.printLocally(1, { name: 'part', seconds: 20 * MINUTE });
    await bench.time.pass(5 * MINUTE);
    bench.simulator.faults.add({ endpoint: 'printJob', times: 'always', status: 500 });
    lists = (data) => (data.print_jobs = []);
    await bench.time.pass(24);
    ahead = 48 * HOUR;
    await bench.time.pass(24);
    assert.deepEqual(ends(), []);
    ahead = 0;
    lists = () => undefined;
    await bench.time.pass(30 * MINUTE);
    assert.deepEqual(ends(), ['job.finished part']);
  });

  for (const history of ['a history', 'no history'])
    for (const [what, first] of [
      ['the first answer was dated two days ahead', 48 * HOUR],
      ['the clock was two days ahead at first sight, and the answers have no date', null],
    ] as const)
      it(`reports a print that appears in the history, where ${what}, with ${history}`, async () => {
        if (history === 'a history') printUnseen('earlier');
        const { time } = bench;
        if (first === null) time.set(time.now() + 48 * HOUR * 1000);
        ahead = first;
        await watch();
        if (first === null) time.set(time.now() - 48 * HOUR * 1000);
        else ahead = 0;
        await time.pass(24);
        printUnseen('part');
        await time.pass(MINUTE);
        assert.deepEqual(ends(), ['job.finished part']);
      });

  it('reports no earlier print that the history shows only later, where the first answer was dated behind', async () => {
    printUnseen('hidden');
    await bench.time.pass(HOUR);
    printUnseen('earlier');
    await bench.time.pass(MINUTE);
    const withoutHidden = (data: StatusAnswer['data']) =>
      (data.recently_completed = data.recently_completed.filter(({ name }) => name !== 'hidden'));
    lists = withoutHidden;
    ahead = -48 * HOUR;
    await watch();
    ahead = 0;
    lists = () => undefined;
    await bench.time.pass(MINUTE);
    assert.deepEqual(ends(), []);
  });
});
