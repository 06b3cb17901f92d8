import { phrase, type Sentence } from '../words/sentence';
/** The codes that flows see as `error.code` (reference 4). */
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
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/**
 * What is known of a request that failed:
 * `not-sent` it never left, `refused` the service answered no, `unknown` it may have been carried out.
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
}

/** What at the printer stands in the way, where that is known. */
export type Obstacle = 'offline' | 'queue-full';

export interface ErrorDetails {
  cause?: unknown;
  /** HTTP status, where the service answered. */
  statusCode?: number | undefined;
  /** The service's own error code (wire facts 1.1), where it gave one. */
  serviceCode?: string | undefined;
  outcome?: RequestOutcome | undefined;
  /** Milliseconds that the service asked to wait (Retry-After). */
  retryAfter?: number | undefined;
  obstacle?: Obstacle | undefined;
  ids?: Ids | undefined;
}

/** Every failure that the pack reports. The message is one sentence that names the cause and the cure. */
export class PrintingError extends Error {
  override readonly name = 'PrintingError';
  readonly code: ErrorCode;
  /** The message, for other languages. */
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

  /** The sentence alone, without the name of a class: who catches the error shows it to people. */
  override toString(): string {
    return this.message;
  }
}

/** The same failure with other details, or said otherwise. */
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
  // Where it was first thrown is what a maintainer wants to see.
  if (error.stack !== undefined && sentence === error.sentence) copy.stack = error.stack;
  return copy;
};

/** Before anything was sent. */
export const printerOffline = (ids?: Ids): PrintingError =>
  new PrintingError('NOT_ACCEPTED', phrase`The printer is offline: switch it on, or try again when it is online.`, {
    obstacle: 'offline',
    ids,
  });

/** The same failure, with ids that are known where it is caught; its own ids win. */
export const withIds = (error: PrintingError, ids: Ids): PrintingError =>
  revised(error, { ids: { ...ids, ...error.ids } });

/** The same failure, where more is known of what became of the request. */
export const withOutcome = (error: PrintingError, outcome: RequestOutcome): PrintingError =>
  error.outcome === outcome ? error : revised(error, { outcome });

/**
 * Any thrown thing as a PrintingError. What isn't one yet is a fault of our own, shown as SERVICE_ERROR; it has no outcome,
 * so that nobody takes it for a failed request and tries again.
 */
export function asPrintingError(thrown: unknown): PrintingError {
  if (thrown instanceof PrintingError) return thrown;
  const cause = thrown instanceof Error ? thrown : new Error(String(thrown));
  return new PrintingError('SERVICE_ERROR', phrase`Something unexpected happened: ${cause.message}.`, { cause });
}
