import assert from 'node:assert/strict';
import { costOf, readPrices, readRules } from '../../../lib/queue/model/rules';
import { PrintingError } from '../../../lib/service/errors';

const DAY = 86_400_000;

describe('queue/rules', () => {
  it('has the defaults of the contract for settings that are missing or blank', () => {
    const defaults = {
      printers: [],
      tags: new Map(),
      sort: 'priority',
      choose: 'least-recently-used',
      match: 'strict',
      material: 'guid',
      gate: 'printer',
      retries: 0,
      startWithin: 900_000,
      stagger: 0,
      maxPrinting: 0,
      hours: { text: '', ranges: [] },
      staffed: { text: '', ranges: [] },
      turnaround: 600_000,
      approval: false,
      prices: { currency: null, hour: null, kilogram: {} },
      keepFor: 90 * DAY,
    };
    assert.deepEqual(readRules({}), defaults);
    assert.deepEqual(readRules(Object.fromEntries(Object.keys(defaults).map((name) => [name, '']))), defaults);
  });

  it('reads settings as the form saves them', () => {
    const rules = readRules({
      printers: '["a=","b=","a="]',
      tags: '{"a=":["food-safe"]}',
      sort: 'deadline',
      choose: 'list',
      match: 'lenient',
      material: 'type',
      gate: 'confirm',
      retries: '2',
      startWithin: '0',
      stagger: 90,
      maxPrinting: '3',
      hours: 'Mon 8-17',
      turnaround: 60,
      approval: true,
      prices: '{"currency":"EUR","hour":1.5}',
      keepDays: '7',
    });
    assert.deepEqual(rules.printers, ['a=', 'b=']);
    assert.deepEqual([...rules.tags], [['a=', ['food-safe']]]);
    assert.deepEqual([rules.sort, rules.choose, rules.match, rules.material], ['deadline', 'list', 'lenient', 'type']);
    assert.deepEqual([rules.gate, rules.retries, rules.approval], ['confirm', 2, true]);
    assert.deepEqual([rules.startWithin, rules.stagger, rules.turnaround], [0, 90_000, 60_000]);
    assert.deepEqual([rules.maxPrinting, rules.keepFor], [3, 7 * DAY]);
    assert.deepEqual(rules.hours.ranges, [{ days: [0], from: 480, to: 1020 }]);
    assert.deepEqual(rules.prices, { currency: 'EUR', hour: 1.5, kilogram: {} });
  });

  it('takes no span of more than a year, and keeps no ended item for more than a century', () => {
    const YEAR = 365 * DAY;
    const rules = readRules({ startWithin: 1e300, stagger: '1e16', turnaround: 1e16, keepDays: 1e300 });
    assert.deepEqual([rules.startWithin, rules.stagger, rules.turnaround], [YEAR, YEAR, YEAR]);
    assert.equal(rules.keepFor, 100 * YEAR);
  });

  for (const [name, value] of [
    ['printers', '{"a=":1}'],
    ['printers', '["a=",1]'],
    ['tags', '["a="]'],
    ['tags', '{"a=":"food-safe"}'],
    ['sort', 'longest'],
    ['choose', 'any'],
    ['match', true],
    ['material', 'color'],
    ['gate', 'none'],
    ['retries', '1.5'],
    ['retries', '-1'],
    ['startWithin', 'soon'],
    ['stagger', -5],
    ['maxPrinting', 'many'],
    ['hours', 'Mon 25:00-26:00'],
    ['staffed', 8],
    ['staffed', 'Mon 8'],
    ['turnaround', {}],
    ['approval', 'yes'],
    ['prices', '{"hour":"1"}'],
    ['prices', '{"minute":1}'],
    ['prices', '{"kilogram":[25]}'],
    ['keepDays', 'x'],
  ] as const)
    it(`names ${name} where it is ${JSON.stringify(value)}`, () => {
      assert.throws(
        () => readRules({ [name]: value }),
        (error) =>
          error instanceof PrintingError &&
          error.code === 'NOT_CONFIGURED' &&
          error.message.startsWith(`The print queue's ${name} `),
      );
    });
});

describe('queue/rules: the time that ended items are kept', () => {
  for (const keepDays of ['36501', 999_999_999, 1e300])
    it(`is a hundred years at most, as with ${keepDays}`, () =>
      assert.equal(readRules({ keepDays }).keepFor, 36_500 * DAY));
});

describe('queue/rules: prices', () => {
  const prices = readPrices({ currency: 'EUR', hour: 1.2, kilogram: { PLA: 25, '*': 40 } });
  const pla = { type: 'pla' };

  it('sums the time and the material of each extruder', () => {
    assert.equal(costOf(prices, { seconds: 7200, materials: [pla], weights: [100] }), 4.9);
    const two = { seconds: 3600, materials: [pla, { type: 'Nylon' }], weights: [100, 50] };
    assert.equal(costOf(prices, two), 5.7);
    assert.equal(costOf(prices, { seconds: 3600, materials: [pla, null], weights: [100, null] }), 3.7);
  });

  it('knows no cost where a quantity or a price is missing', () => {
    const print = { seconds: 3600, materials: [pla], weights: [100] };
    assert.equal(costOf(prices, { ...print, seconds: null }), null);
    assert.equal(costOf(prices, { ...print, weights: [null] }), null);
    assert.equal(costOf(prices, { ...print, materials: [], weights: [] }), null);
    assert.equal(costOf(prices, { ...print, materials: [{ type: null }] }), null);
    assert.equal(costOf(readPrices({ kilogram: { '*': 40 } }), print), null);
    assert.equal(costOf(readPrices({ hour: 1 }), print), null);
    assert.equal(costOf(readPrices({ hour: 1, kilogram: { PETG: 40 } }), print), null);
  });

  it('needs no type of material where all have the same price', () => {
    const one = readPrices({ hour: 0, kilogram: { '*': 40 } });
    assert.equal(costOf(one, { seconds: 60, materials: [null], weights: [250] }), 10);
  });
});
