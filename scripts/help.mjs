// Help of the nodes in each language: the English text with the field names of the form in that language, and with its
// opening, inputs and outputs translated.
import { createHash } from 'node:crypto';

import { languages, readHelp, readNodes } from './nodes.mjs';

const ACCOUNT = 'remote-printing-account';
/** First parts of the keys of texts that a form does not show. */
const ELSEWHERE = ['language', 'keywords', 'port', 'status', 'invalid', 'failure'];

/** The parts of a help that are translated: what precedes the first heading, and the sections of inputs and outputs. */
const TRANSLATED = /^(?!<h3>)|^<h3>(?:Inputs|Outputs)</;
/** A heading, a paragraph, an explanation, or the text of an output above its properties. */
const PASSAGE = /(<(?:h3|p|dd|li)>)\s*([^]*?)\s*(?=<\/(?:h3|p|dd|li)>|<dl)/g;

/** @param {string} help in English @param {(passage: string) => string} translate */
const withPassages = (help, translate) =>
  help
    .split(/(?=<h3>)/)
    .map((part) => {
      if (!TRANSLATED.test(part)) return part;
      return part.replace(PASSAGE, (_, tag, passage) => tag + translate(passage.replace(/\s+/g, ' ')));
    })
    .join('');

/** The passages of an English help that are translated. @param {string} help */
export function passagesOf(help) {
  /** @type {string[]} */
  const found = [];
  withPassages(help, (passage) => `${found.push(passage)}`);
  return found;
}

/**
 * Name of an English passage in the translations: its first words, for people, and a digest, so that a passage that has
 * changed has no translation until its translations are checked.
 * @param {string} passage
 */
export function nameOf(passage) {
  const words = passage.replace(/<[^>]+>/g, '').split(' ');
  return `${words.slice(0, 5).join(' ')} #${createHash('sha256').update(passage).digest('hex').slice(0, 6)}`;
}

/** @param {string} text */
const escaped = (text) => text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);

/** @param {string} text */
const lower = (text) => text.charAt(0).toLowerCase() + text.slice(1);

/**
 * Returns a help text with translated field names (in `dt`) and other texts of a form (in `i`). The node's own texts
 * override the texts that all forms share.
 * @param {string} help @param {{ labels: Map<string, string>, texts: Map<string, string> }} names
 */
const renamed = (help, { labels, texts }) =>
  help
    .replace(/(<dt[^>]*>)([^<]+)/g, (_, tag, names) => {
      // A name may have a comma of its own.
      const listed = labels.has(names.trim()) ? [names] : names.split(', ');
      const found = listed.map((/** @type {string} */ name) => {
        const text = labels.get(name.trim());
        return text === undefined ? name : name.replace(name.trim(), () => escaped(text));
      });
      return tag + found.join(', ');
    })
    .replace(/<i>([^<]+)<\/i>/g, (whole, words) => {
      const text = texts.get(lower(words.replace(/\s+/g, ' ').trim()));
      return text === undefined ? whole : `<i>${escaped(text)}</i>`;
    });

/** All generated help texts, by their path below nodes/. @returns {Map<string, string>} */
export function translatedHelp(nodes = readNodes()) {
  const shared = nodes.find(({ type }) => type === ACCOUNT)?.texts ?? {};
  const [english = '', ...others] = languages();
  /** @type {Map<string, string>} */
  const made = new Map();
  for (const language of others) {
    const translations = readHelp(language);
    for (const { type, help, texts } of nodes) {
      const translated = withPassages(help, (passage) => translations[nameOf(passage)] ?? passage);
      // Later texts override earlier ones.
      const both = [...Object.entries(shared), ...Object.entries(texts)];
      const pairs = (/** @type {(head: string) => boolean} */ wanted) =>
        both
          .filter(([key]) => wanted(key.split('.')[0] ?? ''))
          .map(([, said]) => /** @type {const} */ ([said[english] ?? '', said[language] ?? '']));
      const labels = pairs((head) => head === 'label');
      // A label may end with an explanation after a colon or in brackets.
      const names = labels.map(([text, other]) => /** @type {const} */ ([text.replace(/[:(].*/, '').trim(), other]));
      const shown = pairs((head) => !ELSEWHERE.includes(head));
      const words = new Map(shown.map(([text, other]) => [lower(text), other]));
      made.set(
        `locales/${language}/${type}.html`,
        renamed(translated, { labels: new Map([...names, ...labels]), texts: words }),
      );
    }
  }
  return made;
}
