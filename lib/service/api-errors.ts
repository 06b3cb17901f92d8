import { PrintingError, printerOffline, type ErrorCode, type Obstacle } from './errors';
import { record, records, text } from './json-readers';
import { TEXT } from '../rules/limits';
import { phrase, type Sentence } from '../words/sentence';
import { shown } from '../words/shown';

/** Content of a failed answer, read from the `errors` array (wire facts 1.1) or the token endpoint's own format (3). */
export interface Refusal {
  serviceCode: string | undefined;
  /** The service's short text for people; undefined if the body is not JSON. */
  says: string | undefined;
}

export function readRefusal(body: unknown): Refusal {
  const first = records(record(body)?.errors)[0];
  const says = text(first?.detail) ?? text(first?.title) ?? text(record(body)?.error_description);
  const serviceCode = text(first?.code) ?? text(record(body)?.error);
  return {
    // Cleaned, as flows and logs also use it outside of sentences.
    serviceCode: serviceCode === null ? undefined : shown(serviceCode),
    says: says ? shown(withoutAddresses(says), TEXT.quoted) : undefined,
  };
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

/** The error for an answer that is not 2xx (reference 4). `what` names the requested thing, such as `the printer`. */
export function refusalError(status: number, body: unknown, what: Sentence, retryAfter?: number): PrintingError {
  const { serviceCode, says } = readRefusal(body);
  const obstacle = status === 409 ? OBSTACLES.get(serviceCode) : undefined;
  const [code, sentence] = obstacle ? (['NOT_ACCEPTED', obstacle.sentence] as const) : explain(status, what);
  const own = [serviceCode, says && withoutDots(says)].filter(Boolean).join(': ');
  return new PrintingError(code, own ? phrase`${sentence} The service says: ${own}.` : sentence, {
    statusCode: status,
    serviceCode,
    retryAfter,
    obstacle: obstacle?.kind,
    outcome: status >= 500 ? 'unknown' : 'refused',
  });
}

function withoutDots(words: string): string {
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
      return status >= 500
        ? ['SERVICE_ERROR', phrase`The service failed with status ${status} on ${what}: try again later.`]
        : ['SERVICE_ERROR', phrase`The service answered ${what} with the unexpected status ${status}.`];
  }
}

/** Whether the access token is expired or unknown, which calls for one refresh and one repeat (wire facts, trap 1). */
export function isExpiredToken(status: number, body: unknown): boolean {
  if (status === 401) return true;
  return status === 403 && ['tokenExpired', 'invalidToken'].includes(readRefusal(body).serviceCode ?? '');
}

/** Longest accepted Retry-After, ms; a longer one is considered a mistake. */
const LONGEST_WAIT = 15 * 60_000;

/**
 * The Retry-After header, seconds or a date, as milliseconds from `now`, at most 15 minutes; undefined if it is missing
 * or invalid.
 */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  if (!header || header.length > TEXT.matched) return undefined;
  const seconds = Number(header);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now;
  return Number.isNaN(wait) ? undefined : Math.min(LONGEST_WAIT, Math.max(0, wait));
}
