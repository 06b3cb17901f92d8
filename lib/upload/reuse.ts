import type { ApiClient } from '../account/api-client';
import { PrintingError } from '../service/errors';
import { number, record, text, type Json } from '../service/json-readers';
import type { Key, Scope, StateStore } from '../state/store';
import type { Deadline } from '../time/deadline';
import { isUploaded, readStored } from './stored-job';

/** Properties other than the bytes that two uploads must share for one to replace the other. */
export interface Kind {
  scope: Scope;
  /** Type as sent, and whether it was compressed here, as compression changes the bytes. */
  type: string;
  /** Size of the source, bytes. */
  size: number;
}

interface Stored {
  jobId: string;
  /** As sent, bytes. */
  fileSize: number;
}

/** Retention of a stored upload. Ids of stored files don't expire (interface, Limits), but this record may. */
const KEEP = { keepFor: 365 * 24 * 3600 * 1000 };

/** Index of the uploads, so that the same bytes are sent once (reference 3.4, `reuseUpload`). */
export class ReusableUploads {
  readonly #store: StateStore;
  readonly #service: ApiClient;

  constructor(store: StateStore, service: ApiClient) {
    this.#store = store;
    this.#service = service;
  }

  /**
   * Returns the service's record of an earlier upload of these bytes that it still stores; undefined if they must be
   * sent.
   */
  async find(
    kind: Kind,
    hash: () => Promise<string>,
    deadline: Deadline,
  ): Promise<(Stored & { job: Json }) | undefined> {
    // Check the size first: hashing a large file is slow and rarely finds a match.
    if (!(await this.#read(this.#sizeKey(kind), deadline))) return undefined;
    const stored = record(await this.#read(this.#key(kind, await hash()), deadline));
    const jobId = text(stored?.jobId);
    const fileSize = number(stored?.fileSize);
    if (jobId === null || fileSize === null) return undefined;
    const job = await readStored(this.#service, { kind: 'job', id: jobId }, { deadline }).catch(gone);
    if (!job || !isUploaded(job) || (number(job.file_size) ?? fileSize) !== fileSize) return undefined;
    return { jobId, fileSize, job };
  }

  async save(kind: Kind, hash: string, stored: Stored): Promise<void> {
    await this.#store.put(this.#key(kind, hash), stored, KEEP);
    await this.#store.put(this.#sizeKey(kind), true, KEEP);
  }

  /** Reads the store; undefined if it can't be read now, which only costs an upload. */
  async #read(key: Key, deadline: Deadline): Promise<unknown> {
    return deadline.wait(this.#store.get(key)).catch(() => undefined);
  }

  #key({ scope, type }: Kind, hash: string) {
    return ['upload', ...scope, hash, type] as const;
  }

  #sizeKey({ scope, type, size }: Kind) {
    return ['upload-size', ...scope, type, String(size)] as const;
  }
}

/** Treats a file that the service refuses to show as deleted; rethrows any other error. */
function gone(error: unknown): undefined {
  if (error instanceof PrintingError && (error.statusCode === 403 || error.statusCode === 404)) return undefined;
  throw error;
}
