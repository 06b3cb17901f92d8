import type { Dispatcher } from 'undici';
import { ANSWER } from '../rules/limits';
import { PrintingError } from '../service/errors';
import type { Deadline } from '../time/deadline';
import { phrase } from '../words/sentence';
import {
  AnswerShape,
  decodersOf,
  decodeText,
  Decoding,
  elementsOf,
  isLongElsewhere,
  limitBetween,
  parseAnswer,
} from './answers';
import { GrowingBytes } from './growing-bytes';

/** Flattens headers from undici: a repeated one is joined by commas. */
export function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

type Handler = Dispatcher.DispatchHandler;
type Call<Name extends keyof Handler> = Parameters<NonNullable<Handler[Name]>>;

export interface TextAnswer {
  status: number;
  /** Lower-case names; a repeated header is joined by commas. */
  headers: Record<string, string>;
  /** Parsed JSON; undefined if the answer is no JSON. */
  body: unknown;
  /** The text of an answer that is no JSON; otherwise empty. */
  text: string;
  size: AnswerSize;
}

/** Size of an answer: bytes, and values of its JSON. Memory and time depend on both. */
export interface AnswerSize {
  bytes: number;
  elements: number;
}

/**
 * Collects a whole answer from undici without the cost of a stream in between (ADR 15). Aborts an answer as soon as it
 * exceeds the limits.
 */
export class WholeText implements Handler {
  /** Whether the request's first byte may have left. */
  begun = false;
  #leave: () => void = () => undefined;
  #resolve: (answer: TextAnswer) => void = () => undefined;
  #reject: (reason: unknown) => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Record<string, string> = {};
  readonly #bytes = new GrowingBytes();
  /** Of the bytes of a long answer. */
  readonly #shape = new AnswerShape();
  #isRead = false;
  #decoding: Decoding | undefined;
  /** Bytes received, before decoding. */
  #received = 0;

  constructor(
    private readonly deadline: Deadline | undefined,
    private readonly fence: () => void,
    private readonly maxBytes: number = ANSWER.bytes,
  ) {}

  request(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions): Promise<TextAnswer> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#isRead = options.method === 'GET';
      if (this.deadline) this.#leave = this.deadline.whenOver(() => this.#break());
      dispatcher.dispatch(options, this);
    });
  }

  /** Called when the connection is ready, right before the request is written to it. */
  onRequestStart(...[controller]: Call<'onRequestStart'>): void {
    this.#controller = controller;
    if (this.deadline?.aborted) return this.#break();
    try {
      this.fence();
      this.begun = true;
    } catch (reason) {
      controller.abort(reason as Error);
      this.#reject(reason);
    }
  }

  /** Also called for informational answers (1xx). */
  onResponseStart(...[, status, headers]: Call<'onResponseStart'>): void {
    this.#status = status;
    this.#headers = flatten(headers);
  }

  onResponseData(...[, part]: Call<'onResponseData'>): void {
    this.#received += part.length;
    if (this.#received === part.length && !this.#decode()) return;
    if (this.#received > this.maxBytes) this.#fail(this.#tooLarge());
    else if (this.#decoding) this.#decoding.write(part);
    else this.#keep(part);
  }

  /**
   * Sets up the decoding; returns false if the encoding is unknown. The request asks for no encoding, but some caches
   * on the way encode anyway.
   */
  #decode(): boolean {
    const decoders = decodersOf(this.#headers['content-encoding']);
    if (decoders === null) this.#fail(Object.assign(new Error(), { code: 'UNKNOWN_CONTENT_ENCODING' }));
    else if (decoders.length > 0) {
      limitBetween(decoders, this.maxBytes, () => this.#fail(this.#tooLarge()));
      this.#decoding = new Decoding(
        decoders,
        (part) => this.#keep(part),
        (error) => this.#fail(error),
      );
    }
    return decoders !== null;
  }

  #keep(part: Buffer): void {
    if (this.#bytes.length + part.length > this.maxBytes) return this.#fail(this.#tooLarge());
    this.#bytes.add(part);
    const { length, all } = this.#bytes;
    if (length > ANSWER.short && !this.#shape.add(all.subarray(this.#shape.bytes))) this.#fail(this.#tooLarge());
  }

  onResponseEnd(): void {
    // `finally` would make three promises more.
    void this.#answer().then(this.#resolve, this.#reject).then(this.#leave);
  }

  async #answer(): Promise<TextAnswer> {
    await this.#decoding?.end();
    const bytes = this.#bytes.all;
    const checkDeadline = () => {
      if (this.deadline?.aborted) throw this.deadline.reason as Error;
    };
    if (isLongElsewhere(bytes, this.#shape)) throw this.#tooLarge();
    const parsed = parseAnswer(bytes, this.#shape, checkDeadline);
    const body = parsed instanceof Promise ? ((await parsed) as unknown) : parsed;
    const elements = bytes.length > ANSWER.short ? this.#shape.elements : elementsOf(body);
    if (elements === null) throw this.#tooLarge();
    const size = { bytes: bytes.length, elements };
    const text = body === undefined ? decodeText(bytes) : '';
    return { status: this.#status, headers: this.#headers, body, text, size };
  }

  onResponseError(...[, error]: Call<'onResponseError'>): void {
    this.#leave();
    this.#decoding?.destroy();
    this.#reject(error);
  }

  /** Fails the answer and aborts it; its connection closes if it is still busy. */
  #fail(error: Error): void {
    this.#leave();
    this.#decoding?.destroy();
    this.#controller?.abort(error);
    this.#reject(error);
  }

  /** Repeating a read would give the same answer; any other request may have been carried out. */
  #tooLarge(): PrintingError {
    const sentence = phrase`The answer of the service is larger than any that is read: ask for less at a time, or try again later.`;
    const outcome = this.#isRead ? 'refused' : 'unknown';
    return new PrintingError('SERVICE_ERROR', sentence, { statusCode: this.#status, outcome });
  }

  /**
   * Aborts the request. Before it has begun, rejects at once: undici itself waits for the connection first, and then
   * sends nothing. So does an answer that is still being decoded, as nothing is left to abort once it has arrived.
   */
  #break(): void {
    const reason = this.deadline?.reason as Error;
    this.#controller?.abort(reason);
    this.#decoding?.destroy();
    if (!this.begun || this.#decoding) this.#reject(reason);
  }
}
