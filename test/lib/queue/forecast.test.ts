import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type ForecastInput, SimulatedQueue } from '../../../lib/queue/plan/forecast';
import { runForecast } from '../../../lib/queue/view';
import { readHours as hoursOf } from '../../../lib/queue/model/rules';
import { systemClock } from '../../../lib/time/clock';
import { phrase } from '../../../lib/words/sentence';
import {
  file,
  inUtc,
  item,
  NOW,
  obstacle,
  plan,
  planInput,
  planInputs,
  printer,
  rulesOf,
} from '../../helpers/queue-inputs';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TURNAROUND = 10 * MINUTE;
const QUEUE_PAUSED = { code: 'QUEUE_PAUSED' as const, sentence: phrase`It is paused.` };

const forecastInput = (input: Partial<ForecastInput>): ForecastInput => ({
  ...planInput(input),
  orders: input.orders ?? new Map(),
  active: input.active ?? [],
  obstacleEndsAt: input.obstacleEndsAt ?? Infinity,
});

function forecast(input: ForecastInput) {
  const queue = new SimulatedQueue(input);
  while (queue.step());
  return queue.result();
}

/** Start and end of each item, in minutes from now, and its cluster. */
function timesOf(input: Partial<ForecastInput>) {
  const { items } = forecast(forecastInput(input));
  const minutes = (at: number | null) => (at === null ? null : (at - NOW) / MINUTE);
  return Object.fromEntries(
    [...items].map(([itemId, { startAt, endAt, clusterId }]) => [
      itemId,
      [minutes(startAt), minutes(endAt), clusterId],
    ]),
  );
}

describe('queue/forecast', () => {
  inUtc();

  it('ends ten years from now', () => {
    const YEAR = 365 * 24 * HOUR;
    const rules = rulesOf({ gate: 'printer', staffed: hoursOf('Mon 08:00-08:01'), turnaround: YEAR });
    const printers = [printer('A')];
    const items = [9, 11, 8.64e15 / YEAR].map((years) => item(`in ${years}`, { notBefore: NOW + years * YEAR }));
    const last = item('at the end of time', { notBefore: 8.64e15 });
    const all = timesOf({ rules, printers, items: [...items.slice(0, 2), last, item('now', { waiting: [1, 2] })] });
    const begun = Object.entries(all).map(([itemId, [startAt, endAt]]) => [itemId, startAt !== null, endAt !== null]);
    assert.deepEqual(begun, [
      ['in 9', false, false],
      ['in 11', false, false],
      ['at the end of time', false, false],
      // A minute a week never makes a year.
      ['now', true, false],
    ]);
    const free = timesOf({ printers, items: [...items.slice(0, 2), last] });
    assert.deepEqual(
      Object.values(free).map(([startAt]) => startAt !== null),
      [true, false, false],
    );
  });

  it('starts now what the plan starts now, on the same printers', () => {
    fc.assert(
      fc.property(planInputs, (input) => {
        const { items } = forecast(forecastInput(input));
        const { assignments } = plan(input);
        const started = [...items].filter(([, { startAt }]) => startAt === NOW);
        assert.deepEqual(
          started.map(([itemId]) => itemId).sort(),
          [...new Set(assignments.map(({ itemId }) => itemId))].sort(),
        );
        for (const [itemId, { clusterId }] of started)
          assert.ok(assignments.some((one) => one.itemId === itemId && one.clusterId === clusterId));
      }),
      { numRuns: 500 },
    );
  });

  it('prints one item after the other on a printer, with time to clear its plate', () => {
    fc.assert(
      fc.property(planInputs, (input) => {
        const single = {
          ...input,
          items: input.items.map((one) => ({ ...one, waiting: one.waiting.slice(0, 1), parts: null })),
          printers: input.printers.filter(
            ({ clusterId }, at) => input.printers.findIndex((one) => one.clusterId === clusterId) === at,
          ),
        };
        const { items } = forecast(forecastInput(single));
        for (const { clusterId } of single.printers) {
          const prints = [...items.values()].filter((one) => one.clusterId === clusterId);
          prints.sort((one, other) => (one.startAt ?? 0) - (other.startAt ?? 0));
          for (const [at, { startAt }] of prints.entries())
            if (at > 0) assert.ok((startAt ?? 0) >= (prints[at - 1]?.endAt ?? Infinity) + TURNAROUND);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('lists what each printer prints within 24 hours, copies that follow each other as one', () => {
    const { prints } = forecast(
      forecastInput({
        printers: [printer('C1'), printer('C2')],
        items: [
          item('a', { files: [file({}, 3600)], waiting: [1, 2, 3, 4, 5] }),
          item('b', { files: [file({}, 30 * 3600)], waiting: [1, 2, 3] }),
        ],
      }),
    );
    const minutes = (at: number) => (at - NOW) / MINUTE;
    assert.deepEqual(
      prints.map(({ itemId, clusterId, startAt, endAt, copies }) => [
        ...[itemId, clusterId, minutes(startAt), minutes(endAt), copies],
      ]),
      [
        ['a', 'C1', 0, 200, 3],
        ['a', 'C2', 0, 130, 2],
        ['b', 'C2', 140, 140 + 30 * 60, 1],
        ['b', 'C1', 210, 210 + 30 * 60, 1],
      ],
    );
  });

  it('goes on when a printer ends its print and its plate is clear', () => {
    const items = [item('a', { waiting: [1, 2] }), item('b', { files: [file({}, null)] })];
    const busy = printer('c1', { obstacle: obstacle('BUSY'), freeAt: NOW + 30 * MINUTE });
    assert.deepEqual(timesOf({ items, printers: [busy] }), { a: [40, 170, 'c1'], b: [180, 240, 'c1'] });
    const unknown = printer('c1', { obstacle: obstacle('BUSY') });
    assert.deepEqual(timesOf({ items, printers: [unknown] }).a, [70, 200, 'c1']);
    const waiting = printer('c1', { obstacle: obstacle('PLATE_NOT_CLEARED') });
    assert.deepEqual(timesOf({ items, printers: [waiting] }).a, [10, 140, 'c1']);
    const ejecting = rulesOf({ gate: 'automatic' });
    assert.deepEqual(timesOf({ items, printers: [busy], rules: ejecting }).a, [30, 150, 'c1']);
  });

  it('expects the estimated end of its own print while the printer does not state one', () => {
    const items = [item('a', { waiting: [] }), item('b')];
    const busy = printer('c1', { obstacle: obstacle('BUSY') });
    const times = (endAt: number | null) =>
      timesOf({
        items,
        printers: [busy],
        active: [{ itemId: 'a', clusterId: 'c1', startAt: NOW, endAt, file: file() }],
      });
    assert.deepEqual(times(NOW + 15 * MINUTE), { a: [0, 15, 'c1'], b: [25, 85, 'c1'] });
    assert.deepEqual(times(null), { a: [0, 60, 'c1'], b: [70, 130, 'c1'] });
  });

  it('never expects an end in the past', () => {
    const active = [{ itemId: 'a', clusterId: 'c1', startAt: NOW - HOUR, endAt: NOW - MINUTE, file: file() }];
    const printers = [printer('c1', { obstacle: obstacle('BUSY'), freeAt: NOW + 5 * MINUTE })];
    assert.deepEqual(timesOf({ items: [item('a', { waiting: [] })], printers, active }).a, [-60, 0, 'c1']);
  });

  it('expects nothing of a printer that needs a person, and of a paused queue', () => {
    const items = [item('a')];
    for (const code of ['OFFLINE', 'FAULT', 'PAUSED', 'OUTCOME_UNKNOWN'] as const)
      assert.deepEqual(
        timesOf({ items, printers: [printer('c1', { obstacle: obstacle(code), barredUntil: Infinity })] }),
        { a: [null, null, null] },
      );
    assert.deepEqual(timesOf({ items, printers: [printer('c1')], obstacle: QUEUE_PAUSED }).a, [null, null, null]);
  });

  it('uses a paused printer from the end of its pause on, and from the end of its print if that is later', () => {
    const items = [item('a')];
    const startOf = (state: Parameters<typeof printer>[1]) =>
      timesOf({ items, printers: [printer('c1', state)] }).a?.[0];
    const barredUntil = NOW + 30 * MINUTE;
    assert.equal(startOf({ obstacle: obstacle('PAUSED'), barredUntil }), 30);
    assert.equal(startOf({ obstacle: obstacle('BUSY'), freeAt: NOW + 5 * MINUTE, barredUntil }), 30);
    assert.equal(startOf({ obstacle: obstacle('BUSY'), freeAt: NOW + 50 * MINUTE, barredUntil }), 60);
    assert.equal(startOf({ obstacle: obstacle('PLATE_NOT_CLEARED'), barredUntil }), 30);
    assert.equal(startOf({ obstacle: obstacle('OFFLINE'), barredUntil }), null);
  });

  it('starts the items of a paused queue at the end of its pause', () => {
    const input = { printers: [printer('c1')], obstacle: QUEUE_PAUSED, obstacleEndsAt: NOW + 20 * MINUTE };
    assert.deepEqual(timesOf({ ...input, items: [item('a'), item('b')] }), {
      a: [20, 80, 'c1'],
      b: [90, 150, 'c1'],
    });
  });

  it('clears plates in staffed hours only', () => {
    // It is noon. The plate of the first print gets five of its ten minutes before the people leave.
    const rules = rulesOf({ staffed: hoursOf('09:00-13:05') });
    const items = [item('a'), item('b')];
    assert.deepEqual(timesOf({ items, printers: [printer('c1')], rules }).b, [21 * 60 + 5, 22 * 60 + 5, 'c1']);
  });

  it('starts within the hours, one print within the stagger, and not more than allowed at a time', () => {
    const items = [item('a'), item('b'), item('c', { notBefore: NOW + 5 * MINUTE })];
    const printers = ['c1', 'c2', 'c3'].map((id) => printer(id));
    const starts = (rules: object, state: Partial<ForecastInput> = {}) =>
      Object.values(timesOf({ items, printers, rules: rulesOf(rules), ...state })).map((times) => times[0]);
    assert.deepEqual(starts({}), [0, 0, 5]);
    assert.deepEqual(starts({ stagger: 20 * MINUTE }), [0, 20, 40]);
    assert.deepEqual(starts({ stagger: 20 * MINUTE }, { nextStartAt: NOW + 3 * MINUTE }), [3, 23, 43]);
    assert.deepEqual(starts({ maxPrinting: 1 }), [0, 60, 120]);
    assert.deepEqual(starts({ maxPrinting: 1 }, { printing: 1 }), [60, 120, 180]);
    assert.deepEqual(starts({ hours: hoursOf('13:00-14:00') }), [60, 60, 60]);
  });

  it('adds the prints under way, and says when orders end, whether they are late, and when all is done', () => {
    const items = [
      item('a', { waiting: [], deadline: NOW + 2 * HOUR }),
      item('b', { deadline: NOW + HOUR }),
      item('c', { obstacle: { code: 'HELD', sentence: phrase`It is held.` } }),
      item('d', { files: [file({ models: ['X9'] })] }),
      item('e', { waiting: [] }),
    ];
    const input = forecastInput({
      items,
      printers: [printer('c1', { obstacle: obstacle('BUSY'), freeAt: NOW + 20 * MINUTE })],
      orders: new Map([
        ['b', 'o2'],
        ['a', 'o1'],
        ['e', 'o2'],
        ['c', 'o3'],
      ]),
      active: ['a', 'e'].map((itemId) => ({
        itemId,
        clusterId: itemId === 'a' ? 'c1' : 'c2',
        startAt: NOW - HOUR,
        endAt: NOW + 20 * MINUTE,
        file: file(),
      })),
      printing: 2,
    });
    const { items: times, orders, idleAt } = forecast(input);
    assert.deepEqual(times.get('a'), { startAt: NOW - HOUR, clusterId: 'c1', endAt: NOW + 20 * MINUTE });
    assert.deepEqual(times.get('b'), { startAt: NOW + 30 * MINUTE, clusterId: 'c1', endAt: NOW + 90 * MINUTE });
    assert.deepEqual(
      [...orders],
      [
        ['o1', { endAt: NOW + 20 * MINUTE, late: false }],
        ['o2', { endAt: NOW + 90 * MINUTE, late: true }],
        ['o3', { endAt: null, late: false }],
      ],
    );
    assert.equal(idleAt, NOW + 90 * MINUTE);
    const offline = { ...input, printers: [printer('c1', { obstacle: obstacle('OFFLINE') })] };
    assert.equal(forecast(offline).idleAt, null);
    assert.equal(forecast(forecastInput({})).idleAt, NOW);
  });

  it('prints each copy at the moment of its printer also in the later, coarser steps', () => {
    const printers = Array.from({ length: 40 }, (_, at) =>
      printer(`c${at}`, { obstacle: obstacle('BUSY'), freeAt: NOW + at * MINUTE }),
    );
    const copies = Array.from({ length: 4_000 }, (_, at) => at + 1);
    const { idleAt } = forecast(forecastInput({ items: [item('a', { waiting: copies })], printers }));
    assert.equal(idleAt, NOW + 39 * MINUTE + 100 * (HOUR + TURNAROUND));
  });

  it('ends after a bounded number of steps, and knows no end then', () => {
    const copies = Array.from({ length: 10_000 }, (_, at) => at + 1);
    const { items, idleAt } = forecast(
      forecastInput({ items: [item('a', { waiting: copies })], printers: [printer('c1')] }),
    );
    assert.deepEqual(items.get('a'), { startAt: NOW, clusterId: 'c1', endAt: null });
    assert.equal(idleAt, null);
  });

  it('lets the event loop turn', async () => {
    let [now, turns, isOver] = [0, 0, false];
    const turn = () => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const clock = { ...systemClock, monotonic: () => (now += 5) };
    const copies = Array.from({ length: 100 }, (_, at) => at + 1);
    await runForecast(forecastInput({ items: [item('a', { waiting: copies })], printers: [printer('c1')] }), clock);
    isOver = true;
    assert.ok(turns >= 90, String(turns));
  });
});
