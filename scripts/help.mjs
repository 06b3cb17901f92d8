// Help of the nodes in each language: the English text with the field names of the form in that language.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const locales = join(root, 'nodes/locales');
const SOURCE = 'en-US';
const ACCOUNT = 'remote-printing-account';
/** Texts that a form does not show. */
const ELSEWHERE = ['language', 'keywords', 'port', 'status', 'invalid', 'failure'];

/** @typedef {{ [key: string]: string | Texts }} Texts */

/** @param {string} language @param {string} type @returns {Texts} */
const catalogue = (language, type) => JSON.parse(readFileSync(join(locales, language, `${type}.json`), 'utf8'));

/** Pairs of the same text in two catalogues. @param {Texts} from @param {Texts} to @returns {[string, string][]} */
const pairs = (from, to) =>
  Object.entries(from).flatMap(([key, text]) => {
    const other = to[key] ?? text;
    if (typeof text === 'string')
      return typeof other === 'string' ? /** @type {[string, string][]} */ ([[text, other]]) : [];
    return typeof other === 'string' ? [] : pairs(text, other);
  });

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
      const found = names.split(', ').map((/** @type {string} */ name) => {
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
export function translatedHelp() {
  const files = readdirSync(join(locales, SOURCE)).filter((file) => file.endsWith('.html'));
  const others = readdirSync(locales).filter((language) => language !== SOURCE);
  /** @type {Map<string, string>} */
  const made = new Map();
  for (const file of files) {
    const help = readFileSync(join(locales, SOURCE, file), 'utf8');
    for (const language of others) {
      // Later texts override earlier ones.
      const both = [ACCOUNT, file.replace(/\.html$/, '')].map((type) => ({
        from: catalogue(SOURCE, type),
        to: catalogue(language, type),
      }));
      const shown = both.flatMap(({ from, to }) =>
        pairs(Object.fromEntries(Object.entries(from).filter(([key]) => !ELSEWHERE.includes(key))), to),
      );
      const labels = both.flatMap(({ from, to }) => pairs({ label: from['label'] ?? {} }, to));
      // A label may end with an explanation after a colon or in brackets.
      const names = labels.map(([text, other]) => /** @type {const} */ ([text.replace(/[:(].*/, '').trim(), other]));
      const texts = new Map(shown.map(([text, other]) => [lower(text), other]));
      made.set(`locales/${language}/${file}`, renamed(help, { labels: new Map([...names, ...labels]), texts }));
    }
  }
  return made;
}
