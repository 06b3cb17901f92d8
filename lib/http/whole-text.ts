import type { Dispatcher } from 'undici';
import { PrintingError } from '../service/errors';
import type { Deadline } from '../time/deadline';
import { flatten } from './flatten';
import { say } from '../words/say';

type Handler = Dispatcher.DispatchHandler;
type Call<Name extends keyof Handler> = Parameters<NonNullable<Handler[Name]>>;

/** No JSON answer of the service comes near this; what is longer is not read into memory. */
const LONGEST = 64 * 1024 * 1024;

const BOM = /^\uFEFF/;

/** A whole answer as text. */
export interface TextAnswer {
  status: number;
  /** Lower-case names; a repeated header is joined by commas. */
  headers: Record<string, string>;
  text: string;
}

/** Takes a whole answer from undici as it comes in, without the cost of a stream in between (ADR 8). */
export class WholeText implements Handler {
  /** The request's first byte may have left. */
  begun = false;
  readonly #deadline: Deadline | undefined;
  readonly #fence: (() => void) | undefined;
  #leave: () => void = () => undefined;
  #resolve: (answer: TextAnswer) => void = () => undefined;
  #reject: (reason: unknown) => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Record<string, string> = {};
  readonly #parts: Buffer[] = [];
  #size = 0;

  constructor(deadline: Deadline | undefined, fence?: () => void) {
    this.#deadline = deadline;
    this.#fence = fence;
  }

  request(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions): Promise<TextAnswer> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (this.#deadline) this.#leave = this.#deadline.whenOver(() => this.#break());
      dispatcher.dispatch(options, this);
    });
  }

  /** A connection stands, and the request is about to be written to it. */
  onRequestStart(...[controller]: Call<'onRequestStart'>): void {
    this.#controller = controller;
    if (this.#deadline?.aborted) return this.#break();
    try {
      this.#fence?.();
      this.begun = true;
    } catch (reason) {
      controller.abort(reason as Error);
      this.#reject(reason);
    }
  }

  /** Also called for what only foretells the answer (1xx). */
  onResponseStart(...[, status, headers]: Call<'onResponseStart'>): void {
    this.#status = status;
    this.#headers = flatten(headers);
  }

  onResponseData(...[controller, part]: Call<'onResponseData'>): void {
    this.#parts.push(part);
    this.#size += part.length;
    if (this.#size > LONGEST)
      controller.abort(
        new PrintingError('SERVICE_ERROR', say`The answer of the service is far too long: try again later.`, {
          outcome: 'unknown',
        }),
      );
  }

  onResponseEnd(): void {
    this.#leave();
    const [first = Buffer.alloc(0), ...others] = this.#parts;
    const bytes = others.length > 0 ? Buffer.concat(this.#parts, this.#size) : first;
    this.#resolve({ status: this.#status, headers: this.#headers, text: bytes.toString('utf8').replace(BOM, '') });
  }

  onResponseError(...[, error]: Call<'onResponseError'>): void {
    this.#leave();
    this.#reject(error);
  }

  /** undici heeds an abort once a connection stands, and then sends nothing; who waits is not kept waiting for that. */
  #break(): void {
    const reason = this.#deadline?.reason as Error;
    this.#controller?.abort(reason);
    if (!this.begun) this.#reject(reason);
  }
}
