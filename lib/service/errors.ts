import { phrase, type Sentence } from '../words/sentence';
/** The values of `error.code` in flows (reference 4). */
export const ERROR_CODES = [
  'NOT_CONFIGURED',
  'NOT_SIGNED_IN',
  'FORBIDDEN',
  'INVALID_INPUT',
  'UNSUPPORTED_FILE_TYPE',
  'FILE_NOT_READABLE',
  'FILE_NOT_WRITABLE',
  'FILE_CHANGED',
  'UPLOAD_FAILED',
  'NOT_FOUND',
  'NOT_ACCEPTED',
  'PRINT_OUTCOME_UNKNOWN',
  'PRINT_FAILED',
  'ACTION_FAILED',
  'REPORT_FAILED',
  'TIMEOUT',
  'RATE_LIMITED',
  'NETWORK',
  'SERVICE_ERROR',
  'TOO_LARGE',
  'QUEUE_ITEM_NOT_FOUND',
  'QUEUE_ITEM_BUSY',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/**
 * Fate of a failed request: `not-sent` it was never sent, `refused` the service rejected it, `unknown` it may have been
 * carried out.
 */
export type RequestOutcome = 'not-sent' | 'refused' | 'unknown';

/** The ids that an error or a message carries (reference 3). */
export interface Ids {
  clusterId?: string | undefined;
  printerId?: string | undefined;
  jobId?: string | undefined;
  fileId?: string | undefined;
  clusterJobId?: string | undefined;
  actionId?: string | undefined;
  reportId?: string | undefined;
  itemId?: string | undefined;
}

/** Known cause at the printer. */
export type Obstacle = 'offline' | 'queue-full';

export interface ErrorDetails {
  cause?: unknown;
  /** HTTP status, if the service answered. */
  statusCode?: number | undefined;
  /** The service's own error code (wire facts 1.1), if any. */
  serviceCode?: string | undefined;
  outcome?: RequestOutcome | undefined;
  /** Wait that the service requested (Retry-After), ms. */
  retryAfter?: number | undefined;
  obstacle?: Obstacle | undefined;
  ids?: Ids | undefined;
}

/** Every failure that the pack reports. The message is one sentence that names the cause and the remedy. */
export class PrintingError extends Error {
  override readonly name = 'PrintingError';
  readonly code: ErrorCode;
  /** The message in translatable form. */
  readonly sentence: Sentence;
  readonly statusCode: number | undefined;
  readonly serviceCode: string | undefined;
  readonly outcome: RequestOutcome | undefined;
  readonly retryAfter: number | undefined;
  readonly obstacle: Obstacle | undefined;
  readonly ids: Ids;

  constructor(code: ErrorCode, sentence: Sentence, details: ErrorDetails = {}) {
    super(String(sentence), details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.sentence = sentence;
    this.statusCode = details.statusCode;
    this.serviceCode = details.serviceCode;
    this.outcome = details.outcome;
    this.retryAfter = details.retryAfter;
    this.obstacle = details.obstacle;
    this.ids = details.ids ?? {};
  }

  /** Returns the sentence without a class name, as callers show it to people. */
  override toString(): string {
    return this.message;
  }
}

/** Returns the same failure with other details or another sentence. */
export const revised = (error: PrintingError, details: ErrorDetails & { sentence?: Sentence }): PrintingError => {
  const { code, statusCode, serviceCode, outcome, retryAfter, obstacle, ids, cause } = error;
  const { sentence = error.sentence, ...changed } = details;
  const copy = new PrintingError(code, sentence, {
    statusCode,
    serviceCode,
    outcome,
    retryAfter,
    obstacle,
    ids,
    cause,
    ...changed,
  });
  // Keeps the stack of the place that first threw the error.
  if (error.stack !== undefined && sentence === error.sentence) copy.stack = error.stack;
  return copy;
};

/** The failure of a request that was not sent, as the printer is offline. */
export const printerOffline = (ids?: Ids): PrintingError =>
  new PrintingError('NOT_ACCEPTED', phrase`The printer is offline: switch it on, or try again when it is online.`, {
    obstacle: 'offline',
    ids,
  });

/** Returns the same failure with added ids; its own ids take precedence. */
export const withIds = (error: PrintingError, ids: Ids): PrintingError =>
  revised(error, { ids: { ...ids, ...error.ids } });

/** Returns the same failure with another outcome of the request. */
export const withOutcome = (error: PrintingError, outcome: RequestOutcome): PrintingError =>
  error.outcome === outcome ? error : revised(error, { outcome });

/**
 * Returns any thrown value as a PrintingError. Any other value is an internal error and becomes SERVICE_ERROR; it has
 * no outcome, so that no caller mistakes it for a failed request and retries.
 */
export function asPrintingError(thrown: unknown): PrintingError {
  if (thrown instanceof PrintingError) return thrown;
  const cause = thrown instanceof Error ? thrown : new Error(String(thrown));
  return new PrintingError('SERVICE_ERROR', phrase`Something unexpected happened: ${cause.message}.`, { cause });
}
