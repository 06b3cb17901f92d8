import type { AnswerSize } from '../http/whole-text';
import type { EndpointName, PathParameter, Target } from '../service/paths';
import type { Lock } from '../state/store';
import type { Deadline } from '../time/deadline';
import type { Sentence } from '../words/sentence';

export interface CallOptions {
  ids?: Partial<Record<PathParameter, string>>;
  query?: Record<string, string>;
  /** Goes out as JSON inside the `data` envelope (interface, Upload record). */
  data?: unknown;
  /** What is asked for, in the words of an error sentence: `the printer`. */
  what: Sentence;
  /** Limits all of it, every wait included: for a token, a 429, a repeat. */
  deadline: Deadline;
  /**
   * Limits a request once it has left, where that isn't `deadline`: the request can't be taken back, so neither a node's
   * close nor the account's breaks it off (ADR 13).
   */
  underWay?: Deadline | undefined;
  /** What must be held for as long as a request may take, or it is not sent. */
  lock?: Pick<Lock, 'secure'> | undefined;
}

export interface Answer {
  status: number;
  /** The answer's `data`, untouched; the whole body where there is no such key. */
  data: unknown;
  /** The whole parsed body; null when it is empty. */
  body: unknown;
  /** How much of it came. */
  size?: AnswerSize;
}

/**
 * The signed-in service as everything above it sees it: bearer, refresh, retries of reads and Retry-After are done here.
 * GET is retried on 5xx and network faults (3 times, within 30 s); any other method goes out once, but for a repeat
 * after a token refresh or a 429, both of which mean that nothing was done.
 * Throws PrintingError; its `outcome` tells what became of the request.
 */
export interface ApiClient {
  call(endpoint: EndpointName, options: CallOptions): Promise<Answer>;
}

/** As CallOptions, for a request that is none of the endpoints. */
export interface SendOptions extends Pick<CallOptions, 'what' | 'deadline' | 'underWay' | 'lock'> {
  /** The JSON body, as it goes out. */
  body?: string | undefined;
}

/** As Answer, but an answer that is no JSON is there too: as text. */
export interface SentAnswer extends Answer {
  /** Lower-case names. */
  headers: Record<string, string>;
}

/** The same service, for requests that the user made up; `path` may hold a query. */
export interface Sender {
  send(to: Target, options: SendOptions): Promise<SentAnswer>;
}
