import { createHash } from 'node:crypto';
import type { Service } from '../account/service';
import type { Http } from '../http/http';
import { PrintingError } from '../service/errors';
import { storedIds, type StoredRef } from '../service/stored-file';
import { waitBefore } from '../time/backoff';
import type { ProgressReports } from './progress';
import { register, type Announcement, type UploadTarget } from './register';
import type { Content } from './source';
import { isUploaded, readStored, type Limits } from './stored-job';
import { transfer, type Transfer } from './transfer';

export interface SendDeps {
  service: Service;
  http: Http;
}

export type SendLimits = Limits;

/** A file whose bytes have arrived. */
export interface Sent extends StoredRef {
  contentType: string;
  /** SHA-256 of what was sent. */
  hash: string;
}

const RETRIES = { first: 1_000, longest: 30_000, jitter: 0.2 };
const MOST_TRIES = 5;
/** What was refused will mostly be refused again; but the address may just have been too old. */
const MOST_REFUSALS = 2;

/**
 * Registers a file and sends its bytes, again and again with a new place where that fails, since a place is good for one
 * sending. Throws UPLOAD_FAILED in the end, and at once what neither time nor a new place can heal.
 */
export async function send(
  { service, http }: SendDeps,
  content: Content,
  announced: Announcement,
  { hashing, progress, deadline }: SendLimits & { hashing: boolean; progress: ProgressReports },
): Promise<Sent> {
  let refusals = 0;
  for (let tries = 1; ; tries++) {
    const hash = createHash('sha256');
    const look = (chunk: Buffer) => {
      if (hashing) hash.update(chunk);
      progress.sent(chunk.length);
    };
    progress.registering(content.size);
    const place = await register(service, announced, { deadline }).catch(passing);
    let failure: PrintingError;
    if (place instanceof PrintingError) failure = place;
    else {
      progress.uploading();
      const result = await transfer(http, content, { ...place, origin: announced.origin }, look, deadline.signal);
      if (result.end === 'taken' || (await arrived(service, place, result, { deadline })))
        return { kind: place.kind, id: place.id, contentType: place.contentType, hash: hash.digest('hex') };
      if (result.end === 'refused') refusals++;
      failure = failed(result, place, tries);
    }
    if (!content.readable) throw spent(failure);
    const wait = waitBefore(tries - 1, RETRIES);
    if (tries === MOST_TRIES || refusals === MOST_REFUSALS || !deadline.allows(wait)) throw failure;
    await deadline.sleep(wait);
  }
}

/** Announcing a file twice does no harm, so what may pass is tried again. */
function passing(error: unknown): PrintingError {
  if (!(error instanceof PrintingError)) throw error;
  const passes = error.code === 'NETWORK' || (error.code === 'SERVICE_ERROR' && error.outcome !== 'refused');
  if (!passes) throw error;
  return error;
}

/** Whether the bytes are there although the store's answer was lost. */
async function arrived(service: Service, place: UploadTarget, result: Transfer, limits: SendLimits): Promise<boolean> {
  if (result.end !== 'broken' || !result.complete) return false;
  return readStored(service, place, limits).then(isUploaded, () => false);
}

function failed(result: Exclude<Transfer, { end: 'taken' }>, place: UploadTarget, tries: number): PrintingError {
  const ids = storedIds(place);
  if (result.end === 'refused') {
    const sentence = `The storage location refused the file with status ${result.status}: try again, or with another file.`;
    return new PrintingError('UPLOAD_FAILED', sentence, { statusCode: result.status, ids });
  }
  const times = tries === 1 ? 'the first try' : `try ${tries}`;
  const sentence = `The upload broke off (${result.reason}) at ${times}: check the network and try again.`;
  return new PrintingError('UPLOAD_FAILED', sentence, {
    statusCode: result.status,
    cause: new Error(result.reason),
    ids,
  });
}

function spent(failure: PrintingError): PrintingError {
  const sentence =
    'The upload failed midway, and a stream can be read only once: send the file by its path, or as a Buffer.';
  return new PrintingError('UPLOAD_FAILED', sentence, {
    cause: failure,
    statusCode: failure.statusCode,
    ids: failure.ids,
  });
}
