import assert from 'node:assert/strict';
import { type PlanInput, Planner } from '../../../lib/queue/plan/plan';
import { printerKey } from '../../../lib/queue/model/types';
import { readRules } from '../../../lib/queue/model/rules';
import { file, item, NOW, obstacle, planInput, printer, rulesOf } from '../../helpers/queue-inputs';

const PLATE = obstacle('PLATE_NOT_CLEARED');

function wanted(input: Partial<PlanInput>): string[] {
  const printers = new Planner().wantedPrinters(planInput(input));
  return [...printers].map(({ clusterId }) => clusterId);
}

describe('queue/plan: wanted printers', () => {
  const printers = [printer('c1', { obstacle: PLATE }), printer('c2', { model: 'X3' }), printer('c3')];
  const items = [item('a')];

  it('names the printers that suit a waiting item, whatever else keeps them from printing', () => {
    assert.deepEqual(wanted({ items, printers }), ['c1', 'c3']);
    const either = [item('a'), item('b', { files: [file({ models: ['X3'] })] })];
    assert.deepEqual(wanted({ items: either, printers }), ['c1', 'c3', 'c2']);
    assert.deepEqual(wanted({ items: [], printers }), []);
  });

  it('names none for items that are held, must not start yet or owe nothing', () => {
    for (const state of [{ obstacle: obstacle('BUSY') as never }, { notBefore: NOW + 1 }, { waiting: [] }])
      assert.deepEqual(wanted({ items: [item('a', state)], printers }), []);
  });

  it('names none while the queue may start nothing', () => {
    const at = (rules: object, more: Partial<PlanInput> = {}) =>
      wanted({ items, printers, rules: rulesOf(rules), ...more });
    assert.deepEqual(at({ ...readRules({ hours: 'Mon 08:00-09:00' }) }), []);
    assert.deepEqual(at({ maxPrinting: 1 }, { printing: 1 }), []);
    assert.deepEqual(at({ maxPrinting: 2 }, { printing: 1 }), ['c1', 'c3']);
    assert.deepEqual(at({ stagger: 60_000 }, { nextStartAt: Infinity }), []);
    assert.deepEqual(at({}, { obstacle: { ...PLATE, code: 'QUEUE_PAUSED' } }), []);
  });

  it('leaves out printers with too little material and those that refused, for that item alone', () => {
    const spool = (volumeLeft: number) => ({ extruders: [{ printCore: null, material: null, volumeLeft }] });
    const [low, full] = [printer('c1', { ...spool(100), obstacle: PLATE }), printer('c2', spool(1000))];
    const rules = rulesOf({ match: 'lenient', material: 'any' });
    const of = (...items: PlanInput['items']) => wanted({ items, printers: [low, full], rules });
    const needs = (volume: number) => item(`v${volume}`, { files: [file({ volumes: [volume] })] });
    assert.deepEqual(of(needs(200)), ['c2']);
    assert.deepEqual(of(needs(200), needs(50)), ['c2', 'c1']);
    const refused = item('r', { files: [file({ volumes: [1] })], refused: new Set([printerKey(low)]) });
    assert.deepEqual(of(refused), ['c2']);
    assert.deepEqual(of(refused, needs(50)), ['c2', 'c1']);
  });
});
