import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { PendingWaits } from '../../../lib/print/pending-waits';
import { LateResults } from '../../../lib/print/late-results';
import { printResult } from '../../../lib/print/print-request';
import { PrintingError } from '../../../lib/service/errors';
import type { Scope } from '../../../lib/state/scope';
import type { Peers } from '../../../lib/watch/replication/peers';
import type { JobEnd, JobEndOptions, Watcher } from '../../../lib/watch/watcher';
import { phrase } from '../../../lib/words/sentence';
import { ManualClock } from '../../helpers/manual-clock';
import { seeded } from '../../helpers/seeded';
import { SharedMemory, type SharedRuntime } from '../../helpers/shared-memory';

const RUNS = 80;
const STEPS = 40;
const SCOPE: Scope = ['account', 'service', 'workspace'];
const END: JobEnd = { outcome: 'finished', job: null };

/** What came of all prints. */
interface Record {
  ended: Set<string>;
  /** Where each end came out. */
  told: Map<string, string[]>;
  /** Those whose wait was not kept when their runtime was killed. */
  mayBeLost: Set<string>;
}

/** One Node-RED, with one node that waits. */
class Life {
  readonly #record: Record;
  readonly #follows = new Set<() => void>();
  readonly #deps: ConstructorParameters<typeof LateResults>[0];
  #closing = new AbortController();
  #ends: LateResults;
  readonly own = new Set<string>();

  constructor(
    readonly runtime: SharedRuntime,
    readonly name: string,
    record: Record,
  ) {
    this.#record = record;
    const { store, clock } = runtime;
    const runtimes = runtimesOf(runtime, name);
    this.#deps = {
      kept: new PendingWaits(store, clock, runtimes),
      watcher: { follow: this.#follow } as unknown as Watcher,
      runtimes,
      store,
      scope: () => Promise.resolve(SCOPE),
      signIn: { state: 'signed-in', usable: true, onChange: () => () => undefined },
      clock,
      warn: () => undefined,
    };
    this.#ends = this.#node();
  }

  #node(): LateResults {
    // Every wait of the node listens to it, as in a flow.
    setMaxListeners(0, this.#closing.signal);
    const ends = new LateResults(this.#deps, {
      nodeId: 'node',
      signal: this.#closing.signal,
      onProgress: () => undefined,
      onEnd: ({ clusterJobId }) => this.#tell(clusterJobId ?? '', 'late'),
      onLost: () => undefined,
    });
    ends.takeUp();
    return ends;
  }

  #tell(print: string, how: string): void {
    this.#record.told.set(print, [...(this.#record.told.get(print) ?? []), `${how} at ${this.name}`]);
  }

  readonly #follow = (_: string, print: string, { signal }: JobEndOptions) =>
    new Promise<JobEnd>((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
      const look = () => {
        if (this.#record.ended.has(print)) resolve(END);
      };
      this.#follows.add(look);
      look();
    });

  /** A poll, which it can make while it is awake. */
  poll(): void {
    this.runtime.clock.after(0, () => this.#follows.forEach((look) => look()));
  }

  /** A message that prints and waits for the end. */
  begin(print: string): void {
    this.own.add(print);
    const signal = this.#closing.signal;
    const result = printResult({ clusterId: 'c', clusterJobId: print, printed: true });
    const wait = this.#ends.begin(SCOPE, { printKey: '', index: 0, result }, null);
    this.#follow('c', print, { signal }).then(
      () => wait.over(() => this.#tell(print, 'told')),
      () => wait.left(),
    );
  }

  redeploy(): void {
    this.#closing.abort(new PrintingError('TIMEOUT', phrase`closed`));
    this.#closing = new AbortController();
    this.#ends = this.#node();
  }
}

/** Who lives, by what the store says. */
function runtimesOf({ store }: SharedRuntime, name: string): Peers {
  const listeners = new Set<() => void>();
  const onChange = () => listeners.forEach((listener) => listener());
  const membership = store.join(['polls', ...SCOPE], { name, wants: null, onChange });
  return {
    id: membership.id,
    isLiving: (id) => membership.members.length === 0 || membership.members.some((member) => member.id === id),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

describe(`print/late-results: in each of ${RUNS} lives of several runtimes every end is told once`, () => {
  for (let run = 1; run <= RUNS; run++)
    it(`run ${run}`, async () => {
      const random = seeded(run);
      const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
      const clock = new ManualClock();
      const shared = new SharedMemory(clock);
      const record: Record = { ended: new Set(), told: new Map(), mayBeLost: new Set() };
      const lives: Life[] = [];
      const trace: string[] = [];
      let named = 0;
      const start = () => lives.push(new Life(shared.runtime(), `runtime ${++named}`, record));
      for (let n = 0; n < 3; n++) start();
      await clock.advance(15_000);

      const prints: string[] = [];
      const impaired = new Set<Life>();
      let isOver = false;
      const HAZARDS = {
        begin: (life: Life) => {
          const print = `print ${prints.length + 1}`;
          prints.push(print);
          life.begin(print);
        },
        end: () => {
          const open = prints.filter((print) => !record.ended.has(print));
          if (open.length > 0) record.ended.add(pick(open));
          lives.forEach((life) => life.poll());
        },
        kill: (life: Life) => {
          const stored = JSON.stringify([...shared.values('kept-waits')]);
          for (const print of life.own) if (!stored.includes(`"${print}"`)) record.mayBeLost.add(print);
          life.runtime.kill();
          lives.splice(lives.indexOf(life), 1);
          start();
        },
        pause: (life: Life) => {
          life.runtime.pause();
          impaired.add(life);
        },
        // In the middle of something.
        pauseAsking: (life: Life) => {
          let left = 1 + Math.floor(random() * 6);
          let { statements } = life.runtime;
          Object.defineProperty(life.runtime, 'statements', {
            configurable: true,
            get: () => statements,
            set: (made: number) => {
              statements = made;
              if (--left === 0 && !isOver && lives.includes(life)) HAZARDS.pause(life);
            },
          });
        },
        cutOff: (life: Life) => {
          life.runtime.cutOff(pick(['at once', 'after asking']));
          impaired.add(life);
        },
        halt: () => shared.halt(),
        start: () => shared.start(),
        mend: (life: Life) => {
          life.runtime.resume();
          life.runtime.reconnect();
          impaired.delete(life);
        },
        redeploy: (life: Life) => life.redeploy(),
      };
      const names = Object.keys(HAZARDS) as (keyof typeof HAZARDS)[];
      const likely = [...names, 'begin', 'begin', 'end', 'end', 'mend', 'mend', 'start', 'pauseAsking'] as typeof names;
      for (let step = 0; step < STEPS; step++) {
        const life = pick(lives);
        const what = pick(likely);
        trace.push(`${Math.round(clock.monotonic() / 1000)} s: ${what} ${life.name}`);
        if (what === 'mend' || !impaired.has(life) || what === 'kill') HAZARDS[what](life);
        await clock.advance(Math.floor(random() ** 3 * 60_000));
      }

      isOver = true;
      shared.start();
      lives.forEach((life) => HAZARDS.mend(life));
      await clock.advance(60_000);
      for (const print of prints) record.ended.add(print);
      lives.forEach((life) => life.poll());
      await clock.advance(120_000);
      const story = () => `${trace.join('\n')}\n${JSON.stringify([...record.told])}`;
      for (const print of prints) {
        const told = record.told.get(print) ?? [];
        assert.ok(told.length <= 1, `${print} was told twice\n${story()}`);
        assert.ok(told.length === 1 || record.mayBeLost.has(print), `${print} was never told\n${story()}`);
      }
      assert.deepEqual([...shared.values('kept-waits').keys()], [], story());
    });
});
