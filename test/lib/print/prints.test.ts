import assert from 'node:assert/strict';
import type { Client } from '../../../lib/client';
import type { Awaited, PrintRequest, PrintResult, Progress } from '../../../lib/print/print-request';
import { asPrintingError, type PrintingError } from '../../../lib/service/errors';
import { systemClock } from '../../../lib/time/clock';
import { closed, underDeadline } from '../../../lib/time/deadline';
import { startSimulator, type Simulator } from '../../../simulator';
import { MemoryStore } from '../../helpers/memory-store';
import { inMemory, PRINT } from '../../helpers/print-request';
import { signedInClient } from '../../helpers/simulated-client';
import { TurnedTime } from '../../helpers/turned-time';

interface Outcome {
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
  /** The stored entry of a print key. */
  const entry = (printKey: string) =>
    [...store.values].find(([key]) => {
      const [kind, ...words] = JSON.parse(key) as string[];
      return kind === 'print-key' && words.at(-1) === printKey;
    })?.[1];
  const prints = () => simulator.requests.count('print');

  const run = (changes: Partial<PrintRequest> = {}, by = client): Promise<Outcome> => time.until(start(changes, by));

  async function start(changes: Partial<PrintRequest> = {}, by = client): Promise<Outcome> {
    const outcome: Outcome = { results: [], progress: [], error: undefined };
    const signal = changes.signal ?? new AbortController().signal;
    const request: Omit<PrintRequest, 'deadline'> = {
      ...PRINT,
      source: inMemory(';TIME:600\nG28\n'),
      clusterIds: [clusterId()],
      onProgress: (progress) => outcome.progress.push(progress),
      onResult: (result) => outcome.results.push(result),
      ...changes,
      signal,
    };
    const work = underDeadline(systemClock, { ms: 600_000, parent: signal }, (deadline) =>
      by.prints.run({ ...request, deadline }),
    );
    await work.catch((thrown: unknown) => (outcome.error = asPrintingError(thrown)));
    return outcome;
  }
  const first = ({ results: [result], error }: Outcome): PrintResult => {
    assert.equal(error, undefined);
    assert.ok(result);
    return result;
  };
  /** Loses the print's answer and all later reads of the cluster. */
  function loseSight(when: 'before' | 'after'): void {
    simulator.faults.add({ endpoint: 'print', when, reset: true });
    simulator.faults.add({ endpoint: 'clusterStatus', after: 2, times: 'always', status: 503 });
  }

  it('finds the print whose answer is a redirect', async () => {
    simulator.faults.add({ endpoint: 'print', when: 'after', status: 303 });
    const { printed, clusterJobId } = first(await run({ printKey: 'k' }));
    assert.deepEqual([printed, clusterJobId !== null], [true, true]);
    assert.equal(first(await run({ printKey: 'k' })).duplicate, true);
    assert.equal(prints(), 1);
  });

  it('has printed nothing when the sign-in answers by a redirect', async () => {
    simulator.faults.add({ endpoint: 'print', status: 401 });
    simulator.faults.add({ endpoint: 'token', times: 'always', status: 302 });
    const { error } = await run({ printKey: 'k' });
    assert.deepEqual([error?.code, error?.outcome], ['SERVICE_ERROR', 'not-sent']);
    simulator.faults.clear();
    assert.equal(first(await run({ printKey: 'k' })).printed, true);
  });

  it('reports every result although the flow throws at one of them', async () => {
    const results: (string | null)[] = [];
    const { error } = await run({
      clusterIds: [clusterId(0), clusterId(1), clusterId(2)],
      waitFor: 'finished',
      onResult: ({ clusterId: at }) => {
        results.push(at);
        if (results.length === 1) throw new Error('The flow failed.');
      },
    });
    assert.equal(results.length, 3);
    assert.ok(error);
  });

  it('searches again for a lost print before it prints with the same key', async () => {
    loseSight('before');
    assert.equal((await run({ printKey: 'k' })).error?.code, 'PRINT_OUTCOME_UNKNOWN');
    simulator.faults.clear();
    const began = systemClock.monotonic();
    const second = first(await run({ printKey: 'k' }));
    assert.ok(systemClock.monotonic() - began > 25_000, 'looked for half a minute');
    assert.deepEqual([second.duplicate, second.printed], [false, true]);
    assert.equal(simulator.world.cluster(1).queue.length, 1);
  });

  it('does not mistake an older printing of the same file for a lost one', async () => {
    const older = first(await run());
    simulator.faults.add({ endpoint: 'print', when: 'before', reset: true });
    const lost = await run();
    assert.equal(lost.error?.code, 'PRINT_OUTCOME_UNKNOWN');
    assert.equal(lost.error.ids.jobId, older.jobId);
    assert.equal(lost.results[0]?.printed, false);
  });

  it('assigns different printings to two lost answers', async () => {
    await run({ print: false });
    simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
    simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
    const both = await Promise.all([run(), run()]);
    const ids = both.map((outcome) => first(outcome).clusterJobId);
    assert.equal(new Set(ids).size, 2);
    assert.deepEqual(new Set(ids), new Set(simulator.world.cluster(1).queue.map(({ uuid }) => uuid)));
  });

  it('sends nothing when the key can’t be saved', async () => {
    const update = store.update.bind(store);
    store.update = (key, ...rest) =>
      key[0] === 'print-key' ? Promise.reject(new Error('read-only')) : update(key, ...rest);
    const outcome = await run({ printKey: 'k' });
    assert.deepEqual([outcome.error?.code, prints()], ['FILE_NOT_WRITABLE', 0]);
    assert.equal(first(await run()).printed, true);
  });

  it('recovers from a crash in the middle of a dispatch', async () => {
    // The stored state when the service has accepted the print and its answer is in flight.
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

  it('closes only after a pending dispatch has been saved', async () => {
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

  it('closes only after the wait for the end of a pending dispatch has been saved', async () => {
    const nodeId = 'node';
    const update = store.update.bind(store);
    store.update = async (key, ...rest) => {
      for (let turns = key[0] === 'kept-waits' ? 20 : 0; turns > 0; turns--)
        await new Promise((resolve) => setImmediate(resolve));
      return update(key, ...rest);
    };
    const closing = new AbortController();
    const { signal } = closing;
    const waits = client.lateResults<Awaited, PrintResult>({
      ...{ nodeId, signal },
      awaitEnd: () => Promise.resolve(null),
      onEnd: () => undefined,
    });
    simulator.faults.add({ endpoint: 'print', delay: 20 });
    const onWait: PrintRequest['onWait'] = (scope, wait) => waits.begin(scope, wait, null);
    const work = start({ printKey: 'k', waitFor: 'finished', signal, onWait });
    while (entry('k') === undefined) await new Promise((resolve) => setImmediate(resolve));
    closing.abort(closed());
    // The process ends here.
    const stored = await time.until(client.close().then(() => new Map(store.values)));
    await time.until(work);
    const kept = [...stored].filter(([key]) => key.includes('kept-waits') && key.includes(nodeId));
    assert.equal(kept.length, 1, [...stored.keys()].join('\n'));
    assert.equal(kept[0]?.[1].includes(simulator.world.cluster(1).queue[0]?.uuid ?? 'none'), true);
    client = await signedInClient(simulator, { store, clock: systemClock });
  });

  it('finds a printing’s id if the answer lacks it', async () => {
    simulator.faults.add({ endpoint: 'print', remove: ['data.job_instance_uuid'] });
    const outcome = first(await run());
    assert.equal(outcome.clusterJobId, simulator.world.cluster(1).queue[0]?.uuid);
    assert.equal(prints(), 1);
  });

  it('reports that a print awaits approval', async () => {
    simulator.world.setDispatch(1, 'wait_approval');
    assert.deepEqual([first(await run()).printed, first(await run()).status], [true, 'wait_approval']);
  });

  it('checks the cluster before a long upload', async () => {
    const outcome = await run({ clusterIds: ['no-such-cluster'] });
    assert.equal(outcome.error?.code, 'NOT_FOUND');
    assert.equal(outcome.error.ids.clusterId ?? outcome.results[0]?.clusterId, 'no-such-cluster');
    assert.equal(simulator.requests.count('registerUpload'), 0);
  });

  describe('waiting for the end of a print', () => {
    const ends: [string, (uuid: string) => void, string, RegExp][] = [
      ['failed', (uuid) => simulator.world.fail(1, uuid), 'PRINT_FAILED', /failed/],
      ['aborted', (uuid) => simulator.world.abort(1, uuid), 'PRINT_FAILED', /aborted/],
      ['vanished', (uuid) => simulator.world.vanish(1, uuid), 'PRINT_FAILED', /neither/],
      [
        'went on at a printer that left the account',
        () => simulator.world.removeCluster(1),
        'PRINT_OUTCOME_UNKNOWN',
        /no longer/,
      ],
    ];
    for (const [name, end, code, says] of ends)
      it(`throws ${code} for a print that ${name}`, async () => {
        let ended = false;
        const outcome = await run({
          waitFor: 'finished',
          onProgress: ({ stage, clusterJobId, job }) => {
            if (stage !== 'printing' || ended || job?.state !== 'printing') return;
            ended = true;
            end(clusterJobId ?? '');
          },
        });
        assert.equal(outcome.error?.code, code);
        assert.match(outcome.error.message, says);
        assert.ok(outcome.error.ids.clusterJobId);
      });

    it('reports the printer’s current id if it was reconnected during the print', async () => {
      const ids: (string | null)[] = [];
      let current = '';
      const outcome = await run({
        waitFor: 'finished',
        onProgress: ({ stage, clusterId, job }) => {
          if (stage === 'finished') ids.push(clusterId);
          if (stage === 'printing' && job?.state === 'printing') current ||= simulator.world.rebind(1);
        },
      });
      const done = first(outcome);
      assert.equal(done.status, 'finished');
      assert.deepEqual([done.clusterId, ...ids], [current, current]);
    });

    it('returns the finished job, even for a repeat of its key', async () => {
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

    it('cancels the wait when its node closes', async () => {
      const closing = new AbortController();
      const outcome = await run({
        waitFor: 'finished',
        signal: closing.signal,
        onProgress: ({ stage }) => {
          if (stage === 'printing') closing.abort(asPrintingError(new Error('closed')));
        },
      });
      assert.ok(outcome.error);
      assert.equal(first(await run({ print: false })).printed, false);
    });
  });
});
