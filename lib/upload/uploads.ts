import { createHash } from 'node:crypto';
import type { ApiClient } from '../account/api-client';
import { tidied } from '../files/file-calls';
import type { Http } from '../http/http';
import { PrintingError } from '../service/errors';
import { toolpath } from '../service/file-types';
import { jobName } from '../service/job-name';
import { text, type Json } from '../service/json-readers';
import type { CurrentScope } from '../state/scope';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Deadline } from '../time/deadline';
import { compress } from './compress';
import { changedMeanwhile, type Content } from './content';
import { hashOf } from './hash';
import { ProgressReports, type UploadProgress, type UploadStage } from './progress';
import { ReusableUploads, type Kind } from './reuse';
import { holdStream, nameOf, openContent, type Source } from './source';
import { send } from './send';
import { awaitUploaded } from './stored-job';
import { UnderWay } from './under-way';
import { phrase } from '../words/sentence';

export interface UploadOptions {
  /** Blank: the file's own name. */
  jobName?: string;
  /** `.gcode` goes up as `.gcode.gz`. */
  compress: boolean;
  /** Take an earlier upload of the same bytes, and remember this one. */
  reuse: boolean;
  /** Check everything, send nothing. */
  dryRun: boolean;
  deadline: Deadline;
  /** Called once when the file itself is in order, before the service is asked anything about it. What it throws ends the work. */
  beforeSending?: () => Promise<void>;
  onStage: (stage: UploadStage, progress: UploadProgress) => void;
}

/** A stored file (reference 3.4). */
export interface Uploaded {
  /** Null after a dry run, unless an upload would be reused. */
  jobId: string | null;
  jobName: string;
  /** As sent, bytes. */
  fileSize: number;
  contentType: string;
  /** The service's word; null after a dry run. */
  status: string | null;
  reusedUpload: boolean;
  /** The service's record, untouched; null after a dry run. It holds signed addresses. */
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

/** How a file is stored. */
interface Plan {
  name: string;
  contentType: string;
  /** Whether it is gzipped on the way. */
  packs: boolean;
  scope: Kind['scope'];
  type: Kind['type'];
}

/** A file, and how it is stored. */
interface Job {
  content: Content;
  /** SHA-256 of the content as it is read now. */
  hash: () => Promise<string>;
  plan: Plan;
  options: UploadOptions;
  progress: ProgressReports;
}

/** `rest` is what may still be done when the result is out. */
interface Done {
  result: Uploaded;
  rest?: Promise<unknown>;
}

/** Files that are larger are hashed when they are up, bytes: that costs them time only where there is some. */
const HASHED_ON_THE_WAY = 8 * 1024 * 1024;
/** Interface, Limits; wire facts 4.1. */
const MOST_BYTES = 1024 ** 3;

/** Stores toolpath files at the service: checks, registers, sends, and sees them confirmed. */
export class Uploads {
  readonly #deps: UploadsDeps;
  readonly #reusable: ReusableUploads;
  readonly #underWay = new UnderWay();
  readonly #rests = new Set<Promise<unknown>>();

  constructor(deps: UploadsDeps) {
    this.#deps = deps;
    this.#reusable = new ReusableUploads(deps.store, deps.service);
  }

  /**
   * Throws INVALID_INPUT, UNSUPPORTED_FILE_TYPE and FILE_NOT_READABLE before anything is sent, FILE_CHANGED where the
   * bytes aren't those announced, UPLOAD_FAILED after retries, and what the service refuses. A stream is used up in any case.
   */
  async send(source: Source, options: UploadOptions): Promise<Uploaded> {
    const { signal } = options.deadline;
    signal.throwIfAborted();
    const release = source.kind === 'stream' ? holdStream(source.stream, signal) : undefined;
    try {
      const plan = await this.#plan(source, options);
      const content = await openContent(source, options.deadline);
      const { result, rest } = await this.#run(content, plan, options).catch(async (error: unknown) => {
        await content.close();
        throw error;
      });
      this.#track(Promise.resolve(rest).then(() => content.close()));
      return result;
    } catch (error) {
      // However the abort came out: its reason is what counts.
      signal.throwIfAborted();
      throw error;
    } finally {
      release?.();
    }
  }

  /** Resolves when all that was sent is remembered, and begun files are gone. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#rests);
    await tidied(this.#deps.clock);
  }

  #track(rest: Promise<unknown>): void {
    const tracked = rest.catch(() => undefined).finally(() => this.#rests.delete(tracked));
    this.#rests.add(tracked);
  }

  async #plan(source: Source, { jobName: wanted, compress: compresses, deadline }: UploadOptions): Promise<Plan> {
    const fileName = nameOf(source);
    const packs = compresses && toolpath(fileName).extension === '.gcode';
    const name = jobName(wanted, fileName, packs);
    const { contentType } = toolpath(name);
    const scope = await deadline.wait(this.#deps.scope());
    return { name, contentType, packs, scope, type: packs ? `${contentType} packed` : contentType };
  }

  async #run(content: Content, plan: Plan, options: UploadOptions): Promise<Done> {
    const { reuse, dryRun, deadline } = options;
    if (!plan.packs) checkSize(content.size);
    const progress = new ProgressReports(this.#deps.clock, options.onStage);
    progress.preparing(plan.packs ? null : content.size);
    await options.beforeSending?.();
    const job: Job = { content, hash: hashOf(content), plan, options, progress };
    const work = () => this.#reuseOrStore(job);
    if (!reuse || dryRun) return work();
    return this.#underWay.run(JSON.stringify(kindOf(job)), content.repeatable ? job.hash : null, deadline, work);
  }

  async #reuseOrStore(job: Job): Promise<Done> {
    const { content, hash, plan, options } = job;
    const earlier =
      options.reuse && content.repeatable
        ? await this.#reusable.find(kindOf(job), () => options.deadline.wait(hash()), options.deadline)
        : undefined;
    if (earlier) return { result: uploaded(plan, earlier.jobId, earlier.fileSize, earlier.job, true) };
    if (!plan.packs) return this.#store(job, content);

    const sourceHash = createHash('sha256');
    const packed = await compress(content, (chunk) => sourceHash.update(chunk), options.deadline);
    try {
      return await this.#store(job, packed, sourceHash.digest('hex'));
    } finally {
      await packed.close();
    }
  }

  /** `content` is what is sent; `hash` of the source's bytes, where it is known already. */
  async #store(job: Job, content: Content, hash?: string): Promise<Done> {
    const { plan, options, progress } = job;
    const { service, origin } = this.#deps;
    const { size } = content;
    checkSize(size);
    if (options.dryRun) return { result: uploaded(plan, null, size, null, false) };
    const { deadline, reuse } = options;
    const announced = { kind: 'job' as const, name: plan.name, size, contentType: plan.contentType, origin };
    const isHashedLater = hash === undefined && content.isFile && size > HASHED_ON_THE_WAY;
    const hashing = reuse && hash === undefined && !isHashedLater;
    const sent = await send(this.#deps, content, announced, { deadline, hashing, progress });
    progress.confirming();
    const stored = await awaitUploaded(service, sent, { deadline });
    const result = uploaded({ ...plan, contentType: sent.contentType }, sent.id, size, stored, false);
    if (!reuse) return { result };
    const remember = (known: string) => this.#reusable.remember(kindOf(job), known, { jobId: sent.id, fileSize: size });
    // The file is up: that it can't be remembered costs no more than the next upload.
    if (isHashedLater)
      return {
        result,
        rest: hashLater(job)
          .then(remember)
          .catch(() => undefined),
      };
    await deadline.wait(remember(hash ?? sent.hash)).catch(() => undefined);
    return { result };
  }
}

/** Throws where the bytes may no longer be those that were sent. */
async function hashLater({ content, hash }: Job): Promise<string> {
  const found = await hash();
  if (await content.unchanged()) return found;
  throw changedMeanwhile();
}

const kindOf = ({ plan: { scope, type }, content: { size } }: Job): Kind => ({ scope, type, size });

function uploaded(
  { name, contentType }: Pick<Plan, 'name' | 'contentType'>,
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
