import type { AnswerSize } from '../http/whole-text';
import type { EndpointName, PathParameter, Target } from '../service/paths';
import type { Lock } from '../state/membership';
import type { Deadline } from '../time/deadline';
import type { Sentence } from '../words/sentence';

export interface CallOptions {
  ids?: Partial<Record<PathParameter, string>>;
  query?: Record<string, string>;
  /** Sent as JSON in the `data` envelope (interface, Upload record). */
  data?: unknown;
  /** The subject of the call in error sentences: `the printer`. */
  what: Sentence;
  /** Limits the whole call, with every wait for a token, a 429 or a retry. */
  deadline: Deadline;
  /**
   * Limits a request that has been sent, in place of `deadline`: the request can't be withdrawn, so neither the node's
   * close nor the account's cancels it (ADR 13).
   */
  underWay?: Deadline | undefined;
  /** A lock to hold for as long as a request may take; without it, the request isn't sent. */
  lock?: Pick<Lock, 'secure'> | undefined;
}

export interface Answer {
  status: number;
  /** The answer's `data`, unchanged. Without that key, the whole body if it is what was asked for, else null. */
  data: unknown;
  /** The whole parsed body; null if it is empty. */
  body: unknown;
  size?: AnswerSize;
}

/**
 * Client of the signed-in service; it adds the bearer, refreshes it, retries reads and obeys Retry-After. GET is retried
 * on 5xx and network failures (3 times, within 30 s). Any other method is sent once, except for a repeat after a token
 * refresh or a 429, both of which mean that nothing was done. Throws PrintingError; its `outcome` is the fate of the
 * request.
 */
export interface ApiClient {
  call(endpoint: EndpointName, options: CallOptions): Promise<Answer>;
}

export type Limits = Pick<CallOptions, 'deadline'>;

/** CallOptions of a request to an arbitrary path. */
export interface SendOptions extends Pick<CallOptions, 'what' | 'deadline' | 'underWay' | 'lock'> {
  body?: string | undefined;
  /** Most bytes of the answer. Default: ANSWER.bytes. */
  maxBytes?: number | undefined;
}

/** An answer to any request: without `data`, its data is the whole body, which is text if it is not JSON. */
export interface SentAnswer extends Answer {
  /** Lower-case names. */
  headers: Record<string, string>;
}

/** Client of the same service for the user's own requests; `path` may contain a query. */
export interface Sender {
  send(to: Target, options: SendOptions): Promise<SentAnswer>;
}
