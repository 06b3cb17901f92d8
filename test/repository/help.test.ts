import assert from 'node:assert/strict';

import { nameOf, passagesOf, translatedHelp } from '../../scripts/help.mjs';
import { catalogue, languages, readHelp, readNodes } from '../../scripts/nodes.mjs';

const nodes = readNodes();
const account = nodes.find(({ name }) => name === 'account') ?? assert.fail();
type Labels = Record<string, string>;
const labelsOf = (node: (typeof nodes)[number], language: string) =>
  (catalogue(node, language) as { label?: Labels }).label ?? {};
const help = translatedHelp(nodes);
/** English passages that are translated, by their names. */
const passages = new Map(nodes.flatMap((node) => passagesOf(node.help)).map((text) => [nameOf(text), text]));
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
          (Object.values(from).includes(names) ? [names] : names.split(', '))
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

  for (const language of languages().slice(1))
    describe(`in ${language}`, () => {
      const translations = readHelp(language);
      const ownOf = (type: string) => help.get(`locales/${language}/${type}.html`) ?? assert.fail(type);

      it('has a translation of exactly the opening, the inputs and the outputs of each node', () => {
        const lacking = [...passages].filter(([name]) => translations[name] === undefined);
        const unused = Object.keys(translations).filter((name) => !passages.has(name));
        assert.deepEqual({ lacking, unused }, { lacking: [], unused: [] });
      });

      it('has the code and the texts of forms of each passage in its translation', () => {
        for (const [name, passage] of passages)
          assert.deepEqual(inlineOf(translations[name] ?? '').sort(), inlineOf(passage).sort(), name);
      });

      it('shows the options of a form in a translated passage as the form does', () => {
        const { type, texts } = nodes.find(({ name }) => name === 'print-queue') ?? assert.fail();
        const option = texts['action.release']?.[language] ?? assert.fail();
        assert.match(ownOf(type), new RegExp(`<dd>true.*<i>${option}</i>`));
      });

      it('leaves no English in the opening, the inputs and the outputs', () => {
        for (const { type, help: english } of nodes)
          for (const { isTranslated, isTerm, from, to } of piecesOf(english, ownOf(type))) {
            const words = wordsOf(from);
            if (!isTranslated || isTerm || words.length === 0) continue;
            assert.ok(to !== from || SAME.includes(to), `${type}: ${to}`);
            const said = wordsOf(to).join(' ');
            const kept = words.map((_, at) => words.slice(at, at + 3)).filter((run) => run.length === 3);
            assert.deepEqual(
              kept.map((run) => run.join(' ')).filter((run) => said.includes(run)),
              [],
              `${type}: ${to}`,
            );
          }
      });

      it('leaves the tags and the rest of each help as they are in English', () => {
        for (const { type, help: english } of nodes) {
          const own = ownOf(type);
          assert.deepEqual(tagsOf(own), tagsOf(english), type);
          for (const { isTranslated, isTerm, from, to } of piecesOf(english, own))
            if (!isTranslated && !isTerm) assert.equal(unnamed(to), unnamed(from), type);
        }
      });
    });
});

/** Passages that are the same in a language as in English. */
const SAME = ['Status'];
/** Any tag but those that mark a word of a sentence. */
const TAG = /(<(?!\/?(?:code|i)>)[^>]+>)/;
const tagsOf = (html: string) => html.split(TAG).filter((_, at) => at % 2 === 1);
/** Words of a sentence, without code, texts of the form and abbreviations. */
const wordsOf = (text: string) => text.replace(/<(code|i)>.*?<\/\1>/g, '').match(/\p{L}*\p{Ll}\p{L}*/gu) ?? [];
/** A sentence without its texts of forms, which the build translates. */
const unnamed = (text: string) => text.replace(/<i>.*?<\/i>/g, '<i></i>');
const inlineOf = (text: string) => text.match(/<(code|i)>.*?<\/\1>/g) ?? [];

/** The texts between the tags of a help, in English and in another language. */
function piecesOf(english: string, own: string) {
  const flat = (html: string) => html.split(TAG).map((text) => text.replace(/\s+/g, ' ').trim());
  const translated = flat(own);
  let section = '';
  return flat(english)
    .map((from, at, all) => {
      const tag = all[at - 1] ?? '';
      if (tag === '<h3>') section = from;
      const isTranslated = ['', 'Inputs', 'Outputs'].includes(section);
      return { isTranslated, isTerm: tag.startsWith('<dt') || tag.startsWith('<span'), from, to: translated[at] ?? '' };
    })
    .filter((_, at) => at % 2 === 0);
}
