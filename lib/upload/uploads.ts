import { createHash } from 'node:crypto';
import type { ApiClient } from '../account/api-client';
import { tidied } from '../files/file-calls';
import type { Http } from '../http/http';
import { asPrintingError, PrintingError, withIds } from '../service/errors';
import { checkCompressedType, isCompressible, toolpath } from '../service/file-types';
import { type Json, number, record, text } from '../service/json-readers';
import { jobName } from '../service/print-job';
import { readStoredFile, storedIds } from '../service/stored-file';
import type { CurrentScope, Key, Scope, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Deadline } from '../time/deadline';
import { phrase } from '../words/sentence';
import { changedMeanwhile, compress, type Content, fileNameOf, holdStream, openContent, type Source } from './content';
import { ProgressReports, type UploadProgress, type UploadStage } from './progress';
import { awaitUploaded, isUploaded, readStored, send } from './send';

/** Properties other than the bytes that two uploads must share for one to replace the other. */
export interface Kind {
  scope: Scope;
  /** Name of the job: two files with the same bytes stay two jobs, each of which people find under its own name. */
  name: string;
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
  constructor(
    private readonly store: StateStore,
    private readonly service: ApiClient,
  ) {}

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
    const job = await readStored(this.service, { kind: 'job', id: jobId }, { deadline }).catch(gone);
    if (!job || !isUploaded(job) || (number(job.file_size) ?? fileSize) !== fileSize) return undefined;
    return { jobId, fileSize, job };
  }

  async save(kind: Kind, hash: string, stored: Stored): Promise<void> {
    await this.store.put(this.#key(kind, hash), stored, KEEP);
    await this.store.put(this.#sizeKey(kind), true, KEEP);
  }

  /** Reads the store; undefined if it can't be read now, which only costs an upload. */
  async #read(key: Key, deadline: Deadline): Promise<unknown> {
    return deadline.wait(this.store.get(key)).catch(() => undefined);
  }

  #key({ scope, type, name }: Kind, hash: string) {
    return ['upload', ...scope, hash, type, name] as const;
  }

  #sizeKey({ scope, type, name, size }: Kind) {
    return ['upload-size', ...scope, type, name, String(size)] as const;
  }
}

/** Refusals that say nothing about the file. */
const OF_ACCOUNT = ['NOT_SIGNED_IN', 'RATE_LIMITED'];

/** Treats a file that the service refuses to show as deleted; rethrows any other error. */
function gone(thrown: unknown): undefined {
  const { outcome, code } = asPrintingError(thrown);
  if (outcome === 'refused' && !OF_ACCOUNT.includes(code)) return undefined;
  throw thrown;
}

interface Send {
  /** Null if the bytes can't be read twice. */
  hash: (() => Promise<string>) | null;
  ended: Promise<unknown>;
}

/** Uploads in flight, so that only the first of several uploads of the same bytes sends them. */
export class UnderWay {
  readonly #sends = new Map<string, Set<Send>>();

  /**
   * Runs `work` once no earlier upload of the same bytes is in flight. `kind` holds the properties that equal uploads
   * share, above all their size: bytes are compared only within a kind. An upload has ended when `work` and the `rest`
   * that it returns have settled. Content that can't be compared doesn't wait.
   */
  async run<T extends { rest?: Promise<unknown> }>(
    kind: string,
    hash: Send['hash'],
    deadline: Deadline,
    work: () => Promise<T>,
  ): Promise<T> {
    const sends = this.#sends.get(kind) ?? new Set();
    this.#sends.set(kind, sends);
    const earlier = [...sends];
    const worked = Promise.all(earlier.map((other) => waitIfSame(other, hash, deadline))).then(work);
    const send = { hash, ended: worked.then(({ rest }) => rest).catch(() => undefined) };
    sends.add(send);
    void send.ended.then(() => {
      sends.delete(send);
      if (sends.size === 0) this.#sends.delete(kind);
    });
    return worked;
  }
}

async function waitIfSame(other: Send, hash: Send['hash'], deadline: Deadline): Promise<void> {
  if (!hash || !other.hash) return;
  const own = await deadline.wait(hash());
  // A file that has disappeared meanwhile isn't sent either.
  const theirs = await deadline.wait(other.hash().catch(() => null));
  if (own === theirs) await deadline.wait(other.ended);
}

export interface UploadOptions {
  /** Blank: the file's own name. */
  jobName?: string;
  /** Replaces the type of the file's extension. */
  mediaType?: string | undefined;
  /** Compress `.gcode` to `.gcode.gz`. */
  compress: boolean;
  /** Reuse an earlier upload of the same bytes, and record this one. */
  reuse: boolean;
  /** Check everything, send nothing. */
  dryRun: boolean;
  deadline: Deadline;
  /** Called once when the file itself is valid, before the first request about it. Its error ends the work. */
  beforeSending?: () => Promise<void>;
  onStage: (stage: UploadStage, progress: UploadProgress) => void;
}

/** A stored file (reference 3.4). */
export interface Uploaded {
  /** Null after a dry run, unless an upload would be reused. */
  jobId: string | null;
  /** Null if the record of an earlier upload lacks it, as is each of the next two. */
  jobName: string | null;
  /** As sent, bytes. */
  fileSize: number | null;
  contentType: string | null;
  /** The service's status; null after a dry run. */
  status: string | null;
  reusedUpload: boolean;
  /** The service's record, unchanged; null after a dry run. It holds signed URLs. */
  raw: Json | null;
}

export interface UploadsDeps {
  service: ApiClient;
  http: Http;
  store: StateStore;
  clock: Clock;
  scope: CurrentScope;
  /** Web origin to send with uploads (interface, Upload record). */
  origin?: string;
}

/** A file, and how to store it. */
interface Job {
  content: Content;
  /** Returns the SHA-256 of the content's present bytes. */
  hash: () => Promise<string>;
  name: string;
  contentType: string;
  /** Whether it is compressed before sending. */
  packs: boolean;
  kind: Kind;
  options: UploadOptions;
  progress: ProgressReports;
}

/** A result; `rest` is work that may continue after it. */
interface Done {
  result: Uploaded;
  rest?: Promise<unknown>;
}

/** Larger files are hashed after the upload, bytes: hashing then costs time only when there is some to spare. */
const HASHED_ON_THE_WAY = 8 * 1024 * 1024;
/** Interface, Limits; wire facts 4.1. */
const MOST_BYTES = 1024 ** 3;

/** Stores toolpath files at the service: checks, registers, sends and confirms them. */
export class Uploads {
  readonly #reusable: ReusableUploads;
  readonly #underWay = new UnderWay();
  readonly #rests = new Set<Promise<unknown>>();

  constructor(private readonly deps: UploadsDeps) {
    this.#reusable = new ReusableUploads(deps.store, deps.service);
  }

  /**
   * Throws INVALID_INPUT, UNSUPPORTED_FILE_TYPE and FILE_NOT_READABLE before anything is sent, FILE_CHANGED if the
   * bytes differ from the registered ones, UPLOAD_FAILED after retries, and the service's refusals. Always consumes a
   * stream.
   */
  async send(source: Source, options: UploadOptions): Promise<Uploaded> {
    const { signal } = options.deadline;
    signal.throwIfAborted();
    const release = source.kind === 'stream' ? holdStream(source.stream, signal) : undefined;
    const progress = new ProgressReports(this.deps.clock, options.onStage);
    try {
      const { mediaType } = options;
      if (options.compress) checkCompressedType(mediaType);
      const fileName = fileNameOf(source);
      const packs = options.compress && isCompressible(fileName, mediaType);
      const name = jobName(options.jobName, fileName, packs, mediaType);
      const { contentType } = toolpath(name, mediaType);
      const scope = await options.deadline.wait(this.deps.scope());
      const content = await openContent(source, options.deadline);
      const kind = { scope, name, type: packs ? `${contentType} packed` : contentType, size: content.size };
      const job = { content, hash: hashOf(content), name, contentType, packs, kind, options, progress };
      const { result, rest } = await this.#run(job).catch(async (error: unknown) => {
        await content.close();
        throw error;
      });
      this.#track(Promise.resolve(rest).then(() => content.close()));
      return result;
    } catch (error) {
      // An aborted operation may fail with any error; the abort's reason is the one to throw.
      throw withIds(asPrintingError(signal.aborted ? signal.reason : error), progress.ids);
    } finally {
      release?.();
    }
  }

  /**
   * Returns a stored job in place of an upload, wherever its file came from (interface, endpoint 10). Throws NOT_FOUND
   * unless its file is uploaded, and the errors of the service's call.
   */
  async stored(jobId: string, deadline: Deadline): Promise<Uploaded> {
    const ref = { kind: 'job' as const, id: jobId };
    const ids = storedIds(ref);
    const raw = await readStored(this.deps.service, ref, { deadline }).catch((thrown: unknown) => {
      throw withIds(asPrintingError(thrown), ids);
    });
    if (!isUploaded(raw)) {
      const sentence = phrase`The stored job has no uploaded file (status ${text(raw.status) ?? '?'}): finish its upload, or choose another one.`;
      throw new PrintingError('NOT_FOUND', sentence, { ids });
    }
    const { name: jobName, fileSize, contentType, status } = readStoredFile(ref, raw);
    return { jobId, jobName, fileSize, contentType, status, reusedUpload: true, raw };
  }

  /** Resolves when all uploads are recorded, and temporary files are deleted. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#rests);
    await tidied(this.deps.clock);
  }

  #track(rest: Promise<unknown>): void {
    const tracked = rest.catch(() => undefined).finally(() => this.#rests.delete(tracked));
    this.#rests.add(tracked);
  }

  async #run(job: Job): Promise<Done> {
    const { content, hash, packs, kind, options, progress } = job;
    const { reuse, dryRun, deadline } = options;
    if (!packs) checkSize(content.size);
    progress.preparing(packs ? null : content.size);
    await options.beforeSending?.();
    const work = () => this.#reuseOrStore(job);
    if (!reuse || dryRun) return work();
    return this.#underWay.run(JSON.stringify(kind), content.repeatable ? hash : null, deadline, work);
  }

  async #reuseOrStore(job: Job): Promise<Done> {
    const { content, hash, kind, options } = job;
    const earlier =
      options.reuse && content.repeatable
        ? await this.#reusable.find(kind, () => options.deadline.wait(hash()), options.deadline)
        : undefined;
    if (earlier) return { result: uploaded(job, earlier.jobId, earlier.fileSize, earlier.job, true) };
    if (!job.packs) return this.#store(job, content);

    const sourceHash = createHash('sha256');
    const packed = await compress(content, (chunk) => sourceHash.update(chunk), checkSize, options.deadline);
    try {
      return await this.#store(job, packed, sourceHash.digest('hex'));
    } finally {
      await packed.close();
    }
  }

  /** Stores `content`; `hash` is that of the source's bytes, if known. */
  async #store(job: Job, content: Content, hash?: string): Promise<Done> {
    const { name, contentType, kind, progress } = job;
    const { deadline, reuse, dryRun } = job.options;
    const { service, origin } = this.deps;
    const { size } = content;
    checkSize(size);
    if (dryRun) return { result: uploaded(job, null, size, null, false) };
    const announced = { kind: 'job' as const, name, size, contentType, origin };
    const isHashedLater = hash === undefined && content.isFile && size > HASHED_ON_THE_WAY;
    const hashing = reuse && hash === undefined && !isHashedLater;
    const sent = await send(this.deps, content, announced, { deadline, hashing, progress });
    progress.confirming();
    const stored = await awaitUploaded(service, sent, { deadline });
    const result = uploaded({ name, contentType: sent.contentType }, sent.id, size, stored, false);
    if (!reuse) return { result };
    const save = (known: string) => this.#reusable.save(kind, known, { jobId: sent.id, fileSize: size });
    // The file is stored: a failure to record it only costs another upload.
    const notRecorded = () => undefined;
    if (isHashedLater) return { result, rest: hashLater(job).then(save).catch(notRecorded) };
    await deadline.wait(save(hash ?? sent.hash)).catch(notRecorded);
    return { result };
  }
}

/** Throws if the bytes may have changed since they were sent. */
async function hashLater({ content, hash }: Job): Promise<string> {
  const found = await hash();
  if (await content.unchanged()) return found;
  throw changedMeanwhile();
}

function uploaded(
  { name, contentType }: Pick<Job, 'name' | 'contentType'>,
  jobId: string | null,
  fileSize: number,
  raw: Json | null,
  reusedUpload: boolean,
): Uploaded {
  return {
    jobId,
    jobName: text(raw?.job_name) ?? name,
    fileSize,
    contentType: text(raw?.content_type) ?? contentType,
    status: text(raw?.status),
    reusedUpload,
    raw,
  };
}

export function checkSize(size: number): void {
  if (size > MOST_BYTES)
    throw new PrintingError(
      'INVALID_INPUT',
      phrase`The file has ${size} bytes and the service accepts at most ${MOST_BYTES} (1 GiB): make it smaller.`,
    );
}

/**
 * SHA-256 of all the bytes, hexadecimal, computed once and with pauses for the event loop. Throws FILE_CHANGED if the
 * content was written to after it was opened.
 */
function hashOf(content: Content): () => Promise<string> {
  let hash: Promise<string> | undefined;
  return () => (hash ??= sha256(content));
}

async function sha256(content: Content): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of content.chunks()) hash.update(chunk);
  if (!(await content.unchanged())) throw changedMeanwhile();
  return hash.digest('hex');
}
