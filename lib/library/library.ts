import { deadline } from '../time/deadline';
import { asPrintingError, PrintingError, withIds } from '../service/errors';
import {
  readStoredFile,
  STORAGE,
  storedIds,
  type StoredFile,
  type StoredKind,
  type StoredRef,
} from '../service/stored-file';
import type { Json } from '../service/wire';
import type { SendLimits } from '../upload/send';
import type { Source } from '../upload/source';
import { readStored } from '../upload/stored-job';
import { fetchStored, type FetchOptions } from './fetch';
import { removeStored } from './remove';
import { store, type OnStage, type StoreDeps } from './store';

export interface LibraryLimits {
  /** Seconds, for all of it. */
  timeout: number;
  /** The node or runtime closes. */
  signal: AbortSignal;
}

/** A stored file with the service's own record of it, untouched; that holds signed addresses. */
export interface Stored {
  ref: StoredRef;
  file: StoredFile;
  raw: Json;
}

/** Files in the service's storage, print jobs and library files alike (interface, endpoints 3 to 7). Failures carry the file's id. */
export class Library {
  readonly #deps: StoreDeps;

  constructor(deps: StoreDeps) {
    this.#deps = deps;
  }

  /** See `store`. */
  upload(
    source: Source,
    kind: StoredKind,
    { onStage, ...limits }: LibraryLimits & { onStage: OnStage },
  ): Promise<Stored> {
    return this.#within(limits, (given) => store(this.#deps, source, kind, { ...given, onStage }));
  }

  /** The record as the service has it now. */
  info(ref: StoredRef, limits: LibraryLimits): Promise<Stored> {
    return this.#within(limits, async (given) => readFile(ref, await readStored(this.#deps.service, ref, given)), ref);
  }

  /** See `fetchStored`. */
  download(
    ref: StoredRef,
    { path, onProgress, ...limits }: LibraryLimits & Pick<FetchOptions, 'path' | 'onProgress'>,
  ): Promise<{ content: Buffer | string; raw: Json }> {
    return this.#within(limits, (given) => fetchStored(this.#deps, ref, { ...given, path, onProgress }), ref);
  }

  /** See `removeStored`. */
  remove(ref: StoredRef, limits: LibraryLimits): Promise<unknown> {
    return this.#within(limits, (given) => removeStored(this.#deps.service, ref, given), ref);
  }

  async #within<T>(
    { timeout, signal }: LibraryLimits,
    work: (limits: SendLimits) => Promise<T>,
    ref?: StoredRef,
  ): Promise<T> {
    const limit = deadline(this.#deps.clock, timeout, signal);
    try {
      return await work({ signal: limit.signal, until: limit.until });
    } catch (error) {
      throw ref ? withIds(asPrintingError(error), storedIds(ref)) : error;
    } finally {
      limit.clear();
    }
  }
}

/** A record that says nothing at all is none. Throws SERVICE_ERROR. */
export function readFile(ref: StoredRef, raw: Json): Stored {
  if (Object.keys(raw).length > 0) return { ref, file: readStoredFile(ref, raw), raw };
  const sentence = `The service's answer about ${STORAGE[ref.kind].inWords} is empty: try again later.`;
  throw new PrintingError('SERVICE_ERROR', sentence, { outcome: 'unknown' });
}
