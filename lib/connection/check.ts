import type { AccountSettings } from '../account/settings';
import type { Http } from '../http/http';
import type { Overridable } from '../rules/paths';
import { asPrintingError, PrintingError, withoutSecrets } from '../service/errors';
import type { Target } from '../service/paths';
import type { Deadline } from '../time/deadline';
import { phrase, type Sentence, type Value } from '../words/sentence';

/** A line of the connection test (reference 5). */
export interface Check {
  /** Stable: `apiHost`, `path.printJobs`, … */
  name: string;
  /** Null if it was not checked or is undecided; `detail` says which. */
  ok: boolean | null;
  /** One sentence for people. */
  detail: Sentence;
  /** A path to put into the account's `paths` in place of the one in use. */
  suggestion?: { name: Overridable; value: string };
}

export const failed = (name: string, thrown: unknown): Check => ({
  name,
  ok: false,
  detail: asPrintingError(thrown).sentence,
});

/** The line of a check that needs the result of an earlier one. */
export const notChecked = (name: string, why: Sentence): Check => ({
  name,
  ok: null,
  detail: phrase`Not checked: ${why}.`,
});

/** Removes credentials from the lines, in case an answer of the service repeated them. */
export function checksWithoutSecrets(checks: Check[], secrets: readonly string[]): Check[] {
  const hidden = (value: Value): Value => (typeof value === 'string' ? withoutSecrets(value, secrets, '…') : value);
  return checks.map((check) => ({ ...check, detail: check.detail.with(hidden) }));
}

/** An answer with any status. */
export interface Asked {
  status: number;
  headers: Record<string, string>;
  /** Undefined if it is not JSON. */
  body: unknown;
  /** Times at which the request was sent and the answer had arrived, ms since 1970. */
  sentAt: number;
  arrivedAt: number;
}

/** A request: always GET, as the test changes nothing at the service. */
interface Question extends Pick<Target, 'host' | 'path'> {
  /** Most bytes of the answer, if fewer than of any other. */
  maxBytes?: number;
}

/** Sends one request. Throws NETWORK, SERVICE_ERROR for an answer that is too large, and the deadline's reason. */
export type Ask = (question: Question, deadline: Deadline) => Promise<Asked>;

/**
 * Returns a function that sends one request to one of the account's hosts, with the bearer if there is one, and without
 * retries: the test shows the service's present state.
 */
export function asker({ apiUrl, authUrl }: AccountSettings, http: Http, bearer?: string): Ask {
  return async ({ host, path, maxBytes }, deadline) => {
    const base = host === 'auth' ? authUrl : apiUrl;
    if (!base) throw new PrintingError('NOT_CONFIGURED', phrase`The account has no account host: fill it in.`);
    deadline.throwIfOver();
    const { clock } = deadline;
    const sentAt = clock.now();
    const { status, headers, body } = await http.text({
      method: 'GET',
      url: `${base}${path}`,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...(bearer && { authorization: `Bearer ${bearer}` }),
      },
      deadline,
      maxBytes,
    });
    return { status, headers, body, sentAt, arrivedAt: clock.now() };
  };
}
