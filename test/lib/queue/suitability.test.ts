import assert from 'node:assert/strict';
import { type Requirement, requirementOf } from '../../../lib/queue/model/requirement';
import { mismatchOf } from '../../../lib/queue/plan/suitability';
import type { QueuePrinter } from '../../../lib/queue/model/types';
import type { QueueRules } from '../../../lib/queue/model/rules';
import type { Feed } from '../../../lib/service/feeds';
import type { Material } from '../../../lib/service/printer';
import { feed, material, printer, requirement, rulesOf } from '../../helpers/queue-inputs';

const RED = { guid: 'g-red', type: 'PLA', brand: 'Generic', color: 'Red' };
const generic = (name: string | null, color: string | null, guid: string | null = null) => ({
  ...material(guid, name, color),
  brand: 'Generic',
});
const loaded = (...words: Parameters<typeof generic>) => feed('AA 0.4', generic(...words), 50_000);

const codeOf = (needs: Partial<Requirement>, state: Partial<QueuePrinter>, rules: Partial<QueueRules> = {}) =>
  mismatchOf(requirement(needs), printer('c1', state), rulesOf(rules))?.code ?? null;
const textOf = (needs: Partial<Requirement>, state: Partial<QueuePrinter>) =>
  String(mismatchOf(requirement(needs), printer('c1', state), rulesOf())?.sentence);

describe('queue/suitability', () => {
  it('compares models as the service writes them in two forms', () => {
    assert.equal(codeOf({ models: ['Brand X5'] }, { model: 'brand_x5' }), null);
    assert.equal(codeOf({ models: ['X3', 'X5'] }, { model: 'X5' }), null);
    assert.equal(codeOf({ models: ['X3'] }, { model: 'X5' }), 'MODEL');
    assert.equal(codeOf({ models: [] }, { model: 'X5' }), null);
    assert.equal(codeOf({ models: null }, { model: 'X5' }), null);
  });

  it('names both sides', () => {
    assert.equal(textOf({ models: ['X3'] }, { model: 'X5' }), 'It needs the model X3; the printer is X5.');
    const blue = { extruders: [loaded('PLA', 'Blue', 'g-blue')] };
    assert.equal(
      textOf({ materials: [RED] }, blue),
      'Extruder 1 needs the material Generic PLA Red; it has Generic PLA Blue.',
    );
    assert.equal(
      textOf({ materials: [{ guid: 'g-red' }] }, blue),
      'Extruder 1 needs the material g-red; it has Generic PLA Blue g-blue.',
    );
    assert.equal(textOf({ volumes: [60_000] }, blue), 'Extruder 1 needs 60.0 cm³ of material; it has 50.0 cm³.');
    assert.equal(textOf({ tags: ['clean'] }, { tags: ['a', 'b'] }), 'It needs the tag clean; the printer has a, b.');
  });

  it('compares materials by GUID, by type and color, by type, or not at all', () => {
    const other = { extruders: [loaded('pla', 'red', 'g-other')] };
    const blue = { extruders: [loaded('PLA', 'Blue', 'g-blue')] };
    const petg = { extruders: [loaded('PETG', 'Red', 'g-petg')] };
    const codes = (rule: QueueRules['material']) =>
      [other, blue, petg].map((state) => codeOf({ materials: [RED] }, state, { material: rule }));
    assert.deepEqual(codes('guid'), ['MATERIAL', 'MATERIAL', 'MATERIAL']);
    assert.deepEqual(codes('type-color'), [null, 'MATERIAL', 'MATERIAL']);
    assert.deepEqual(codes('type'), [null, null, 'MATERIAL']);
    assert.deepEqual(codes('any'), [null, null, null]);
    assert.equal(codeOf({ materials: [{ type: 'PLA', color: 'Red' }] }, other, { material: 'guid' }), null);
    assert.equal(codeOf({ materials: [{ guid: 'G-RED' }] }, { extruders: [loaded('PLA', 'Red', 'g-red')] }), null);
  });

  it('means each word of a material that a message describes without a GUID', () => {
    const { sources } = requirement();
    const needs = {
      materials: [{ type: 'PLA', color: 'Red' }],
      sources: { ...sources, materials: 'message' as const },
    };
    const blue = { extruders: [loaded('PLA', 'Blue')] };
    assert.equal(codeOf(needs, blue, { material: 'type' }), 'MATERIAL');
    assert.equal(codeOf({ ...needs, sources }, blue, { material: 'type' }), null);
    assert.equal(codeOf(needs, blue, { material: 'any' }), null);
  });

  it('knows no mismatch of types where only the GUID of the needed material is known', () => {
    const state = { extruders: [loaded('PLA', 'Blue', 'g-blue')] };
    const code = (material: QueueRules['material'], match: QueueRules['match'], guid = 'g-red') =>
      codeOf({ materials: [{ guid }] }, state, { material, match });
    assert.deepEqual([code('type', 'lenient'), code('type-color', 'lenient')], [null, null]);
    assert.deepEqual([code('type', 'strict'), code('guid', 'lenient')], ['MATERIAL', 'MATERIAL']);
    assert.equal(code('type', 'strict', 'g-blue'), null);
  });

  it('compares no color code with the name of a color', () => {
    const orange = { materials: [{ type: 'PLA', color: '#FF8000' }] };
    for (const match of ['strict', 'lenient'] as const) {
      const code = (name: string, color: string) =>
        codeOf(orange, { extruders: [loaded(name, color)] }, { material: 'type-color', match });
      assert.deepEqual([code('PLA', 'Orange'), code('PLA', '#ff8000')], [null, null]);
      assert.deepEqual([code('PLA', '#0000FF'), code('PETG', 'Orange')], ['MATERIAL', 'MATERIAL']);
    }
  });

  it('compares the diameters of nozzles with print cores where the file names none', () => {
    const cores = (printCore: string | null) => ({ extruders: [feed(printCore, null, null)] });
    const codes = ['AA 0.4', 'AA+ 0.8', 'mk14', null].map((core) => codeOf({ nozzles: [0.4] }, cores(core)));
    assert.deepEqual(codes, [null, 'PRINT_CORE', null, null]);
    const facts = {
      ...{ source: 'file' as const, model: 'X5', printCores: [null, 'AA 0.4'], nozzles: [0.8, 0.4], materials: [] },
      ...{ volumes: [], weights: [], buildPlate: null, seconds: null, size: null },
    };
    assert.deepEqual(requirementOf(null, facts, () => null).nozzles, [0.8, null]);
    assert.deepEqual(
      requirementOf({ printCores: [null, null] }, facts, () => null).nozzles,
      [],
      'a message accepts any',
    );
  });

  it('accepts anything in an extruder without a need', () => {
    const two = { extruders: [loaded('PLA', 'Red', 'g-red'), feed(null, null, null)] };
    assert.equal(codeOf({ printCores: ['AA 0.4', null], materials: [RED, null], volumes: [10, null] }, two), null);
    assert.equal(codeOf({ printCores: ['AA 0.4', 'BB 0.4'] }, two), 'PRINT_CORE');
    assert.equal(codeOf({ printCores: ['AA 0.8'] }, two), 'PRINT_CORE');
    assert.equal(codeOf({ volumes: [10, 10, 10] }, two), 'PRINT_CORE');
  });

  it('lets only strict rules wait for what nobody knows about a printer', () => {
    const unknowns: [Partial<Requirement>, Partial<QueuePrinter>, string][] = [
      [{ models: ['X5'] }, { model: null }, 'MODEL'],
      [{ printCores: ['AA 0.4'] }, { extruders: null }, 'PRINT_CORE'],
      [{ printCores: ['AA 0.4'] }, { extruders: [feed(null, generic('PLA', 'Red'), 50)] }, 'PRINT_CORE'],
      [{ materials: [RED] }, { extruders: [feed('AA 0.4', null, 50)] }, 'MATERIAL'],
    ];
    for (const [needs, state, code] of unknowns) {
      assert.equal(codeOf(needs, state), code);
      assert.equal(mismatchOf(requirement(needs), printer('c1', state), rulesOf())?.isUnknown, true);
      assert.equal(codeOf(needs, state, { match: 'lenient' }), null);
    }
    assert.equal(codeOf({ buildPlate: 'glass' }, { buildPlate: null }), null);
    assert.equal(codeOf({ volumes: [10] }, { extruders: [feed('AA 0.4', generic('PLA', 'Red'), null)] }), null);
    assert.equal(codeOf({ models: ['X3'] }, { model: 'X5' }, { match: 'lenient' }), 'MODEL');
  });

  it('gives the first code in the order of the contract', () => {
    const state = { model: 'X5', extruders: [loaded('PLA', 'Blue', 'g-blue')], buildPlate: 'glass' };
    const needs = {
      models: ['X3'],
      printCores: ['AA 0.8'],
      materials: [RED],
      volumes: [60_000],
      buildPlate: 'metal',
      tags: ['clean'],
      printers: ['c2'],
    };
    const left: Partial<Requirement> = { ...needs };
    const codes = Object.keys(needs).map((name) => {
      const code = codeOf(left, state);
      const free = {
        models: [],
        printCores: [],
        materials: [],
        volumes: [],
        buildPlate: null,
        tags: [],
        printers: null,
      };
      Object.assign(left, { [name]: free[name as keyof typeof free] });
      return code;
    });
    const order = ['MODEL', 'PRINT_CORE', 'MATERIAL', 'MATERIAL_LOW', 'BUILD_PLATE', 'TAG', 'NOT_CHOSEN'];
    assert.deepEqual(codes, order);
    assert.equal(codeOf(left, state), null);
  });

  it('compares tags without case and number sign', () => {
    assert.equal(codeOf({ tags: ['#Clean'] }, { tags: ['clean '] }), null);
    assert.equal(codeOf({ tags: ['clean', 'big'] }, { tags: ['clean'] }), 'TAG');
  });

  it('names what is in an extruder that no slot holds beside its slots', () => {
    const [own] = loaded('ABS', 'Black').sources;
    assert.ok(own);
    const slots = ['Red', 'Blue'].map((color, slot) => ({ ...own, slot, material: generic('PLA', color) }));
    const text = (...sources: Feed['sources']) =>
      textOf({ materials: [{ type: 'PVA' }] }, { extruders: [{ printCore: 'AA 0.4', sources }] });
    const held = 'slots hold 1: Generic PLA Red, 2: Generic PLA Blue.';
    assert.equal(text(own, ...slots), `Extruder 1 needs the material PVA; it has Generic ABS Black, and its ${held}`);
    const taken = { ...own, material: generic('PLA', 'Red') };
    assert.equal(text(taken, ...slots), `Extruder 1 needs the material PVA; its ${held}`);
  });

  it('lets an extruder of a station print what one slot is known to hold, and waits for none with lenient rules', () => {
    const [own] = loaded('ABS', 'Black').sources;
    assert.ok(own);
    const isFed = (match: QueueRules['match'], ...materials: Material[]) =>
      codeOf(
        { materials: [RED] },
        {
          extruders: [
            { printCore: 'AA 0.4', sources: materials.map((one, slot) => ({ ...own, slot, material: one })) },
          ],
        },
        { match, material: 'type-color' },
      ) === null;
    const [red, blue, nameless] = [generic('PLA', 'Red'), generic('PLA', 'Blue'), generic('PLA', null)];
    assert.deepEqual(
      [isFed('strict', blue, red), isFed('strict', blue, nameless), isFed('strict', blue)],
      [true, false, false],
    );
    assert.deepEqual([isFed('lenient', blue, nameless), isFed('lenient', blue)], [true, false]);
  });
});
