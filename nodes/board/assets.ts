import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** Folder of the built page: `dist/board`. */
const BUILT = join(__dirname, '..', '..', 'board');

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
export const builtAssets = (): Assets => (built ??= readAssets(BUILT));

export function readAssets(folder: string): Assets {
  const names = readdirSync(folder).filter((name) => TYPES[extensionOf(name)] !== undefined);
  const files = new Map<string, Asset>();
  const digest = createHash('sha256');
  for (const name of names.sort()) {
    const bytes = readFileSync(join(folder, name));
    digest.update(bytes);
    files.set(name, { type: TYPES[extensionOf(name)] ?? '', bytes, zipped: gzipSync(bytes, { level: 9 }) });
  }
  return { version: digest.digest('hex').slice(0, 16), get: (name) => files.get(name) };
}

const extensionOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);
