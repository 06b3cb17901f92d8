import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

const MAKERS = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);
/** Most nested encodings; no real answer has more. */
const MOST = 3;

/** Decoders for a `content-encoding` header, outermost first; null if an encoding is unknown. */
export function decodersOf(header?: string): Transform[] | null {
  if (header === undefined) return [];
  const names = header.split(',', MOST + 1).map((name) => name.trim().toLowerCase());
  const encodings = names.filter((name) => name !== '' && name !== 'identity').reverse();
  const known = encodings.flatMap((name) => MAKERS.get(name) ?? []);
  return known.length === encodings.length && known.length <= MOST ? known.map((make) => make()) : null;
}
