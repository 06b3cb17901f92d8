import assert from 'node:assert/strict';
import { PendingWaits, type PendingWait, type WaitOwner } from '../../../lib/print/pending-waits';
import { LateResults } from '../../../lib/print/late-results';
import { printResult, type Wait } from '../../../lib/print/print-request';
import { PrintingError } from '../../../lib/service/errors';
import type { Scope } from '../../../lib/state/scope';
import type { Peers } from '../../../lib/watch/replication/peers';
import type { JobEnd, JobEndOptions, Watcher } from '../../../lib/watch/watcher';
import { phrase } from '../../../lib/words/sentence';
import { FaultyStore, type StoreFault } from '../../helpers/faulty-store';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';

const SCOPE: Scope = ['account', 'service', 'workspace'];
const OWNER: WaitOwner = [...SCOPE, 'node'];
const END: JobEnd = { outcome: 'finished', job: null };

/** The runtimes on one store, and what the service knows of their prints. */
class Farm {
  readonly clock = new ManualClock();
  readonly stored = new MemoryStore();
  readonly living = new Set<string>();
  /** Where ends came out, by print. */
  readonly told: string[] = [];
  readonly lost: string[] = [];
  readonly #ended = new Set<string>();
  readonly #runtimes: Runtime[] = [];

  start(id: string, { alone = false } = {}): Runtime {
    if (!alone) this.living.add(id);
    const runtime = new Runtime(this, id, alone);
    this.#runtimes.push(runtime);
    this.changed();
    return runtime;
  }

  /** Those that can be told hear that somebody came or went. */
  changed(): void {
    for (const runtime of this.#runtimes) runtime.hear();
  }

  async bury(id: string): Promise<void> {
    this.living.delete(id);
    this.changed();
    await settle();
  }

  /** All that poll see the end. */
  async end(print: string): Promise<void> {
    this.#ended.add(print);
    for (const runtime of this.#runtimes) runtime.see(print);
    await settle();
  }

  hasEnded = (print: string): boolean => this.#ended.has(print);

  waits = async (): Promise<string[]> =>
    ((await this.stored.get<PendingWait[]>(['kept-waits', ...OWNER])) ?? []).map(
      ({ result, by }) => `${result.clusterJobId} ${by}`,
    );

  notes = (): number => [...this.stored.values.keys()].filter((key) => key.includes('kept-message')).length;
}

/** One node of one runtime. */
class Runtime {
  /** It reaches the store. */
  fault: StoreFault;
  /** It is told who lives. */
  connected = true;
  closing = new AbortController();
  ends: LateResults;
  readonly kept: PendingWaits;
  readonly #farm: Farm;
  readonly #follows: { print: string; resolve: (ended: JobEnd) => void }[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #deps: ConstructorParameters<typeof LateResults>[0];

  constructor(
    farm: Farm,
    readonly id: string,
    alone: boolean,
  ) {
    this.#farm = farm;
    const { clock } = farm;
    const store = new FaultyStore(
      farm.stored,
      () => this.fault,
      () => undefined,
    );
    const runtimes: Peers = {
      id: alone ? null : id,
      isLiving: (other) => !alone && (!this.connected || farm.living.has(other)),
      onChange: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
    this.kept = new PendingWaits(store, clock, runtimes);
    const follow = (_: string, print: string, { signal }: JobEndOptions) =>
      new Promise<JobEnd>((resolve, reject) => {
        if (farm.hasEnded(print)) return resolve(END);
        this.#follows.push({ print, resolve });
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      });
    this.#deps = {
      kept: this.kept,
      watcher: { follow } as unknown as Watcher,
      runtimes,
      store,
      scope: () => Promise.resolve(SCOPE),
      signIn: { state: 'signed-in', usable: true, onChange: () => () => undefined },
      clock,
      warn: () => undefined,
    };
    this.ends = this.#node();
  }

  #node(): LateResults {
    const { told, lost } = this.#farm;
    return new LateResults(this.#deps, {
      nodeId: 'node',
      signal: this.closing.signal,
      onProgress: () => undefined,
      onEnd: ({ clusterJobId }, _, note) =>
        told.push(`${clusterJobId} late at ${this.id} with ${JSON.stringify(note)}`),
      onLost: ({ clusterJobId }) => lost.push(`${clusterJobId} at ${this.id}`),
    });
  }

  /** A deploy: another node of the same id. */
  async redeploy(): Promise<void> {
    this.closing.abort(new PrintingError('TIMEOUT', phrase`closed`));
    this.closing = new AbortController();
    this.ends = this.#node();
    this.ends.takeUp();
    await settle();
  }

  /** It waits for a print of its own. */
  async begin(print: string): Promise<Wait> {
    const result = printResult({ clusterId: 'c', clusterJobId: print, printed: true });
    const wait = this.ends.begin(SCOPE, { printKey: '', index: 0, result }, { of: print });
    await settle();
    return wait;
  }

  /** The end of a print of its own is there. */
  async over(wait: Wait, print: string): Promise<void> {
    void wait.over(() => this.#farm.told.push(`${print} at ${this.id}`));
    await settle();
  }

  hear(): void {
    if (this.connected) for (const listener of [...this.#listeners]) listener();
  }

  see(print: string): void {
    for (const follow of this.#follows) if (follow.print === print) follow.resolve(END);
  }
}

describe('print/late-results over several runtimes', () => {
  let farm: Farm;
  let a: Runtime;
  let b: Runtime;
  let c: Runtime;
  beforeEach(async () => {
    farm = new Farm();
    [a, b, c] = ['a', 'b', 'c'].map((id) => farm.start(id)) as [Runtime, Runtime, Runtime];
    for (const runtime of [a, b, c]) runtime.ends.takeUp();
    await settle();
  });
  const nothingLeft = async () => {
    await settle();
    assert.deepEqual([await farm.waits(), farm.notes()], [[], 0]);
  };

  it('gives an end out where the print was begun, and nowhere else', async () => {
    const wait = await a.begin('p');
    farm.changed();
    await settle();
    assert.deepEqual(await farm.waits(), ['p a']);
    await farm.end('p');
    await a.over(wait, 'p');
    assert.deepEqual(farm.told, ['p at a']);
    await nothingLeft();
  });

  it('takes up the waits of one that ended, once in all', async () => {
    await a.begin('p');
    await a.begin('q');
    await farm.bury('a');
    const [first] = await farm.waits();
    assert.match(first ?? '', /^p [bc]$/);
    await farm.end('p');
    await farm.end('q');
    assert.deepEqual(farm.told.map((told) => told.replace(/at [bc]/, 'there')).sort(), [
      'p late there with {"of":"p"}',
      'q late there with {"of":"q"}',
    ]);
    await nothingLeft();
  });

  it('takes up what ended while nobody was there', async () => {
    await a.begin('p');
    await farm.end('p');
    await farm.bury('a');
    assert.equal(farm.told.length, 1);
    await nothingLeft();
  });

  it('takes up what one runtime alone has left behind, once in all', async () => {
    const alone = farm.start('x', { alone: true });
    await alone.begin('p');
    farm.changed();
    await settle();
    await farm.end('p');
    assert.equal(farm.told.length, 1);
  });

  it('and the other way round', async () => {
    await a.begin('p');
    const alone = farm.start('x', { alone: true });
    alone.ends.takeUp();
    await settle();
    await farm.end('p');
    assert.deepEqual(farm.told, ['p late at x with {"of":"p"}']);
  });

  it('takes up nothing while nobody can tell who lives', async () => {
    b.connected = c.connected = false;
    await a.begin('p');
    await farm.bury('a');
    await b.redeploy();
    assert.deepEqual(await farm.waits(), ['p a']);
    b.connected = true;
    farm.changed();
    await settle();
    assert.deepEqual(await farm.waits(), ['p b']);
  });

  it('gives out nothing at one that was cut off for too long, and comes back', async () => {
    const wait = await a.begin('p');
    a.fault = 'unreadable';
    a.connected = false;
    await farm.bury('a');
    await farm.end('p');
    await a.over(wait, 'p');
    assert.equal(farm.told.length, 1, 'the one that took it up');
    a.fault = undefined;
    a.connected = true;
    farm.living.add('a');
    farm.changed();
    await farm.clock.advance(10_000);
    assert.equal(farm.told.length, 1);
    assert.deepEqual(farm.lost, ['p at a']);
    await nothingLeft();
  });

  it('comes back to the first one where the second ends too', async () => {
    const wait = await a.begin('p');
    c.connected = false;
    await farm.bury('a');
    assert.deepEqual(await farm.waits(), ['p b']);
    farm.living.add('a');
    await farm.bury('b');
    assert.deepEqual(await farm.waits(), ['p a']);
    // The first one still waits in memory.
    await farm.end('p');
    await a.over(wait, 'p');
    assert.deepEqual(
      farm.told.filter((told) => told.includes('at a')),
      ['p at a'],
    );
  });

  it('comes back to the first one also after that has found it to be another’s', async () => {
    const wait = await a.begin('p');
    c.connected = false;
    await farm.bury('a');
    farm.living.add('a');
    farm.changed();
    await a.over(wait, 'p');
    assert.deepEqual([farm.told, farm.lost], [[], ['p at a']]);
    b.closing.abort();
    await farm.bury('b');
    await farm.end('p');
    assert.deepEqual(farm.told, ['p late at a with {"of":"p"}']);
    await nothingLeft();
  });

  it('is given out when the store is back, where that was away at the end', async () => {
    const wait = await a.begin('p');
    a.fault = 'unreadable';
    await farm.end('p');
    await a.over(wait, 'p');
    await farm.clock.advance(60_000);
    assert.deepEqual(farm.told, []);
    a.fault = undefined;
    await farm.clock.advance(10_000);
    assert.deepEqual(farm.told, ['p at a']);
    await nothingLeft();
  });

  it('is given out though it could not be written down, once the store is back', async () => {
    a.fault = 'unreadable';
    const wait = await a.begin('p');
    await farm.end('p');
    await a.over(wait, 'p');
    a.fault = undefined;
    await farm.clock.advance(10_000);
    assert.deepEqual(farm.told, ['p at a']);
  });

  it('is taken up by the next node though it could not be written down before that came', async () => {
    a.fault = 'unreadable';
    const wait = await a.begin('p');
    await a.redeploy();
    wait.left();
    await farm.clock.advance(120_000);
    a.fault = undefined;
    await farm.clock.advance(60_000);
    assert.deepEqual(await farm.waits(), ['p a']);
    await farm.end('p');
    assert.deepEqual(farm.told, ['p late at a with {"of":"p"}']);
    await nothingLeft();
  });

  it('is told once, though that it was told can not be written', async () => {
    const wait = await a.begin('p');
    await farm.end('p');
    a.fault = 'unwritable';
    await a.over(wait, 'p');
    a.fault = undefined;
    await a.redeploy();
    farm.changed();
    await settle();
    assert.deepEqual(farm.told, ['p at a']);
  });

  it('goes on with the next node of its runtime, also where the node closed as the end was to be given out', async () => {
    const wait = await a.begin('p');
    a.fault = 'unreadable';
    await farm.end('p');
    await a.over(wait, 'p');
    await a.redeploy();
    assert.deepEqual(farm.told, []);
    a.fault = undefined;
    await farm.clock.advance(60_000);
    assert.deepEqual(farm.told, ['p late at a with {"of":"p"}']);
    await nothingLeft();
  });

  it('is forgotten with its node, and those of other runtimes are not', async () => {
    await a.begin('p');
    await b.begin('q');
    const gone = farm.start('gone');
    gone.ends.takeUp();
    await gone.begin('r');
    b.connected = c.connected = false;
    await farm.bury('gone');
    await a.ends.forget();
    assert.deepEqual(await farm.waits(), ['q b']);
    assert.equal(farm.notes(), 1);
  });
});
