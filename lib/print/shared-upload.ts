import { PrintingError } from '../service/errors';
import type { Uploaded, Uploads } from '../upload/uploads';
import { progress, type PrintRequest } from './print-request';
import { phrase } from '../words/sentence';

/** The one upload of a request, for all the clusters that want it; none of them, and nothing is sent. */
export class SharedUpload {
  readonly #uploads: Uploads;
  readonly #request: PrintRequest;
  readonly #inOrder = open();
  readonly #wanted = open();
  #sending: Promise<Uploaded> | undefined;

  constructor(uploads: Uploads, request: PrintRequest) {
    this.#uploads = uploads;
    this.#request = request;
  }

  /** Resolves when the file itself is in order; the service has not been asked anything about it then. */
  async check(): Promise<void> {
    await Promise.race([this.#inOrder.opened, this.#send()]);
  }

  /** The stored file. */
  stored(): Promise<Uploaded> {
    this.#wanted.open();
    return this.#send();
  }

  /** Nobody will want it any more. Resolves when its source has been let go of. */
  async end(): Promise<void> {
    this.#wanted.refuse(
      new PrintingError('INVALID_INPUT', phrase`None of the printers can take the file: choose another printer.`),
    );
    await this.#sending?.catch(() => undefined);
  }

  #send(): Promise<Uploaded> {
    this.#sending ??= this.#start();
    // Who wants it hears how it failed; here it only must not be unheard.
    this.#sending.catch(() => undefined);
    return this.#sending;
  }

  async #start(): Promise<Uploaded> {
    const { source, jobName, compress, reuseUpload, dryRun, deadline, onProgress } = this.#request;
    onProgress(progress('preparing'));
    return this.#uploads.send(await source(), {
      ...(jobName ? { jobName } : {}),
      compress,
      reuse: reuseUpload,
      dryRun,
      deadline,
      beforeSending: () => {
        this.#inOrder.open();
        return this.#wanted.opened;
      },
      onStage: (stage, known) => onProgress(progress(stage, known)),
    });
  }
}

/** A promise that is kept from outside. */
function open() {
  let open: () => void = () => undefined;
  let refuse: (reason: Error) => void = () => undefined;
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve;
    refuse = reject;
  });
  // It may be refused before anybody waits.
  opened.catch(() => undefined);
  return { opened, open, refuse };
}
