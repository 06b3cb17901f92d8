import type { Readable } from 'node:stream';
import { Agent, EnvHttpProxyAgent, request, type Dispatcher } from 'undici';
import { PrintingError } from '../service/errors';
import { networkError } from './network-error';

export interface HttpRequest {
  method: string;
  url: string;
  headers?: Record<string, string>;
  /** A stream needs its exact `content-length` among the headers: it then goes out unchunked, and flat in memory. */
  body?: string | Uint8Array | Readable;
  signal?: AbortSignal | undefined;
  /** Longest silence before the answer's head and between its parts, ms. Default 30 s. */
  quiet?: number;
}

export interface HttpAnswer {
  status: number;
  /** Lower-case names; a repeated header is joined by commas. */
  headers: Record<string, string>;
  /** The unread body: read it to its end, `dump()` it or destroy it, or its connection stays busy. */
  body: Dispatcher.ResponseData['body'];
}

const QUIET = 30_000;
const CONNECT = 10_000;
/** No JSON answer of the service comes near this; what is longer is not read into memory. */
const LONGEST_TEXT = 64 * 1024 * 1024;

/**
 * Plain HTTP over undici: nothing is retried, no redirect is followed (so no header ever reaches another host).
 * Failures are PrintingErrors of code NETWORK with their `outcome`.
 */
export class Http {
  readonly #dispatcher: Dispatcher;

  constructor(dispatcher: Dispatcher = systemDispatcher()) {
    this.#dispatcher = dispatcher;
  }

  async send({ method, url, headers, body, signal, quiet = QUIET }: HttpRequest): Promise<HttpAnswer> {
    try {
      const answer = await request(url, {
        method: method,
        headers: headers ?? {},
        body: body ?? null,
        signal: signal ?? null,
        dispatcher: this.#dispatcher,
        headersTimeout: quiet,
        bodyTimeout: quiet,
      });
      return { status: answer.statusCode, headers: flatten(answer.headers), body: answer.body };
    } catch (error) {
      throw networkError(error, signal);
    }
  }

  /** The whole answer as text, at most 64 MiB. */
  async text(wanted: HttpRequest): Promise<{ status: number; headers: Record<string, string>; text: string }> {
    const { status, headers, body } = await this.send(wanted);
    const parts: Buffer[] = [];
    let size = 0;
    try {
      for await (const part of body as AsyncIterable<Buffer>) {
        size += part.length;
        if (size > LONGEST_TEXT) throw new PrintingError('SERVICE_ERROR', 'The service sent an answer far too long.');
        parts.push(part);
      }
    } catch (error) {
      // The head has arrived, so the request was carried out; only what it says is lost.
      throw networkError(error, wanted.signal, 'unknown');
    }
    return { status, headers, text: Buffer.concat(parts).toString('utf8') };
  }

  /** Ends every connection; requests under way are broken off. */
  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

/** Connections as Node-RED's own nodes make them: through HTTP_PROXY and its kin where the environment names one. */
function systemDispatcher(): Dispatcher {
  const options = { connect: { timeout: CONNECT }, connections: 16 };
  const proxied = ['http_proxy', 'https_proxy'].some((name) => process.env[name] || process.env[name.toUpperCase()]);
  // A proxy can't reach what listens on this machine only, such as the simulator.
  const noProxy = [process.env.no_proxy ?? process.env.NO_PROXY, 'localhost', '127.0.0.1', '::1']
    .filter(Boolean)
    .join(',');
  return proxied ? new EnvHttpProxyAgent({ ...options, noProxy }) : new Agent(options);
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const],
  );
  return Object.fromEntries(entries);
}
