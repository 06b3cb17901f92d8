import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { World } from '../../simulator/index';
import { Refusal } from '../../simulator/http/refusals';
import { Bench, type Wire } from './support';

const TEN_MINUTES = ';TIME:600\n';

describe('simulator: words for the end of a print', () => {
  let bench: Bench;
  let world: World;
  beforeEach(async () => {
    bench = await Bench.start({ farm: [{}, { endWords: 'short' }] });
    ({ world } = bench.simulator);
  });
  afterEach(() => bench.simulator.close());

  const listed = async (number = 1): Promise<Wire> => (await bench.status(number)).print_jobs[0];
  const ended = async (number = 1): Promise<Wire> => (await bench.status(number)).recently_completed[0];
  /** Starts a print, and advances it to its 100th second. */
  const underWay = async (number = 1): Promise<void> => {
    await bench.print(await bench.upload(TEN_MINUTES), number);
    bench.pass(195);
    world.clusters();
  };

  for (const [how, act, wait] of [
    ['aborted', () => world.abort(1), 10],
    ['failed', () => world.fail(1), 0],
  ] as const)
    it(`name a print as ${how} while the printer cools, while a person must answer, and until its plate is clear`, async () => {
      world.setCleaning(1, 'manual');
      await underWay();
      act();
      bench.pass(wait);
      const seen: string[] = [];
      const look = async (): Promise<void> => {
        const [job, { printers }] = [await listed(), await bench.status()];
        seen.push(`${job.status} ${job.state} ${job.time_elapsed}/${job.time_total} ${printers[0].status}`);
      };
      await look();
      world.ask(1, undefined, 'FILAMENT_JAM');
      bench.pass(3600);
      await look();
      assert.equal((await bench.status()).printers[0].faults[0].code, 'FILAMENT_JAM');
      world.answer(1);
      assert.deepEqual((await bench.status()).printers[0].faults, []);
      bench.pass(3600);
      await look();
      world.clean(1);
      assert.deepEqual(
        seen,
        ['post_print', 'wait_user_action', 'wait_cleanup'].map((word) => `${how}_${word} in_progress 100/600 printing`),
      );
      assert.deepEqual([(await ended()).status, await listed()], [how, undefined]);
    });

  it('leave nothing to print, whatever share of the print is missing', async () => {
    /** Remaining seconds of a job by its word, of the one behind it and of the whole queue. */
    const times = async (number: number): Promise<unknown[]> => {
      const [{ status, time_remaining: own }, next] = (await bench.status(number)).print_jobs;
      const path = `/connect/v1/clusters/${bench.clusterId(number)}`;
      return [status, own, next.time_remaining, (await bench.api('GET', path)).json.data.host_remaining_print_time];
    };
    for (const [number, words] of [
      [1, ['aborting', 'aborted_post_print', 'aborted_wait_cleanup']],
      [2, ['aborting', 'wait_cleanup']],
    ] as const) {
      world.setCleaning(number, 'manual');
      await underWay(number);
      await bench.print(await bench.upload(TEN_MINUTES), number);
      assert.deepEqual(await times(number), ['printing', 500, 500 + 690, 500 + 690]);
      world.abort(number);
      for (const word of words) {
        assert.deepEqual(await times(number), [word, 0, 690, 690]);
        bench.pass(word === 'aborting' ? 10 : 60);
      }
    }
    world.clean(1);
    bench.pass(195);
    world.fail(1);
    await bench.print(await bench.upload(TEN_MINUTES));
    assert.deepEqual(await times(1), ['failed_post_print', 0, 690, 690]);
    bench.pass(60);
    assert.deepEqual(await times(1), ['failed_wait_cleanup', 0, 690, 690]);
  });

  it('follow one another by themselves where the plate is cleared automatically', async () => {
    await underWay();
    world.fail(1);
    bench.pass(59);
    assert.equal((await listed()).status, 'failed_post_print');
    bench.pass(1);
    assert.equal((await listed()).status, 'failed_wait_cleanup');
    bench.pass(300);
    assert.equal((await ended()).status, 'failed');
  });

  it('are the short ones where the printer has no others', async () => {
    await underWay(2);
    world.abort(2);
    bench.pass(10);
    const { status, time_elapsed: elapsed } = await listed(2);
    assert.deepEqual([status, elapsed], ['wait_cleanup', 100]);
    bench.pass(300);
    assert.equal((await ended(2)).status, 'aborted');
    await underWay(2);
    world.fail(2);
    assert.equal((await ended(2)).status, 'failed');
  });

  it('are the same for every finished print', async () => {
    for (const number of [1, 2]) {
      await underWay(number);
      bench.pass(500);
      assert.equal((await listed(number)).status, 'post_print');
      bench.pass(60);
      assert.equal((await listed(number)).status, 'wait_cleanup');
      bench.pass(300);
      assert.equal((await ended(number)).status, 'finished');
    }
  });

  it('are skipped by a print that fails before it has begun', async () => {
    await bench.print(await bench.upload(TEN_MINUTES));
    assert.equal((await listed()).status, 'sent_to_printer');
    world.fail(1);
    assert.equal((await ended()).status, 'failed');
  });

  it('never take a stated end back, and occupy the printer until the last one', async () => {
    const act = fc.constantFrom('abort', 'fail', 'ask', 'answer', 'clean', 'pause', 'resume');
    const step = fc.oneof(act, fc.integer({ min: 1, max: 200 }));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('automatic', 'manual', 'none'), fc.array(step), async (cleaning, steps) => {
        const clusterId = world.addCluster({ cleaning });
        const path = `/connect/v1/clusters/${clusterId}/status`;
        const { uuid } = world.printLocally(clusterId, { name: 'part.gcode', seconds: 300 });
        const words: string[] = [];
        for (const next of [...steps, 1]) {
          if (typeof next === 'number') bench.pass(next);
          else unlessRefused(() => world[next](clusterId, uuid));
          const { print_jobs: jobs, recently_completed: history, printers } = (await bench.api('GET', path)).json.data;
          const [job] = [...jobs, ...history];
          assert.equal(printers[0].status === 'idle', history.length === 1, job.status);
          if (words.at(-1) !== job.status) words.push(job.status);
        }
        world.removeCluster(clusterId);
        const stated = words.filter((word) => /^(?:aborted|failed|finished)/.test(word));
        assert.ok(new Set(stated.map((word) => word.split('_')[0])).size <= 1, words.join());
        const order = ['post_print', 'wait_user_action', 'wait_cleanup', ''].map((end) => `_${end}`);
        const places = stated.map((word) => order.indexOf(`_${word.split('_').slice(1).join('_')}`));
        assert.deepEqual(
          places,
          places.toSorted((one, other) => one - other),
          words.join(),
        );
      }),
      { numRuns: 200 },
    );
  });
});

/** Acts where the job's state permits it. */
function unlessRefused(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 409) throw error;
  }
}
