import assert from 'node:assert/strict';
import {
  copyInTurns,
  eachInTurn,
  settledWithin,
  Rerun,
  SharedRead,
  SingleFlight,
  Turns,
} from '../../../lib/time/concurrency';
import { ANSWER } from '../../../lib/rules/limits';
import { systemClock } from '../../../lib/time/clock';
import type { Deadline } from '../../../lib/time/deadline';
import { MOST } from '../../helpers/hostile-texts';
import { nominalStand } from '../../helpers/nominal-time';
import { limit } from '../../helpers/limits';
import { ManualClock, settle } from '../../helpers/manual-clock';

describe('time/settled-within', () => {
  for (const [title, work] of [
    ['resolves with the work and leaves no timer', () => Promise.resolve()],
    ['resolves with work that fails', () => Promise.reject(new Error('broken'))],
  ] as const)
    it(title, async () => {
      const clock = new ManualClock();
      await settledWithin(clock, 5_000, work());
      assert.equal(clock.waiting, 0);
    });

  it('resolves after the grace period although the work continues', async () => {
    const clock = new ManualClock();
    let isOver = false;
    void settledWithin(clock, 5_000, new Promise(() => undefined)).then(() => (isOver = true));
    await clock.advance(4_999);
    await settle();
    assert.equal(isOver, false);
    await clock.advance(1);
    await settle();
    assert.equal(isOver, true);
  });
});

describe('time/concurrency Turns', () => {
  /** A clock on which each look takes a millisecond. */
  const slow = () => {
    let now = 0;
    return { monotonic: () => now++ };
  };

  it('lets the event loop turn after ten milliseconds of work, for one loop and for many callers', async () => {
    for (const isLoop of [true, false]) {
      const turns = new Turns(slow());
      let count = 0;
      const look = () => void (++count < 100 && setImmediate(look));
      look();
      const order: number[] = [];
      const steps = Array.from({ length: 100 }, (_, nth) => async () => {
        await turns.next();
        order.push(nth);
      });
      if (isLoop) for (const step of steps) await step();
      else await Promise.all(steps.map((step) => step()));
      assert.ok(count >= 8, `${count} turns`);
      assert.deepEqual(
        order,
        Array.from({ length: 100 }, (_, nth) => nth),
      );
    }
  });

  it('continues in the same turn while little was done', async () => {
    const turns = new Turns(new ManualClock());
    let hasTurned = false;
    setImmediate(() => (hasTurned = true));
    for (let nth = 0; nth < 100; nth++) await turns.next();
    assert.equal(hasTurned, false);
  });
});

describe('time/concurrency Rerun', () => {
  it('runs once more after a run in which others were requested, and never two at a time', async () => {
    const ends: (() => void)[] = [];
    let running = 0;
    const rerun = new Rerun(async () => {
      assert.equal(++running, 1);
      await new Promise<void>((end) => ends.push(end));
      running--;
    });
    const first = rerun.request();
    const others = [rerun.request(), rerun.request()];
    assert.equal(ends.length, 1);
    ends[0]?.();
    await new Promise(setImmediate);
    assert.equal(ends.length, 2);
    assert.ok(rerun.isRunning);
    ends[1]?.();
    await Promise.all([first, ...others]);
    assert.equal(ends.length, 2);
    assert.ok(!rerun.isRunning);
  });

  it('runs again for a request at the very end of a run', async () => {
    let runs = 0;
    const rerun = new Rerun(async () => {
      if (++runs === 1) await Promise.resolve().then(() => void rerun.request());
    });
    await rerun.request();
    assert.equal(runs, 2);
    await rerun.request();
    assert.equal(runs, 3);
  });
});

describe('time/concurrency copyInTurns', () => {
  it(`copies the longest list for less than ${MOST} ms at a stretch`, async () => {
    const listOf = (nth: number) => Array.from({ length: 48 }, (_, at) => ({ [`k${at}`]: `${nth}` }));
    const data = Array.from({ length: ANSWER.entries }, (_, nth) => ({ id: `c${nth}`, list: listOf(nth) }));
    let copy: unknown;
    const ms = await nominalStand(async () => (copy = await copyInTurns(data, systemClock)), MOST);
    assert.ok(ms < MOST, `${ms} ms`);
    assert.deepEqual(copy, data);
    assert.notEqual(copy[0], data[0]);
  });

  it(`copies as many new names as one answer may have for less than ${MOST} ms at a stretch`, async () => {
    let round = 0;
    const named = (nth: number) => `{${Array.from({ length: 998 }, (_, at) => `"${round} ${nth} ${at}":0`).join()}}`;
    const ms = await nominalStand(async () => {
      round++;
      const text = Array.from({ length: ANSWER.piece / 1_000 }, (_, nth) => named(nth)).join();
      const data: unknown = JSON.parse(`{"objects":[${text}]}`);
      assert.deepEqual(Object.keys((await copyInTurns(data, systemClock)) as object), ['objects']);
    }, MOST);
    assert.ok(ms < MOST, `${ms} ms`);
  });

  it('copies anything else as it is', async () => {
    for (const data of [undefined, null, 'text', 7, { a: [1] }, JSON.parse('{"__proto__":["a\\ud800"]}')])
      assert.deepEqual(await copyInTurns(data, systemClock), data);
  });
});

describe('time/concurrency SharedRead', () => {
  it('does one read at a time, and shows all who ask during one what the next one finds', async () => {
    const ends: ((result: number) => void)[] = [];
    const shared = new SharedRead(() => new Promise<number>((end) => ends.push(end)));
    const first = shared.read();
    const others = [shared.read(), shared.read()];
    assert.equal(ends.length, 1);
    ends[0]?.(1);
    assert.equal(await first, 1);
    await settle();
    const late = shared.read();
    assert.equal(ends.length, 2);
    ends[1]?.(2);
    assert.deepEqual(await Promise.all(others), [2, 2]);
    await settle();
    ends[2]?.(3);
    assert.equal(await late, 3);
    await settle();
    void shared.read();
    assert.equal(ends.length, 4);
  });

  it('reads again after a read that failed', async () => {
    const outcomes = [Promise.reject(new Error('broken')), Promise.resolve(2)];
    const shared = new SharedRead(() => outcomes.shift() ?? Promise.resolve(3));
    const first = shared.read();
    const next = shared.read();
    await assert.rejects(first, /broken/);
    assert.deepEqual([await next, await shared.read()], [2, 3]);
  });
});

/** Work that the test completes. */
class Work {
  begun = 0;
  signal: AbortSignal | undefined;
  report: (progress: number) => void = () => undefined;
  resolve: (result: string) => void = () => undefined;
  reject: (error: Error) => void = () => undefined;

  run = ({ signal }: Deadline, report: (progress: number) => void): Promise<string> => {
    this.begun++;
    this.signal = signal;
    this.report = report;
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      signal.addEventListener('abort', () => reject(new Error('called off')));
    });
  };
}

describe('time/single-flight', () => {
  let shared: SingleFlight<string, number>;
  let work: Work;
  const one = () => {
    const controller = new AbortController();
    const progress: number[] = [];
    const deadline = limit(undefined, controller);
    const result = shared.join('key', work.run, { deadline, onProgress: (n) => progress.push(n) });
    result.catch(() => undefined);
    return { controller, progress, result };
  };

  beforeEach(() => {
    shared = new SingleFlight();
    work = new Work();
  });

  it('runs the work once for concurrent callers, and again afterwards', async () => {
    const [a, b] = [one(), one()];
    await settle(1);
    assert.equal(work.begun, 1);
    work.resolve('first');
    assert.deepEqual(await Promise.all([a.result, b.result]), ['first', 'first']);
    const c = one();
    await settle(1);
    work.resolve('second');
    assert.equal(await c.result, 'second');
    assert.equal(work.begun, 2);
  });

  it('keeps keys apart', async () => {
    const both = ['x', 'y'].map((key) => shared.join(key, work.run, { deadline: limit() }));
    for (const result of both) result.catch(() => undefined);
    await settle(1);
    assert.equal(work.begun, 2);
  });

  it('reports progress to every caller, and the last progress to a late one', async () => {
    const a = one();
    await settle(1);
    work.report(1);
    work.report(2);
    const b = one();
    await settle(1);
    work.report(3);
    assert.deepEqual(
      [a.progress, b.progress],
      [
        [1, 2, 3],
        [2, 3],
      ],
    );
  });

  it('ends one caller’s wait without disturbing the others', async () => {
    const [a, b] = [one(), one()];
    await settle(1);
    a.controller.abort(new Error('enough'));
    await assert.rejects(a.result, /enough/);
    assert.equal(work.signal?.aborted, false);
    work.report(1);
    assert.deepEqual([a.progress, b.progress], [[], [1]]);
    work.resolve('there');
    assert.equal(await b.result, 'there');
  });

  it('aborts the work with its last caller, and begins again for the next', async () => {
    const [a, b] = [one(), one()];
    await settle(1);
    a.controller.abort(new Error('enough'));
    b.controller.abort(new Error('me too'));
    await assert.rejects(b.result, /me too/);
    assert.equal(work.signal?.aborted, true);
    const c = one();
    await settle(1);
    assert.equal(work.begun, 2);
    work.resolve('there');
    assert.equal(await c.result, 'there');
  });

  it('reports a failure to all callers, even one before the first wait', async () => {
    const [a, b] = [one(), one()];
    await settle(1);
    work.reject(new Error('broken'));
    await assert.rejects(a.result, /broken/);
    await assert.rejects(b.result, /broken/);
    const thrown = shared.join(
      'other',
      () => {
        throw new Error('at once');
      },
      { deadline: limit() },
    );
    await assert.rejects(thrown, /at once/);
  });

  it('has the time of the caller that waits longest, and bounds the parts of the work by their own limits', async () => {
    const clock = new ManualClock();
    const left: number[] = [];
    const join = (seconds: number) => shared.join('key', timed, { deadline: limit(clock, { seconds }) });
    const timed = async (deadline: Deadline) => {
      const part = deadline.within(10_000);
      const measure = () => left.push(deadline.remaining() / 1000, part.remaining() / 1000);
      measure();
      await deadline.sleep(2_000);
      measure();
      await part.sleep(60_000);
      return 'never';
    };
    const [short, long] = [join(3), clock.advance(1_000).then(() => join(60))];
    const ends = Promise.all([assert.rejects(short, /within 3 s/), assert.rejects(long, /within 10 s/)]);
    await clock.advance(10_000);
    await ends;
    assert.deepEqual(left, [3, 3, 59, 8]);
  });

  it('does not begin for a caller that has already aborted', async () => {
    const deadline = limit(undefined, { signal: AbortSignal.abort(new Error('gone')) });
    await assert.rejects(shared.join('key', work.run, { deadline }), /gone/);
    assert.equal(work.begun, 0);
  });
});

describe('time/each-in-turn', () => {
  it('brings each item to its end in their order, and throws the first failure after the last end', async () => {
    const ended: number[] = [];
    const work = async (item: number) => {
      await settle(1);
      ended.push(item);
      if (item % 2 === 0) throw new Error(`broken: ${item}`);
    };
    await assert.rejects(eachInTurn([1, 2, 3, 4, 5], work), /broken: 2/);
    assert.deepEqual(ended, [1, 2, 3, 4, 5]);
    await eachInTurn([], work);
  });
});
