import type { ApiClient } from '../account/api-client';
import { PrintingError } from '../service/errors';
import { number, record, text, type Json } from '../service/json-readers';
import type { Scope } from '../state/scope';
import type { Key, StateStore } from '../state/store';
import type { Deadline } from '../time/deadline';
import { isUploaded, readStored } from './stored-job';

/** What must be the same, beside the bytes, for one upload to stand for another. */
export interface Kind {
  scope: Scope;
  /** Type as sent, and whether it was compressed here: the same bytes then become other ones. */
  type: string;
  /** Of the source, bytes. */
  size: number;
}

interface Stored {
  jobId: string;
  /** As sent, bytes. */
  fileSize: number;
}

/** Ids of stored files don't expire (interface, Limits); the memory of them may. */
const KEEP = { keepFor: 365 * 24 * 3600 * 1000 };

/** Remembers what was uploaded, so that the same bytes need not go up twice (reference 3.4, `reuseUpload`). */
export class ReusableUploads {
  readonly #store: StateStore;
  readonly #service: ApiClient;

  constructor(store: StateStore, service: ApiClient) {
    this.#store = store;
    this.#service = service;
  }

  /** The service's record of an earlier upload of these bytes that it still has; undefined when they must be sent. */
  async find(
    kind: Kind,
    hash: () => Promise<string>,
    deadline: Deadline,
  ): Promise<(Stored & { job: Json }) | undefined> {
    // Reading a big file for nothing is slow, and mostly nothing of its size was ever sent.
    if (!(await this.#recall(this.#sizeKey(kind), deadline))) return undefined;
    const stored = record(await this.#recall(this.#key(kind, await hash()), deadline));
    const jobId = text(stored?.jobId);
    const fileSize = number(stored?.fileSize);
    if (jobId === null || fileSize === null) return undefined;
    const job = await readStored(this.#service, { kind: 'job', id: jobId }, { deadline }).catch(gone);
    if (!job || !isUploaded(job) || (number(job.file_size) ?? fileSize) !== fileSize) return undefined;
    return { jobId, fileSize, job };
  }

  async remember(kind: Kind, hash: string, stored: Stored): Promise<void> {
    await this.#store.put(this.#key(kind, hash), stored, KEEP);
    await this.#store.put(this.#sizeKey(kind), true, KEEP);
  }

  /** A memory that can't be read now costs no more than an upload. */
  async #recall(key: Key, deadline: Deadline): Promise<unknown> {
    return deadline.wait(this.#store.get(key)).catch(() => undefined);
  }

  #key({ scope, type }: Kind, hash: string) {
    return ['upload', ...scope, hash, type] as const;
  }

  #sizeKey({ scope, type, size }: Kind) {
    return ['upload-size', ...scope, type, String(size)] as const;
  }
}

/** A file that the service refuses to show is as good as deleted; of one that can't be asked about nothing is known. */
function gone(error: unknown): undefined {
  if (error instanceof PrintingError && (error.statusCode === 403 || error.statusCode === 404)) return undefined;
  throw error;
}
