import type { Limits } from '../account/api-client';
import { asPrintingError, PrintingError, withIds } from '../service/errors';
import { readStoredFile, STORAGE, storedIds, type StoredKind, type StoredRef } from '../service/stored-file';
import type { Json } from '../service/json-readers';
import type { Source } from '../upload/content';
import { readStored } from '../upload/send';
import { fetchStored, type FetchOptions } from './fetch';
import { removeStored } from './remove';
import { store, type Stored, type StoreDeps } from './store';
import { phrase } from '../words/sentence';

/**
 * Files in the service's storage, both print jobs and library files (interface, endpoints 3 to 7). Failures carry the
 * file's id.
 */
export class Library {
  constructor(private readonly deps: StoreDeps) {}

  /** See `store`. */
  upload(source: Source, kind: StoredKind, options: Parameters<typeof store>[3]): Promise<Stored> {
    return store(this.deps, source, kind, options);
  }

  info(ref: StoredRef, limits: Limits): Promise<Stored> {
    return about(ref, async () => readFile(ref, await readStored(this.deps.service, ref, limits)));
  }

  /** See `fetchStored`. */
  download(ref: StoredRef, options: FetchOptions): Promise<{ content: Buffer | string; raw: Json }> {
    return about(ref, () => fetchStored(this.deps, ref, options));
  }

  /** See `removeStored`. */
  remove(ref: StoredRef, limits: Limits): Promise<unknown> {
    return about(ref, () => removeStored(this.deps.service, ref, limits));
  }
}

/** Adds the file's id to a failure. */
async function about<T>(ref: StoredRef, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw withIds(asPrintingError(error), storedIds(ref));
  }
}

/** Reads a record. Throws SERVICE_ERROR for an empty one. */
export function readFile(ref: StoredRef, raw: Json): Stored {
  if (Object.keys(raw).length > 0) return { ref, file: readStoredFile(ref, raw), raw };
  const sentence = phrase`The service's answer about ${STORAGE[ref.kind].inWords} is empty: try again later.`;
  throw new PrintingError('SERVICE_ERROR', sentence, { outcome: 'unknown' });
}
