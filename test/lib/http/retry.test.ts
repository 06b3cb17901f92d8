import assert from 'node:assert/strict';
import fc from 'fast-check';
import { isTransient, ONCE, READS, retry, TRANSFERS, type RetryPolicy } from '../../../lib/http/retry';
import {
  asPrintingError,
  ERROR_CODES,
  type ErrorDetails,
  PrintingError,
  readRetryAfter,
} from '../../../lib/service/errors';
import { limit } from '../../helpers/limits';
import { ManualClock } from '../../helpers/manual-clock';
import { phrase } from '../../../lib/words/sentence';

const dated = (time: number): string => new Date(time).toUTCString();

describe('http/retry', () => {
  const broken = (details: ErrorDetails = {}) =>
    new PrintingError('NETWORK', phrase`Broken.`, { outcome: 'unknown', ...details });
  const limited = (retryAfter?: number) =>
    new PrintingError('RATE_LIMITED', phrase`Slow down.`, { outcome: 'refused', statusCode: 429, retryAfter });

  /** Runs work that fails like this, one failure per attempt. Returns the result and the time of each attempt. */
  async function run(failures: unknown[], policy: RetryPolicy = READS, options: { seconds?: number } = {}) {
    const clock = new ManualClock();
    const at: number[] = [];
    const deadline = limit(clock, options);
    const work = retry(
      deadline,
      policy,
      async (attempt) => {
        assert.equal(attempt, at.length);
        at.push(clock.monotonic());
        if (failures.length > 0) throw failures.shift();
        return 'done';
      },
      { random: () => 0 },
    ).catch((error: unknown) => error);
    await clock.advance(3_600_000);
    deadline.end();
    assert.equal(clock.waiting, 0, 'a timer is left');
    return { result: await work, at };
  }

  it('repeats a read three times with growing waits', async () => {
    assert.deepEqual(await run([broken(), broken(), broken()]), { result: 'done', at: [0, 1_000, 4_000, 13_000] });
    const last = broken();
    assert.equal((await run([broken(), broken(), broken(), last])).result, last);
  });

  it('repeats a read only within 30 s and within its deadline', async () => {
    assert.equal((await run([broken(), broken({ retryAfter: 29_500 })])).at.length, 2);
    assert.equal((await run([broken(), broken(), broken()], READS, { seconds: 5 })).at.length, 3);
  });

  it('repeats a transfer four times', async () => {
    assert.deepEqual(
      (
        await run(
          Array.from({ length: 9 }, () => broken()),
          TRANSFERS,
        )
      ).at,
      [0, 1_000, 3_000, 7_000, 15_000],
    );
  });

  it('runs irreversible work only once', async () => {
    assert.equal((await run([broken()], ONCE)).at.length, 1);
  });

  it('repeats transient failures and never a refusal', () => {
    assert.ok(isTransient(broken()));
    assert.ok(isTransient(broken({ outcome: 'not-sent' })));
    assert.ok(isTransient(new PrintingError('SERVICE_ERROR', phrase`503.`, { outcome: 'unknown', statusCode: 503 })));
    for (const code of ERROR_CODES)
      assert.equal(isTransient(new PrintingError(code, phrase`No.`, { outcome: 'refused' })), false, code);
    for (const code of ['TIMEOUT', 'NOT_SIGNED_IN', 'FILE_NOT_WRITABLE', 'INVALID_INPUT'] as const)
      assert.equal(isTransient(new PrintingError(code, phrase`No.`, { outcome: 'unknown' })), false, code);
  });

  it('never repeats a fault of our own code', async () => {
    for (const thrown of [new TypeError('undefined is not a function'), 'text', null]) {
      const { result, at } = await run([thrown]);
      assert.equal(result, thrown);
      assert.equal(at.length, 1);
      assert.equal(isTransient(asPrintingError(thrown)), false);
    }
  });

  it('waits for the time of a 429, even for work that runs once, or half a minute if it names none', async () => {
    assert.deepEqual((await run([limited(12_000)], ONCE)).at, [0, 12_000]);
    assert.deepEqual((await run([limited()])).at, [0, 30_000]);
  });

  it('waits for a 429 up to a minute without a limit, otherwise up to the deadline', async () => {
    assert.equal((await run([limited(61_000)])).at.length, 1);
    assert.deepEqual((await run([limited(61_000)], READS, { seconds: 100 })).at, [0, 61_000]);
    assert.equal((await run([limited(61_000)], READS, { seconds: 60 })).at.length, 1);
  });

  it('backs off from a 429 that says "at once" or names a time in the past', async () => {
    for (const header of ['0', 'Thu, 01 Jan 1970 00:00:00 GMT']) {
      const retryAfter = readRetryAfter({ 'retry-after': header }, Date.parse('2026-01-01'));
      assert.equal(retryAfter, 0);
      const { at } = await run(
        Array.from({ length: 1_000 }, () => limited(retryAfter)),
        READS,
        { seconds: 600 },
      );
      assert.ok(at.length < 30, `${at.length} tries in ten minutes`);
    }
  });

  it('ignores a Retry-After beyond a quarter of an hour', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    for (const header of ['86054400', '9'.repeat(400), 'Fri, 01 Jan 2100 00:00:00 GMT'])
      assert.equal(readRetryAfter({ 'retry-after': header }, now), 15 * 60_000);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.double().map(String)), (header) => {
        const wait = readRetryAfter({ 'retry-after': header }, now);
        assert.ok(wait === undefined || (wait >= 0 && wait <= 15 * 60_000), String(wait));
      }),
    );
  });

  it('measures the date of a Retry-After by the date of its answer, whatever this machine takes the time for', () => {
    const answeredAt = Date.parse('2026-01-01T00:00:00Z');
    const headers = { 'retry-after': dated(answeredAt + 3_000), date: dated(answeredAt) };
    for (const off of [0, -3_600_000, 3_600_000]) assert.equal(readRetryAfter(headers, answeredAt + off), 3_000);
    for (const date of ['', 'today', '2026-01-01'])
      assert.equal(readRetryAfter({ ...headers, date }, answeredAt + 1_000), 2_000);
  });

  it('reads a Retry-After in each of the three forms of dates', () => {
    const now = Date.parse('2026-11-06T08:49:00Z');
    const wait = (header: string) => readRetryAfter({ 'retry-after': header }, now);
    for (const date of [
      'Fri, 06 Nov 2026 08:49:37 GMT',
      'Friday, 06-Nov-26 08:49:37 GMT',
      'Fri Nov  6 08:49:37 2026',
    ]) {
      assert.equal(wait(date), 37_000, date);
      assert.equal(wait(`5, ${date}`), 37_000, date);
      assert.equal(wait(`${date}, 60`), 60_000, date);
      assert.equal(readRetryAfter({ 'retry-after': dated(now + 40_000), date }, 0), 3_000, date);
    }
  });

  it('obeys the longest Retry-After of several, and only seconds or dates', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    const wait = (header: string) => readRetryAfter({ 'retry-after': header }, now);
    assert.equal(wait('5, 10'), 10_000);
    assert.equal(wait(`5, ${dated(now + 30_000)}`), 30_000);
    assert.equal(wait(`${dated(now + 30_000)},60`), 60_000);
    for (const header of ['', ' ', '0x10', '-5', '1.5', '1e3', '120s', '2026-01-02', 'Fri, 99 Foo 2026 00:00:00 GMT'])
      assert.equal(wait(header), undefined, header);
  });

  it('ends a wait at its deadline with the outcome not-sent', async () => {
    const clock = new ManualClock();
    const closing = new AbortController();
    const deadline = limit(clock, { signal: closing.signal });
    const ended = assert.rejects(
      retry(deadline, READS, () => Promise.reject(limited(20_000))),
      { code: 'TIMEOUT', outcome: 'not-sent' },
    );
    await clock.advance(5_000);
    closing.abort(new PrintingError('TIMEOUT', phrase`The node was closed.`, { outcome: 'unknown' }));
    await ended;
    assert.equal(clock.waiting, 0);
  });
});
