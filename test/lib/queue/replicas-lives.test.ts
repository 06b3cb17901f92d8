import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { QueueItem } from '../../../lib/queue/model/types';
import { QueueFarm, type Runtime } from '../../helpers/queue-farm';

/** An order, or what happens to a runtime. */
interface Step {
  what: 'add' | 'cut off' | 'pause' | 'kill' | 'deploy';
  /** Index of the runtime among those that nothing has hit. */
  index: number;
  /** How long it is hit, s. */
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
  what: fc.constantFrom<Step['what'][]>('add', 'add', 'cut off', 'pause', 'kill', 'deploy'),
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

/** Time in which all that was added is printed, and what was left to a runtime that was hit is told, s. */
const TO_THE_END = 900;

/** Plays a scenario. Returns the ids of the events that came, and those that must have come. */
async function play({ runtimes, apart, slow, steps }: Scenario): Promise<{ told: string[]; due: string[] }> {
  const all = new QueueFarm();
  const told: string[] = [];
  const hit = new Set<Runtime>();
  const start = () => {
    const runtime = all.start();
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
    all.clock.after(seconds * 1_000, () => {
      hit.delete(runtime);
      end();
    });
  };
  for (let count = 0; count < runtimes; count++) {
    start();
    await all.pass(apart);
  }
  for (const [at, { what, index, length, after }] of steps.entries()) {
    const whole = all.runtimes.filter((runtime) => !hit.has(runtime));
    const runtime = whole[index % whole.length];
    if (!runtime) start();
    else if (what === 'add') void runtime.add(`item ${at}`).catch(() => undefined);
    else if (what === 'cut off') {
      runtime.memory.cutOff(length % 2 === 0 ? 'at once' : 'after asking');
      hitFor(runtime, length, () => runtime.memory.reconnect());
    } else if (what === 'pause') {
      runtime.memory.pause();
      hitFor(runtime, length, () => runtime.memory.resume());
    } else {
      if (what === 'deploy') void runtime.queue.close();
      else runtime.memory.kill();
      all.runtimes = all.runtimes.filter((other) => other !== runtime);
      start();
    }
    await all.pass(after);
  }
  await all.pass(TO_THE_END);
  const items = (await all.runtimes[0]?.list()) ?? [];
  await all.close();
  return { told, due: items.flatMap(dueOf) };
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
        const { told, due } = await play(wanted);
        assert.deepEqual(
          due.filter((id) => !told.includes(id)),
          [],
        );
        const isHit = wanted.steps.some(({ what }) => what !== 'add' && what !== 'deploy');
        if (!isHit) assert.deepEqual(told, [...new Set(told)]);
      }),
      { numRuns: 25 },
    );
  });
});
