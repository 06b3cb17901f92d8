import type { AccountSettings } from '../account/settings';
import type { Http } from '../http/http';
import { networkError } from '../http/network-error';
import { PrintingError } from '../service/errors';
import type { Target } from '../service/paths';
import type { Deadline } from '../time/deadline';
import { say } from '../words/say';

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

/** Throws NETWORK, SERVICE_ERROR for an answer that is too long, and the deadline's reason. */
export type Ask = (question: Question, deadline: Deadline) => Promise<Asked>;

/** Long enough for the description of a whole service. */
const LONGEST = 5 * 1024 * 1024;

/** One question to one of the account's hosts, asked once: what is looked for is how the service answers right now. */
export function asker({ apiUrl, authUrl }: Pick<AccountSettings, 'apiUrl' | 'authUrl'>, http: Http): Ask {
  return async ({ host, path, bearer }, deadline) => {
    const base = host === 'auth' ? authUrl : apiUrl;
    if (!base) throw new PrintingError('NOT_CONFIGURED', say`The account has no account host: fill it in.`);
    deadline.throwIfOver();
    const { clock, signal } = deadline;
    const sentAt = clock.now();
    const answer = await http.send({
      method: 'GET',
      url: `${base}${path}`,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...(bearer && { authorization: `Bearer ${bearer}` }),
      },
      signal,
    });
    const arrivedAt = clock.now();
    const parts: Buffer[] = [];
    let size = 0;
    try {
      for await (const part of answer.body as AsyncIterable<Buffer>) {
        size += part.length;
        if (size > LONGEST)
          throw new PrintingError('SERVICE_ERROR', say`The answer is longer than 5 MiB: it was not read.`);
        parts.push(part);
      }
    } catch (error) {
      throw networkError(error, 'unknown', signal);
    }
    const { status, headers } = answer;
    return { status, headers, body: parse(Buffer.concat(parts).toString('utf8')), sentAt, arrivedAt };
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}
