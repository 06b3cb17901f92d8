import assert from 'node:assert/strict';
import type { Client } from '../../../lib/client';
import { Http } from '../../../lib/http/http';
import type { PrintRequest, PrintResult } from '../../../lib/print/print-request';
import { asPrintingError, type PrintingError } from '../../../lib/service/errors';
import { WriteBehindStore } from '../../../lib/state/write-behind-store';
import { readPrinterFilter } from '../../../lib/service/printer-filter';
import { sleep, systemClock } from '../../../lib/time/clock';
import { underDeadline } from '../../../lib/time/deadline';
import { startSimulator, type Fault, type Simulator } from '../../../simulator';
import { FaultyStore, type StoreFault } from '../../helpers/faulty-store';
import { MemoryStore } from '../../helpers/memory-store';
import { PRINT, printingsOf, stored, storeElsewhere } from '../../helpers/print-request';
import { picker, seeded, withSeed } from '../../helpers/seeded';
import { signedInClient } from '../../helpers/simulated-client';
import { TurnedTime } from '../../helpers/turned-time';

/** Prints on a named printer, a file or a stored job, and on a printer that is chosen for each message. */
const WAYS = [
  { way: 'a named printer', runs: 120, printers: 1, choice: {} },
  { way: 'a named printer, of a stored job,', runs: 80, printers: 1, choice: {}, isStored: true },
  {
    way: 'the first idle printer',
    runs: 80,
    printers: 4,
    choice: { clusterIds: [], chooseIdle: readPrinterFilter({}) },
  },
];

/** Ways to lose the answer of a dispatch, before or after the service has done the work. */
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
/** Upload faults that a retry repairs. */
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

/** Ways in which the state store fails, from a chosen step on, for a chosen number of steps. */
const STORE_FAULTS: StoreFault[] = ['unreadable', 'unwritable', 'crash-before', 'crash-after'];
const MOST_STEPS = 16;

for (const { way, runs, printers, choice, isStored = false } of WAYS)
  describe(`print/prints on ${way} under lost answers, crashes, store faults and short timeouts`, function () {
    let time: TurnedTime;
    let simulator: Simulator;
    let runtime: Runtime;

    before(async () => {
      // Created here rather than earlier: other test files may run first in this process, with the system clock.
      time = new TurnedTime();
      simulator = await startSimulator({ now: time.now, printers, accessTokenLifetime: 1e7 });
      runtime = await Runtime.start(simulator, new MemoryStore());
    });
    after(async () => {
      await time.until(runtime.close());
      await simulator.close();
      time.restore();
      console.log(`      ${JSON.stringify(outcomes)}`);
    });

    async function restart(): Promise<void> {
      const { left } = runtime;
      await time.until(runtime.close());
      runtime = await Runtime.start(simulator, left);
    }

    const clusterId = () => simulator.world.clusters()[0]?.clusterId ?? '';

    async function print(changes: Partial<PrintRequest>, seconds = 600): Promise<Outcome> {
      const results: PrintResult[] = [];
      const work = underDeadline(
        systemClock,
        { ms: seconds * 1000, parent: runtime.ended.signal },
        async (deadline) => {
          const request: PrintRequest = {
            ...PRINT,
            clusterIds: [clusterId()],
            ...choice,
            reuseUpload: false,
            deadline,
            signal: runtime.ended.signal,
            onResult: (result) => results.push(result),
            ...changes,
          };
          await runtime.client.prints.run(request);
        },
      );
      try {
        await time.until(work);
      } catch (thrown) {
        return { error: asPrintingError(thrown) };
      }
      const [result] = results;
      return result ? { result } : {};
    }

    const printings = (jobName: string) => printingsOf(simulator, jobName);

    const outcomes: Record<string, number> = {};
    const count = (outcome: string) => (outcomes[outcome] = (outcomes[outcome] ?? 0) + 1);

    for (let run = 1; run <= runs; run++)
      it(
        'prints each file exactly once',
        withSeed(run, async () => {
          const random = seeded(run);
          const pick = picker(random);
          const keyed = random() < 0.8;
          const refused = random() < 0.15;
          const jobName = `run-${run}.gcode`;
          const printKey = keyed ? `key-${run}` : '';
          const jobId = isStored ? storeElsewhere(simulator, jobName) : '';
          const what = { jobName, printKey, ...(isStored && { source: stored(jobId) }) };
          simulator.faults.clear();
          simulator.faults.add({ endpoint: 'print', ...pick(refused ? REFUSALS : DISPATCH_FAULTS) });
          if (random() < 0.3)
            simulator.faults.add({
              endpoint: pick(['registerUpload', 'storagePut', 'getJob']),
              ...pick(UPLOAD_FAULTS),
            });
          // Cluster reads fail as well: a few, a whole search, or until a repeat has begun.
          if (random() < 0.5)
            simulator.faults.add({
              endpoint: 'clusterStatus',
              after: 2,
              times: pick([1, 3, Math.ceil(random() * 60), 200]),
              status: 500,
            });
          if (random() < 0.5)
            runtime.fail(pick(STORE_FAULTS), Math.floor(random() * MOST_STEPS), pick([1, 5, MOST_STEPS]));

          const first = await print(what, pick([600, 600, 20, 3]));
          const crashed = runtime.crashed;
          const printed = printings(jobName);
          assert.ok(printed <= 1, `${printed} prints`);
          if (first.result) assert.equal(printed, 1, 'reported as printed, but there is none');
          else if (first.error?.code === 'PRINT_OUTCOME_UNKNOWN') assert.ok(!refused);
          else if (!crashed) assert.equal(printed, 0, `reported as ${first.error?.code}, but it prints`);
          count(
            crashed
              ? 'crashed'
              : (first.error?.code ?? (first.result?.clusterJobId ? 'printed' : 'printed, id not seen')),
          );

          // Repeat the print under the same faults, in a new runtime if the old one has crashed.
          if (crashed) await restart();
          if (!keyed) return runtime.mend();
          const again = await print(what, pick([600, 20]));
          assert.ok(printings(jobName) <= 1, `${printings(jobName)} prints after a repeat: ${again.error?.code}`);
          if (again.error && printed === 0 && again.error.code !== 'PRINT_OUTCOME_UNKNOWN' && !runtime.crashed)
            assert.equal(printings(jobName), 0, `reported as ${again.error.code}, but it prints`);

          if (runtime.crashed) await restart();
          runtime.mend();
          simulator.faults.clear();
          const before = printings(jobName);
          const second = await print(what);
          assert.equal(second.error, undefined);
          assert.equal(second.result?.printed, true);
          assert.equal(second.result.duplicate, before === 1);
          assert.equal(printings(jobName), 1);
          const third = await print(what);
          assert.equal(third.result?.duplicate, true);
          assert.equal(third.result.clusterJobId, second.result.clusterJobId);
          assert.equal(printings(jobName), 1);
          if (isStored) assert.equal(second.result.jobId, jobId);
        }),
      );

    // Empty the queues, as the printers could not print so many, and wait until each may be chosen again.
    afterEach(async () => {
      for (const { clusterId: id, queue } of simulator.world.clusters())
        for (const { uuid } of [...queue]) simulator.world.vanish(id, uuid);
      if (printers > 1) await time.until(sleep(systemClock, 31_000));
    });
  });

interface Outcome {
  result?: PrintResult;
  error?: PrintingError;
}

/** One process: its client and its stored state. */
class Runtime {
  readonly ended = new AbortController();
  readonly #store: FaultyStore;
  #fault: { kind: StoreFault; from: number; until: number } | undefined;
  #steps = 0;
  client!: Client;
  close!: () => Promise<void>;

  private constructor(
    disk: MemoryStore,
    private readonly http = new Http(undefined, { isLocal: true }),
  ) {
    this.#store = new FaultyStore(
      disk,
      (_step, [kind]) => {
        if (kind === 'grant' || !this.#fault) return undefined;
        const step = this.#steps++;
        return step >= this.#fault.from && step < this.#fault.until ? this.#fault.kind : undefined;
      },
      () => this.#end(),
    );
  }

  static async start(simulator: Simulator, disk: MemoryStore): Promise<Runtime> {
    const runtime = new Runtime(disk);
    const store = new WriteBehindStore(runtime.#store, systemClock);
    runtime.client = await signedInClient(simulator, { store, clock: systemClock, http: runtime.http });
    runtime.close = async () => {
      await runtime.client.close();
      await store.close();
    };
    return runtime;
  }

  /** Makes `steps` operations fail, from step `from` on. */
  fail(kind: StoreFault, from: number, steps: number): void {
    this.#steps = 0;
    this.#fault = { kind, from, until: from + steps };
  }

  mend(): void {
    this.#fault = undefined;
  }

  get crashed(): boolean {
    return this.#store.left !== undefined;
  }

  get left(): MemoryStore {
    return this.#store.left as MemoryStore;
  }

  /** An ended process sends nothing. */
  #end(): void {
    this.ended.abort(new Error('The process has ended.'));
    this.http.close().catch(() => undefined);
  }
}
