import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { translatedHelp } from '../../scripts/help.mjs';
import { root } from '../../scripts/node-red.mjs';

const locales = join(root, 'nodes/locales');
const read = (language: string, file: string) => readFileSync(join(locales, language, file), 'utf8');
const labelsOf = (language: string, type: string) =>
  (JSON.parse(read(language, `${type}.json`)) as { label?: Record<string, string> }).label ?? {};
const languages = readdirSync(locales).filter((language) => language !== 'en-US');
const types = readdirSync(join(locales, 'en-US')).flatMap((file) =>
  file.endsWith('.html') ? [file.slice(0, -'.html'.length)] : [],
);
const help = translatedHelp();
const terms = (html: string) => [...html.matchAll(/<dt[^>]*>([^<]+)/g)].map(([, names = '']) => names.trim());

describe('help in other languages', () => {
  for (const language of languages)
    it(`names the fields of every form as the form does in ${language}`, () => {
      for (const type of types) {
        const [english, own] = [read('en-US', `${type}.html`), help.get(`locales/${language}/${type}.html`)];
        assert.ok(own, type);
        const labels = (which: string) => ({ ...labelsOf(which, 'remote-printing-account'), ...labelsOf(which, type) });
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
      const english = readFileSync(join(root, 'nodes', path.replace(/locales\/[^/]+/, 'locales/en-US')), 'utf8');
      const rest = (html: string) => html.replace(/(<dt[^>]*>)[^<]+|<i>[^<]+<\/i>/g, '$1');
      assert.equal(rest(own), rest(english), path);
      assert.doesNotMatch(own, /undefined|\[object/);
    }
  });
});
