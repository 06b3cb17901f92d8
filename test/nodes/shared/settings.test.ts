import assert from 'node:assert/strict';
import type { NodeDefinition, Saved } from '../../../nodes/shared/definition';
import { checkSettings, settingsOf } from '../../../nodes/shared/settings';

const definition = {
  parent: 'account',
  properties: {
    target: { kind: 'typed', default: 'to', defaultType: 'msg', message: 'targetId', meaning: '' },
    from: { kind: 'typed', default: 'today', defaultType: 'relative', message: null, input: 'range', meaning: '' },
    sort: { kind: 'text', default: 'any', message: 'sort', meaning: '' },
    note: { kind: 'text', default: 'none', meaning: '' },
    list: { kind: 'text', default: '[]', json: true, meaning: '' },
    mode: { kind: 'select', default: 'one', options: ['one', 'two'] },
    action: { kind: 'select', default: 'stop', options: ['stop', 'msg.action'] },
    print: { kind: 'checkbox', default: true, meaning: '' },
    timeout: { kind: 'amount', default: 60, unit: 'unit.seconds', meaning: '' },
    stagger: { kind: 'amount', default: 5, least: 0, unit: 'unit.seconds', when: { mode: 'two' }, meaning: '' },
    interval: { kind: 'amount', default: 60, least: 10, unit: 'unit.seconds', meaning: '' },
  },
} as const satisfies NodeDefinition;

const read = (saved: object) => settingsOf(definition, saved as Saved<typeof definition>);
const check = (saved: object) => () => checkSettings(definition, saved);

describe('nodes/shared/settings', () => {
  it('completes missing properties with the defaults, except those that a message can supply', () => {
    const { account, target, from, sort, ...others } = read({});
    assert.deepEqual(others, {
      ...{ note: 'none', list: '[]', mode: 'one', action: 'stop', print: true, timeout: 60, stagger: 5, interval: 60 },
    });
    assert.equal(account, undefined);
    assert.deepEqual([target.value, from.value, sort.value], [undefined, undefined, undefined]);
  });

  it('combines a value with its type and its message property', () => {
    const { target, sort } = read({ target: 'a', targetType: 'flow', sort: 'b' });
    assert.deepEqual(target, { value: 'a', type: 'flow', message: 'targetId', name: 'target' });
    assert.deepEqual(sort, { value: 'b', type: 'str', message: 'sort', name: 'sort' });
  });

  it('gives a value without a type the default type', () => {
    const { target, from } = read({ target: 'a', from: 'today' });
    assert.deepEqual([target.type, from.type], ['msg', 'str']);
  });

  it('reads words of a range as text', () => {
    assert.deepEqual(read({ from: 'today', fromType: 'relative' }).from, {
      value: 'today',
      type: 'str',
      message: null,
      name: 'from',
    });
  });

  it('takes blank settings, which the forms of older flows saved, for missing ones', () => {
    for (const blank of [null, '', ' ']) {
      const saved = { mode: blank, print: blank, timeout: blank, stagger: blank };
      const { mode, print, timeout, stagger } = read(saved);
      assert.deepEqual({ mode, print, timeout, stagger }, { mode: 'one', print: true, timeout: 60, stagger: 5 });
      assert.doesNotThrow(check(saved));
    }
  });

  it('reads a blank option from the message, where there is such an option', () => {
    assert.deepEqual([read({ action: '' }).action, read({}).action], ['msg.action', 'stop']);
  });

  it('reads amounts and flags from text, which the value of an environment variable is', () => {
    for (const [saved, print, timeout, stagger] of [
      [{ print: 'false', timeout: '20', stagger: '0' }, false, 20, 0],
      [{ print: ' true ', timeout: ' 2e1 ', stagger: 0 }, true, 20, 0],
      [{ print: false, timeout: 0.5, stagger: 1 }, false, 0.5, 1],
    ] as const) {
      const settings = read(saved);
      assert.deepEqual([settings.print, settings.timeout, settings.stagger], [print, timeout, stagger]);
      assert.doesNotThrow(check(saved));
    }
  });

  it('reads null in place of text as missing, and a number as its text', () => {
    const { note, sort } = read({ note: null, sort: null });
    assert.deepEqual([note, sort.value, read({ note: 50 }).note], ['none', undefined, '50']);
    assert.deepEqual([read({ note: '' }).note, read({ sort: 7 }).sort.value], ['', '7']);
  });

  it('names text that is none', () => {
    for (const [value, kind] of [
      [true, 'a boolean'],
      [['a'], 'an array'],
      [{}, 'an object'],
    ] as const)
      for (const name of ['note', 'sort']) {
        const message = `The property ${name} must be a string, but it is ${kind}.`;
        assert.throws(check({ [name]: value }), { code: 'NOT_CONFIGURED', message });
      }
    assert.doesNotThrow(() => settingsOf(definition, { list: ['a'] } as never));
    assert.deepEqual(read({ list: ['a'] }).list, ['a']);
  });

  it('raises a number that is too small where there is a least one above 0', () => {
    for (const interval of [9, '5', 0, -60]) {
      assert.equal(read({ interval }).interval, 10);
      assert.doesNotThrow(check({ interval }));
    }
  });

  for (const [name, rule, values] of [
    ['print', 'true or false', ['no', 'False', 0, 1, {}, []]],
    ['timeout', 'a number above 0', ['soon', '1 print', '60 s', 0, '0', -1, NaN, Infinity, {}, [20], true]],
    ['stagger', 'a number from 0', ['one', -1, '60 s', false]],
    ['interval', 'a number from 10', ['one', true, {}]],
    ['mode', 'one of one, two', ['three', 'ONE', 1, true, {}, ['one']]],
    ['action', 'one of stop, msg.action', ['start', 'constructor']],
  ] as const)
    it(`names ${name} where it is malformed`, () => {
      const message = `The property ${name} must be ${rule}: correct it in the node.`;
      for (const value of values)
        assert.throws(check({ mode: 'two', [name]: value }), { code: 'NOT_CONFIGURED', message }, String(value));
    });

  it('names an environment variable that is not set, except in an expression or a name', () => {
    const sentence = /^The setting (\w+) names the environment variable X, which is not set/;
    for (const name of ['print', 'timeout', 'mode', 'target'])
      assert.throws(check({ [name]: '${X}' }), { code: 'NOT_CONFIGURED', message: sentence });
    assert.doesNotThrow(check({ target: '$(X)', targetType: 'jsonata', name: '${X}' }));
  });

  it('leaves out a setting that the form hides', () => {
    for (const stagger of ['soon', '${X}']) {
      assert.doesNotThrow(check({ stagger }));
      assert.throws(check({ mode: 'two', stagger }), /stagger/);
    }
  });
});
