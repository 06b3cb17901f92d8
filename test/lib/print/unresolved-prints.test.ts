import assert from 'node:assert/strict';
import { Ledger, newAttempt } from '../../../lib/print/ledger';
import { Dispatcher } from '../../../lib/print/dispatcher';
import { JobListReader } from '../../../lib/print/job-list-reader';
import { UnresolvedPrints } from '../../../lib/print/unresolved-prints';
import { readCluster, readClusterStatus } from '../../../lib/service/cluster';
import type { Json } from '../../../lib/service/json-readers';
import type { Scope } from '../../../lib/state/store';
import { isoTime } from '../../../lib/time/clock';
import type { ObservationListener, Watcher } from '../../../lib/watch/watcher';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { LateStore } from '../../helpers/memory-store';
import { ScriptedService } from '../../helpers/scripted-service';

const SCOPE: Scope = ['account', 'service', 'workspace'];
const CLUSTER = { clusterId: 'cluster', jobId: 'job' };

describe('print/unresolved-prints in several runtimes', () => {
  let clock: ManualClock;
  let store: LateStore;
  let warnings: string[];
  let runtimes: Runtime[];

  /** The parts of one runtime that poll and settle. */
  interface Runtime {
    outcomes: UnresolvedPrints;
    /** Clusters that it keeps polling. */
    held: Set<string>;
    /** Passes a poll of any runtime to it. */
    observe: ObservationListener;
    /** Notifies it that its peers have changed. */
    changed: () => void;
  }

  function start(): Runtime {
    const service = new ScriptedService({});
    const jobListReader = new JobListReader(service);
    const warn = (sentence: unknown) => void warnings.push(String(sentence));
    const dispatcher = new Dispatcher({ service, jobListReader, clock, warn });
    const held = new Set<string>();
    const listeners: { observe: ObservationListener; changed: () => void } = {
      observe: () => undefined,
      changed: () => undefined,
    };
    const watcher = {
      hold: (clusterId: string) => {
        held.add(clusterId);
        return () => held.delete(clusterId);
      },
      onObservation: (listener: ObservationListener) => {
        listeners.observe = listener;
        return () => undefined;
      },
      runtimes: {
        id: String(runtimes.length),
        isLiving: () => true,
        onChange: (listener: () => void) => {
          listeners.changed = listener;
          return () => undefined;
        },
      },
    };
    const outcomes = new UnresolvedPrints({
      watcher: watcher as unknown as Watcher,
      signIn: { state: 'signed-in', usable: true, onChange: () => () => undefined },
      store,
      scope: () => Promise.resolve(SCOPE),
      clock,
      jobListReader,
      dispatcher: () => dispatcher,
      warn,
    });
    const runtime = Object.assign(listeners, { outcomes, held });
    runtimes.push(runtime);
    return runtime;
  }
  /** Leaves an open key behind, as a runtime that ended after a lost answer does. */
  async function lose(printKey: string): Promise<void> {
    const listing = { jobs: [], history: [], hasHistory: true, current: true, at: clock.now() };
    const attempt = newAttempt(CLUSTER, { listing, claimed: [], now: clock.now(), maxDuration: 60_000 });
    await new Ledger(store, SCOPE).begin({ clusterId: 'cluster', printKey }, { attempt, note: null });
  }
  async function observed(changes: Json = {}): Promise<void> {
    const receivedAt = isoTime(clock.now());
    const identity = readCluster({ cluster_id: 'cluster', friendly_name: 'Left printer' });
    const wire = { is_online: true, print_jobs: [], recently_completed: [], generated_time: receivedAt, ...changes };
    const status = readClusterStatus(wire, { clusterId: 'cluster', receivedAt, identity });
    for (const { observe } of runtimes) observe('cluster', status, clock.monotonic());
    await settle();
  }
  const doneOf = async (printKey: string) =>
    (await new Ledger(store, SCOPE).find({ clusterId: 'cluster', printKey }))?.done?.clusterJobId;
  const printing = (uuid: string) => ({
    ...{ uuid, cloud_job_id: 'job', status: 'queued', created_at: isoTime(clock.now()) },
  });
  const held = () => runtimes.map((runtime) => runtime.held.size);

  beforeEach(() => {
    clock = new ManualClock();
    store = new LateStore();
    warnings = [];
    runtimes = [];
  });
  afterEach(() => runtimes.forEach(({ outcomes }) => outcomes.close()));

  it('settles each key once, whichever runtime polls, and then releases the cluster', async () => {
    await lose('one');
    await lose('two');
    start();
    start();
    await settle();
    assert.deepEqual(held(), [1, 1]);
    await observed({ print_jobs: [printing('p')] });
    await observed({ print_jobs: [printing('p')] });
    assert.deepEqual([await doneOf('one'), await doneOf('two')].sort(), ['p', undefined], 'no printing is that of two');
    await observed({ print_jobs: [printing('p'), printing('q')] });
    await observed({ print_jobs: [printing('p'), printing('q')] });
    assert.deepEqual([await doneOf('one'), await doneOf('two')].sort(), ['p', 'q']);
    assert.deepEqual([held(), warnings], [[0, 0], []]);
  });

  it('settles the open keys of a runtime that ends while the keys are read', async () => {
    store.delayNext();
    const { changed } = start();
    await settle();
    await lose('one');
    changed();
    await settle();
    store.release();
    await settle();
    assert.deepEqual(held(), [1]);
  });

  it('keeps polling for an outcome that is added while others are settled', async () => {
    await lose('one');
    const { outcomes } = start();
    await settle();
    const get = store.get.bind(store);
    let open: () => void = () => undefined;
    store.get = async (key: never) => {
      const value = await get(key);
      if ((key as string[])[0] === 'open-prints') await new Promise<void>((resolve) => (open = resolve));
      return value as never;
    };
    const printing = (uuid: string) => ({
      uuid,
      cloud_job_id: 'job',
      status: 'queued',
      created_at: isoTime(clock.now()),
    });
    await observed({ print_jobs: [printing('p')] });
    store.get = get;
    await lose('two');
    outcomes.add(SCOPE, 'cluster');
    open();
    await settle();
    assert.deepEqual(held(), [1]);
    await observed({ print_jobs: [printing('p'), printing('q')] });
    assert.deepEqual([await doneOf('one'), await doneOf('two')].sort(), ['p', 'q']);
  });

  it('logs each hopeless key once', async () => {
    await lose('one');
    start();
    start();
    start();
    await settle();
    for (let minutes = 0; minutes < 90; minutes += 5) {
      await observed();
      await clock.advance(5 * 60_000);
    }
    assert.deepEqual([held(), warnings.length], [[0, 0, 0], 1]);
    assert.match(
      warnings[0] ?? '',
      /Whether printer Left printer accepted a print .*check the printer before you print again/,
    );
  });

  it('settles the open keys of an ended runtime', async () => {
    start();
    const other = start();
    await settle();
    assert.deepEqual(held(), [0, 0]);
    await lose('one');
    other.changed();
    await settle();
    assert.deepEqual(held(), [0, 1]);
    await observed({ print_jobs: [printing('p')] });
    assert.deepEqual([await doneOf('one'), held()], ['p', [0, 0]]);
  });
});
