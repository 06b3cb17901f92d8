import { type Ids, PrintingError } from '../service/errors';
import type { Uploaded, Uploads } from '../upload/uploads';
import { progress, type PrintRequest } from './print-request';
import { phrase } from '../words/sentence';

/**
 * The one stored file of a request, shared by its clusters: uploaded, but not unless a cluster needs it, or stored
 * already.
 */
export class SharedUpload {
  /** The ids known so far. */
  ids: Ids = {};
  readonly #uploads: Uploads;
  readonly #request: PrintRequest;
  readonly #inOrder = gate();
  readonly #wanted = gate();
  #sending: Promise<Uploaded> | undefined;

  constructor(uploads: Uploads, request: PrintRequest) {
    this.#uploads = uploads;
    this.#request = request;
  }

  /** Resolves when the file itself is valid; by then the service was asked about a stored job only. */
  async check(): Promise<void> {
    await Promise.race([this.#inOrder.opened, this.#send()]);
  }

  /** The stored file. */
  stored(): Promise<Uploaded> {
    this.#wanted.open();
    return this.#send();
  }

  /** Cancels the upload if no cluster has requested it. Resolves when its source has been released. */
  async end(): Promise<void> {
    this.#wanted.refuse(
      new PrintingError('INVALID_INPUT', phrase`None of the printers can take the file: choose another printer.`),
    );
    await this.#sending?.catch(() => undefined);
  }

  #send(): Promise<Uploaded> {
    this.#sending ??= this.#start();
    // The callers get the failure; this only prevents an unhandled rejection.
    this.#sending.catch(() => undefined);
    return this.#sending;
  }

  async #start(): Promise<Uploaded> {
    const { source, jobName, mediaType, compress, reuseUpload, dryRun, deadline, onProgress } = this.#request;
    onProgress(progress('preparing'));
    const from = await source();
    if (from.kind === 'stored') {
      this.ids = { jobId: from.jobId };
      return this.#uploads.stored(from.jobId, deadline);
    }
    return this.#uploads.send(from, {
      ...(jobName ? { jobName } : {}),
      mediaType,
      compress,
      reuse: reuseUpload,
      dryRun,
      deadline,
      beforeSending: () => {
        this.#inOrder.open();
        return this.#wanted.opened;
      },
      onStage: (stage, known) => {
        if (known.jobId !== null) this.ids = { jobId: known.jobId };
        onProgress(progress(stage, known));
      },
    });
  }
}

/** A promise that is settled from outside. */
function gate() {
  let open: () => void = () => undefined;
  let refuse: (reason: Error) => void = () => undefined;
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve;
    refuse = reject;
  });
  // It may be rejected before it has a waiter.
  opened.catch(() => undefined);
  return { opened, open, refuse };
}
