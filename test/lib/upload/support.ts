import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { phrase } from '../../../lib/words/sentence';
import type { AddressInfo } from 'node:net';
import type { CallOptions } from '../../../lib/account/api-client';
import { refusalError } from '../../../lib/service/errors';
import type { EndpointName } from '../../../lib/service/paths';
import type { ManualClock } from '../../helpers/manual-clock';
import { ScriptedService } from '../../helpers/scripted-service';

export interface StoredJob {
  job_id: string;
  job_name: string;
  file_size: number;
  content_type: string;
  origin: string | undefined;
  status: string;
  [field: string]: unknown;
}

/** Faults of the storage during one PUT. */
export type Fault =
  | { status: number }
  /** Breaks the connection after so many bytes. */
  | { resetAt: number }
  /** Accepts the file and breaks the connection instead of answering. */
  | { loseAnswer: true }
  | { redirect: string }
  /** Never answers; calls `hang` at the first bytes. */
  | { hang: () => void };

const ALLOWED = ['host', 'connection', 'content-type', 'content-length', 'origin'];

/** The service's storage: an object store that is strict about headers and one-time URLs. */
export class Storage {
  readonly jobs = new Map<string, StoredJob>();
  readonly bytes = new Map<string, Buffer>();
  /** One entry per PUT of a file that reached the store, in order. */
  readonly puts: string[] = [];
  /** Number of queries for the kept bytes; the store never answers them. */
  queries = 0;
  readonly faults: Fault[] = [];
  /** Objections of the store; empty in every passing test. */
  readonly objections: string[] = [];
  /** Bytes received with interrupted PUTs. */
  partial = 0;
  url = '';
  readonly #server: Server = createServer((request, response) => void this.#put(request, response));
  readonly #used = new Set<string>();

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #put(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = new URL(request.url ?? '', this.url).pathname.slice(1);
    const job = this.jobs.get(id);
    if (request.headers['content-range'] === `bytes */${job?.file_size}`) {
      this.queries++;
      response.writeHead(400).end('<Error><Code>InvalidArgument</Code></Error>');
      return;
    }
    this.puts.push(id);
    const fault = this.faults.shift();
    request.on('error', () => {});
    if (fault && 'status' in fault) {
      request.resume().on('end', () => response.writeHead(fault.status).end('<Error><Code>No</Code></Error>'));
      return;
    }
    if (fault && 'redirect' in fault) {
      request.resume().on('end', () => response.writeHead(307, { location: fault.redirect }).end());
      return;
    }
    if (fault && 'hang' in fault) {
      request.once('data', () => {
        request.pause();
        fault.hang();
      });
      return;
    }
    const object = (what: string) => this.objections.push(what);
    if (!job || request.method !== 'PUT') object(`${request.method} of an unknown ${id}`);
    if (this.#used.has(id)) object(`${id} was used before`);
    for (const name of Object.keys(request.headers)) if (!ALLOWED.includes(name)) object(`header ${name}`);
    const { headers } = request;
    if (headers['content-type'] !== job?.content_type) object(`content-type ${headers['content-type']}`);
    if (headers['content-length'] !== String(job?.file_size)) object(`content-length ${headers['content-length']}`);
    if (headers.origin !== job?.origin) object(`origin ${headers.origin}`);

    const parts: Buffer[] = [];
    let size = 0;
    try {
      for await (const part of request as AsyncIterable<Buffer>) {
        parts.push(part);
        size += part.length;
        if (fault && 'resetAt' in fault && size >= fault.resetAt) {
          request.socket.resetAndDestroy();
          return;
        }
      }
    } catch {
      this.partial += size;
      return;
    }
    this.#used.add(id);
    this.bytes.set(id, Buffer.concat(parts));
    if (job) job.status = 'uploaded';
    if (fault) request.socket.resetAndDestroy();
    else response.writeHead(200).end();
  }
}

/** A signed-in service in front of the storage; `turns` are called first, one per call. */
export class UploadService extends ScriptedService {
  readonly turns: (() => unknown)[] = [];
  /** Statuses that the next reads return before the true one. */
  readonly statuses: (string | Record<string, unknown>)[] = [];
  /** Changes the record that answers a registration. */
  onRegister: (record: Record<string, unknown>) => void = () => {};
  /** Makes the answer to a registration of its record. */
  answerOf: (record: Record<string, unknown>) => unknown = (record) => record;
  #count = 0;

  constructor(readonly storage: Storage) {
    super();
  }

  protected override outcome(endpoint: EndpointName, options: CallOptions): unknown {
    const scripted = this.turns.shift()?.();
    if (scripted !== undefined) return scripted;
    return endpoint === 'registerUpload' ? this.#register(options) : this.#read(options);
  }

  #register({ data }: CallOptions): unknown {
    const id = `job-${++this.#count}`;
    const job = { ...(data as StoredJob), job_id: id, status: 'uploading' };
    this.storage.jobs.set(id, job);
    const answered: Record<string, unknown> = { ...job, upload_url: `${this.storage.url}/${id}?signature=secret` };
    this.onRegister(answered);
    if (typeof answered.content_type === 'string') job.content_type = answered.content_type;
    return this.answerOf(answered);
  }

  #read({ ids }: CallOptions): unknown {
    const job = this.storage.jobs.get(ids?.job_id ?? '');
    if (!job) return refusalError(404, null, phrase`the stored file`);
    const seen = this.statuses.shift();
    return { ...job, ...(typeof seen === 'string' ? { status: seen } : seen) };
  }
}

/** Advances the clock to each pending timer until the work has ended; returns the waits, ms. */
export async function drive<T>(clock: ManualClock, work: Promise<T>): Promise<{ value: T; waits: number[] }> {
  const state = { done: false };
  const settled = () => (state.done = true);
  work.then(settled, settled);
  const waits: number[] = [];
  while (!state.done) {
    await new Promise((resolve) => setImmediate(resolve));
    const { next } = clock;
    // A later timer is the work's deadline rather than a wait.
    if (next === undefined || next > 120_000) continue;
    waits.push(next);
    await clock.advance(next);
  }
  return { value: await work, waits };
}
