import type { Service } from '../account/service';
import { PrintingError } from '../service/errors';
import { number, record, text, type Json } from '../service/wire';
import type { StateStore } from '../state/store';
import { sha256 } from './hash';
import type { Content } from './source';
import { isUploaded, readStored, type Limits } from './stored-job';

/** What must be the same, beside the bytes, for one upload to stand for another. */
export interface Kind {
  workspace: string;
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
  readonly #service: Service;
  readonly #accountId: string;

  constructor(store: StateStore, service: Service, accountId: string) {
    this.#store = store;
    this.#service = service;
    this.#accountId = accountId;
  }

  /** The service's record of an earlier upload of these bytes that it still has; undefined when they must be sent. */
  async find(
    content: Content,
    kind: Kind,
    limits: Limits & { signal: AbortSignal },
  ): Promise<(Stored & { job: Json }) | undefined> {
    // Reading a big file for nothing is slow, and mostly nothing of its size was ever sent.
    if (!content.repeatable || !(await this.#store.get(this.#sizeKey(kind)))) return undefined;
    const stored = record(await this.#store.get(this.#key(kind, await sha256(content, limits.signal))));
    const jobId = text(stored?.jobId);
    const fileSize = number(stored?.fileSize);
    if (jobId === null || fileSize === null) return undefined;
    const job = await readStored(this.#service, { kind: 'job', id: jobId }, limits).catch(gone);
    if (!job || !isUploaded(job) || (number(job.file_size) ?? fileSize) !== fileSize) return undefined;
    return { jobId, fileSize, job };
  }

  async remember(kind: Kind, hash: string, stored: Stored): Promise<void> {
    await this.#store.put(this.#key(kind, hash), stored, KEEP);
    await this.#store.put(this.#sizeKey(kind), true, KEEP);
  }

  #key({ workspace, type }: Kind, hash: string) {
    return ['upload', this.#accountId, workspace, hash, type] as const;
  }

  #sizeKey({ workspace, type, size }: Kind) {
    return ['upload-size', this.#accountId, workspace, type, String(size)] as const;
  }
}

/** A file that the service refuses to show is as good as deleted. */
function gone(error: unknown): undefined {
  if (error instanceof PrintingError && error.outcome === 'refused' && error.code !== 'NOT_SIGNED_IN') return undefined;
  throw error;
}
