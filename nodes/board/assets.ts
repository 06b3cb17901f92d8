import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** Folder of the built page: `dist/board`. */
const BUILT = join(__dirname, '..', '..', 'board');

const LOCALES = join(__dirname, '..', 'locales');
const CATALOGUE = 'remote-printing-board.json';

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
};

interface Asset {
  type: string;
  bytes: Buffer;
  zipped: Buffer;
}

/** The files of the page, which is one build. */
export interface Assets {
  /** Changes with every build. */
  version: string;
  get(name: string): Asset | undefined;
}

let built: Assets | undefined;

/** The files of the built page, read and compressed once. */
export const builtAssets = (): Assets => (built ??= readAssets(BUILT, LOCALES));

/** @param locales folder of the node's catalogues, by language: the page's texts are a part of them */
export function readAssets(folder: string, locales: string): Assets {
  const names = readdirSync(folder).filter((name) => TYPES[extensionOf(name)] !== undefined);
  const read = names.map((name) => [name, readFileSync(join(folder, name))] as const);
  const files = new Map<string, Asset>();
  const digest = createHash('sha256');
  for (const [name, bytes] of [...read, ...wordsIn(locales)].sort(([one], [other]) => (one < other ? -1 : 1))) {
    digest.update(bytes);
    files.set(name, { type: TYPES[extensionOf(name)] ?? '', bytes, zipped: gzipSync(bytes, { level: 9 }) });
  }
  return { version: digest.digest('hex').slice(0, 16), get: (name) => files.get(name) };
}

/** The page's texts in each language, as `words.<language>.json`. */
function wordsIn(locales: string): [name: string, bytes: Buffer][] {
  return readdirSync(locales).flatMap((language): [string, Buffer][] => {
    const file = join(locales, language, CATALOGUE);
    if (!existsSync(file)) return [];
    const { board } = JSON.parse(readFileSync(file, 'utf8')) as { board: Texts };
    return [[`words.${language}.json`, Buffer.from(JSON.stringify(Object.fromEntries(flat(board))))]];
  });
}

interface Texts {
  [key: string]: string | Texts;
}

/** Texts of a catalogue by their whole keys. */
const flat = (texts: Texts, above = ''): [key: string, text: string][] =>
  Object.entries(texts).flatMap(([key, text]): [string, string][] =>
    typeof text === 'string' ? [[above + key, text]] : flat(text, `${above}${key}.`),
  );

const extensionOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);
