import assert from 'node:assert/strict';
import { describeChange, readPrintJob } from '../../../lib/service/print-job';

/** The sentence of a change that the service requires. */
function sentenceOf(wire: Record<string, unknown>): string {
  const [change] = readPrintJob({ configuration_changes_required: [wire] }).changesRequired;
  assert(change);
  return String(describeChange(change));
}

/** GUID of no material. */
const NIL = '00000000-0000-0000-0000-000000000000';

describe('describeChange', () => {
  const names = { origin_name: 'red PLA', target_name: 'blue PLA' };
  const cases: [Record<string, unknown>, string][] = [
    [{ type_of_change: 'material_change', index: 0, ...names }, 'Load blue PLA instead of red PLA in extruder 1.'],
    [{ type_of_change: 'material_insert', index: 1, target_name: 'blue PLA' }, 'Load blue PLA in extruder 2.'],
    [
      {
        ...{ type_of_change: 'material_insert', index: 1, target_name: 'blue PLA', origin_name: 'empty' },
        origin_id: NIL,
      },
      'Load blue PLA in extruder 2.',
    ],
    [{ type_of_change: 'material_change', index: 1 }, 'Change the material of extruder 2.'],
    [
      { type_of_change: 'print_core_change', index: 0, origin_name: 'AA', target_name: 'BB' },
      'Insert print core BB instead of AA in extruder 1.',
    ],
    [{ type_of_change: 'print_core_change', index: 0, target_name: 'BB' }, 'Insert print core BB in extruder 1.'],
    [{ type_of_change: 'print_core_change', index: 0 }, 'Change the print core of extruder 1.'],
    [
      { type_of_change: 'buildplate_change', origin_name: 'glass', target_name: 'metal' },
      'Insert the build plate metal instead of glass.',
    ],
    [{ type_of_change: 'buildplate_change', target_name: 'metal' }, 'Insert the build plate metal.'],
    [{ type_of_change: 'buildplate_change' }, 'Change the build plate.'],
    [{ type_of_change: 'material_change' }, 'The print requires a change: material_change.'],
    [{ type_of_change: 'a_new_word', index: 0 }, 'The print requires a change: a_new_word.'],
    [{}, 'The print requires a change at the printer.'],
  ];
  for (const [wire, sentence] of cases)
    it(`says "${sentence}"`, () => {
      assert.equal(sentenceOf(wire), sentence);
    });
});
