import { createHash } from 'node:crypto';
import type { Service } from '../account/service';
import type { Http } from '../http/http';
import { PrintingError } from '../service/errors';
import { toolpath } from '../service/file-types';
import { jobName } from '../service/job-name';
import { text, type Json } from '../service/wire';
import { Locks } from '../state/locks';
import type { CurrentScope } from '../state/scope';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Deadline } from '../time/deadline';
import { compress } from './compress';
import { ProgressReports, type UploadProgress, type UploadStage } from './progress';
import { ReusableUploads, type Kind } from './reuse';
import { holdStream, nameOf, openContent, type Content, type Source } from './source';
import { send } from './send';
import { awaitUploaded } from './stored-job';

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
  service: Service;
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
  kind: Kind;
}

/** Interface, Limits; wire facts 4.1. */
const MOST_BYTES = 1024 ** 3;

/** Stores toolpath files at the service: checks, registers, sends, and sees them confirmed. */
export class Uploads {
  readonly #deps: UploadsDeps;
  readonly #reusable: ReusableUploads;
  readonly #locks = new Locks();

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
      const { content, plan } = await this.#check(source, options);
      return await this.#run(content, plan, options);
    } catch (error) {
      // However the abort came out: its reason is what counts.
      signal.throwIfAborted();
      throw error;
    } finally {
      release?.();
    }
  }

  async #check(source: Source, options: UploadOptions): Promise<{ content: Content; plan: Plan }> {
    const fileName = nameOf(source);
    const packs = options.compress && toolpath(fileName).extension === '.gcode';
    const name = jobName(options.jobName, fileName, packs);
    const { contentType } = toolpath(name);
    const content = await openContent(source);
    if (!packs) checkSize(content.size);
    const kind = {
      scope: await options.deadline.wait(this.#deps.scope()),
      type: packs ? `${contentType} packed` : contentType,
      size: content.size,
    };
    return { content, plan: { name, contentType, packs, kind } };
  }

  async #run(content: Content, plan: Plan, options: UploadOptions): Promise<Uploaded> {
    const { reuse, dryRun, deadline } = options;
    const progress = new ProgressReports(this.#deps.clock, options.onStage);
    progress.preparing(plan.packs ? null : content.size);
    await options.beforeSending?.();
    const work = () => this.#reuseOrStore(content, plan, options, progress);
    if (!reuse || dryRun) return work();
    // Of two sends of the same bytes the second waits, and then finds the first. All that is known yet is the size.
    return this.#locks.hold(JSON.stringify(plan.kind), work, deadline);
  }

  async #reuseOrStore(
    content: Content,
    plan: Plan,
    options: UploadOptions,
    progress: ProgressReports,
  ): Promise<Uploaded> {
    const { kind } = plan;
    const earlier = options.reuse ? await this.#reusable.find(content, kind, options.deadline) : undefined;
    if (earlier) return uploaded(plan, earlier.jobId, earlier.fileSize, earlier.job, true);
    if (!plan.packs) return this.#store(content, plan, options, progress);

    const hash = createHash('sha256');
    const packed = await compress(content, (chunk) => hash.update(chunk), options.deadline.signal);
    try {
      return await this.#store(packed, plan, options, progress, hash.digest('hex'));
    } finally {
      await packed.remove();
    }
  }

  /** `hash` of the source's bytes, where it is known and they are not those that are sent. */
  async #store(
    content: Content,
    plan: Plan,
    options: UploadOptions,
    progress: ProgressReports,
    hash?: string,
  ): Promise<Uploaded> {
    const { service, origin } = this.#deps;
    const { size } = content;
    checkSize(size);
    if (options.dryRun) return uploaded(plan, null, size, null, false);
    const { deadline, reuse } = options;
    const announced = { kind: 'job' as const, name: plan.name, size, contentType: plan.contentType, origin };
    const hashing = reuse && hash === undefined;
    const sent = await send(this.#deps, content, announced, { deadline, hashing, progress });
    progress.confirming();
    const job = await awaitUploaded(service, sent, { deadline });
    // The file is up: that it can't be remembered costs no more than the next upload.
    if (reuse)
      await this.#reusable
        .remember(plan.kind, hash ?? sent.hash, { jobId: sent.id, fileSize: size })
        .catch(() => undefined);
    return uploaded({ ...plan, contentType: sent.contentType }, sent.id, size, job, false);
  }
}

function uploaded(
  { name, contentType }: Plan,
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
      `The file has ${size} bytes and the service takes at most ${MOST_BYTES} (1 GiB): make it smaller.`,
    );
}
