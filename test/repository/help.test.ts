import assert from 'node:assert/strict';

import { translatedHelp } from '../../scripts/help.mjs';
import { catalogue, languages, readNodes } from '../../scripts/nodes.mjs';

const nodes = readNodes();
const account = nodes.find(({ name }) => name === 'account') ?? assert.fail();
type Labels = Record<string, string>;
const labelsOf = (node: (typeof nodes)[number], language: string) =>
  (catalogue(node, language) as { label?: Labels }).label ?? {};
const help = translatedHelp(nodes);
const terms = (html: string) => [...html.matchAll(/<dt[^>]*>([^<]+)/g)].map(([, names = '']) => names.trim());

describe('help in other languages', () => {
  for (const language of languages().slice(1))
    it(`names the fields of every form as the form does in ${language}`, () => {
      for (const node of nodes) {
        const { type, help: english } = node;
        const own = help.get(`locales/${language}/${type}.html`);
        assert.ok(own, type);
        const labels = (which: string): Labels => ({ ...labelsOf(account, which), ...labelsOf(node, which) });
        const [from, to] = [labels('en-US'), labels(language)];
        let named = 0;
        const expected = terms(english).map((names) =>
          names
            .split(', ')
            .map((name) => {
              // The node's own label is the last one. The help omits the part of a label after a colon or in brackets.
              const key = Object.keys(from).findLast((one) =>
                [from[one], from[one]?.replace(/[:(].*/, '').trim()].includes(name),
              );
              if (key !== undefined) named++;
              return key === undefined ? name : to[key];
            })
            .join(', '),
        );
        assert.deepEqual(terms(own), expected, type);
        assert.ok(named >= 2, type);
      }
    });

  it('changes only names in a help', () => {
    for (const [path, own] of help) {
      const english = nodes.find(({ type }) => path.endsWith(`/${type}.html`))?.help ?? assert.fail(path);
      const rest = (html: string) => html.replace(/(<dt[^>]*>)[^<]+|<i>[^<]+<\/i>/g, '$1');
      assert.equal(rest(own), rest(english), path);
      assert.doesNotMatch(own, /undefined|\[object/);
    }
  });
});
