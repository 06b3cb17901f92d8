import type { Dispatcher } from 'undici';
import { ANSWER } from '../rules/limits';
import { PrintingError, type RequestOutcome } from '../service/errors';
import type { Deadline } from '../time/deadline';
import { asText, parseAnswer } from './answer-body';
import { AnswerShape } from './answer-shape';
import { decodersOf } from './decoders';
import { Decoding } from './decoding';
import { flatten } from './flatten';
import { phrase } from '../words/sentence';

type Handler = Dispatcher.DispatchHandler;
type Call<Name extends keyof Handler> = Parameters<NonNullable<Handler[Name]>>;

/** A whole answer. */
export interface TextAnswer {
  status: number;
  /** Lower-case names; a repeated header is joined by commas. */
  headers: Record<string, string>;
  /** Its JSON; undefined where it is none. */
  body: unknown;
  /** An answer that is no JSON; else empty. */
  text: string;
  size: AnswerSize;
}

/** How much an answer is: bytes, and values of its JSON, which are what memory and time go by. */
export interface AnswerSize {
  bytes: number;
  elements: number;
}

/**
 * Takes a whole answer from undici as it comes in, without the cost of a stream in between (ADR 8). An answer beyond the
 * limits is broken off when it exceeds them.
 */
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
  readonly #shape = new AnswerShape();
  /** The request changes nothing. */
  #isRead = false;
  #decoding: Decoding | undefined;
  /** Bytes as they came. */
  #received = 0;

  constructor(deadline: Deadline | undefined, fence?: () => void) {
    this.#deadline = deadline;
    this.#fence = fence;
  }

  request(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions): Promise<TextAnswer> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#isRead = options.method === 'GET';
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

  onResponseData(...[, part]: Call<'onResponseData'>): void {
    this.#received += part.length;
    if (this.#received === part.length && !this.#decode()) return;
    if (this.#received > ANSWER.bytes) this.#fail(this.#tooLarge());
    else if (this.#decoding) this.#decoding.write(part);
    else this.#keep(part);
  }

  /** False: the answer's encoding can't be undone. It was asked for without any; some caches on the way encode all the same. */
  #decode(): boolean {
    const decoders = decodersOf(this.#headers['content-encoding']);
    if (decoders === null) this.#fail(Object.assign(new Error(), { code: 'UNKNOWN_CONTENT_ENCODING' }));
    else if (decoders.length > 0)
      this.#decoding = new Decoding(
        decoders,
        (part) => this.#keep(part),
        (error) => this.#fail(error),
      );
    return decoders !== null;
  }

  #keep(part: Buffer): void {
    if (this.#shape.add(part)) this.#parts.push(part);
    else this.#fail(this.#tooLarge());
  }

  onResponseEnd(): void {
    this.#answer().then(this.#resolve, this.#reject).finally(this.#leave);
  }

  async #answer(): Promise<TextAnswer> {
    await this.#decoding?.end();
    const [first = Buffer.alloc(0), ...others] = this.#parts;
    const bytes = others.length > 0 ? Buffer.concat(this.#parts) : first;
    this.#parts.length = 0;
    const goOn = () => {
      if (this.#deadline?.aborted) throw this.#deadline.reason as Error;
    };
    const parsed = parseAnswer(bytes, this.#shape, goOn);
    const body = parsed instanceof Promise ? ((await parsed) as unknown) : parsed;
    const size = { bytes: this.#shape.bytes, elements: this.#shape.elements };
    const text = body === undefined ? asText(bytes) : '';
    return { status: this.#status, headers: this.#headers, body, text, size };
  }

  onResponseError(...[, error]: Call<'onResponseError'>): void {
    this.#leave();
    this.#decoding?.destroy();
    this.#reject(error);
  }

  /** Breaks the answer off; its connection, where it is still busy with it, ends. */
  #fail(error: Error): void {
    this.#leave();
    this.#decoding?.destroy();
    this.#controller?.abort(error);
    this.#reject(error);
  }

  /** Another try of a read would bring the same; anything else may have been done. */
  readonly #tooLarge = (): PrintingError => tooLarge(this.#status, this.#isRead ? 'refused' : 'unknown');

  /** undici heeds an abort once a connection stands, and then sends nothing; who waits is not kept waiting for that. */
  #break(): void {
    const reason = this.#deadline?.reason as Error;
    this.#controller?.abort(reason);
    if (!this.begun) this.#reject(reason);
  }
}

const tooLarge = (statusCode: number, outcome: RequestOutcome): PrintingError =>
  new PrintingError(
    'SERVICE_ERROR',
    phrase`The answer of the service is larger than any that is read: ask for less at a time, or try again later.`,
    { statusCode, outcome },
  );
