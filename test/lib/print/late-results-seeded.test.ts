import assert from 'node:assert/strict';
import type { Scope } from '../../../lib/state/store';
import type { Peers } from '../../../lib/watch/replication/peers';
import { ManualClock } from '../../helpers/manual-clock';
import { picker, seeded, withSeed } from '../../helpers/seeded';
import { SharedMemory, type SharedRuntime } from '../../helpers/shared-memory';
import { WaitingNode } from '../../helpers/waiting-node';

const RUNS = 40;
const STEPS = 40;
const SCOPE: Scope = ['account', 'service', 'workspace'];

/** Record of all prints of a run. */
interface Record {
  ended: Set<string>;
  /** The runtimes that reported each end. */
  reported: Map<string, string[]>;
  /** Prints whose wait was not yet stored when their runtime was killed. */
  mayBeLost: Set<string>;
}

/** One Node-RED with one waiting node. */
class Life {
  readonly #record: Record;
  readonly #node: WaitingNode;
  readonly own = new Set<string>();

  constructor(
    readonly runtime: SharedRuntime,
    readonly name: string,
    record: Record,
  ) {
    this.#record = record;
    const { store, clock } = runtime;
    const hasEnded = (print: string) => record.ended.has(print);
    this.#node = new WaitingNode(
      { store, clock, scope: SCOPE, runtimes: peersOf(runtime, name), hasEnded },
      { onEnd: ({ clusterJobId }) => this.#report(clusterJobId ?? '', 'late'), onLost: () => undefined },
    );
    this.#node.ends.resume();
  }

  #report(print: string, how: string): void {
    this.#record.reported.set(print, [...(this.#record.reported.get(print) ?? []), `${how} at ${this.name}`]);
  }

  /** Polls, as soon as the runtime is awake. */
  poll(): void {
    this.runtime.clock.after(0, () => this.#node.poll());
  }

  /** Starts a message that prints and waits for the end. */
  begin(print: string): void {
    this.own.add(print);
    const wait = this.#node.begin(print);
    void this.#node.hasEnded(print).then((hasEnded) => {
      if (hasEnded) void wait.handOver(() => this.#report(print, 'reported'));
      else wait.abandon();
    });
  }

  redeploy(): void {
    this.#node.redeploy();
  }
}

/** The peers that the store lists. */
function peersOf({ store }: SharedRuntime, name: string): Peers {
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

describe(`print/late-results in several runtimes with faults`, () => {
  for (let run = 1; run <= RUNS; run++)
    it(
      'reports every end once',
      withSeed(run, async () => {
        const random = seeded(run);
        const pick = picker(random);
        const clock = new ManualClock();
        const shared = new SharedMemory(clock);
        const record: Record = { ended: new Set(), reported: new Map(), mayBeLost: new Set() };
        const lives: Life[] = [];
        const trace: string[] = [];
        let named = 0;
        const start = () => lives.push(new Life(shared.runtime(), `runtime ${++named}`, record));
        for (let n = 0; n < 3; n++) start();
        await clock.advance(15_000);

        const prints: string[] = [];
        const impaired = new Set<Life>();
        let hasEnded = false;
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
          // In the middle of another operation.
          pauseAsking: (life: Life) => {
            const pause = () => {
              if (!hasEnded && lives.includes(life)) HAZARDS.pause(life);
            };
            life.runtime.inTheMiddle(Math.floor(random() * 6), pause);
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
        const likely = [
          ...names,
          'begin',
          'begin',
          'end',
          'end',
          'mend',
          'mend',
          'start',
          'pauseAsking',
        ] as typeof names;
        for (let step = 0; step < STEPS; step++) {
          const life = pick(lives);
          const what = pick(likely);
          trace.push(`${Math.round(clock.monotonic() / 1000)} s: ${what} ${life.name}`);
          if (what === 'mend' || !impaired.has(life) || what === 'kill') HAZARDS[what](life);
          await clock.advance(Math.floor(random() ** 3 * 60_000));
        }

        hasEnded = true;
        shared.start();
        lives.forEach((life) => HAZARDS.mend(life));
        await clock.advance(60_000);
        for (const print of prints) record.ended.add(print);
        lives.forEach((life) => life.poll());
        await clock.advance(120_000);
        const story = () => `${trace.join('\n')}\n${JSON.stringify([...record.reported])}`;
        for (const print of prints) {
          const reported = record.reported.get(print) ?? [];
          assert.ok(reported.length <= 1, `${print} was reported twice\n${story()}`);
          assert.ok(reported.length === 1 || record.mayBeLost.has(print), `${print} was never reported\n${story()}`);
        }
        assert.deepEqual([...shared.values('kept-waits').keys()], [], story());
      }),
    );
});
