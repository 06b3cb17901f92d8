import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Request } from 'express';
import type { NodeAPI } from 'node-red';
import { revised, type PrintingError } from '../../lib/service/errors';
import type { Catalogue, Sentence } from '../../lib/words/sentence';

/** What the nodes share; it also says in which language Node-RED shows it. */
export const SHARED = '@remote-printing/node-red-remote-printing/remote-printing-account';
const LOCALES = join(__dirname, '..', 'locales');
/** Which sentences are written in. */
const ENGLISH = 'en-US';
/** English first: what is spoken to who understands any language. */
const LANGUAGES = [ENGLISH, ...readdirSync(LOCALES).filter((language) => language !== ENGLISH)];

const catalogues = new Map<string, Catalogue>([[ENGLISH, {}]]);

/** In one of our languages; in English for any other. */
export function inLanguage(language: string, sentence: Sentence): string {
  if (!LANGUAGES.includes(language)) return String(sentence);
  const known = catalogues.get(language);
  if (known) return sentence.in(known);
  const catalogue = JSON.parse(readFileSync(join(LOCALES, language, 'sentences.json'), 'utf8')) as Catalogue;
  catalogues.set(language, catalogue);
  return sentence.in(catalogue);
}

/** In the language of the runtime, which its statuses are in. */
export const told = (RED: NodeAPI, sentence: Sentence): string => inLanguage(RED._(`${SHARED}:language`), sentence);

/** An error as flows see it: only its message is another. */
export function toldError(RED: NodeAPI, error: PrintingError): PrintingError {
  const message = told(RED, error.sentence);
  return message === error.message ? error : Object.assign(revised(error, {}), { message });
}

/** Of our languages the one that a browser, or the editor in it, likes best. */
export const languageOf = (request: Request): string => request.acceptsLanguages(LANGUAGES) || ENGLISH;
