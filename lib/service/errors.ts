import { STATUS_LIST, TEXT } from '../rules/limits';
import { phrase, type Sentence } from '../words/sentence';
import { shown } from '../words/shown';
import { type Json, record, records, text } from './json-readers';

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

/** Cause that the status of a node names, where the code alone says too little. */
export type Obstacle = 'offline' | 'queue-full' | 'no-printer' | 'no-file' | 'wrong-type';

export interface ErrorDetails {
  cause?: unknown;
  /** HTTP status, if the service answered. */
  statusCode?: number | undefined;
  /** The service's own error code (wire facts 1.1), if any. */
  serviceCode?: string | undefined;
  outcome?: RequestOutcome | undefined;
  /** Wait that the service requested (Retry-After), ms; of a 429 without one, half a minute. */
  retryAfter?: number | undefined;
  obstacle?: Obstacle | undefined;
  ids?: Ids | undefined;
}

/** Pause after a 429 without a time (wire facts 1), ms. */
const DEFAULT_PAUSE = 30_000;

/** Every failure that the pack reports. The message is one sentence that names the cause and the remedy. */
export class PrintingError extends Error {
  override readonly name = 'PrintingError';
  readonly statusCode: number | undefined;
  readonly serviceCode: string | undefined;
  readonly outcome: RequestOutcome | undefined;
  readonly retryAfter: number | undefined;
  readonly obstacle: Obstacle | undefined;
  readonly ids: Ids;

  constructor(
    readonly code: ErrorCode,
    /** The message in translatable form. */
    readonly sentence: Sentence,
    details: ErrorDetails = {},
  ) {
    super(String(sentence), details.cause === undefined ? undefined : { cause: details.cause });
    this.statusCode = details.statusCode;
    this.serviceCode = details.serviceCode;
    this.outcome = details.outcome;
    this.retryAfter = details.retryAfter ?? (code === 'RATE_LIMITED' ? DEFAULT_PAUSE : undefined);
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
  const { sentence = error.sentence, ...changed } = details;
  const copy = new PrintingError(error.code, sentence, { ...error, cause: error.cause, ...changed });
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
  const sentence = isOfEngine(cause)
    ? phrase`Something unexpected happened inside the pack (${placeOf(cause)}): please report it.`
    : phrase`Something unexpected happened: ${cause.message}.`;
  return new PrintingError('SERVICE_ERROR', sentence, { cause });
}

const OF_ENGINE = ['TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'EvalError', 'URIError'];

/** Whether the JavaScript engine wrote the message of an error. It describes code, and says nothing to a user. */
export const isOfEngine = ({ name }: Error): boolean => OF_ENGINE.includes(name);

/** Kind of an error, with file and line of its origin. */
function placeOf({ name, stack = '' }: Error): string {
  const calls = stack.slice(Math.max(0, stack.indexOf('\n    at ')));
  const [place] = /[\w.-]+\.[cm]?[jt]s:\d+/.exec(calls.slice(0, 400)) ?? [];
  return place === undefined ? name : `${name}, ${place}`;
}

/** Content of a failed answer, read from the `errors` array (wire facts 1.1) or the token endpoint's own format (3). */
export interface Refusal {
  serviceCode: string | undefined;
  /** The service's short text for people; undefined if the body is not JSON. */
  says: string | undefined;
}

/** @param secrets texts that the service may repeat, but that must not appear in errors */
export function readRefusal(body: unknown, secrets: readonly string[] = []): Refusal {
  const cleaned = (words: string) => withoutAddresses(withoutSecrets(words, secrets, '(secret)'));
  const errors = records(record(body)?.errors);
  // Among several, one that decides something.
  const told = errors.find(({ code }) => isDecisive(text(code))) ?? errors[0];
  const says = text(told?.detail) ?? text(told?.title) ?? text(record(body)?.error_description);
  const serviceCode = text(told?.code) ?? text(record(body)?.error);
  return {
    // Cleaned, as flows and logs also use it outside of sentences.
    serviceCode: serviceCode === null ? undefined : shown(cleaned(serviceCode)),
    says: says ? shown(cleaned(says), TEXT.quoted) : undefined,
  };
}

/** Replaces secrets in a text, however many of their characters are URL-encoded, as in a form that an answer quotes. */
export function withoutSecrets(words: string, secrets: readonly string[], replacement: string): string {
  const present = secrets.filter((secret) => secret !== '').sort((one, other) => other.length - one.length);
  if (present.length === 0) return words;
  const pattern = present.map((secret) => Array.from(secret, anyFormOf).join('')).join('|');
  return words.replace(new RegExp(pattern, 'giu'), replacement);
}

function anyFormOf(character: string): string {
  if (/^[\w-]$/.test(character)) return character;
  const plain = /^[$()*+./?[\\\]^{|}]$/.test(character) ? `\\${character}` : character;
  const encoded = Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  return `(?:${plain}|${encoded}${character === ' ' ? '|\\+' : ''})`;
}

/**
 * Returns the beginning of a text without its URLs: signed URLs are secrets and must not appear in errors. Removes a
 * word from its URL scheme on; searches the scheme backwards, so that each letter is read once.
 */
export const withoutAddresses = (words: string): string =>
  words
    .slice(0, TEXT.matched)
    .split(/(\s)/)
    .map((word) => {
      const colon = word.indexOf('://');
      if (colon < 1) return word;
      let start = colon;
      while (start > 0 && /[a-z\d+.-]/i.test(word.charAt(start - 1))) start--;
      return start === colon ? word : `${word.slice(0, start)}(address)`;
    })
    .join('');

/**
 * The error for an answer that is not 2xx, or that reports errors although it is (reference 4). `what` names the requested
 * thing, such as `the printer`.
 */
export function refusalError(
  status: number,
  body: unknown,
  what: Sentence,
  { retryAfter, secrets }: { retryAfter?: number | undefined; secrets?: readonly string[] } = {},
): PrintingError {
  const { serviceCode, says } = readRefusal(body, secrets);
  const obstacle = status === 409 ? OBSTACLES.get(serviceCode) : undefined;
  const [code, sentence] = obstacle ? (['NOT_ACCEPTED', obstacle.sentence] as const) : explain(status, what);
  const own = [serviceCode, says && withoutDots(says)].filter(Boolean).join(': ');
  return new PrintingError(code, own ? phrase`${sentence} The service says: ${own}.` : sentence, {
    statusCode: status,
    serviceCode,
    retryAfter,
    obstacle: obstacle?.kind,
    outcome: status >= 500 || isSuccess(status) ? 'unknown' : 'refused',
  });
}

export const isSuccess = (status: number): boolean => status >= 200 && status <= 299;

/** Returns a foreign text without the dots at its end, for the middle of a sentence. */
export function withoutDots(words: string): string {
  let end = words.length;
  while (words[end - 1] === '.') end--;
  return words.slice(0, end);
}

/** Sentences for the service's codes (wire facts 1.1). */
const OBSTACLES = new Map<string | undefined, { kind?: Obstacle; sentence: Sentence }>([
  ['printerInactive', { kind: 'offline', sentence: printerOffline().sentence }],
  [
    'printerQueueFull',
    { kind: 'queue-full', sentence: phrase`The queue of the printer is full: try again when a job has ended.` },
  ],
  ['printerNotAcceptingJobs', { sentence: phrase`The printer accepts no jobs now: try again when it is free.` }],
]);

function explain(status: number, what: Sentence): [ErrorCode, Sentence] {
  switch (status) {
    case 401:
      return ['NOT_SIGNED_IN', phrase`The service did not accept the sign-in: sign in again with the account.`];
    case 403:
      return [
        'FORBIDDEN',
        phrase`The service refused ${what}: check the permissions of the user and the scopes of the account.`,
      ];
    case 404:
      return ['NOT_FOUND', phrase`The service does not know ${what}: check the ID and the workspace.`];
    case 409:
      return [
        'NOT_ACCEPTED',
        phrase`The service did not accept ${what} now: it is busy, full or switched off, or its state does not allow it: try again later.`,
      ];
    case 429:
      return ['RATE_LIMITED', phrase`The service asks for a pause before ${what}: try again later, or ask less often.`];
    default:
      if (isSuccess(status)) return ['SERVICE_ERROR', unexpectedAnswer(what).sentence];
      return status >= 500
        ? ['SERVICE_ERROR', phrase`The service failed with status ${status} on ${what}: try again later.`]
        : ['SERVICE_ERROR', phrase`The service answered ${what} with the unexpected status ${status}.`];
  }
}

/** Whether the access token is expired or unknown, which calls for one refresh and one repeat (wire facts, trap 1). */
export function isExpiredToken(status: number, body: unknown): boolean {
  if (status === 401) return true;
  return status === 403 && EXPIRED.includes(readRefusal(body).serviceCode ?? '');
}

const EXPIRED = ['tokenExpired', 'invalidToken'];

/** Whether the code of an error decides about more than its words. */
const isDecisive = (code: string | null): boolean => code !== null && (OBSTACLES.has(code) || EXPIRED.includes(code));

/** Longest accepted Retry-After, ms; a longer one is considered a mistake. */
const LONGEST_WAIT = 15 * 60_000;

/**
 * The wait that the headers of an answer ask for (Retry-After: seconds or a date), ms, at most 15 minutes; undefined if
 * there is no valid one. Of several, the longest. A date is compared with the answer's own, because this machine's clock
 * may be wrong; without that, with `now`.
 */
export function readRetryAfter(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const header = headers['retry-after'] ?? '';
  // Nearly every answer is without one, and dates are slow to read.
  if (header === '' || header.length > TEXT.matched) return undefined;
  const answeredAt = readDate(headers.date ?? '') ?? now;
  const waits = header.split(BETWEEN_VALUES).flatMap((given) => {
    const value = given.trim();
    if (/^\d+$/.test(value)) return [Number(value) * 1000];
    const date = readDate(value);
    return date === null ? [] : [date - answeredAt];
  });
  return waits.length === 0 ? undefined : Math.min(LONGEST_WAIT, Math.max(0, ...waits));
}

/** A comma, except the one within a date. */
const BETWEEN_VALUES = /(?<!Mon|Tue|Wed|Thu|Fri|Sat|Sun|[a-z]day),/;

/** The date of HTTP, and the two older forms that every recipient must read (RFC 9110, 5.6.7). */
const HTTP_DATES = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d) GMT$/,
  /^[A-Z][a-z]{2,5}day, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d) GMT$/,
  /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/,
];

/** Reads a date of HTTP, ms since 1970; null for any other text. A year of two digits is one of this century. */
function readDate(given: string): number | null {
  for (const form of HTTP_DATES) {
    const { day = '', month = '', year = '', time = '' } = form.exec(given)?.groups ?? {};
    if (day === '') continue;
    const found = Date.parse(`${day.trim()} ${month} ${year.padStart(4, '20')} ${time} GMT`);
    return Number.isNaN(found) ? null : found;
  }
  return null;
}

/**
 * Returns the records of a cluster's list. Throws SERVICE_ERROR if there are too many for any cluster: a truncated list
 * would make the others look removed.
 */
export function few(value: unknown, what: Sentence): Json[] {
  const found = records(value);
  checkFew(found.length, what);
  return found;
}

/** Throws SERVICE_ERROR for more entries than any cluster has. */
export function checkFew(count: number, what: Sentence): void {
  if (count > STATUS_LIST) throw unexpectedAnswer(what);
}

/** Error of an answer that does not have what it must have. */
export const unexpectedAnswer = (what: Sentence): PrintingError =>
  new PrintingError('SERVICE_ERROR', phrase`The service answered ${what} with something unexpected: try again later.`, {
    outcome: 'unknown',
  });

/** Error of a part that is first used between an upgrade of the pack and the restart. */
export const upgraded = (): PrintingError =>
  new PrintingError('NOT_CONFIGURED', phrase`The pack was upgraded: restart Node-RED.`);

/** A saved value of a newer version of the pack: it is left alone, because the user may return to that version. */
export class NewerValueError extends PrintingError {
  constructor(kind: string) {
    super(
      'FILE_NOT_READABLE',
      phrase`The saved ${kind} is of a newer version of the pack: install that version again.`,
      { outcome: 'not-sent' },
    );
  }
}

export const newerValue = (kind: string): NewerValueError => new NewerValueError(kind);
