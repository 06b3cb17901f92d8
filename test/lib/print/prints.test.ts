import assert from 'node:assert/strict';
import type { Client } from '../../../lib/client';
import type { PrintRequest, PrintResult, Progress } from '../../../lib/print/prints';
import { asPrintingError, type PrintingError } from '../../../lib/service/errors';
import { systemClock } from '../../../lib/time/clock';
import { closed, underDeadline } from '../../../lib/time/deadline';
import { startSimulator, type Simulator } from '../../../simulator';
import { MemoryStore } from '../../helpers/memory-store';
import { signedInClient } from '../../helpers/simulated-client';
import { TurnedTime } from '../../helpers/turned-time';

interface Told {
  results: PrintResult[];
  progress: Progress[];
  error: PrintingError | undefined;
}

describe('print/prints', function () {
  let time: TurnedTime;
  let simulator: Simulator;
  let client: Client;
  let store: MemoryStore;

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ now: time.now, accessTokenLifetime: 1e7 });
    store = new MemoryStore();
    client = await signedInClient(simulator, { store, clock: systemClock });
  });
  afterEach(async () => {
    await time.until(client.close());
    await simulator.close();
    time.restore();
  });

  const clusterId = (ref = 0) => simulator.world.clusters()[ref]?.clusterId ?? '';
  /** What stands in the store for a print key. */
  const entry = (printKey: string) =>
    [...store.values].find(([key]) => {
      const [kind, ...words] = JSON.parse(key) as string[];
      return kind === 'print-key' && words.at(-1) === printKey;
    })?.[1];
  const prints = () => simulator.requests.count('print');

  const run = (changes: Partial<PrintRequest> = {}, by = client): Promise<Told> => time.until(start(changes, by));

  async function start(changes: Partial<PrintRequest> = {}, by = client): Promise<Told> {
    const told: Told = { results: [], progress: [], error: undefined };
    const signal = changes.signal ?? new AbortController().signal;
    const request: Omit<PrintRequest, 'deadline'> = {
      source: () => Promise.resolve({ kind: 'bytes', bytes: Buffer.from(';TIME:600\nG28\n'), name: 'part.gcode' }),
      clusterIds: [clusterId()],
      jobName: '',
      printKey: '',
      print: true,
      startNow: true,
      waitFor: 'dispatched',
      compress: false,
      reuseUpload: true,
      dryRun: false,
      onProgress: (progress) => told.progress.push(progress),
      onResult: (result) => told.results.push(result),
      ...changes,
      signal,
    };
    const work = underDeadline(systemClock, { ms: 600_000, parent: signal }, (deadline) =>
      by.prints.run({ ...request, deadline }),
    );
    await work.catch((thrown: unknown) => (told.error = asPrintingError(thrown)));
    return told;
  }
  const first = ({ results: [result], error }: Told): PrintResult => {
    assert.equal(error, undefined);
    assert.ok(result);
    return result;
  };
  /** The answer gets lost, and so do all reads of the cluster after it. */
  function loseSight(when: 'before' | 'after'): void {
    simulator.faults.add({ endpoint: 'print', when, reset: true });
    simulator.faults.add({ endpoint: 'clusterStatus', after: 2, times: 'always', status: 503 });
  }

  it('says that the printer is offline before it uploads anything', async () => {
    simulator.world.setOnline(1, false);
    const { error } = await run({ clusterIds: [simulator.world.cluster(1).clusterId], printKey: 'k' });
    assert.deepEqual([error?.code, error?.obstacle], ['NOT_ACCEPTED', 'offline']);
    assert.deepEqual([simulator.requests.count('registerUpload'), prints()], [0, 0]);
    simulator.world.setOnline(1, true);
    assert.equal(first(await run({ printKey: 'k' })).duplicate, false);
  });

  it('settles a key by any later poll that sees the print, and then reads no more', async () => {
    loseSight('after');
    assert.equal((await run({ printKey: 'k' })).error?.code, 'PRINT_OUTCOME_UNKNOWN');
    simulator.faults.clear();
    const watch = client.watcher.watch({
      clusterId: clusterId(),
      interval: 60,
      milestones: [],
      onRound: () => undefined,
      onEvents: () => undefined,
      onTrouble: () => undefined,
    });
    await time.until(watch.ask(() => undefined));
    await time.settled();
    watch.close();
    const reads = simulator.requests.count('clusterStatus');
    const repeat = first(await run({ printKey: 'k' }));
    assert.deepEqual([repeat.duplicate, repeat.printed, repeat.jobName], [true, true, 'part.gcode']);
    assert.equal(repeat.clusterJobId, simulator.world.cluster(1).queue[0]?.uuid);
    assert.equal(simulator.requests.count('clusterStatus'), reads);
    assert.equal(prints(), 1);
  });

  it('looks again for what was not seen, before it prints with the same key', async () => {
    loseSight('before');
    assert.equal((await run({ printKey: 'k' })).error?.code, 'PRINT_OUTCOME_UNKNOWN');
    simulator.faults.clear();
    const began = systemClock.monotonic();
    const second = first(await run({ printKey: 'k' }));
    assert.ok(systemClock.monotonic() - began > 25_000, 'looked for half a minute');
    assert.deepEqual([second.duplicate, second.printed], [false, true]);
    assert.equal(simulator.world.cluster(1).queue.length, 1);
  });

  it('takes no older printing of the same file for a lost one', async () => {
    const older = first(await run());
    simulator.faults.add({ endpoint: 'print', when: 'before', reset: true });
    const lost = await run();
    assert.equal(lost.error?.code, 'PRINT_OUTCOME_UNKNOWN');
    assert.equal(lost.error.ids.jobId, older.jobId);
    assert.equal(lost.results[0]?.printed, false);
  });

  it('shares no printing between two lost answers', async () => {
    await run({ print: false });
    simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
    simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
    const both = await Promise.all([run(), run()]);
    const ids = both.map((told) => first(told).clusterJobId);
    assert.equal(new Set(ids).size, 2);
    assert.deepEqual(new Set(ids), new Set(simulator.world.cluster(1).queue.map(({ uuid }) => uuid)));
  });

  it('sends nothing when the key can not be written down', async () => {
    const update = store.update.bind(store);
    store.update = (key, ...rest) =>
      key[0] === 'print-key' ? Promise.reject(new Error('read-only')) : update(key, ...rest);
    const told = await run({ printKey: 'k' });
    assert.deepEqual([told.error?.code, prints()], ['FILE_NOT_WRITABLE', 0]);
    assert.equal(first(await run()).printed, true);
  });

  it('tells a print even when its outcome can not be written down, and knows it by looking', async () => {
    const update = store.update.bind(store);
    let writes = 0;
    store.update = (key, ...rest) => {
      if (key[0] === 'print-key' && ++writes > 1) return Promise.reject(new Error('disk full'));
      if (key[0] === 'claims') return Promise.reject(new Error('disk full'));
      return update(key, ...rest);
    };
    const told = first(await run({ printKey: 'k' }));
    assert.equal(told.printed, true);
    store.update = update;
    const repeat = first(await run({ printKey: 'k' }));
    assert.deepEqual([repeat.duplicate, repeat.clusterJobId, prints()], [true, told.clusterJobId, 1]);
  });

  it('goes on after a crash in the middle of a dispatch', async () => {
    // What is on disk when the service has taken the print, and its answer is still on the way.
    const crashing = new MemoryStore();
    const doomed = await signedInClient(simulator, { store: crashing, clock: systemClock });
    const crash = (body: unknown) => {
      for (const [key, value] of crashing.values) store.values.set(key, value);
      return body;
    };
    simulator.faults.add({ endpoint: 'print', transform: crash });
    await run({ printKey: 'k' }, doomed);
    await time.until(doomed.close());
    assert.equal(entry('k')?.includes('"done"'), false);
    const repeat = first(await run({ printKey: 'k' }));
    assert.equal(repeat.duplicate, true);
    assert.deepEqual([simulator.world.cluster(1).queue.length, prints()], [1, 1]);
  });

  it('closes only after a dispatch under way has been noted', async () => {
    simulator.faults.add({ endpoint: 'print', delay: 20 });
    const closing = new AbortController();
    const work = start({ printKey: 'k', signal: closing.signal });
    while (entry('k') === undefined) await new Promise((resolve) => setImmediate(resolve));
    closing.abort(closed());
    await time.until(client.close());
    assert.equal(entry('k')?.includes('"done"'), true);
    await time.until(work);
    client = await signedInClient(simulator, { store, clock: systemClock });
    assert.equal(first(await run({ printKey: 'k' })).duplicate, true);
    assert.equal(prints(), 1);
  });

  it('finds the id of a print whose answer does not name it', async () => {
    simulator.faults.add({ endpoint: 'print', remove: ['data.job_instance_uuid'] });
    const told = first(await run());
    assert.equal(told.clusterJobId, simulator.world.cluster(1).queue[0]?.uuid);
    assert.equal(prints(), 1);
  });

  it('says when a print awaits an approval', async () => {
    simulator.world.setDispatch(1, 'wait_approval');
    assert.deepEqual([first(await run()).printed, first(await run()).status], [true, 'wait_approval']);
  });

  it('checks the cluster before a long upload', async () => {
    const told = await run({ clusterIds: ['no-such-cluster'] });
    assert.equal(told.error?.code, 'NOT_FOUND');
    assert.equal(told.error.ids.clusterId ?? told.results[0]?.clusterId, 'no-such-cluster');
    assert.equal(simulator.requests.count('registerUpload'), 0);
  });

  describe('waiting for the end', () => {
    const ends: [string, (uuid: string) => void, string, RegExp][] = [
      ['failed', (uuid) => simulator.world.fail(1, uuid), 'PRINT_FAILED', /failed/],
      ['aborted', (uuid) => simulator.world.abort(1, uuid), 'PRINT_FAILED', /aborted/],
      ['vanished', (uuid) => simulator.world.vanish(1, uuid), 'PRINT_FAILED', /neither/],
      [
        'went on at a printer that left the account',
        () => simulator.world.removeCluster(1),
        'PRINT_FAILED',
        /no longer/,
      ],
    ];
    for (const [name, end, code, says] of ends)
      it(`ends in ${code} for a print that ${name}`, async () => {
        let ended = false;
        const told = await run({
          waitFor: 'finished',
          onProgress: ({ stage, clusterJobId, job }) => {
            if (stage !== 'printing' || ended || job?.state !== 'printing') return;
            ended = true;
            end(clusterJobId ?? '');
          },
        });
        assert.equal(told.error?.code, code);
        assert.match(told.error.message, says);
        assert.ok(told.error.ids.clusterJobId);
      });

    it('gives the id that the printer has at the end, where it was connected anew meanwhile', async () => {
      const ids: (string | null)[] = [];
      let current = '';
      const told = await run({
        waitFor: 'finished',
        onProgress: ({ stage, clusterId, job }) => {
          if (stage === 'finished') ids.push(clusterId);
          if (stage === 'printing' && job?.state === 'printing') current ||= simulator.world.rebind(1);
        },
      });
      const done = first(told);
      assert.equal(done.status, 'finished');
      assert.deepEqual([done.clusterId, ...ids], [current, current]);
    });

    it('gives the finished job, for a repeat of its key as well', async () => {
      const wanted = { waitFor: 'finished', printKey: 'k' } as const;
      const done = first(await run(wanted));
      assert.deepEqual([done.status, done.job?.state, done.duplicate], ['finished', 'finished', false]);
      const repeat = first(await run(wanted));
      assert.deepEqual(
        [repeat.job?.state, repeat.duplicate, repeat.clusterJobId],
        ['finished', true, done.clusterJobId],
      );
      assert.equal(prints(), 1);
    });

    it('ends with its node', async () => {
      const closing = new AbortController();
      const told = await run({
        waitFor: 'finished',
        signal: closing.signal,
        onProgress: ({ stage }) => {
          if (stage === 'printing') closing.abort(asPrintingError(new Error('closed')));
        },
      });
      assert.ok(told.error);
      assert.equal(first(await run({ print: false })).printed, false);
    });
  });
});
