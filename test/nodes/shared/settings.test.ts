import assert from 'node:assert/strict';
import type { NodeDefinition, Saved } from '../../../nodes/shared/definition';
import { settingsOf } from '../../../nodes/shared/settings';

const definition = {
  parent: 'account',
  properties: {
    target: { kind: 'typed', default: 'to', defaultType: 'msg', message: 'targetId', meaning: '' },
    from: { kind: 'typed', default: 'today', defaultType: 'relative', message: null, input: 'range', meaning: '' },
    sort: { kind: 'text', default: 'any', message: 'sort', meaning: '' },
    note: { kind: 'text', default: 'none', meaning: '' },
    mode: { kind: 'select', default: 'one', options: ['one', 'two'] },
    print: { kind: 'checkbox', default: true, meaning: '' },
    timeout: { kind: 'amount', default: 60, unit: 'unit.seconds', meaning: '' },
  },
} as const satisfies NodeDefinition;

const read = (saved: object) => settingsOf(definition, saved as Saved<typeof definition>);

describe('nodes/shared/settings', () => {
  it('completes missing properties with the defaults, except those that a message can supply', () => {
    const { account, target, from, sort, ...others } = read({});
    assert.deepEqual(others, { note: 'none', mode: 'one', print: true, timeout: 60 });
    assert.equal(account, undefined);
    assert.deepEqual([target.value, from.value, sort.value], [undefined, undefined, undefined]);
  });

  it('combines a value with its type and its message property', () => {
    const { target, sort } = read({ target: 'a', targetType: 'flow', sort: 'b' });
    assert.deepEqual(target, { value: 'a', type: 'flow', message: 'targetId', name: 'target' });
    assert.deepEqual(sort, { value: 'b', type: 'str', message: 'sort', name: 'sort' });
  });

  it('reads words of a range as text', () => {
    assert.deepEqual(read({ from: 'today', fromType: 'relative' }).from, {
      value: 'today',
      type: 'str',
      message: null,
      name: 'from',
    });
  });

  it('replaces malformed amounts and flags by the defaults', () => {
    const { print, timeout } = read({ print: 'no', timeout: 'soon' });
    assert.deepEqual({ print, timeout }, { print: true, timeout: 60 });
    assert.deepEqual([read({ print: false }).print, read({ timeout: '20' }).timeout], [false, 20]);
  });
});
