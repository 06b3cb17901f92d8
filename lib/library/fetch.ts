import type { ApiClient, Limits } from '../account/api-client';
import type { Leftovers } from '../files/leftovers';
import { saveFile } from '../files/target-file';
import { download } from '../http/download';
import type { Http } from '../http/http';
import { retry, TRANSFERS } from '../http/retry';
import { PrintingError } from '../service/errors';
import { STORAGE, type StoredRef } from '../service/stored-file';
import { number, text, type Json } from '../service/json-readers';
import { isUploaded, readStored } from '../upload/send';
import { phrase, type Sentence } from '../words/sentence';

/** Most bytes that a message may hold; larger files must be saved to disk. */
const MOST_BYTES_IN_MEMORY = 256 * 1024 * 1024;

/** Most attempts for refused downloads: most refusals are final, but the URL may just have expired. */
const MOST_REFUSALS = 2;
const MAY_PASS = ['NETWORK', 'SERVICE_ERROR', 'FILE_CHANGED'];

interface FetchDeps {
  service: ApiClient;
  http: Http;
  /** Record of unfinished files. */
  leftovers?: Leftovers | undefined;
}

export interface FetchOptions extends Limits {
  /** Where to save the content; null: into memory, up to `MOST_BYTES_IN_MEMORY`. */
  path: string | null;
  /** `total` in bytes; null if the service doesn't report it. */
  onProgress: (bytes: number, total: number | null) => void;
}

/**
 * Downloads a stored file. Reads its record first, since its URL expires (wire facts, trap 35), and again after an
 * interruption. Returns a Buffer, or the path; a partial file never appears at the path. Throws NOT_FOUND for a file
 * without content, TOO_LARGE, FILE_NOT_WRITABLE, FILE_CHANGED if the length differs from the record's, NETWORK and
 * SERVICE_ERROR after retries, and the errors of the service's calls.
 */
export async function fetchStored(
  deps: FetchDeps,
  ref: StoredRef,
  options: FetchOptions,
): Promise<{ content: Buffer | string; raw: Json }> {
  const { deadline } = options;
  let refusals = 0;
  // The client itself retries reading the record.
  let downloads = false;
  const mayRetry = (error: PrintingError): boolean => {
    if (error.outcome === 'refused') refusals++;
    return downloads && MAY_PASS.includes(error.code) && error.outcome !== undefined && refusals < MOST_REFUSALS;
  };
  const attempt = async () => {
    downloads = false;
    const raw = await readStored(deps.service, ref, { deadline });
    const url = addressOf(raw, ref);
    downloads = true;
    return { content: await fetchOnce(deps, url, number(raw.file_size), ref, options), raw };
  };
  return retry(deadline, TRANSFERS, attempt, { passes: mayRetry });
}

function addressOf(raw: Json, { kind }: StoredRef): string {
  const url = text(raw.download_url);
  if (url !== null) return url;
  const what = STORAGE[kind].inWords;
  const status = text(raw.status);
  if (status !== null && !isUploaded(raw)) {
    const sentence = phrase`There is nothing to download for ${what} yet (status ${status.slice(0, 60)}): finish its upload first.`;
    throw new PrintingError('NOT_FOUND', sentence);
  }
  throw new PrintingError(
    'SERVICE_ERROR',
    phrase`The service's record of ${what} contains no download address: try again later.`,
  );
}

async function fetchOnce(
  { http, leftovers }: FetchDeps,
  url: string,
  announced: number | null,
  { kind }: StoredRef,
  { path, deadline, onProgress }: FetchOptions,
): Promise<Buffer | string> {
  const what = STORAGE[kind].inWords;
  const most = path === null ? MOST_BYTES_IN_MEMORY : Infinity;
  if (announced !== null && announced > most) throw tooLarge();
  const bytes = async function* () {
    const { size, stream } = await download(http, url, { what, signal: deadline.signal });
    const total = announced ?? size;
    let count = 0;
    onProgress(count, total);
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      count += chunk.length;
      if (count > most) throw tooLarge();
      if (announced !== null && count > announced) throw changed(announced, phrase`more`);
      onProgress(count, total);
      yield chunk;
    }
    if (announced !== null && count < announced) throw changed(announced, count);
  };
  if (path !== null) {
    await saveFile(path, bytes(), { deadline, leftovers });
    return path;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of bytes()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const tooLarge = (): PrintingError =>
  new PrintingError(
    'TOO_LARGE',
    phrase`The file has more than the ${MOST_BYTES_IN_MEMORY} bytes (256 MiB) that a message may hold: choose a file to download it to.`,
  );

const changed = (announced: number, count: number | Sentence): PrintingError =>
  new PrintingError(
    'FILE_CHANGED',
    phrase`The service has a file of ${announced} bytes but sent ${count}: try again, or upload the file again.`,
    { outcome: 'unknown' },
  );
