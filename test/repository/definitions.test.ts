import assert from 'node:assert/strict';

import { catalogue, readNodes } from '../../scripts/nodes.mjs';

const nodes = readNodes();
const account = nodes.find(({ name }) => name === 'account') ?? assert.fail();

for (const { name, definition, template, texts } of nodes) {
  const properties = Object.entries(definition.properties);

  describe(`nodes/${name}/definition.ts`, () => {
    it('shows rows only for possible values of other properties', () => {
      const conditions = properties.flatMap(([, { when = [] }]) => [when].flat());
      for (const [other, wanted] of conditions.flatMap((condition) => Object.entries(condition))) {
        const control = definition.properties[other];
        const values = control?.kind === 'select' ? control.options : control?.kind === 'checkbox' ? [true, false] : [];
        for (const value of [wanted].flat()) assert.ok(values.includes(value as never), `${other}: ${String(value)}`);
      }
    });

    it('has a text for each option but names of methods', () => {
      const known = { ...account.texts, ...texts };
      for (const [property, described] of properties)
        for (const option of described.kind === 'select' ? described.options : [])
          if (!/^([A-Z]+|msg\.\w+)$/.test(option)) assert.ok(`${property}.${option}` in known, `${property}.${option}`);
    });

    it('has an icon for each labelled row of a generated form', () => {
      if (template !== undefined) return;
      for (const [property, { kind, icon }] of properties)
        assert.equal(icon === undefined, kind === 'checkbox', property);
    });
  });
}

describe('a catalogue', () => {
  it('nests texts by the parts of their keys', () => {
    const made = catalogue({ ...account, texts: { a: { de: 'A' }, 'b.c': { de: 'C' }, 'b.d.e': { de: 'E' } } }, 'de');
    assert.deepEqual(made, { a: 'A', b: { c: 'C', d: { e: 'E' } } });
  });
});
