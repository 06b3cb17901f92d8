import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { PlanInput } from '../../../lib/queue/plan/inputs';
import { Planner } from '../../../lib/queue/plan/plan';
import { Explainer } from '../../../lib/queue/plan/explanation';
import { BUSY as PRINTING } from '../../../lib/queue/plan/printers';
import { readHours } from '../../../lib/queue/model/rules';
import { phrase } from '../../../lib/words/sentence';
import { file, item, NOW, obstacle, planInput, planInputs, printer, rulesOf } from '../../helpers/queue-inputs';

const BUSY = obstacle('BUSY');
const reasonsOf = (itemId: string, input: PlanInput) => new Explainer(new Planner(), input).reasonsOf(itemId);

/** Codes of item and queue, then of the printers. */
function codes(input: Partial<PlanInput>, itemId = 'a') {
  const { own, printers } = reasonsOf(itemId, planInput(input));
  return [
    own.map(({ code }) => code),
    printers.map(({ printer: { clusterId }, reason }) => `${clusterId} ${reason.code}`),
  ];
}

describe('queue/explanation', () => {
  it('names the printers that do not suit before those that are busy', () => {
    const printers = [
      printer('c1', { model: 'X3', obstacle: BUSY }),
      printer('c2', { obstacle: BUSY }),
      printer('c3', { obstacle: obstacle('PLATE_NOT_CLEARED') }),
    ];
    assert.deepEqual(codes({ items: [item('a')], printers }), [[], ['c1 MODEL', 'c2 BUSY', 'c3 PLATE_NOT_CLEARED']]);
  });

  it('names a refusal after other obstacles, but before an unknown outcome', () => {
    const refusing = (state: object) => {
      const one = printer('c1', state);
      return codes({
        items: [item('a', { refused: new Set(['c1']) })],
        printers: [one, printer('c2', { obstacle: BUSY })],
      })[1];
    };
    assert.deepEqual(refusing({}), ['c1 REFUSED', 'c2 BUSY']);
    assert.deepEqual(refusing({ obstacle: obstacle('OFFLINE') }), ['c1 OFFLINE', 'c2 BUSY']);
    assert.deepEqual(refusing({ obstacle: obstacle('OUTCOME_UNKNOWN') }), ['c1 REFUSED', 'c2 BUSY']);
  });

  it('says that no printer could take an item, unless an offline one is not known well enough', () => {
    const own = (...printers: PlanInput['printers']) => codes({ items: [item('a')], printers })[0];
    const x3 = printer('c1', { model: 'X3' });
    assert.deepEqual(own(x3), ['NO_PRINTER']);
    assert.deepEqual(own(x3, printer('c2', { model: 'X3', obstacle: obstacle('OFFLINE') })), ['NO_PRINTER']);
    assert.deepEqual(own(x3, printer('c2', { model: null, obstacle: obstacle('OFFLINE') })), []);
    assert.deepEqual(own(x3, printer('c2', { model: null })), ['NO_PRINTER']);
    assert.deepEqual(own(x3, printer('c2', { obstacle: obstacle('DISABLED') })), []);
  });

  it('asks no printer that was never seen and that the item excludes', () => {
    const unseen = printer('c2', { model: null, tags: ['clean'], obstacle: obstacle('OFFLINE') });
    const own = (needs: Parameters<typeof file>[0]) =>
      codes({ items: [item('a', { files: [file(needs)] })], printers: [printer('c1', { model: 'X3' }), unseen] })[0];
    assert.deepEqual(own({}), []);
    assert.deepEqual(own({ printers: ['c1'] }), ['NO_PRINTER']);
    assert.deepEqual(own({ tags: ['clean'] }), []);
    assert.deepEqual(own({ tags: ['food-safe'] }), ['NO_PRINTER']);
  });

  it('says that nobody knows the model, or that no file is stored', () => {
    const unknown = [item('a', { files: [file({ models: null })] })];
    assert.deepEqual(codes({ items: unknown, printers: [printer('c1')] }), [['MODEL_UNKNOWN'], []]);
    assert.deepEqual(codes({ items: unknown, printers: [printer('c1')], rules: rulesOf({ match: 'lenient' }) }), [
      [],
      [],
    ]);
    const gone = [item('a', { files: [{ ...file(), isStored: false }] })];
    assert.deepEqual(codes({ items: gone, printers: [printer('c1')] }), [['UPLOAD'], []]);
  });

  it('names what keeps an item or the whole queue from starting', () => {
    const printers = [printer('c1', { obstacle: BUSY })];
    const own = (input: Partial<PlanInput>, state = {}) => codes({ items: [item('a', state)], printers, ...input })[0];
    assert.deepEqual(own({}, { obstacle: { code: 'HELD', sentence: phrase`It is held.` } }), ['HELD']);
    assert.deepEqual(own({}, { notBefore: NOW + 1 }), ['NOT_BEFORE']);
    assert.deepEqual(own({ obstacle: { code: 'NO_STORE', sentence: phrase`No store.` } }), ['NO_STORE']);
    assert.deepEqual(own({ rules: rulesOf({ hours: readHours('Mon 08:00-09:00') }) }), ['HOURS']);
    assert.deepEqual(own({ nextStartAt: NOW + 1 }), ['STAGGER']);
    assert.deepEqual(own({ rules: rulesOf({ maxPrinting: 2 }), printing: 2 }), ['LIMIT']);
    assert.deepEqual(own({ rules: rulesOf({ maxPrinting: 2 }), printing: 1 }), []);
  });

  it('counts the items that go first and compete for the same printers', () => {
    const items = [
      item('a'),
      item('b', { files: [file({ models: ['X3'] })] }),
      item('c', { files: [file({ models: ['X3'] }), file()] }),
      item('d'),
      item('e', { files: [file({ models: ['X3'] }), file()] }),
    ];
    const printers = [printer('c1', { obstacle: BUSY }), printer('c2', { model: 'X3', obstacle: BUSY })];
    const ahead = (itemId: string) =>
      reasonsOf(itemId, planInput({ items, printers })).own.map(({ sentence }) => String(sentence));
    assert.deepEqual(['a', 'b', 'c', 'd', 'e'].map(ahead), [
      [],
      [],
      ['Items that go first: 2.'],
      ['Items that go first: 2.'],
      ['Items that go first: 4.'],
    ]);
  });

  it('counts the printers of each sentence, and says when the next busy one is free', () => {
    const fault = (what: string) => ({ code: 'FAULT', sentence: phrase`The printer has a fault: ${what}.` }) as const;
    const at = (hour: number) => new Date(2026, 5, 1, hour, 20).getTime();
    const obstacles = [
      PRINTING,
      fault('a'),
      PRINTING,
      fault('b'),
      fault('a'),
      PRINTING,
      ...['c', 'd', 'e', 'f', 'f'].map(fault),
    ];
    const printers = obstacles.map((obstacle, n) =>
      printer(`c${n}`, { obstacle, freeAt: obstacle === PRINTING ? at(9 + n) : null }),
    );
    const summary = (now: number) => {
      const input = planInput({ items: [item('a')], printers, now });
      const counts = new Explainer(new Planner(), input).summaryOf('a').filter((one) => one.printers > 0);
      return counts.map(({ code, printers, sentence }) => `${code} ${printers} ${String(sentence)}`);
    };
    assert.deepEqual(summary(at(8)), [
      'BUSY 3 3 suitable printers are busy, the next is free at 9:20.',
      'FAULT 2 The printer has a fault: a.',
      ...['b', 'c', 'd'].map((what) => `FAULT 1 The printer has a fault: ${what}.`),
      'FAULT 3 Other reasons of the same kind.',
    ]);
    assert.match(summary(at(-5))[0] ?? '', /free at 2026-06-01 9:20\.$/);
  });

  it('counts in the summary what it lists, and explains why each copy waits', () => {
    fc.assert(
      fc.property(planInputs, (input) => {
        const explainer = new Explainer(new Planner(), input);
        const { assignments, order } = new Planner().plan(input);
        for (const { itemId, waiting, parts, files } of input.items) {
          const { own, printers } = explainer.reasonsOf(itemId);
          const counts = explainer.summaryOf(itemId);
          assert.deepEqual(
            counts.filter(({ printers: count }) => count === 0).map(({ code }) => code),
            own.map(({ code }) => code),
          );
          const counted = counts.filter((one) => one.printers > 0);
          for (const { code } of counted) {
            const sum = counted.reduce((total, one) => total + (one.code === code ? one.printers : 0), 0);
            assert.equal(printers.filter(({ reason }) => reason.code === code).length, sum);
          }
          const started = assignments.filter((one) => one.itemId === itemId);
          const made = started.reduce((sum, { file: index }) => sum + (files[index]?.perPrint ?? 0), 0);
          const isDone = parts ? made >= parts.left : started.length === waiting.length;
          if (waiting.length === 0 || isDone) continue;
          // A copy waits for a reason of its own, or no printer is left that another item did not get.
          const taken = assignments.length;
          assert.ok(own.length > 0 || printers.length + taken >= input.printers.length, itemId);
          if (!order.includes(itemId) && own.length === 0) assert.equal(printers.length, input.printers.length);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
