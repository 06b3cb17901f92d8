import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { QueueItem } from '../../../lib/queue/model/types';
import { Account, type Life, QueueFarm, type Runtime } from '../../helpers/queue-farm';

/** An order at this queue or another one, the failure of the next print, a sign-out, or what happens to a runtime. */
interface Step {
  what: 'add' | 'add elsewhere' | 'fail' | 'sign out' | 'cut off' | 'pause' | 'kill' | 'kill in the middle' | 'deploy';
  /** Index of the runtime among those that nothing has hit. */
  index: number;
  /** How long it is hit, s, or the number of statements until it is killed. */
  length: number;
  /** Time until the next step, s. */
  after: number;
}

interface Scenario {
  runtimes: number;
  /** Time between two starts, s. */
  apart: number;
  /** How long the database takes for a statement, ms. */
  slow: number;
  steps: Step[];
}

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom<Step['what'][]>(
    ...(['add', 'add', 'add elsewhere', 'add elsewhere', 'fail', 'fail', 'sign out'] as const),
    ...(['cut off', 'pause', 'kill', 'kill in the middle', 'deploy'] as const),
  ),
  index: fc.nat(5),
  length: fc.integer({ min: 1, max: 60 }),
  after: fc.constantFrom(0, 10, 20),
});

const scenario: fc.Arbitrary<Scenario> = fc.record({
  runtimes: fc.integer({ min: 2, max: 3 }),
  apart: fc.constantFrom(0, 20),
  slow: fc.constantFrom(0, 200, 1_000),
  steps: fc.array(step, { minLength: 3, maxLength: 12 }),
});

/** Two prints fail, and others follow on their plates, while no runtime plans. */
const UNPLANNED: Scenario = {
  ...{ runtimes: 2, apart: 0, slow: 200 },
  steps: [
    { what: 'add', index: 3, length: 8, after: 10 },
    { what: 'add elsewhere', index: 3, length: 55, after: 0 },
    { what: 'fail', index: 3, length: 41, after: 10 },
    { what: 'fail', index: 3, length: 27, after: 10 },
    { what: 'cut off', index: 5, length: 23, after: 0 },
    { what: 'pause', index: 3, length: 59, after: 20 },
    { what: 'kill in the middle', index: 1, length: 22, after: 20 },
    { what: 'add elsewhere', index: 3, length: 45, after: 20 },
    { what: 'kill', index: 3, length: 56, after: 20 },
  ],
};

/** Time in which all that was added is printed, and what was left to a runtime that was hit is told, s. */
const TO_THE_END = 900;

/** Steps after which an event may come twice. */
const HITS: readonly Step['what'][] = ['cut off', 'pause', 'kill', 'kill in the middle'];
const SECOND = 1_000;
/** Time between two runtimes that learn of a sign-in or sign-out, ms. */
const LEARNS = 300;
/** A print that fails after half a minute. */
const FAILING: Life = [
  [0, 'printing'],
  [30, 'failed'],
];

/** Ids of the events that came, and of those that must have come; the failed prints, whose plates each queue reports. */
interface Played {
  told: string[];
  due: string[];
  failed: number;
}

/** Plays a scenario. */
async function play({ runtimes, apart, slow, steps }: Scenario): Promise<Played> {
  const all = new QueueFarm();
  const told: string[] = [];
  const hit = new Set<Runtime>();
  // Its prints lie on the same plates, and nothing hits its runtime.
  const other = all.start({}, { queueId: 'other' });
  const own = () => all.runtimes.filter((runtime) => runtime !== other);
  const accounts: Account[] = [];
  const start = () => {
    const account = new Account();
    accounts.push(account);
    const runtime = all.start({}, { account });
    const { line, clock } = runtime.memory;
    const query = line.query.bind(line);
    line.query = async (text, values) => {
      if (slow > 0) await new Promise<void>((answer) => void clock.after(slow, answer));
      return query(text, values);
    };
    runtime.queue.subscribe((events) => {
      told.push(...events.map(({ id }) => id));
    });
  };
  const hitFor = (runtime: Runtime, seconds: number, end: () => void) => {
    hit.add(runtime);
    all.clock.after(seconds * SECOND, () => {
      hit.delete(runtime);
      end();
    });
  };
  const replace = (runtime: Runtime) => {
    all.runtimes = all.runtimes.filter((one) => one !== runtime);
    start();
  };
  /** Lets time pass in which a person clears each plate within ten seconds. */
  const pass = async (seconds: number) => {
    for (let left = seconds; left > 0; left -= 10) {
      await all.pass(10);
      for (const { type, clusterId } of other.events.splice(0))
        if (type === 'plate.awaiting') void other.clear(true, clusterId ?? '').catch(() => undefined);
    }
  };
  for (let count = 0; count < runtimes; count++) {
    start();
    await pass(apart);
  }
  // Each queue has seen its plates.
  await pass(60);
  for (const [at, { what, index, length, after }] of steps.entries()) {
    const whole = own().filter((runtime) => !hit.has(runtime));
    const runtime = whole[index % whole.length];
    if (what === 'add elsewhere') void other.add(`item ${at}`, { copies: 2 }).catch(() => undefined);
    else if (what === 'fail') all.farm.lives.push(FAILING);
    else if (what === 'sign out') {
      // One runtime learns of it after the other.
      for (const [count, account] of [all.account, ...accounts].entries()) {
        const later = ((index + count) % 3) * LEARNS;
        all.clock.after(later, () => account.become('signed-out'));
        all.clock.after(length * SECOND - later, () => account.become('signed-in'));
      }
    } else if (!runtime) start();
    else if (what === 'add') void runtime.add(`item ${at}`).catch(() => undefined);
    else if (what === 'cut off') {
      runtime.memory.cutOff(length % 2 === 0 ? 'at once' : 'after asking');
      hitFor(runtime, length, () => runtime.memory.reconnect());
    } else if (what === 'pause') {
      runtime.memory.pause();
      hitFor(runtime, length, () => runtime.memory.resume());
    } else if (what === 'kill in the middle') {
      hit.add(runtime);
      runtime.memory.inTheMiddle(length, () => {
        runtime.memory.kill();
        replace(runtime);
      });
    } else {
      if (what === 'deploy') void runtime.queue.close();
      else runtime.memory.kill();
      replace(runtime);
    }
    await pass(after);
  }
  await pass(TO_THE_END);
  const items = (await own()[0]?.list()) ?? [];
  await all.close();
  const failed = all.farm.prints.filter(({ life }) => life === FAILING).length;
  return { told, due: items.flatMap(dueOf), failed };
}

const ENDED = ['finished', 'failed', 'aborted', 'rejected', 'recalled'];

/** Ids of the events that an item must have caused. */
function dueOf({ itemId, state, prints }: QueueItem): string[] {
  const id = (...words: (string | number)[]) => ['queue', ...words].join('/');
  return [
    id('item.queued', itemId),
    ...prints.flatMap(({ copy, attempt, clusterJobId, startedAt, state: is }) => [
      ...(clusterJobId === null ? [] : [id('print.dispatched', itemId, copy, attempt)]),
      ...(startedAt === null ? [] : [id('print.started', itemId, copy, attempt)]),
      ...(ENDED.includes(is) ? [id(`print.${is}`, itemId, copy, attempt)] : []),
    ]),
    ...(state === 'finished' ? [id('item.finished', itemId, 1)] : []),
  ];
}

describe('the events of a queue among random runtimes', function () {
  it('all come, and only once unless a runtime was hit', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (wanted) => {
        const { told, due, failed } = await play(wanted);
        assert.deepEqual(
          due.filter((id) => !told.includes(id)),
          [],
        );
        for (const type of ['plate.awaiting', 'plate.cleared'])
          assert.equal(new Set(told.filter((id) => id.startsWith(`queue/${type}/`))).size, failed, type);
        const isHit = wanted.steps.some(({ what }) => HITS.includes(what));
        if (!isHit) assert.deepEqual(told, [...new Set(told)]);
      }),
      { numRuns: 25, examples: [[UNPLANNED]] },
    );
  });
});
