import assert from 'node:assert/strict';
import fc from 'fast-check';
import * as validators from '../../../editor/validators';
import type { EditorNode } from '../../../editor/red';
import { settings, type JudgedSetting } from '../../helpers/settings';

/** The parts of the editor that the rules need, with no open dialog. */
const page = {
  RED: {
    _: (key: string, values: object = {}) => `${key} ${JSON.stringify(values)}`,
    editor: { getEditStack: () => [] },
    validators: { typedInput: () => () => true },
  },
};

/** A node without properties. */
const NODE = { _: (key: string) => key, id: 'node', _def: { defaults: {} } };

describe('the validation in the form and at runtime', () => {
  before(() => Object.assign(globalThis, page));
  after(() => Reflect.deleteProperty(globalThis, 'RED'));

  for (const setting of settings) {
    const rule = ruleOf(setting);
    const node = { ...NODE, ...setting.node } as EditorNode;
    const inForm = (value: string) => {
      const verdict = rule.call(node, value, {});
      if (verdict === true) return true;
      assert.equal(verdict.split(': ')[0], `label.${setting.name}`);
      return false;
    };
    const where = Object.entries(setting.node)
      .filter(([name]) => ['signIn', 'fromType'].includes(name))
      .map(([name, value]) => `, ${name} ${value}`);

    describe(`${setting.name}${where.join('')}`, () => {
      for (const value of setting.good)
        it(`accepts ${JSON.stringify(value)} in both`, () => {
          assert.deepEqual([inForm(value), setting.taken(value)], [true, true]);
        });
      for (const value of setting.bad)
        it(`rejects ${JSON.stringify(value)} in both`, () => {
          assert.deepEqual([inForm(value), setting.taken(value)], [false, false]);
        });
      it('agrees on any text', () => {
        fc.assert(
          fc.property(near([...setting.good, ...setting.bad]), (value) => inForm(value) === setting.taken(value)),
          { numRuns: 1000 },
        );
      });
    });
  }

  it('skips the rules of a simulated account', () => {
    const node = { ...NODE, service: 'simulator' } as EditorNode;
    for (const rule of [validators.host('apiUrl'), validators.paths(), validators.storagePath(), validators.origin()])
      assert.equal(rule.call(node, 'nonsense', {}), true);
  });

  it('accepts anything in a field that the form hides', () => {
    const conditions = [{ operation: 'upload', isOn: true }, { operation: ['download', 'info'] }];
    const rule = validators.shownWhile(conditions, validators.number('timeout'));
    const judged = (node: object) => rule.call({ ...NODE, ...node }, 'soon', {}) === true;
    assert.deepEqual(
      [{ operation: 'delete' }, { operation: 'upload', isOn: false }, { operation: 'upload', isOn: 'false' }].map(
        judged,
      ),
      [true, true, true],
    );
    assert.deepEqual(
      [{ operation: 'info' }, { operation: 'upload', isOn: true }, { operation: '${OPERATION}' }].map(judged),
      [false, false, false],
    );
  });

  it('judges the default of a property that a node lacks', () => {
    const defaults = { path: { value: 'print-board' }, cluster: { value: '' }, clusterType: { value: 'msg' } };
    const node = { ...NODE, _def: { defaults } } as EditorNode;
    for (const none of [undefined, null]) assert.equal(validators.webPath().call(node, none, {}), true);
    assert.match(String(validators.webPath().call(node, '', {})), /invalid\.webPath/);
    assert.match(String(validators.typed('cluster').call(node, '/a.gcode', {})), /invalid\.filePath/);
  });

  it('omits the user’s text from its reasons', () => {
    const marked = fc.tuple(fc.string(), fc.string()).map(([before, after]) => `${before}<b>mine</b>${after}`);
    const hostile = fc.oneof(
      marked,
      marked.map((name) => JSON.stringify({ [name]: 'GET /x' })),
      marked.map((call) => JSON.stringify({ currentUser: call })),
    );
    const rules = settings.map((setting) => ({ rule: ruleOf(setting), node: { ...setting.node } }));
    fc.assert(
      fc.property(hostile, fc.constantFrom(...rules), (value, { rule, node }) => {
        const verdict = rule.call({ ...NODE, ...node }, value, {});
        assert.doesNotMatch(String(verdict), /mine|</);
      }),
    );
  });
});

/** Parses a rule as an HTML file writes it: `host("authUrl")`. */
function ruleOf({ rule }: JudgedSetting): validators.Validator {
  const [, name = '', given = ''] = /^(\w+)\((.*)\)$/.exec(rule) ?? [];
  const make = validators[name as 'host'] as (...given: unknown[]) => validators.Validator;
  return make(...(JSON.parse(`[${given}]`) as unknown[]));
}

/** Any text, and texts one or two letters away from significant ones. */
function near(values: string[]): fc.Arbitrary<string> {
  const letters = fc.oneof(
    fc.constantFrom(...'/\\.%?#@:{}"=, 0159eElL\n\tK\u00a0\u0000éß'),
    fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }),
  );
  const changed = fc
    .tuple(fc.constantFrom(...values), fc.array(fc.tuple(fc.nat(), fc.nat(2), letters), { maxLength: 2 }))
    .map(([value, changes]) => changes.reduce((text, change) => edit(text, ...change), value));
  return fc.oneof({ weight: 4, arbitrary: changed }, fc.string({ unit: 'binary' }), fc.json(), fc.webUrl());
}

/** Inserts, replaces or removes a letter at some position. */
function edit(text: string, at: number, how: number, letter: string): string {
  const position = at % (text.length + 1);
  return text.slice(0, position) + (how === 0 ? '' : letter) + text.slice(position + (how === 1 ? 0 : 1));
}
