import type { ApiClient, Limits } from '../account/api-client';
import type { Leftovers } from '../files/leftovers';
import { saveFile } from '../files/target-file';
import { download } from '../http/download';
import { GatheredBytes } from '../http/gathered-bytes';
import type { Http } from '../http/http';
import { retry, TRANSFERS } from '../http/retry';
import { asPrintingError, PrintingError, unexpectedAnswer, withIds } from '../service/errors';
import { storedType } from '../service/file-types';
import { type Json, number, record, text } from '../service/json-readers';
import { checkFileName } from '../service/print-job';
import {
  readStoredFile,
  STORAGE,
  type StoredFile,
  storedIds,
  type StoredKind,
  type StoredRef,
} from '../service/stored-file';
import type { Clock } from '../time/clock';
import { fileNameOf, holdStream, openContent, type Source } from '../upload/content';
import { ProgressReports, type UploadProgress, type UploadStage } from '../upload/progress';
import { awaitUploaded, isUploaded, readStored, send } from '../upload/send';
import { checkSize } from '../upload/uploads';
import { phrase, type Sentence } from '../words/sentence';

interface LibraryDeps {
  service: ApiClient;
  http: Http;
  clock: Clock;
  /** Record of unfinished files. */
  leftovers?: Leftovers | undefined;
  /** Web origin to send with uploads (interface, Upload record). */
  origin: string | undefined;
}

/** A stored file with the service's record, unchanged; the record holds signed URLs. */
export interface Stored {
  ref: StoredRef;
  file: StoredFile;
  raw: Json;
}

interface UploadOptions extends Limits {
  mediaType?: string | undefined;
  onStage: (stage: UploadStage, progress: UploadProgress) => void;
}

export interface FetchOptions extends Limits {
  /** Where to save the content; null: into memory, up to `MOST_BYTES_IN_MEMORY`. */
  path: string | null;
  /** `total` in bytes; null if the service doesn't report it. */
  onProgress: (bytes: number, total: number | null) => void;
}

/** Most bytes that a message may hold; larger files must be saved to disk. */
const MOST_BYTES_IN_MEMORY = 256 * 1024 * 1024;

/** Most attempts for refused downloads: most refusals are final, but the URL may just have expired. */
const MOST_REFUSALS = 2;
const MAY_PASS = ['NETWORK', 'SERVICE_ERROR', 'FILE_CHANGED'];

/**
 * Files in the service's storage, both print jobs and library files (interface, endpoints 3 to 7). Failures carry the
 * file's id.
 */
export class Library {
  constructor(private readonly deps: LibraryDeps) {}

  /**
   * Stores a file under its own name and waits for the confirmation (interface, endpoints 3 to 6). A `mediaType`
   * replaces the type of the file's extension. Throws INVALID_INPUT, UNSUPPORTED_FILE_TYPE and FILE_NOT_READABLE before anything is sent, FILE_CHANGED, UPLOAD_FAILED after retries, and
   * the service's refusals. Always consumes a stream.
   */
  async upload(source: Source, kind: StoredKind, { mediaType, onStage, deadline }: UploadOptions): Promise<Stored> {
    const { signal } = deadline;
    signal.throwIfAborted();
    const release = source.kind === 'stream' ? holdStream(source.stream, signal) : undefined;
    const progress = new ProgressReports(this.deps.clock, onStage);
    try {
      const name = fileNameOf(source);
      const { contentType } = storedType(kind, name, mediaType);
      checkFileName(name);
      const content = await openContent(source, deadline);
      try {
        const { size } = content;
        checkSize(size);
        progress.preparing(size);
        const announced = { kind, name, size, contentType, origin: this.deps.origin };
        const sent = await send(this.deps, content, announced, { deadline, hashing: false, progress });
        progress.confirming();
        const raw = await awaitUploaded(this.deps.service, sent, { deadline });
        const file = readStoredFile(sent, raw);
        // The registered properties fill in the missing fields of the record.
        const registered = {
          name: file.name ?? name,
          fileSize: file.fileSize ?? size,
          contentType: file.contentType ?? sent.contentType,
        };
        return { ref: { kind, id: sent.id }, file: { ...file, ...registered }, raw };
      } finally {
        await content.close();
      }
    } catch (error) {
      // An aborted operation may fail with any error; the abort's reason is the one to throw.
      throw withIds(asPrintingError(signal.aborted ? signal.reason : error), progress.ids);
    } finally {
      release?.();
    }
  }

  info(ref: StoredRef, limits: Limits): Promise<Stored> {
    return about(ref, async () => readFile(ref, await readStored(this.deps.service, ref, limits)));
  }

  /**
   * Downloads a stored file. Reads its record first, since its URL expires (wire facts, trap 35), and again after an
   * interruption. Returns a Buffer, or the path; a partial file never appears at the path. Throws NOT_FOUND for a file
   * without content, TOO_LARGE, FILE_NOT_WRITABLE, FILE_CHANGED if the length differs from the record's, NETWORK and
   * SERVICE_ERROR after retries, and the errors of the service's calls.
   */
  download(ref: StoredRef, options: FetchOptions): Promise<{ content: Buffer | string; raw: Json }> {
    return about(ref, () => {
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
        const raw = await readStored(this.deps.service, ref, { deadline });
        const url = addressOf(raw, ref);
        downloads = true;
        return { content: await fetchOnce(this.deps, url, number(raw.file_size), ref, options), raw };
      };
      return retry(deadline, TRANSFERS, attempt, { passes: mayRetry });
    });
  }

  /**
   * Deletes a stored file. The interface promises the operation but doesn't describe the call (interface, endpoint 7;
   * wire facts 4.4), so an account's `paths` can override it. Returns the answer's data, mostly none. Throws SERVICE_ERROR
   * for an answer with anything else.
   */
  remove(ref: StoredRef, limits: Limits): Promise<unknown> {
    const { remove, idParameter, inWords } = STORAGE[ref.kind];
    return about(ref, async () => {
      try {
        const call = { ids: { [idParameter]: ref.id }, what: inWords, ...limits };
        const { data, body } = await this.deps.service.call(remove, call);
        if (body !== null && !Object.hasOwn(record(body) ?? {}, 'data')) throw unexpectedAnswer(inWords);
        return data;
      } catch (thrown) {
        const error = asPrintingError(thrown);
        const failed = (sentence: Sentence) => new PrintingError(error.code, sentence, { ...error, cause: error });
        if (error.statusCode === 404)
          throw failed(
            phrase`The service finds nothing to delete: ${inWords} has already been deleted, or its ID is wrong.`,
          );
        if (error.statusCode === 405)
          throw failed(
            phrase`The service may not support deleting by this call: delete ${inWords} on its web page, or set another path for ${remove} in the account.`,
          );
        throw error;
      }
    });
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
  { http, leftovers }: LibraryDeps,
  url: string,
  announced: number | null,
  { kind }: StoredRef,
  { path, deadline, onProgress }: FetchOptions,
): Promise<Buffer | string> {
  const what = STORAGE[kind].inWords;
  const most = path === null ? MOST_BYTES_IN_MEMORY : Infinity;
  if (announced !== null && announced > most) throw tooLarge();
  let total = announced;
  const bytes = async function* () {
    const { size, stream } = await download(http, url, { what, signal: deadline.signal });
    total ??= size;
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
  let received: GatheredBytes | undefined;
  for await (const chunk of bytes())
    (received ??= new GatheredBytes(total !== null && total <= most ? total : null)).add(chunk);
  return received ? deadline.wait(received.all()) : Buffer.alloc(0);
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
