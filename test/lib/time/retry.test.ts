import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  waitBefore,
  WORK_IN_PROGRESS,
  RetryTimer,
  AGAIN,
  pollUntil,
  retryUntil,
  type RepeatedWork,
  type RepeatOptions,
} from '../../../lib/time/retry';
import { ManualClock } from '../../helpers/manual-clock';
import { getEventListeners } from 'node:events';
import { PrintingError } from '../../../lib/service/errors';
import { closed, Deadline } from '../../../lib/time/deadline';
import { phrase } from '../../../lib/words/sentence';

describe('time/backoff', () => {
  it('doubles up to the longest wait', () => {
    const waits = [0, 1, 2, 3, 4, 5, 50].map((attempt) => waitBefore(attempt, { first: 1_000, longest: 30_000 }));
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it('adds jitter', () => {
    const backoff = { first: 1_000, longest: 30_000, jitter: 0.2 };
    assert.equal(
      waitBefore(0, backoff, () => 0),
      1_000,
    );
    assert.equal(
      waitBefore(10, backoff, () => 0.5),
      33_000,
    );
  });

  it('starts at 0.5 s and slows down to 5 s for work in progress', () => {
    assert.equal(waitBefore(0, WORK_IN_PROGRESS), 500);
    assert.equal(waitBefore(20, WORK_IN_PROGRESS), 5_000);
  });

  it('never decreases and stays within its bounds', () => {
    const backoffs = fc.record({
      first: fc.integer({ min: 1, max: 60_000 }),
      longest: fc.integer({ min: 60_000, max: 600_000 }),
      factor: fc.double({ min: 1, max: 10, noNaN: true }),
    });
    fc.assert(
      fc.property(backoffs, fc.nat(2_000), (backoff, attempt) => {
        const wait = waitBefore(attempt, backoff);
        assert.ok(wait >= backoff.first && wait <= backoff.longest);
        assert.ok(waitBefore(attempt + 1, backoff) >= wait);
      }),
    );
  });
});

describe('time/retry-timer', () => {
  let clock: ManualClock;
  let timer: RetryTimer;
  let attempts: number[];
  const plan = () => timer.plan(() => attempts.push(clock.monotonic() - began));
  let began: number;

  beforeEach(() => {
    clock = new ManualClock();
    timer = new RetryTimer(clock, { first: 1_000, longest: 4_000 });
    attempts = [];
    began = clock.monotonic();
  });

  it('lengthens the wait with each failure in a row, up to the limit', async () => {
    const again = () => {
      attempts.push(clock.monotonic() - began);
      timer.plan(again);
    };
    timer.plan(again);
    await clock.advance(11_000);
    assert.deepEqual(attempts, [1_000, 3_000, 7_000, 11_000]);
    timer.stop();
    assert.equal(clock.waiting, 0);
  });

  it('counts one failure and plans one attempt, however often the plan is repeated', async () => {
    plan();
    plan();
    assert.equal(timer.isArmed, true);
    await clock.advance(60_000);
    assert.deepEqual([attempts, timer.isArmed], [[1_000], false]);
    plan();
    await clock.advance(2_000);
    assert.deepEqual(attempts, [1_000, 62_000]);
  });

  it('starts from the first wait after a success', async () => {
    plan();
    await clock.advance(1_000);
    timer.succeeded();
    plan();
    await clock.advance(1_000);
    assert.deepEqual(attempts, [1_000, 2_000]);
  });

  it('can plan again after a stop', async () => {
    plan();
    timer.stop();
    assert.deepEqual([timer.isArmed, clock.waiting], [false, 0]);
    plan();
    await clock.advance(2_000);
    assert.deepEqual(attempts, [2_000]);
  });
});

describe('time/retry-until', () => {
  const BACKOFF = { first: 1_000, longest: 5_000 };
  const broken = new Error('broken');
  const limited = (retryAfter: number) =>
    new PrintingError('RATE_LIMITED', phrase`Slow down.`, { outcome: 'refused', retryAfter });

  let clock: ManualClock;
  let parent: AbortController;
  let deadline: Deadline;
  /** Start of each attempt, ms. */
  let at: number[];
  beforeEach(() => {
    clock = new ManualClock();
    parent = new AbortController();
    deadline = new Deadline(clock, { ms: 60_000, parent: parent.signal });
    at = [];
  });
  afterEach(() => {
    deadline.end();
    assert.equal(clock.waiting, 0, 'a timer is left');
    assert.equal(getEventListeners(parent.signal, 'abort').length, 0, 'a listener is left');
    assert.equal(getEventListeners(deadline.signal, 'abort').length, 0, 'a listener is left');
  });

  /** Starts work and returns its result or its error. */
  const start = (work: RepeatedWork<string>, options?: RepeatOptions, repeat: typeof retryUntil = retryUntil) =>
    repeat(
      deadline,
      BACKOFF,
      (attempt) => {
        assert.equal(attempt, at.length);
        at.push(clock.monotonic());
        return work(attempt);
      },
      options,
    ).catch((error: unknown) => error);
  const run = async (...parameters: Parameters<typeof start>) => {
    const result = start(...parameters);
    await clock.advance(600_000);
    return result;
  };

  it('returns the result of the first attempt, which begins at once', async () => {
    const result = start(async () => 'done');
    assert.deepEqual(at, [0]);
    assert.equal(await result, 'done');
  });

  it('repeats failed work with growing waits', async () => {
    const failing = async (attempt: number) => {
      if (attempt < 5) throw broken;
      return 'done';
    };
    assert.equal(await run(failing), 'done');
    assert.deepEqual(at, [0, 1_000, 3_000, 7_000, 12_000, 17_000]);
  });

  it('repeats work that throws synchronously', async () => {
    const failing = (attempt: number) => {
      if (attempt < 2) throw broken;
      return 'done';
    };
    assert.equal(await run(failing), 'done');
    assert.deepEqual(at, [0, 1_000, 3_000]);
  });

  it('repeats work that returns AGAIN', async () => {
    assert.equal(await run((attempt) => (attempt < 2 ? AGAIN : 'done')), 'done');
    assert.deepEqual(at, [0, 1_000, 3_000]);
  });

  it('adds jitter to every wait', async () => {
    const failing = async (attempt: number) => {
      if (attempt === 0) throw broken;
      return attempt === 1 ? AGAIN : 'done';
    };
    const jittered = retryUntil(
      deadline,
      { ...BACKOFF, jitter: 0.2 },
      (attempt) => (at.push(clock.monotonic()), failing(attempt)),
      { random: () => 0.5 },
    );
    await clock.advance(10_000);
    assert.equal(await jittered, 'done');
    assert.deepEqual(at, [0, 1_100, 3_300]);
  });

  it('waits as long as an error demands, and no shorter than the backoff', async () => {
    const errors = [limited(20_000), limited(10)];
    const failing = async () => {
      const error = errors.shift();
      if (error) throw error;
      return 'done';
    };
    assert.equal(await run(failing), 'done');
    assert.deepEqual(at, [0, 20_000, 22_000]);
  });

  it('rethrows an error at once if it demands a wait beyond the deadline', async () => {
    const error = limited(60_001);
    const result = start(() => Promise.reject(error));
    await clock.advance(0);
    assert.equal(await result, error);
    assert.equal(deadline.aborted, false);
  });

  it('rethrows an error that waitAfter rejects, and waits as long as it says otherwise', async () => {
    const waitAfter = (error: unknown, attempt: number) => (error === broken ? 30_000 + attempt : null);
    const refused = new Error('refused');
    assert.equal(await run((attempt) => Promise.reject(attempt < 1 ? broken : refused), { waitAfter }), refused);
    assert.deepEqual(at, [0, 30_000]);
  });

  it('waits as by default if waitAfter returns undefined', async () => {
    const errors = [limited(20_000), broken];
    const waitAfter = () => undefined;
    const failing = async () => {
      const error = errors.shift();
      if (error) throw error;
      return 'done';
    };
    assert.equal(await run(failing, { waitAfter }), 'done');
    assert.deepEqual(at, [0, 20_000, 22_000]);
  });

  it('ends with the reason of an abort during a wait', async () => {
    const result = start(() => Promise.reject(broken));
    await clock.advance(500);
    parent.abort(closed());
    const error = (await result) as PrintingError;
    assert.deepEqual([error.code, error.outcome], ['TIMEOUT', 'not-sent']);
    assert.deepEqual(at, [0]);
  });

  it('does not repeat work that fails after an abort', async () => {
    const result = await run(() => {
      parent.abort(closed());
      return Promise.reject(broken);
    });
    assert.equal(result, broken);
    assert.deepEqual(at, [0]);
  });

  it('does not repeat work that returns AGAIN after an abort', async () => {
    const result = await run(() => {
      parent.abort(closed());
      return AGAIN;
    });
    assert.equal((result as PrintingError).outcome, 'not-sent');
    assert.deepEqual(at, [0]);
  });

  it('returns a result that arrives after an abort', async () => {
    const result = await run(async () => {
      parent.abort(closed());
      return 'done';
    });
    assert.equal(result, 'done');
  });

  it('repeats AGAIN until the deadline, and ends with its reason', async () => {
    const error = (await run(() => AGAIN)) as PrintingError;
    assert.deepEqual([error.code, error.outcome], ['TIMEOUT', 'not-sent']);
    assert.equal(at.at(-1), 57_000);
  });

  describe('pollUntil', () => {
    it('rethrows the first error of a poll', async () => {
      const poll = (attempt: number) => (attempt < 2 ? AGAIN : Promise.reject(broken));
      assert.equal(await run(poll, undefined, pollUntil), broken);
      assert.deepEqual(at, [0, 1_000, 3_000]);
    });
  });
});
