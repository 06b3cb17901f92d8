import assert from 'node:assert/strict';
import type { Client } from '../../../lib/client';
import type { PrintRequest, PrintResult } from '../../../lib/print/prints';
import { asPrintingError, type PrintingError } from '../../../lib/service/errors';
import { startSimulator, type Fault, type Simulator } from '../../../simulator';
import { FastClock } from '../../helpers/fast-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { seeded } from '../../helpers/seeded';
import { signedInClient } from '../../helpers/simulated-client';
import { limit } from '../../helpers/limits';

const RUNS = 200;
const FACTOR = 400;

/** Ways in which the answer of a dispatch gets lost, before or after the service did the work. */
const DISPATCH_FAULTS: Omit<Fault, 'endpoint'>[] = [
  { when: 'before', reset: true },
  { when: 'after', reset: true },
  { when: 'before', status: 500 },
  { when: 'after', status: 500 },
  { when: 'before', status: 503, html: true },
  { when: 'after', status: 502, html: true },
  { when: 'before', status: 504 },
  { when: 'after', status: 504 },
  { when: 'after', cut: 'body' },
  { when: 'after', cut: 'connection' },
  { when: 'after', html: true },
  { remove: ['data.job_instance_uuid'] },
  { remove: ['data'] },
];
/** What goes wrong on the way there, and is made good by trying again. */
const UPLOAD_FAULTS: Omit<Fault, 'endpoint'>[] = [
  { status: 503 },
  { reset: true },
  { when: 'after', reset: true },
  { resetAtByte: 2 },
];
/** Refusals after which nothing was printed. */
const REFUSALS: Omit<Fault, 'endpoint'>[] = [
  { status: 409, code: 'printerNotAcceptingJobs' },
  { status: 403, code: 'insufficientScope' },
  { status: 400, code: 'requiredField' },
];

describe(`exactly one print in each of ${RUNS} runs with lost dispatch answers, resets and 5xx`, function () {
  this.timeout(120_000);
  const clock = new FastClock(FACTOR);
  let simulator: Simulator;
  let client: Client;
  let store: MemoryStore;

  before(async () => {
    simulator = await startSimulator({ now: clock.now, printers: 1, accessTokenLifetime: 1e7 });
    store = new MemoryStore();
    client = await signedInClient(simulator, { store, clock });
  });
  after(async () => {
    await client.close();
    await simulator.close();
  });

  const clusterId = () => simulator.world.clusters()[0]?.clusterId ?? '';

  async function print(changes: Partial<PrintRequest>): Promise<{ result?: PrintResult; error?: PrintingError }> {
    const results: PrintResult[] = [];
    const request: PrintRequest = {
      source: () => Promise.resolve({ kind: 'bytes', bytes: Buffer.from('G28\n'), name: 'part.gcode' }),
      clusterIds: [clusterId()],
      jobName: '',
      printKey: '',
      print: true,
      startNow: true,
      waitFor: 'dispatched',
      compress: false,
      reuseUpload: false,
      dryRun: false,
      deadline: limit(client.clock, { seconds: 600 }),
      signal: new AbortController().signal,
      onProgress: () => undefined,
      onResult: (result) => results.push(result),
      ...changes,
    };
    try {
      await client.prints.run(request);
    } catch (thrown) {
      return { error: asPrintingError(thrown) };
    }
    const [result] = results;
    return result ? { result } : {};
  }

  /** Printings of a file, wherever they stand. */
  function printings(bytes: string): number {
    const cluster = simulator.world.cluster(1);
    const jobs = new Set(
      simulator.world
        .storedJobs()
        .filter(({ jobName }) => jobName === bytes)
        .map(({ jobId }) => jobId),
    );
    return [...cluster.queue, ...cluster.history].filter(({ jobId }) => jobId !== null && jobs.has(jobId)).length;
  }

  const outcomes: Record<string, number> = {};

  for (let run = 1; run <= RUNS; run++)
    it(`run ${run}`, async () => {
      const random = seeded(run);
      const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
      const keyed = random() < 0.7;
      const refused = random() < 0.15;
      const jobName = `run-${run}.gcode`;
      const printKey = keyed ? `key-${run}` : '';
      simulator.faults.clear();
      simulator.faults.add({ endpoint: 'print', ...pick(refused ? REFUSALS : DISPATCH_FAULTS) });
      if (random() < 0.3)
        simulator.faults.add({ endpoint: pick(['registerUpload', 'storagePut', 'getJob']), ...pick(UPLOAD_FAULTS) });
      // Reads around it fail as well, now and then so long that the print can't be seen.
      if (random() < 0.4)
        simulator.faults.add({ endpoint: 'clusterStatus', after: 2, times: pick([1, 3, 200]), status: 500 });
      const first = await print({ jobName, printKey });
      const printed = printings(jobName);
      assert.ok(printed <= 1, `${printed} prints`);
      if (first.result) assert.equal(printed, 1, 'told as printed, but there is none');
      else if (first.error?.code === 'PRINT_OUTCOME_UNKNOWN') assert.ok(!refused);
      else assert.equal(printed, 0, `told as ${first.error?.code}, but it prints`);
      const outcome = first.error?.code ?? (first.result?.clusterJobId ? 'printed' : 'printed, id not seen');
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (!keyed) return;

      simulator.faults.clear();
      const second = await print({ jobName, printKey });
      assert.equal(second.error, undefined);
      assert.equal(second.result?.printed, true);
      assert.equal(second.result.duplicate, printed === 1);
      assert.equal(printings(jobName), 1);
      const third = await print({ jobName, printKey });
      assert.equal(third.result?.duplicate, true);
      assert.equal(third.result.clusterJobId, second.result.clusterJobId);
      assert.equal(printings(jobName), 1);
    });

  // The queue is emptied, as a printer could not print so much.
  afterEach(() => {
    for (const { uuid } of [...simulator.world.cluster(1).queue]) simulator.world.vanish(1, uuid);
  });
  after(() =>
    console.log(
      `      ${Object.entries(outcomes)
        .map(([name, count]) => `${name}: ${count}`)
        .join(', ')}`,
    ),
  );
});
