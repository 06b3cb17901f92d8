import assert from 'node:assert/strict';
import type { World } from '../../simulator/index';
import { Bench, type Wire } from './support';

const MAKERBOT = { job_name: 'part.makerbot', content_type: 'application/x-makerbot' };
const SKETCH = { job_name: 'part.makerbot', content_type: 'application/x-makerbot-sketch' };

describe('simulator: a printer of the second brand', () => {
  let bench: Bench;
  let world: World;
  beforeEach(async () => {
    bench = await Bench.start();
    ({ world } = bench.simulator);
  });
  afterEach(() => bench.simulator.close());

  /** Prints a file on a printer; returns the job's word after its transfer and its obstacles. */
  const printed = async (values: Record<string, unknown>, number: number): Promise<[string, string[]]> => {
    await bench.print(await bench.upload('part', values), number);
    bench.pass(10);
    const job = (await bench.status(number)).print_jobs.at(-1);
    return [job.status, job.impediments_to_printing.map((one: Wire) => one.translation_key)];
  };

  it('prints files of its own type', async () => {
    assert.deepEqual(await printed(MAKERBOT, 5), ['pre_print', []]);
  });

  for (const [what, values] of [
    ['a toolpath', {}],
    ['a toolpath under its other name', { content_type: 'text/x-gcode' }],
    ['a file for small printers of its brand', SKETCH],
  ] as const)
    it(`does not read ${what}, whatever the switch for mismatches says`, async () => {
      for (const mismatch of ['ignored', 'queued', 'wait_user_action'] as const) {
        world.setMismatch(5, mismatch);
        assert.deepEqual(await printed(values, 5), ['error', ['file_type']], mismatch);
      }
      world.removeJob(5);
      assert.deepEqual((await bench.status(5)).print_jobs.length, 2);
    });

  it('is of the only brand that reads its files', async () => {
    for (const number of [1, 2, 3, 4]) {
      for (const values of [MAKERBOT, SKETCH])
        assert.deepEqual(await printed(values, number), ['error', ['file_type']], values.content_type);
      assert.deepEqual(await printed({ content_type: 'text/x-gcode' }, number), ['pre_print', []]);
    }
  });

  it('prints what somebody starts at it', async () => {
    world.printLocally(5, { name: 'by hand.makerbot', seconds: 60 });
    bench.pass(10);
    assert.equal((await bench.status(5)).print_jobs[0].status, 'pre_print');
  });
});
