import assert from 'node:assert/strict';
import fc from 'fast-check';
import { isWithin, nextClosing, nextOpening, parseHours, type Hours, type Zone } from '../../../lib/rules/hours';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const at = (iso: string) => Date.parse(iso);
const utc: Zone = () => 0;

function hoursOf(text: string): Hours {
  const read = parseHours(text);
  return 'hours' in read ? read.hours : assert.fail(read.wrong);
}

/** Offset of a zone by Intl, minutes. */
function zoneOf(timeZone: string): Zone {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'longOffset' });
  return (ms) => {
    const name = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign = '+', hours = '0', minutes = '0'] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  };
}

/** Whether a wall time, by Intl, is within ranges of the form `[days, from, to]`, looked up minute by minute. */
function isOpenAt(timeZone: string, ranges: Hours['ranges'], ms: number): boolean {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const today = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].indexOf(part.weekday ?? '');
  const minute = Number(part.hour) * 60 + Number(part.minute);
  return ranges.some(({ days, from, to }) =>
    [0, 1, 2].some((ago) => {
      const end = to > from ? to : to + 1440;
      const since = minute + ago * 1440;
      return days.includes((today - ago + 7) % 7) && since >= from && since < end;
    }),
  );
}

const CHANGES = {
  'Europe/Berlin': ['2026-03-29', '2026-10-25'],
  'America/New_York': ['2026-03-08', '2026-11-01'],
  'Australia/Lord_Howe': ['2026-04-05', '2026-10-04'],
  'Africa/Cairo': ['2026-04-24', '2026-10-30'],
  'America/Havana': ['2026-03-08', '2026-11-01'],
  'Asia/Kolkata': ['2026-03-29'],
};

describe('rules/hours', () => {
  for (const text of ['', 'Mon-Fri 08:00-17:00'])
    it(`foresees no change of the hours "${text}" past the last date`, () => {
      const last = 8.64e15;
      for (const now of [last - HOUR, last, last + HOUR, Infinity]) {
        const hours = hoursOf(text);
        // Whichever of them is not now already.
        const changes = [nextOpening(hours, now), nextClosing(hours, now)].filter((change) => change !== now);
        assert.deepEqual(changes, changes.length === 0 ? [] : [Infinity]);
      }
    });

  it('reads ranges of days and of times', () => {
    const night = { days: [0, 1, 2, 3, 4], from: 1320, to: 360 };
    const saturday = { days: [5], from: 540, to: 720 };
    assert.deepEqual(hoursOf('Mon-Fri 22:00-06:00, Sat 09:00-12:00').ranges, [night, saturday]);
    assert.deepEqual(hoursOf('  monday – FRI  22 - 6 ;sat 9-12,').ranges, [night, saturday]);
  });

  it('reads days that wrap', () => {
    assert.deepEqual(hoursOf('Sat-Mon 00:00-24:00').ranges, [{ days: [5, 6, 0], from: 0, to: 1440 }]);
    assert.deepEqual(hoursOf('Mon-Mon 8-9').ranges, [{ days: [0], from: 480, to: 540 }]);
  });

  it('reads times without days as every day, and days without times as whole days', () => {
    assert.deepEqual(hoursOf('22:00-06:00').ranges, [{ days: [0, 1, 2, 3, 4, 5, 6], from: 1320, to: 360 }]);
    assert.deepEqual(hoursOf('Sat-Sun').ranges, [{ days: [5, 6], from: 0, to: 1440 }]);
    assert.deepEqual(hoursOf('').ranges, []);
  });

  it('applies times to all days before them, and further times to the same days', () => {
    assert.deepEqual(hoursOf('Mon, Wed 8-12, 13-17').ranges, [
      { days: [0, 2], from: 480, to: 720 },
      { days: [0, 2], from: 780, to: 1020 },
    ]);
  });

  for (const [text, wrong] of [
    ['Mon-Fri 22:00-25:00', '22:00-25:00'],
    ['Mon-Fri 22:60-23:00', '22:60-23:00'],
    ['Mon-Fri 24:01-06:00', '24:01-06:00'],
    ['Mon-Fru 22:00-06:00', 'mon-fru'],
    ['M 22:00-06:00', 'm'],
    ['Mon 22:00', '22:00'],
    ['Mon-Fri22:00-06:00', 'mon-fri22:00-06:00'],
    ['Mon-Tue-Wed', 'mon-tue-wed'],
    ['always', 'always'],
    [', ,', ', ,'],
  ] as const)
    it(`rejects ${JSON.stringify(text)} and names the wrong part`, () => {
      assert.deepEqual(parseHours(text), { wrong: wrong.trim() });
    });

  it('is always open without hours', () => {
    const always = hoursOf('');
    assert.equal(isWithin(always, 0, utc), true);
    assert.equal(nextOpening(always, 7, utc), 7);
    assert.equal(nextClosing(always, 7, utc), Infinity);
    assert.equal(nextClosing(hoursOf('00:00-24:00'), 7, utc), Infinity);
    assert.equal(nextClosing(hoursOf('Mon-Sun'), 7, utc), Infinity);
  });

  it('finds the next opening and closing of a night and of a weekend', () => {
    const night = hoursOf('Sun 22:00-06:00');
    const sunday = at('2026-06-14T00:00Z');
    assert.equal(nextOpening(night, sunday, utc), sunday + 22 * HOUR);
    assert.equal(nextOpening(night, sunday + 25 * HOUR, utc), sunday + 25 * HOUR);
    assert.equal(nextClosing(night, sunday + 25 * HOUR, utc), sunday + 30 * HOUR);
    assert.equal(nextOpening(night, sunday + 30 * HOUR, utc), sunday + 7 * DAY + 22 * HOUR);
    const weekend = hoursOf('Sat 24:00-24:00');
    assert.equal(nextOpening(weekend, sunday - HOUR, utc), sunday);
    assert.equal(nextClosing(weekend, sunday, utc), sunday + DAY);
  });

  it('skips an hour that the clocks skip, and opens twice in one that they repeat', () => {
    const early = hoursOf('Sun 02:00-02:45');
    const berlin = zoneOf('Europe/Berlin');
    const [spring, autumn] = [at('2026-03-29T00:00Z'), at('2026-10-25T00:00Z')];
    assert.equal(nextOpening(early, spring, berlin), at('2026-04-05T00:00Z'));
    assert.equal(nextOpening(early, autumn, berlin), autumn);
    assert.equal(nextClosing(early, autumn, berlin), autumn + 45 * MINUTE);
    assert.equal(nextOpening(early, autumn + 45 * MINUTE, berlin), autumn + HOUR);
    assert.equal(nextClosing(early, autumn + HOUR, berlin), autumn + HOUR + 45 * MINUTE);
  });

  const time = fc.nat({ max: 24 * 4 }).map((quarters) => quarters * 15);
  const range = fc.record({ days: fc.uniqueArray(fc.nat({ max: 6 }), { minLength: 1 }), from: time, to: time });
  for (const [timeZone, days] of Object.entries(CHANGES))
    it(`agrees with wall time minute by minute around the changes of the clocks in ${timeZone}`, () => {
      const zone = zoneOf(timeZone);
      fc.assert(
        fc.property(fc.array(range, { minLength: 1, maxLength: 3 }), fc.constantFrom(...days), (ranges, day) => {
          const hours = { text: '', ranges };
          const [from, to] = [at(`${day}T00:00Z`) - 6 * HOUR, at(`${day}T00:00Z`) + 18 * HOUR];
          let previous: boolean | null = null;
          for (let ms = from; ms <= to; ms += 15 * MINUTE) {
            const open = isOpenAt(timeZone, ranges, ms);
            assert.equal(isWithin(hours, ms, zone), open, new Date(ms).toISOString());
            if (previous !== null && previous !== open) {
              const found: number = open
                ? nextOpening(hours, ms - 15 * MINUTE, zone)
                : nextClosing(hours, ms - 15 * MINUTE, zone);
              assert.equal(found, ms);
            }
            previous = open;
          }
        }),
        { numRuns: 10 },
      );
    });

  it("uses the runtime's time zone", () => {
    const zoneBefore = process.env.TZ;
    try {
      const office = hoursOf('Mon-Fri 08:00-17:00');
      for (const [zone, opening] of [
        ['Asia/Tokyo', '2026-06-14T23:00Z'],
        ['America/New_York', '2026-06-15T12:00Z'],
      ] as const) {
        process.env.TZ = zone;
        assert.equal(nextOpening(office, at('2026-06-14T12:00Z')), at(opening));
      }
    } finally {
      if (zoneBefore === undefined) delete process.env.TZ;
      else process.env.TZ = zoneBefore;
    }
  });
});
