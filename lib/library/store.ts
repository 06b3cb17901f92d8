import type { ApiClient, Limits } from '../account/api-client';
import type { Leftovers } from '../files/leftovers';
import type { Http } from '../http/http';
import { asPrintingError, withIds } from '../service/errors';
import { storedType } from '../service/file-types';
import { checkFileName } from '../service/print-job';
import { readStoredFile, storedIds, type StoredFile, type StoredKind, type StoredRef } from '../service/stored-file';
import type { Json } from '../service/json-readers';
import type { Clock } from '../time/clock';
import { fileNameOf, holdStream, openContent, type Source } from '../upload/content';
import { ProgressReports, type UploadProgress, type UploadStage } from '../upload/progress';
import { awaitUploaded, send } from '../upload/send';
import { checkSize } from '../upload/uploads';

export interface StoreDeps {
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

/**
 * Stores a file under its own name and waits for the confirmation (interface, endpoints 3 to 6). Throws INVALID_INPUT,
 * UNSUPPORTED_FILE_TYPE and FILE_NOT_READABLE before anything is sent, FILE_CHANGED, UPLOAD_FAILED after retries, and
 * the service's refusals. Always consumes a stream.
 */
export async function store(
  deps: StoreDeps,
  source: Source,
  kind: StoredKind,
  { onStage, deadline }: Limits & { onStage: (stage: UploadStage, progress: UploadProgress) => void },
): Promise<Stored> {
  const { signal } = deadline;
  signal.throwIfAborted();
  const release = source.kind === 'stream' ? holdStream(source.stream, signal) : undefined;
  try {
    const name = fileNameOf(source);
    const { contentType } = storedType(kind, name);
    checkFileName(name);
    const content = await openContent(source, deadline);
    try {
      const { size } = content;
      checkSize(size);
      const progress = new ProgressReports(deps.clock, onStage);
      progress.preparing(size);
      const announced = { kind, name, size, contentType, origin: deps.origin };
      const sent = await send(deps, content, announced, { deadline, hashing: false, progress });
      progress.confirming();
      const raw = await awaitUploaded(deps.service, sent, { deadline }).catch((error: unknown) => {
        throw withIds(asPrintingError(error), storedIds(sent));
      });
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
    // An aborted operation may fail with any error; the abort's reason is the one to throw, with the ids known by then.
    if (signal.aborted) throw withIds(asPrintingError(signal.reason), asPrintingError(error).ids);
    throw error;
  } finally {
    release?.();
  }
}
