import type { ApiClient, Limits } from '../account/api-client';
import type { Http } from '../http/http';
import { storageAddress } from '../http/foreign-hosts';
import { PrintingError } from '../service/errors';
import { STORAGE, storedId, type StoredKind, type StoredRef } from '../service/stored-file';
import { record, text } from '../service/json-readers';
import { phrase } from '../words/sentence';

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
export interface UploadTarget extends StoredRef {
  url: string;
  /** The service's own spelling, with which the URL was signed (wire facts 4.2). */
  contentType: string;
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
  const answer = record((await service.call(endpoint, { data, what: phrase`the upload`, ...limits })).data);
  const id = storedId(kind, answer);
  const given = answer?.upload_url;
  const url = storageAddress(given, http.isLocal);
  if (id === null || url === null) {
    const sentence = phrase`The service's answer contains no valid upload address: try again later.`;
    // A forbidden address would be the same after another registration.
    throw new PrintingError('SERVICE_ERROR', sentence, { outcome: id && text(given) ? 'refused' : 'unknown' });
  }
  return { kind, id, url, contentType: text(answer?.content_type) ?? contentType };
}
