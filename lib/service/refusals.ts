import { PrintingError, printerOffline, type ErrorCode, type Obstacle } from './errors';
import { record, records, text } from './wire';
import { say, type Sentence } from '../words/say';

/** What a failed answer says, read from the `errors` array (wire facts 1.1) or the token endpoint's own shape (3). */
export interface Refusal {
  serviceCode: string | undefined;
  /** Short text of the service for people; bodies that aren't JSON give none. */
  says: string | undefined;
}

const LONGEST_TEXT = 200;

export function readRefusal(body: unknown): Refusal {
  const first = records(record(body)?.errors)[0];
  const says = text(first?.detail) ?? text(first?.title) ?? text(record(body)?.error_description);
  return {
    serviceCode: text(first?.code) ?? text(record(body)?.error) ?? undefined,
    says: says ? withoutAddresses(says).slice(0, LONGEST_TEXT) : undefined,
  };
}

/** Signed addresses are secrets and must not travel in error texts. */
export const withoutAddresses = (words: string): string => words.replace(/\b[a-z][a-z\d+.-]*:\/\/\S+/gi, '(address)');

/** The error of an answer that is not 2xx (reference 4). `what` names the thing asked for, such as `the printer`. */
export function refusalError(status: number, body: unknown, what: Sentence, retryAfter?: number): PrintingError {
  const { serviceCode, says } = readRefusal(body);
  const obstacle = status === 409 ? OBSTACLES.get(serviceCode) : undefined;
  const [code, sentence] = obstacle ? (['NOT_ACCEPTED', obstacle.sentence] as const) : explain(status, what);
  const own = [serviceCode, says?.replace(/\.+$/, '')].filter(Boolean).join(': ');
  return new PrintingError(code, own ? say`${sentence} The service says: ${own}.` : sentence, {
    statusCode: status,
    serviceCode,
    retryAfter,
    obstacle: obstacle?.kind,
    outcome: status >= 500 ? 'unknown' : 'refused',
  });
}

/** Of the service's codes (wire facts 1.1). */
const OBSTACLES = new Map<string | undefined, { kind?: Obstacle; sentence: Sentence }>([
  ['printerInactive', { kind: 'offline', sentence: printerOffline().sentence }],
  [
    'printerQueueFull',
    { kind: 'queue-full', sentence: say`The queue of the printer is full: try again when a job has ended.` },
  ],
  ['printerNotAcceptingJobs', { sentence: say`The printer accepts no jobs now: try again when it is free.` }],
]);

function explain(status: number, what: Sentence): [ErrorCode, Sentence] {
  switch (status) {
    case 401:
      return ['NOT_SIGNED_IN', say`The service did not accept the sign-in: open the account and sign in again.`];
    case 403:
      return [
        'FORBIDDEN',
        say`The service refused ${what}: check the permissions of the user and the scopes of the account.`,
      ];
    case 404:
      return ['NOT_FOUND', say`The service does not know ${what}: check the ID and the workspace.`];
    case 409:
      return [
        'NOT_ACCEPTED',
        say`The service did not accept ${what} now: it is busy, full or switched off, or its state does not allow it: try again later.`,
      ];
    case 429:
      return ['RATE_LIMITED', say`The service asks for a pause before ${what}: try again later, or ask less often.`];
    default:
      return status >= 500
        ? ['SERVICE_ERROR', say`The service failed with status ${status} on ${what}: try again later.`]
        : ['SERVICE_ERROR', say`The service answered ${what} with the unexpected status ${status}.`];
  }
}

/** An expired or unknown access token, to be answered by one refresh and one repeat (wire facts, trap 1). */
export function isExpiredToken(status: number, body: unknown): boolean {
  if (status === 401) return true;
  return status === 403 && ['tokenExpired', 'invalidToken'].includes(readRefusal(body).serviceCode ?? '');
}

/** No answer makes anybody wait longer than this: what the service asks for beyond it is taken for a mistake. */
const LONGEST_WAIT = 15 * 60_000;

/** The Retry-After header, seconds or a date, as milliseconds from `now`, at most 15 minutes; undefined where it says nothing. */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  if (!header) return undefined;
  const seconds = Number(header);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now;
  return Number.isNaN(wait) ? undefined : Math.min(LONGEST_WAIT, Math.max(0, wait));
}
