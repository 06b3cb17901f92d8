import { createHash, type Hash } from 'node:crypto';
import type { ApiClient } from '../account/api-client';
import { download } from '../http/download';
import type { Http } from '../http/http';
import { isTransient, retry, TRANSFERS } from '../http/retry';
import { asPrintingError, PrintingError } from '../service/errors';
import { storedIds, type StoredRef } from '../service/stored-file';
import { number } from '../service/json-readers';
import type { Deadline } from '../time/deadline';
import { changedMeanwhile, type Content, type Stamp } from './content';
import type { ProgressReports } from './progress';
import { register, type Announcement, type UploadTarget } from './register';
import { isUploaded, readStored } from './stored-job';
import { askKept, transmit, type Address, type Transfer } from './transfer';
import { phrase } from '../words/sentence';

export interface SendDeps {
  service: ApiClient;
  http: Http;
}

export interface UploadSendOptions {
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
  readonly #deps: SendDeps;
  readonly #content: Content;
  readonly #announced: Announcement;
  readonly #options: UploadSendOptions;
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

  constructor(deps: SendDeps, content: Content, announced: Announcement, options: UploadSendOptions) {
    this.#deps = deps;
    this.#content = content;
    this.#announced = announced;
    this.#options = options;
  }

  get kept(): number {
    return this.#kept;
  }

  mayPass(error: PrintingError): boolean {
    if (this.#refusals === MOST_REFUSALS) return false;
    return isTransient(error) || (error.code === 'UPLOAD_FAILED' && error.outcome !== undefined);
  }

  async attempt(attempt: number): Promise<Sent> {
    const { deadline, progress } = this.#options;
    const earlier = this.#handedOver > 0 ? this.#target : null;
    if (earlier && (await this.#hasArrived(earlier))) return this.#sent(earlier);
    const from = earlier && (await this.#askKept(earlier, attempt));
    if (earlier && from === null && (await this.#hasArrived(earlier))) return this.#sent(earlier);
    const target = earlier && from !== null ? earlier : await this.#register();
    progress.uploading(from ?? 0);
    const onSent = (chunk: Buffer, at: number) => this.#onSent(chunk, at);
    const result = await transmit(this.#deps.http, this.#content, this.#addressOf(target), {
      from: from ?? 0,
      onSent,
      deadline,
    });
    if (result.end === 'accepted') return this.#sent(target);
    if (result.end === 'refused') {
      this.#target = null;
      this.#refusals++;
    } else if (await this.#hasArrived(target)) return this.#sent(target);
    this.#lastFailure = failed(result, target, attempt + 1);
    throw this.#lastFailure;
  }

  async #register(): Promise<UploadTarget> {
    if (!this.#content.has(0)) throw spent(this.#lastFailure);
    this.#target = null;
    this.#options.progress.registering(this.#content.size);
    this.#stamp = await this.#content.stamp();
    const target = await register(this.#deps, this.#announced, { deadline: this.#options.deadline });
    this.#target = target;
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
  async #askKept(target: UploadTarget, attempt: number): Promise<number | null> {
    const { size } = this.#content;
    this.#isDoubtful = true;
    let kept: number | null;
    try {
      kept = await askKept(this.#deps.http, this.#addressOf(target), size, this.#options.deadline);
    } catch (thrown) {
      const error = asPrintingError(thrown);
      if (!isTransient(error)) throw thrown;
      this.#unanswered++;
      // A stream whose beginning is gone can only be resumed, so the store is queried again.
      if (this.#unanswered >= MOST_QUERIES && this.#content.has(0)) return null;
      throw (this.#lastFailure = failed(unanswered(error), target, attempt + 1));
    }
    this.#unanswered = 0;
    if (kept === null) return null;
    this.#isDoubtful = false;
    if (kept > this.#handedOver || kept >= size || !this.#content.has(kept)) return null;
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
    const { size } = this.#content;
    const { deadline } = this.#options;
    if (this.#handedOver < size) return false;
    try {
      const stored = await readStored(this.#deps.service, target, { deadline });
      if (!isUploaded(stored) || (number(stored.file_size) ?? size) !== size) return false;
      if (!this.#isDoubtful) return true;
      const file = await download(this.#deps.http, stored.download_url, {
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
    if (this.#options.hashing && end > this.#hashed) {
      this.#hash.update(at < this.#hashed ? chunk.subarray(this.#hashed - at) : chunk);
      this.#hashed = end;
    }
    this.#options.progress.sent(chunk.length);
  }

  #addressOf({ url, contentType }: UploadTarget): Address {
    return { url, contentType, origin: this.#announced.origin };
  }

  #unchanged(): Promise<boolean> {
    return this.#content.unchanged(this.#stamp ?? undefined);
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
