import assert from 'node:assert/strict';
import { Dispatcher } from '../../../lib/print/dispatcher';
import { Ledger } from '../../../lib/print/ledger';
import { JobListReader } from '../../../lib/print/job-list-reader';
import { asPrintingError } from '../../../lib/service/errors';
import type { CallOptions } from '../../../lib/account/api-client';
import { underDeadline } from '../../../lib/time/deadline';
import { ManualClock } from '../../helpers/manual-clock';
import { ScriptedService } from '../../helpers/scripted-service';
import { SharedMemory, type SharedRuntime } from '../../helpers/shared-memory';

const KEY = { clusterId: 'cluster', printKey: 'key' };

/** Two runtimes share a database; one is cut off from it right before or after its print. */
describe('a print key whose runtime loses the store around the print', () => {
  let clock: ManualClock;
  let runtimes: [SharedRuntime, SharedRuntime];
  /** The cluster's queue at the service, which lists a print late. */
  let queue: { uuid: string; cloud_job_id: string; created_at: string; status: string }[];
  let listedFrom: number;
  let leaving: (runtime: SharedRuntime) => void;
  let answering: (runtime: SharedRuntime) => void;

  beforeEach(async () => {
    clock = new ManualClock();
    const shared = new SharedMemory(clock);
    runtimes = [shared.runtime(), shared.runtime()];
    queue = [];
    listedFrom = Infinity;
    leaving = answering = () => undefined;
    for (let n = 0; n < 4; n++) {
      await Promise.all(runtimes.map(({ store }) => store.get(['position', 'any'])));
      await clock.advance(5_000);
    }
  });
  afterEach(() => runtimes.forEach((runtime) => runtime.kill()));

  /** Prints as a message with the key does. Resolves with its result or error. */
  async function print(runtime: SharedRuntime, seconds: number): Promise<string> {
    const { store } = runtime;
    const service = new ScriptedService({
      clusterStatus: [
        () => ({ is_online: true, print_jobs: clock.monotonic() >= listedFrom ? queue : [], recently_completed: [] }),
      ],
      print: [
        async ({ lock }: CallOptions) => {
          leaving(runtime);
          (await lock?.secure(40_000))?.();
          const uuid = `printing-${queue.length + 1}`;
          const created_at = new Date(clock.now()).toISOString();
          queue.push({ uuid, cloud_job_id: 'job', created_at, status: 'queued' });
          answering(runtime);
          return { job_id: 'job', job_instance_uuid: uuid, status: 'queued' };
        },
      ],
    });
    const parts = { service, jobListReader: new JobListReader(service), clock: runtime.clock, warn: () => undefined };
    const dispatcher = new Dispatcher(parts);
    const request = { clusterId: 'cluster', jobId: 'job', startNow: true, printKey: 'key', note: {} };
    const work = underDeadline(runtime.clock, { ms: seconds * 1_000 }, (deadline) =>
      new Ledger(store, ['account', 'service', 'workspace']).within(deadline).waitForKey(
        KEY,
        async (ledger, deadline) => {
          const entry = await ledger.find(KEY);
          const earlier = entry ? (entry.done ?? (await dispatcher.searchAgain(ledger, KEY, entry, deadline))) : null;
          if (earlier) return { ...earlier, duplicate: true };
          return dispatcher.dispatch(ledger, { ...request, deadline });
        },
        deadline,
      ),
    );
    return work.then(
      ({ clusterJobId, duplicate }) => `${clusterJobId}${duplicate ? ', a duplicate' : ''}`,
      (error: unknown) => asPrintingError(error).code,
    );
  }
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) await clock.advance(1_000);
  };

  async function cutOff(seconds: number, { listedAfter = Infinity, otherHas = 600 } = {}): Promise<string[]> {
    answering = (runtime) => runtime.cutOff();
    const one = print(runtimes[0], 60);
    await pass(1);
    answering = () => undefined;
    listedFrom = clock.monotonic() + listedAfter * 1_000;
    const other = print(runtimes[1], otherHas);
    await pass(seconds);
    runtimes[0].reconnect();
    await pass(600);
    return Promise.all([one, other]);
  }

  for (const seconds of [16, 20, 80, 120, 170])
    it(`prints once if the cut lasts ${seconds} s and the print is listed late`, async () => {
      assert.deepEqual(await cutOff(seconds), ['printing-1', 'printing-1, a duplicate']);
      assert.equal(queue.length, 1);
    });

  it('prints once if the runtime never reconnects and the print is listed after three minutes', async () => {
    assert.deepEqual(await cutOff(600, { listedAfter: 180 }), ['printing-1', 'printing-1, a duplicate']);
    assert.equal(queue.length, 1);
  });

  it('prints nothing if the other message has too little time for the long search', async () => {
    assert.deepEqual(await cutOff(600, { otherHas: 150 }), ['printing-1', 'PRINT_OUTCOME_UNKNOWN']);
    assert.equal(queue.length, 1);
  });

  it('continues the long search of earlier messages that had too little time', async () => {
    leaving = (runtime) => runtime.kill();
    const one = print(runtimes[0], 60);
    await pass(70);
    leaving = () => undefined;
    const ends = [];
    for (let message = 1; message <= 4; message++) {
      const other = print(runtimes[1], 60);
      await pass(70);
      ends.push(await other);
    }
    assert.deepEqual(ends, ['PRINT_OUTCOME_UNKNOWN', 'PRINT_OUTCOME_UNKNOWN', 'PRINT_OUTCOME_UNKNOWN', 'printing-1']);
    assert.equal(queue.length, 1);
    one.catch(() => undefined);
  });

  it('is free again soon after the runtime reconnects if the cut prevented the call', async () => {
    leaving = (runtime) => runtime.cutOff();
    const one = print(runtimes[0], 60);
    await pass(1);
    leaving = () => undefined;
    const other = print(runtimes[1], 90);
    await pass(70);
    assert.equal(await one, 'FILE_NOT_WRITABLE');
    runtimes[0].reconnect();
    await pass(80);
    assert.equal(await other, 'PRINT_OUTCOME_UNKNOWN');
    const again = print(runtimes[1], 90);
    await pass(90);
    assert.equal(await again, 'printing-1');
    assert.equal(queue.length, 1);
  });

  it('prints again at another runtime if the print never appears', async () => {
    assert.deepEqual(await cutOff(900), ['printing-1', 'printing-2']);
  });
});
