import type { Sender } from '../account/api-client';
import { PrintingError } from '../service/errors';
import type { Method } from '../service/paths';
import type { Deadline } from '../time/deadline';
import { readAddress, type Hosts } from './address';
import { readBody } from './body';
import { headersForFlow } from './headers';
import { phrase } from '../words/sentence';

export interface OwnRequest {
  /** GET, PUT, POST or DELETE, in any case. */
  method: string;
  /** See `readAddress`. */
  path: string;
  /** The body of PUT and POST; see `readBody`. */
  payload?: unknown;
  deadline: Deadline;
}

interface OwnAnswer {
  statusCode: number;
  /** See `headersForFlow`. */
  headers: Record<string, string>;
  /** The answer's `data`, or its whole body: text if it is not JSON, null if it is empty. */
  data: unknown;
}

const METHODS: readonly string[] = ['GET', 'PUT', 'POST', 'DELETE'] satisfies Method[];

/** Runs a user's own requests, for calls without a node (reference 3.5, request). */
export class Requests {
  readonly #hosts: Hosts;

  constructor(
    private readonly service: Sender,
    { apiUrl, authUrl }: Hosts,
  ) {
    this.#hosts = { apiUrl, authUrl };
  }

  /** Throws INVALID_INPUT before anything is sent, and the errors of the service's calls. */
  async run({ method, path, payload, deadline }: OwnRequest): Promise<OwnAnswer> {
    const to = { method: readMethod(method), ...readAddress(path, this.#hosts) };
    const body = to.method === 'PUT' || to.method === 'POST' ? readBody(payload) : undefined;
    const { status, headers, data } = await this.service.send(to, { body, what: phrase`the request`, deadline });
    return { statusCode: status, headers: headersForFlow(headers), data };
  }
}

function readMethod(given: string): Method {
  const method = given.trim().toUpperCase();
  if (!METHODS.includes(method))
    throw new PrintingError(
      'INVALID_INPUT',
      phrase`The method must be GET, PUT, POST or DELETE: correct it and try again.`,
      { outcome: 'not-sent' },
    );
  return method as Method;
}
