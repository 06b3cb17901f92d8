import type { ApiClient } from '../account/api-client';
import { storageAddress } from '../http/storage-address';
import { PrintingError } from '../service/errors';
import { STORAGE, storedId, type StoredKind, type StoredRef } from '../service/stored-file';
import { record, text } from '../service/json-readers';
import type { Limits } from './stored-job';
import { phrase } from '../words/sentence';

/** What is announced to the service (interface, Upload record). */
export interface Announcement {
  kind: StoredKind;
  name: string;
  /** Bytes. */
  size: number;
  contentType: string;
  origin: string | undefined;
}

/** Where the bytes go. The address is signed and good for one sending: it is a secret and never stored. */
export interface UploadTarget extends StoredRef {
  url: string;
  /** As the service has it, for that is what the address was signed with (wire facts 4.2). */
  contentType: string;
}

/** Announces a file and gets an address for it. Throws SERVICE_ERROR for an answer without a safe one. */
export async function register(service: ApiClient, announced: Announcement, limits: Limits): Promise<UploadTarget> {
  const { kind, name, size, contentType, origin } = announced;
  const { register: endpoint, nameField } = STORAGE[kind];
  const data = { [nameField]: name, file_size: size, content_type: contentType, ...(origin ? { origin } : {}) };
  const answer = record((await service.call(endpoint, { data, what: phrase`the upload`, ...limits })).data);
  const id = storedId(kind, answer);
  const url = storageAddress(answer?.upload_url);
  if (id === null || url === null) {
    const sentence = phrase`The service's answer contains no valid upload address: try again later.`;
    throw new PrintingError('SERVICE_ERROR', sentence, { outcome: 'unknown' });
  }
  return { kind, id, url, contentType: text(answer?.content_type) ?? contentType };
}
