import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readRange } from '../../../lib/report/ranges';
import { PrintingError } from '../../../lib/service/errors';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Australia/Lord_Howe', // half an hour of summer time
  'Africa/Cairo', // summer time begins at midnight: the day has no 00:00
  'America/Havana', // summer time ends at midnight: the day has 00:00 twice
];
const at = (iso: string) => Date.parse(iso);
const range = (from: unknown, to: unknown, now: string) => {
  const found = readRange(from, to, at(now));
  return [new Date(found.from).toISOString(), new Date(found.to).toISOString()];
};
const refused = (from: unknown, to: unknown, pattern: RegExp) =>
  assert.throws(
    () => readRange(from, to, at('2026-06-10T12:00:00Z')),
    (error: PrintingError) => error.code === 'INVALID_INPUT' && pattern.test(error.message),
  );

/** The local time of a zone by Intl, independent of the code under test. */
function wall(zone: string, ms: number) {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    calendar: 'iso8601',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });
  const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  return {
    date: `${parts.year}-${parts.month}-${parts.day}`,
    time: `${parts.hour}:${parts.minute}:${parts.second}`,
    weekday: parts.weekday,
  };
}

describe('report/ranges', () => {
  const zoneBefore = process.env.TZ;
  const inZone = (zone: string) => {
    process.env.TZ = zone;
  };
  afterEach(() => {
    if (zoneBefore === undefined) delete process.env.TZ;
    else process.env.TZ = zoneBefore;
  });

  describe('in Berlin', () => {
    beforeEach(() => inZone('Europe/Berlin'));

    it('reads whole days, weeks from Monday, and months', () => {
      const now = '2026-11-18T09:30:00Z'; // a Wednesday
      assert.deepEqual(range('today', undefined, now), ['2026-11-17T23:00:00.000Z', '2026-11-18T23:00:00.000Z']);
      assert.deepEqual(range('yesterday', undefined, now), ['2026-11-16T23:00:00.000Z', '2026-11-17T23:00:00.000Z']);
      assert.deepEqual(range('this week', undefined, now), ['2026-11-15T23:00:00.000Z', '2026-11-22T23:00:00.000Z']);
      assert.deepEqual(range('last week', undefined, now), ['2026-11-08T23:00:00.000Z', '2026-11-15T23:00:00.000Z']);
      assert.deepEqual(range('this month', undefined, now), ['2026-10-31T23:00:00.000Z', '2026-11-30T23:00:00.000Z']);
      assert.deepEqual(range('last month', undefined, now), ['2026-09-30T22:00:00.000Z', '2026-10-31T23:00:00.000Z']);
    });

    it('counts a Sunday as part of the week before, and the month before January as part of the year before', () => {
      const sunday = '2026-01-04T12:00:00Z';
      assert.deepEqual(range('this week', undefined, sunday), ['2025-12-28T23:00:00.000Z', '2026-01-04T23:00:00.000Z']);
      assert.deepEqual(range('last month', undefined, sunday), [
        '2025-11-30T23:00:00.000Z',
        '2025-12-31T23:00:00.000Z',
      ]);
    });

    it('has days of 23 and of 25 hours', () => {
      assert.deepEqual(range('today', undefined, '2026-03-29T12:00:00Z'), [
        '2026-03-28T23:00:00.000Z',
        '2026-03-29T22:00:00.000Z',
      ]);
      assert.deepEqual(range('yesterday', undefined, '2026-10-26T12:00:00Z'), [
        '2026-10-24T22:00:00.000Z',
        '2026-10-25T23:00:00.000Z',
      ]);
    });

    it('goes back by the calendar for days, and by the clock for hours', () => {
      const now = '2026-03-31T10:00:00.123Z';
      assert.deepEqual(range('last 7 days', undefined, now), ['2026-03-24T11:00:00.123Z', now]);
      assert.deepEqual(range('last 1 week', undefined, now), ['2026-03-24T11:00:00.123Z', now]);
      assert.deepEqual(range('last 1 months', undefined, now), ['2026-02-28T11:00:00.123Z', now]);
      assert.deepEqual(range('last 13 months', undefined, now), ['2025-02-28T11:00:00.123Z', now]);
      assert.deepEqual(range('last 168 hours', undefined, now), ['2026-03-24T10:00:00.123Z', now]);
    });

    it('ignores case and blanks in range words', () => {
      const now = '2026-11-18T09:30:00Z';
      assert.deepEqual(range('  Last   WEEK ', undefined, now), range('last week', undefined, now));
      assert.deepEqual(range('last 3 day', undefined, now), range('last 3 days', undefined, now));
    });

    it('reads days and times in its own zone, and in a given one', () => {
      const now = '2026-11-18T09:30:00Z';
      assert.deepEqual(range('2026-11-01', '2026-11-02', now), [
        '2026-10-31T23:00:00.000Z',
        '2026-11-02T23:00:00.000Z',
      ]);
      for (const noon of ['2026-07-01T12:00', '2026-07-01 12:00:00', '2026-07-01T12:00:00.000+02:00']) {
        assert.equal(range(noon, undefined, now)[0], '2026-07-01T10:00:00.000Z');
      }
      for (const utc of ['2026-07-01T12:00Z', '2026-07-01T08:00-0400', '2026-07-01t14:00:00+02:00']) {
        assert.equal(range(utc, undefined, now)[0], '2026-07-01T12:00:00.000Z');
      }
      const noon = at('2026-07-01T12:00:00Z');
      assert.equal(range(noon, undefined, now)[0], '2026-07-01T12:00:00.000Z');
      assert.equal(range(new Date(noon), undefined, now)[0], '2026-07-01T12:00:00.000Z');
    });

    it('prefers a set end, uses the end of a range word as to, and has a default for blank', () => {
      const now = '2026-11-18T09:30:00.000Z';
      assert.deepEqual(range('last month', 'yesterday', now), ['2026-09-30T22:00:00.000Z', '2026-11-17T23:00:00.000Z']);
      assert.deepEqual(range('last week', '2026-11-11', now), ['2026-11-08T23:00:00.000Z', '2026-11-11T23:00:00.000Z']);
      assert.deepEqual(range('2026-11-17', undefined, now), ['2026-11-16T23:00:00.000Z', now]);
      assert.deepEqual(range(undefined, undefined, now), ['2026-11-11T09:30:00.000Z', now]);
      assert.deepEqual(range(undefined, '2026-11-12', now), ['2026-11-11T09:30:00.000Z', '2026-11-12T23:00:00.000Z']);
    });
  });

  it('rejects an invalid time, and names the end', () => {
    const nonsense = [
      'soon',
      'last',
      'last days',
      'last 0 days',
      'last -1 days',
      'last 1.5 days',
      'next week',
      '2026',
      '2026-13-01',
    ];
    const wrong = ['2026-02-30', '2026-02-30T12:00', '2026-06-01T25:00', '12:00', 'constructor', '', true, {}, [], NaN];
    for (const value of [
      ...nonsense,
      ...wrong,
      Infinity,
      9e15,
      new Date(NaN),
      'last 999999 months',
      '0099-01-01',
      -1,
      null,
    ]) {
      if (value !== null) refused(value, undefined, /^The report's from must/);
      refused('2026-01-01', value, /^The report's to must/);
    }
  });

  it('rejects an empty range', () => {
    const noon = '2026-06-01T12:00:00Z';
    for (const [from, to] of [
      [noon, noon],
      ['2026-06-02', '2026-06-01'],
      ['2027-01-01', undefined],
    ])
      refused(from, to, /^The report's range is empty: .* check from and to\.$/);
  });

  for (const zone of ZONES) {
    it(`is correct at any time in ${zone}`, () => {
      inZone(zone);
      const moments = fc.integer({ min: at('2015-01-01T00:00:00Z'), max: at('2037-12-31T00:00:00Z') });
      fc.assert(
        fc.property(moments, (now) => {
          const [today, yesterday] = [readRange('today', undefined, now), readRange('yesterday', undefined, now)];
          // At the first moment of a day, the date differs from the moment before.
          for (const { from, to } of [today, yesterday])
            for (const edge of [from, to])
              assert.notEqual(wall(zone, edge).date, wall(zone, edge - 1).date, new Date(now).toISOString());
          assert.ok(today.from <= now && now < today.to);
          assert.equal(wall(zone, today.from).date, wall(zone, now).date);
          assert.equal(wall(zone, today.to - 1).date, wall(zone, now).date);
          assert.equal(yesterday.to, today.from);

          const [week, lastWeek] = [readRange('this week', undefined, now), readRange('last week', undefined, now)];
          assert.ok(week.from <= today.from && today.to <= week.to);
          assert.equal(lastWeek.to, week.from);
          for (const edge of [lastWeek.from, week.from, week.to]) assert.equal(wall(zone, edge).weekday, 'Mon');
          assert.ok(Math.abs(week.to - week.from - 7 * DAY) <= HOUR);

          const [month, lastMonth] = [readRange('this month', undefined, now), readRange('last month', undefined, now)];
          assert.ok(month.from <= today.from && today.to <= month.to);
          assert.equal(lastMonth.to, month.from);
          for (const edge of [lastMonth.from, month.from, month.to]) assert.match(wall(zone, edge).date, /-01$/);
          assert.ok(month.to - month.from < 31.1 * DAY);

          const day = readRange(wall(zone, now).date, wall(zone, now).date, now);
          assert.deepEqual(day, today);
        }),
        { numRuns: 100 },
      );
    });

    it(`goes back to the same time of day in ${zone}`, () => {
      inZone(zone);
      const moments = fc.integer({ min: at('2015-01-01T00:00:00Z'), max: at('2037-12-31T00:00:00Z') });
      fc.assert(
        fc.property(moments, fc.integer({ min: 1, max: 400 }), (now, days) => {
          const { from, to } = readRange(`last ${days} days`, undefined, now);
          assert.equal(to, now);
          assert.ok(Math.abs(to - from - days * DAY) <= HOUR);
          // Except if the clocks skip that time.
          const [there, here] = [wall(zone, from), wall(zone, now)];
          if (there.time !== here.time) assert.ok(isSkipped(zone, from), `${there.time} for ${here.time}`);
          assert.deepEqual(readRange(`last ${days} hours`, undefined, now), { from: now - days * HOUR, to: now });
        }),
        { numRuns: 100 },
      );
    });
  }
});

/** Whether a zone's clocks go forward within an hour of a moment. */
function isSkipped(zone: string, ms: number): boolean {
  const minutes = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
  const [before, after] = [wall(zone, ms - 2 * HOUR), wall(zone, ms + 2 * HOUR)];
  const passed = (minutes(after.time) - minutes(before.time) + 24 * 60) % (24 * 60);
  return passed > 4 * 60;
}
