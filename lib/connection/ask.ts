import type { AccountSettings } from '../account/settings';
import type { Http } from '../http/http';
import { PrintingError } from '../service/errors';
import type { Target } from '../service/paths';
import type { Deadline } from '../time/deadline';
import { phrase } from '../words/sentence';

/** An answer, whatever its status. */
export interface Asked {
  status: number;
  headers: Record<string, string>;
  /** Undefined for what is no JSON. */
  body: unknown;
  /** When the request left and when its answer had arrived, ms since 1970. */
  sentAt: number;
  arrivedAt: number;
}

/** What is asked: always GET, the test changes nothing at the service. */
export type Question = Pick<Target, 'host' | 'path'> & { bearer?: string };

/** Throws NETWORK, SERVICE_ERROR for an answer that is too large, and the deadline's reason. */
export type Ask = (question: Question, deadline: Deadline) => Promise<Asked>;

/** One question to one of the account's hosts, asked once: what is looked for is how the service answers right now. */
export function asker({ apiUrl, authUrl }: Pick<AccountSettings, 'apiUrl' | 'authUrl'>, http: Http): Ask {
  return async ({ host, path, bearer }, deadline) => {
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
    });
    return { status, headers, body, sentAt, arrivedAt: clock.now() };
  };
}
