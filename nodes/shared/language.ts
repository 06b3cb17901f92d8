import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Request } from 'express';
import type { NodeAPI } from 'node-red';
import { revised, type PrintingError } from '../../lib/service/errors';
import { Sentence, type Catalogue } from '../../lib/words/sentence';

/** Catalogue that all nodes share; it also names the language of the runtime. */
export const SHARED = '@remote-printing/node-red-remote-printing/remote-printing-account';
const LOCALES = join(__dirname, '..', 'locales');
/** Language of the untranslated sentences. */
const ENGLISH = 'en-US';
/** English first, as the answer to clients that accept any language. */
const LANGUAGES = [ENGLISH, ...readdirSync(LOCALES).filter((language) => language !== ENGLISH)];

const catalogues = new Map<string, Catalogue>([[ENGLISH, {}]]);

/** Translates a sentence into a supported language; English for any other. */
export function inLanguage(language: string, sentence: Sentence): string {
  if (!LANGUAGES.includes(language)) return String(sentence);
  const known = catalogues.get(language);
  if (known) return sentence.in(known);
  const catalogue = readCatalogue(language);
  catalogues.set(language, catalogue);
  return sentence.in(catalogue);
}

/**
 * Reads the catalogue of a language. The package has lists instead: the English one has the patterns, and the others have
 * their translations in its order.
 */
export function readCatalogue(language: string, folder = LOCALES): Catalogue {
  const read = (of: string): unknown => JSON.parse(readFileSync(join(folder, of, 'sentences.json'), 'utf8'));
  const said = read(language);
  if (!Array.isArray(said)) return said as Catalogue;
  return Object.fromEntries((read(ENGLISH) as string[]).map((pattern, at) => [pattern, String(said[at])]));
}

/** Translates a sentence into the runtime's language, which its statuses use. */
export const translated = (RED: NodeAPI, sentence: Sentence): string =>
  inLanguage(RED._(`${SHARED}:language`), sentence);

/** A copy of plain data with each sentence in the runtime's language. */
export function withTexts(RED: NodeAPI, value: unknown): unknown {
  if (value instanceof Sentence) return translated(RED, value);
  if (Array.isArray(value)) return value.map((entry) => withTexts(RED, entry));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, withTexts(RED, entry)]));
}

/** Translates the message of an error for flows; the rest stays the same. */
export function translatedError(RED: NodeAPI, error: PrintingError): PrintingError {
  const message = translated(RED, error.sentence);
  return message === error.message ? error : Object.assign(revised(error, {}), { message });
}

/** The supported language that a browser, or the editor in it, prefers. */
export const languageOf = (request: Request): string => request.acceptsLanguages(LANGUAGES) || ENGLISH;
