import assert from 'node:assert/strict';
import type { PendingWait, WaitOwner } from '../../../lib/print/pending-waits';
import type { Wait } from '../../../lib/print/late-results';
import type { Awaited } from '../../../lib/print/print-request';
import type { Scope } from '../../../lib/state/store';
import type { Peers } from '../../../lib/watch/replication/peers';
import { FaultyStore, type StoreFault } from '../../helpers/faulty-store';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { WaitingNode } from '../../helpers/waiting-node';

const SCOPE: Scope = ['account', 'service', 'workspace'];
const OWNER: WaitOwner = [...SCOPE, 'node'];

/** The runtimes on one store, and the ended prints at the service. */
class Farm {
  readonly clock = new ManualClock();
  readonly stored = new MemoryStore();
  readonly living = new Set<string>();
  /** Runtimes that reported an end, by print. */
  readonly reported: string[] = [];
  readonly lost: string[] = [];
  readonly #ended = new Set<string>();
  readonly #runtimes: Runtime[] = [];

  start(id: string, { alone = false } = {}): Runtime {
    if (!alone) this.living.add(id);
    const runtime = new Runtime(this, id, alone);
    this.#runtimes.push(runtime);
    void this.peersChanged();
    return runtime;
  }

  /** Notifies the connected runtimes that their peers have changed. */
  async peersChanged(): Promise<void> {
    for (const runtime of this.#runtimes) runtime.peersChanged();
    await settle();
  }

  async evict(id: string): Promise<void> {
    this.living.delete(id);
    await this.peersChanged();
  }

  /** Ends a print; every polling runtime sees it. */
  async end(print: string): Promise<void> {
    this.#ended.add(print);
    for (const { node } of this.#runtimes) node.poll();
    await settle();
  }

  hasEnded = (print: string): boolean => this.#ended.has(print);

  waits = async (): Promise<string[]> =>
    ((await this.stored.get<PendingWait<Awaited>[]>(['kept-waits', ...OWNER])) ?? []).map(
      ({ result, by }) => `${result.clusterJobId} ${by}`,
    );

  notes = (): number => [...this.stored.values.keys()].filter((key) => key.includes('kept-message')).length;
}

/** One node of one runtime. */
class Runtime {
  /** The fault of its store; undefined if the store works. */
  fault: StoreFault;
  /** Whether it has another credential secret than the others. */
  hasOtherSecret = false;
  /** Whether it receives changes of its peers. */
  connected = true;
  readonly node: WaitingNode;
  readonly #farm: Farm;
  readonly #listeners = new Set<() => void>();

  constructor(
    farm: Farm,
    readonly id: string,
    alone: boolean,
  ) {
    this.#farm = farm;
    const store = new FaultyStore(
      farm.stored,
      (step, [kind]) =>
        this.fault ?? (this.hasOtherSecret && step === 'read' && kind === 'kept-message' ? 'unreadable' : undefined),
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
    const { clock, hasEnded, reported, lost } = farm;
    this.node = new WaitingNode(
      { store, clock, scope: SCOPE, runtimes, hasEnded },
      {
        onEnd: ({ clusterJobId }, _, note) =>
          reported.push(`${clusterJobId} late at ${id} with ${JSON.stringify(note)}`),
        onLost: ({ result: { clusterJobId } }) => lost.push(`${clusterJobId} at ${id}`),
      },
    );
  }

  async redeploy(): Promise<void> {
    this.node.redeploy();
    await settle();
  }

  /** Begins a wait for a print of its own. */
  async begin(print: string): Promise<Wait> {
    const wait = this.node.begin(print, { of: print });
    await settle();
    return wait;
  }

  /** Hands over the end of a print of its own. */
  async handOver(wait: Wait, print: string): Promise<void> {
    void wait.handOver(() => this.#farm.reported.push(`${print} at ${this.id}`));
    await settle();
  }

  peersChanged(): void {
    if (this.connected) for (const listener of [...this.#listeners]) listener();
  }
}

describe('print/late-results in several runtimes', () => {
  let farm: Farm;
  let a: Runtime;
  let b: Runtime;
  let c: Runtime;
  beforeEach(async () => {
    farm = new Farm();
    [a, b, c] = ['a', 'b', 'c'].map((id) => farm.start(id)) as [Runtime, Runtime, Runtime];
    for (const runtime of [a, b, c]) runtime.node.ends.resume();
    await settle();
  });
  const nothingLeft = async () => {
    await settle();
    assert.deepEqual([await farm.waits(), farm.notes()], [[], 0]);
  };

  it('reports an end only at the runtime that began the print', async () => {
    const wait = await a.begin('p');
    await farm.peersChanged();
    assert.deepEqual(await farm.waits(), ['p a']);
    await farm.end('p');
    await a.handOver(wait, 'p');
    assert.deepEqual(farm.reported, ['p at a']);
    await nothingLeft();
  });

  it('resumes the waits of an ended runtime exactly once', async () => {
    await a.begin('p');
    await a.begin('q');
    await farm.evict('a');
    const [first] = await farm.waits();
    assert.match(first ?? '', /^p [bc]$/);
    await farm.end('p');
    await farm.end('q');
    assert.deepEqual(farm.reported.map((reported) => reported.replace(/at [bc]/, 'there')).sort(), [
      'p late there with {"of":"p"}',
      'q late there with {"of":"q"}',
    ]);
    await nothingLeft();
  });

  for (const others of [['b'], ['c']])
    it(`leaves the waits of an ended runtime to one that can read them, which is not ${others.join()}`, async () => {
      for (const runtime of [b, c]) runtime.hasOtherSecret = others.includes(runtime.id);
      await a.begin('p');
      await farm.evict('a');
      await farm.end('p');
      const reader = others[0] === 'b' ? 'c' : 'b';
      assert.deepEqual(farm.reported, [`p late at ${reader} with {"of":"p"}`]);
      await nothingLeft();
    });

  it('leaves a wait that no other runtime can read to the next one that can', async () => {
    for (const runtime of [b, c]) runtime.hasOtherSecret = true;
    await a.begin('p');
    await farm.evict('a');
    await farm.end('p');
    assert.deepEqual([farm.reported, await farm.waits()], [[], ['p a']]);
    const d = farm.start('d');
    d.node.ends.resume();
    await settle();
    assert.deepEqual(farm.reported, ['p late at d with {"of":"p"}']);
  });

  it('reports prints that ended while no runtime was alive', async () => {
    await a.begin('p');
    await farm.end('p');
    await farm.evict('a');
    assert.equal(farm.reported.length, 1);
    await nothingLeft();
  });

  it('lets several runtimes resume, once in all, a wait stored by a runtime without peers', async () => {
    const alone = farm.start('x', { alone: true });
    await alone.begin('p');
    await farm.peersChanged();
    await farm.end('p');
    assert.equal(farm.reported.length, 1);
  });

  it('lets a runtime without peers resume a wait stored by one with peers', async () => {
    await a.begin('p');
    const alone = farm.start('x', { alone: true });
    alone.node.ends.resume();
    await settle();
    await farm.end('p');
    assert.deepEqual(farm.reported, ['p late at x with {"of":"p"}']);
  });

  it('adopts no waits while its peers are unknown', async () => {
    b.connected = c.connected = false;
    await a.begin('p');
    await farm.evict('a');
    await b.redeploy();
    assert.deepEqual(await farm.waits(), ['p a']);
    b.connected = true;
    await farm.peersChanged();
    assert.deepEqual(await farm.waits(), ['p b']);
  });

  it('does not report at a runtime that was cut off too long, and reports after it reconnects', async () => {
    const wait = await a.begin('p');
    a.fault = 'unreadable';
    a.connected = false;
    await farm.evict('a');
    await farm.end('p');
    await a.handOver(wait, 'p');
    assert.equal(farm.reported.length, 1, 'the runtime that resumed it');
    a.fault = undefined;
    a.connected = true;
    farm.living.add('a');
    await farm.peersChanged();
    await farm.clock.advance(10_000);
    assert.equal(farm.reported.length, 1);
    assert.deepEqual(farm.lost, ['p at a']);
    await nothingLeft();
  });

  it('returns a wait to its first runtime when the second one ends too', async () => {
    const wait = await a.begin('p');
    c.connected = false;
    await farm.evict('a');
    assert.deepEqual(await farm.waits(), ['p b']);
    farm.living.add('a');
    await farm.evict('b');
    assert.deepEqual(await farm.waits(), ['p a']);
    // The first runtime still waits in memory.
    await farm.end('p');
    await a.handOver(wait, 'p');
    assert.deepEqual(
      farm.reported.filter((reported) => reported.includes('at a')),
      ['p at a'],
    );
  });

  it('returns a wait to its first runtime even after that one has found it adopted', async () => {
    const wait = await a.begin('p');
    c.connected = false;
    await farm.evict('a');
    farm.living.add('a');
    await farm.peersChanged();
    await a.handOver(wait, 'p');
    assert.deepEqual([farm.reported, farm.lost], [[], ['p at a']]);
    b.node.closing.abort();
    await farm.evict('b');
    await farm.end('p');
    assert.deepEqual(farm.reported, ['p late at a with {"of":"p"}']);
    await nothingLeft();
  });

  it('reports an end once the store is back, if it was unreachable when the print ended', async () => {
    const wait = await a.begin('p');
    a.fault = 'unreadable';
    await farm.end('p');
    await a.handOver(wait, 'p');
    await farm.clock.advance(60_000);
    assert.deepEqual(farm.reported, []);
    a.fault = undefined;
    await farm.clock.advance(10_000);
    assert.deepEqual(farm.reported, ['p at a']);
    await nothingLeft();
  });

  it('reports an unsaved wait once the store is back', async () => {
    a.fault = 'unreadable';
    const wait = await a.begin('p');
    await farm.end('p');
    await a.handOver(wait, 'p');
    a.fault = undefined;
    await farm.clock.advance(10_000);
    assert.deepEqual(farm.reported, ['p at a']);
  });

  it('resumes a wait at the next node even if it was not yet saved when that node started', async () => {
    a.fault = 'unreadable';
    const wait = await a.begin('p');
    await a.redeploy();
    wait.abandon();
    await farm.clock.advance(120_000);
    a.fault = undefined;
    await farm.clock.advance(60_000);
    assert.deepEqual(await farm.waits(), ['p a']);
    await farm.end('p');
    assert.deepEqual(farm.reported, ['p late at a with {"of":"p"}']);
    await nothingLeft();
  });

  it('reports an end once, even if the report can’t be recorded', async () => {
    const wait = await a.begin('p');
    await farm.end('p');
    a.fault = 'unwritable';
    await a.handOver(wait, 'p');
    a.fault = undefined;
    await a.redeploy();
    await farm.peersChanged();
    assert.deepEqual(farm.reported, ['p at a']);
  });

  it('continues at the runtime’s next node if the node closes during the handover', async () => {
    const wait = await a.begin('p');
    a.fault = 'unreadable';
    await farm.end('p');
    await a.handOver(wait, 'p');
    await a.redeploy();
    assert.deepEqual(farm.reported, []);
    a.fault = undefined;
    await farm.clock.advance(60_000);
    assert.deepEqual(farm.reported, ['p late at a with {"of":"p"}']);
    await nothingLeft();
  });

  it('reports an end at the next node if the node closes while the note is read', async () => {
    const alone = new Farm();
    const one = alone.start('one', { alone: true });
    one.node.ends.resume();
    await one.begin('p');
    await one.redeploy();
    const { stored } = alone;
    const get = stored.get.bind(stored);
    const open: (() => void)[] = [];
    stored.get = async (key: never) => {
      if ((key as string[])[0] === 'kept-message') await new Promise<void>((resolve) => open.push(resolve));
      return get(key);
    };
    await alone.end('p');
    assert.equal(open.length, 1);
    stored.get = get;
    one.node.closing.abort();
    open[0]?.();
    await settle();
    assert.deepEqual(alone.reported, []);
    await one.redeploy();
    await settle();
    assert.equal(alone.reported.length, 1);
  });

  it('deletes a removed node’s waits, but not those of other runtimes', async () => {
    await a.begin('p');
    await b.begin('q');
    const gone = farm.start('gone');
    gone.node.ends.resume();
    await gone.begin('r');
    b.connected = c.connected = false;
    await farm.evict('gone');
    await a.node.ends.forget();
    assert.deepEqual(await farm.waits(), ['q b']);
    assert.equal(farm.notes(), 1);
  });
});
