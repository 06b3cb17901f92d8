import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ApiClient, Limits } from '../account/api-client';
import { download } from '../http/download';
import { storageAddress } from '../http/foreign-hosts';
import type { Http, HttpAnswer } from '../http/http';
import { isTransient, retry, TRANSFERS } from '../http/retry';
import { asPrintingError, PrintingError, withoutAddresses } from '../service/errors';
import { type Json, number, records, single, text } from '../service/json-readers';
import { STORAGE, storedId, storedIds, type StoredKind, type StoredRef } from '../service/stored-file';
import type { Deadline } from '../time/deadline';
import { AGAIN, pollMade, WORK_IN_PROGRESS } from '../time/retry';
import { phrase, type Sentence } from '../words/sentence';
import { changedMeanwhile, type Content, type Stamp } from './content';
import type { ProgressReports } from './progress';

/** Registration data of an upload (interface, Upload record). */
export interface Announcement {
  kind: StoredKind;
  name: string;
  /** Bytes. */
  size: number;
  contentType: string;
  origin: string | undefined;
}

/** Destination of the bytes. The URL is signed and valid for one upload: it is a secret and never stored. */
interface UploadTarget extends StoredRef {
  url: string;
  /** The service's own spelling, with which the URL was signed (wire facts 4.2). */
  contentType: string;
  origin: string | undefined;
}

/** Registers a file and returns its destination. Throws SERVICE_ERROR for an answer without a safe URL. */
export async function register(
  { service, http }: { service: ApiClient; http: Http },
  announced: Announcement,
  limits: Limits,
): Promise<UploadTarget> {
  const { kind, name, size, contentType, origin } = announced;
  const { register: endpoint, nameField } = STORAGE[kind];
  const data = { [nameField]: name, file_size: size, content_type: contentType, ...(origin ? { origin } : {}) };
  const answer = single((await service.call(endpoint, { data, what: phrase`the upload`, ...limits })).data);
  const id = storedId(kind, answer);
  const given = answer?.upload_url;
  const url = storageAddress(given, http.isLocal);
  if (id === null || url === null) {
    const sentence = phrase`The service's answer contains no valid upload address: try again later.`;
    // A forbidden address would be the same after another registration.
    throw new PrintingError('SERVICE_ERROR', sentence, { outcome: id && text(given) ? 'refused' : 'unknown' });
  }
  return { kind, id, url, contentType: text(answer?.content_type) ?? contentType, origin };
}

/** Reads the service's present record of a stored file. */
export async function readStored(service: ApiClient, { kind, id }: StoredRef, limits: Limits): Promise<Json> {
  const { read, idParameter, inWords } = STORAGE[kind];
  const answer = await service.call(read, { ids: { [idParameter]: id }, what: inWords, ...limits });
  return records(answer.data)[0] ?? {};
}

/** Whether the service no longer has a stored job, for some time; false also where it can't be asked. Never rejects. */
export const isGone = (service: ApiClient, id: string, deadline: Deadline): Promise<boolean> =>
  pollMade(deadline, WORK_IN_PROGRESS, () => readStored(service, { kind: 'job', id }, { deadline })).then(
    () => false,
    (thrown: unknown) => asPrintingError(thrown).code === 'NOT_FOUND',
  );

export const isUploaded = (stored: Json): boolean => text(stored.status)?.toLowerCase() === 'uploaded';

/** Waits until the service has accepted the bytes (interface, States). Throws UPLOAD_FAILED if it reports a failure. */
export function awaitUploaded(service: ApiClient, ref: StoredRef, { deadline }: Limits): Promise<Json> {
  return pollMade(deadline, WORK_IN_PROGRESS, async () => {
    const stored = await readStored(service, ref, { deadline });
    if (isUploaded(stored)) return stored;
    const status = text(stored.status) ?? '';
    // Other status words are unknown: one that sounds like a failure is one, any other may still change (wire facts
    // 4.1).
    if (/fail|error|reject/i.test(status)) {
      const reason = withoutAddresses(text(stored.status_description) ?? status).slice(0, 200);
      throw new PrintingError(
        'UPLOAD_FAILED',
        phrase`The service could not take the file (${reason}): check the file and send it again.`,
        { ids: storedIds(ref) },
      );
    }
    return AGAIN;
  });
}

/** End of one transfer of the bytes. */
export type Transfer =
  | { end: 'accepted' }
  /** The store refused: the URL, the headers or the bytes are wrong. */
  | { end: 'refused'; status: number }
  /** Network or store failed; `complete` if all bytes had been sent, so that only the answer may be missing. */
  | { end: 'broken'; reason: string | Sentence; status?: number; complete: boolean };

/**
 * Longest silence of the store, ms. A slow connection may still be sending the last megabytes after they were handed
 * over.
 */
const QUIET = 120_000;
/** Status of a store with a session for an incomplete file (wire facts 4.2). */
const RESUME_INCOMPLETE = 308;
/** Status of a store that doesn't support the query, now or later. */
const NOT_IMPLEMENTED = 501;

/**
 * Sends the bytes from `from` on to the storage location (interface, Upload to the storage location; wire facts 4.2,
 * traps 31 to 34): unchunked, with exactly the registered headers. Calls `onSent` with each chunk and its position in
 * the file. Throws the errors of the content, and the deadline's reason.
 */
async function transmit(
  http: Http,
  content: Content,
  target: UploadTarget,
  { from, onSent, deadline }: { from: number; onSent: (chunk: Buffer, at: number) => void; deadline: Deadline },
): Promise<Transfer> {
  const { size } = content;
  let at = from;
  const body = Readable.from(
    (async function* () {
      for await (const chunk of content.chunks(from)) {
        onSent(chunk, at);
        at += chunk.length;
        yield chunk;
      }
    })(),
    { objectMode: false, highWaterMark: 1024 * 1024 },
  );
  // `send` reports a failure; a later one must not end the process.
  body.on('error', () => undefined);
  try {
    const range = from > 0 ? { 'content-range': `bytes ${from}-${size - 1}/${size}` } : {};
    const headers = { ...headersOf(target), 'content-length': String(size - from), ...range };
    const request = {
      method: 'PUT',
      url: target.url,
      headers,
      body,
      signal: deadline.signal,
      quiet: QUIET,
      foreign: true,
    };
    const answer = await http.send(request);
    discardBody(answer);
    const { status } = answer;
    const complete = at === size;
    if (mayPass(status)) return { end: 'broken', reason: `status ${status}`, status, complete };
    if (status === RESUME_INCOMPLETE && answer.headers.location === undefined)
      return { end: 'broken', reason: `status ${status}`, status, complete: false };
    if (status < 200 || status > 299) return { end: 'refused', status };
    return complete ? { end: 'accepted' } : { end: 'broken', reason: phrase`it was answered too early`, complete };
  } catch (error) {
    if (!(error instanceof PrintingError) || error.code !== 'NETWORK') throw error;
    const reason = error.cause instanceof Error ? error.cause.message : 'network';
    return { end: 'broken', reason, complete: at === size };
  } finally {
    body.destroy();
  }
}

/**
 * Queries a store after an interruption for the number of bytes that it has kept (wire facts 4.2), by an empty request
 * to the file's URL. Null if it doesn't say: a store without sessions may mistake the empty request for the file and
 * answer 200, so only 308 is meaningful. Throws NETWORK and SERVICE_ERROR if a later query may be answered.
 */
export async function queryKeptBytes(
  http: Http,
  target: Omit<UploadTarget, keyof StoredRef>,
  size: number,
  deadline: Deadline,
): Promise<number | null> {
  const headers = { ...headersOf(target), 'content-length': '0', 'content-range': `bytes */${size}` };
  const answer = await http.send({ method: 'PUT', url: target.url, headers, signal: deadline.signal, foreign: true });
  discardBody(answer);
  const { status } = answer;
  if (mayPass(status) && status !== NOT_IMPLEMENTED) {
    const sentence = phrase`The storage failed with status ${status} on the upload: try again later.`;
    throw new PrintingError('SERVICE_ERROR', sentence, { statusCode: status, outcome: 'unknown' });
  }
  const { range, location } = answer.headers;
  if (status !== RESUME_INCOMPLETE || location !== undefined) return null;
  if (range === undefined) return 0;
  const last = /^bytes=0-(\d+)$/.exec(range.trim())?.[1];
  return last === undefined ? null : Number(last) + 1;
}

const headersOf = ({ contentType, origin }: Omit<UploadTarget, keyof StoredRef>) => ({
  'content-type': contentType,
  ...(origin ? { origin } : {}),
});

const mayPass = (status: number): boolean => status >= 500 || status === 408 || status === 429;

/** Discards the body: the head is sufficient (errors are XML), and the body may trickle forever. */
function discardBody({ body }: HttpAnswer): void {
  body.on('error', () => undefined).destroy();
}

interface SendDeps {
  service: ApiClient;
  http: Http;
}

interface UploadSendOptions {
  deadline: Deadline;
  progress: ProgressReports;
  /** Whether to compute the hash of the sent bytes. */
  hashing: boolean;
}

/** A file whose bytes have arrived. */
export interface Sent extends StoredRef {
  contentType: string;
  /** SHA-256 of the sent bytes, hexadecimal, if requested. */
  hash: string;
}

/** Most attempts for refused uploads: most refusals are final, but the URL may just have expired. */
const MOST_REFUSALS = 2;
/** Consecutive unanswered queries of a store before the whole file is sent to a new URL. */
const MOST_QUERIES = 3;

/**
 * Registers a file and sends its bytes. An interrupted transfer resumes as far as the store has kept the bytes and the
 * rest can still be read; otherwise a new one begins at a new URL, since a URL is valid for one file. Throws
 * FILE_CHANGED if the file was written to meanwhile; UPLOAD_FAILED after several tries in which the store kept no
 * further bytes, and at once for a failure that neither time nor a new URL can repair.
 */
export async function send(
  deps: SendDeps,
  content: Content,
  announced: Announcement,
  options: UploadSendOptions,
): Promise<Sent> {
  const sending = new Sending(deps, content, announced, options);
  for (;;) {
    const { kept } = sending;
    try {
      return await retry(options.deadline, TRANSFERS, (attempt) => sending.attempt(attempt), {
        passes: (error) => sending.mayPass(error),
      });
    } catch (error) {
      // An upload succeeds in the end if the store keeps more bytes after each attempt.
      if (sending.kept <= kept || !(error instanceof PrintingError) || !sending.mayPass(error)) throw error;
      options.deadline.throwIfOver();
    }
  }
}

class Sending {
  /** Destination of the last transfer, while it can be resumed there. */
  #target: UploadTarget | null = null;
  /** Bytes that were handed to the target, and bytes that the store has reported as kept. */
  #handedOver = 0;
  #kept = 0;
  /** Whether the target was queried and has not shown that it treats a query as one. */
  #isDoubtful = false;
  /** Consecutive queries of the target without an answer. */
  #unanswered = 0;
  #hash: Hash = createHash('sha256');
  #hashed = 0;
  /** State of the bytes when the target was registered. */
  #stamp: Stamp = null;
  #refusals = 0;
  #lastFailure: PrintingError | undefined;

  constructor(
    private readonly deps: SendDeps,
    private readonly content: Content,
    private readonly announced: Announcement,
    private readonly options: UploadSendOptions,
  ) {}

  get kept(): number {
    return this.#kept;
  }

  mayPass(error: PrintingError): boolean {
    if (this.#refusals === MOST_REFUSALS) return false;
    return isTransient(error) || (error.code === 'UPLOAD_FAILED' && error.outcome !== undefined);
  }

  async attempt(attempt: number): Promise<Sent> {
    const { deadline, progress } = this.options;
    const earlier = this.#handedOver > 0 ? this.#target : null;
    if (earlier && (await this.#hasArrived(earlier))) return this.#sent(earlier);
    const from = earlier && (await this.#queryKeptBytes(earlier, attempt));
    if (earlier && from === null && (await this.#hasArrived(earlier))) return this.#sent(earlier);
    const target = earlier && from !== null ? earlier : await this.#register();
    progress.uploading(from ?? 0);
    const onSent = (chunk: Buffer, at: number) => this.#onSent(chunk, at);
    const result = await transmit(this.deps.http, this.content, target, { from: from ?? 0, onSent, deadline });
    if (result.end === 'accepted') return this.#sent(target);
    if (result.end === 'refused') {
      this.#target = null;
      this.#refusals++;
    } else if (await this.#hasArrived(target)) return this.#sent(target);
    this.#lastFailure = failed(result, target, attempt + 1);
    throw this.#lastFailure;
  }

  async #register(): Promise<UploadTarget> {
    if (!this.content.has(0)) throw spent(this.#lastFailure);
    this.#target = null;
    this.options.progress.registering(this.content.size);
    this.#stamp = await this.content.stamp();
    const target = await register(this.deps, this.announced, { deadline: this.options.deadline });
    this.#target = target;
    this.options.progress.registered(target);
    this.#handedOver = this.#kept = this.#hashed = 0;
    this.#isDoubtful = false;
    this.#unanswered = 0;
    this.#hash = createHash('sha256');
    return target;
  }

  /**
   * The byte at which the store resumes. Null if it can't resume, if it doesn't answer, or if the bytes it needs can no
   * longer be read.
   */
  async #queryKeptBytes(target: UploadTarget, attempt: number): Promise<number | null> {
    const { size } = this.content;
    this.#isDoubtful = true;
    let kept: number | null;
    try {
      kept = await queryKeptBytes(this.deps.http, target, size, this.options.deadline);
    } catch (thrown) {
      const error = asPrintingError(thrown);
      if (!isTransient(error)) throw thrown;
      this.#unanswered++;
      // A stream whose beginning is gone can only be resumed, so the store is queried again.
      if (this.#unanswered >= MOST_QUERIES && this.content.has(0)) return null;
      throw (this.#lastFailure = failed(unanswered(error), target, attempt + 1));
    }
    this.#unanswered = 0;
    if (kept === null) return null;
    this.#isDoubtful = false;
    if (kept > this.#handedOver || kept >= size || !this.content.has(kept)) return null;
    // The beginning of one version and the end of another don't make a file.
    if (!(await this.#unchanged())) return null;
    this.#kept = kept;
    return kept;
  }

  /**
   * Whether all bytes have arrived although the store's answer was lost, by the service's record of the file. After a
   * query the record isn't enough, since a store without sessions mistakes the empty query for the file: then the
   * download must also have the right size.
   */
  async #hasArrived(target: UploadTarget): Promise<boolean> {
    const { size } = this.content;
    const { deadline } = this.options;
    if (this.#handedOver < size) return false;
    try {
      const stored = await readStored(this.deps.service, target, { deadline });
      if (!isUploaded(stored) || (number(stored.file_size) ?? size) !== size) return false;
      if (!this.#isDoubtful) return true;
      const file = await download(this.deps.http, stored.download_url, {
        what: phrase`the file`,
        signal: deadline.signal,
      });
      file.stream.destroy();
      return file.size === size;
    } catch {
      return false;
    }
  }

  #onSent(chunk: Buffer, at: number): void {
    const end = at + chunk.length;
    this.#handedOver = Math.max(this.#handedOver, end);
    if (this.options.hashing && end > this.#hashed) {
      this.#hash.update(at < this.#hashed ? chunk.subarray(this.#hashed - at) : chunk);
      this.#hashed = end;
    }
    this.options.progress.sent(chunk.length);
  }

  #unchanged(): Promise<boolean> {
    return this.content.unchanged(this.#stamp ?? undefined);
  }

  /** Returns the sent file; throws FILE_CHANGED if it changed during the transfer. */
  async #sent({ kind, id, contentType }: UploadTarget): Promise<Sent> {
    if (!(await this.#unchanged())) throw changedMeanwhile();
    return { kind, id, contentType, hash: this.#hash.digest('hex') };
  }
}

const unanswered = ({ statusCode: status, cause }: PrintingError): Transfer & { end: 'broken' } => ({
  end: 'broken',
  reason: status !== undefined ? `status ${status}` : cause instanceof Error ? cause.message : 'network',
  complete: false,
  ...(status !== undefined && { status }),
});

function failed(result: Exclude<Transfer, { end: 'accepted' }>, target: UploadTarget, tries: number): PrintingError {
  const ids = storedIds(target);
  if (result.end === 'refused') {
    const sentence = phrase`The storage location refused the file with status ${result.status}: try again, or use another file.`;
    return new PrintingError('UPLOAD_FAILED', sentence, { statusCode: result.status, outcome: 'refused', ids });
  }
  const times = tries === 1 ? phrase`the first try` : phrase`try ${tries}`;
  const sentence = phrase`The upload was interrupted (${result.reason}) on ${times}: check the network and try again.`;
  return new PrintingError('UPLOAD_FAILED', sentence, {
    statusCode: result.status,
    cause: new Error(String(result.reason)),
    outcome: 'unknown',
    ids,
  });
}

function spent(failure: PrintingError | undefined): PrintingError {
  const sentence = phrase`The upload failed halfway, and a stream can only be read once: send the file by its path, or as a Buffer.`;
  return new PrintingError('UPLOAD_FAILED', sentence, {
    cause: failure,
    statusCode: failure?.statusCode,
    ids: failure?.ids,
  });
}
