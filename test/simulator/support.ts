import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../simulator/index';

export const REDIRECT = 'http://localhost:1880/callback';
export const SCOPE = 'connect.cluster.read connect.cluster.write slicer.printjob.read slicer.printjob.write';

/** JSON value of any shape. */
export type Wire = ReturnType<typeof JSON.parse>;

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  text: string;
  /** Parsed body; only for JSON. */
  json: Wire;
}

export interface Request {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
}

/** Sends one bare request: adds no headers of its own and follows no redirects. */
export async function call(url: string, { method = 'GET', headers = {}, body }: Request = {}): Promise<Reply> {
  const outgoing = httpRequest(url, { method, headers, agent: false });
  outgoing.end(body);
  const [response] = await once(outgoing, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString('utf8');
  const isJson = String(response.headers['content-type']).startsWith('application/json');
  return {
    status: response.statusCode,
    headers: response.headers,
    bytes,
    text,
    json: isJson ? parse(text) : undefined,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const form = (values: Record<string, string>): Request => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(values).toString(),
});

/** An authorized client of the simulator, with a clock under the test's control. */
export class Bench {
  private constructor(
    readonly simulator: Simulator,
    readonly clock: { now: number },
    readonly token: string,
  ) {}

  static async start(options: SimulatorOptions = {}): Promise<Bench> {
    const clock = { now: Date.UTC(2030, 0, 1) };
    const simulator = await startSimulator({
      now: () => clock.now,
      printVisibleAfter: 0,
      accessTokenLifetime: 1e7,
      ...options,
    });
    return new Bench(simulator, clock, signIn(simulator).access_token);
  }

  pass(seconds: number): void {
    this.clock.now += seconds * 1000;
  }

  api(method: string, path: string, data?: unknown): Promise<Reply> {
    const headers: OutgoingHttpHeaders = { authorization: `Bearer ${this.token}` };
    if (data === undefined) return call(this.simulator.apiUrl + path, { method, headers });
    const body = JSON.stringify(data);
    return call(this.simulator.apiUrl + path, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    });
  }

  async register(body: Buffer, values: Record<string, unknown> = {}): Promise<Wire> {
    const data = { job_name: 'part.gcode', file_size: body.length, content_type: 'text/plain', ...values };
    return (await this.api('PUT', '/slicer/v1/jobs/upload', { data })).json.data;
  }

  put(record: Wire, body: Buffer, headers: OutgoingHttpHeaders = {}): Promise<Reply> {
    return call(record.upload_url, {
      method: 'PUT',
      headers: { 'content-type': record.content_type, 'content-length': body.length, ...headers },
      body,
    });
  }

  /** Registers and uploads a file; returns the id of the stored job. */
  async upload(body: Buffer | string, values: Record<string, unknown> = {}): Promise<string> {
    const bytes = Buffer.from(body);
    const record = await this.register(bytes, values);
    await this.put(record, bytes);
    return record.job_id;
  }

  /** Dispatches an action; returns the answer. */
  action(path: string, data?: unknown, number = 1): Promise<Reply> {
    return this.api('POST', `/connect/v1/clusters/${this.clusterId(number)}/${path}`, data && { data });
  }

  async actionStatus(actionId: string, number = 1): Promise<Wire> {
    return (await this.api('GET', `/connect/v1/clusters/${this.clusterId(number)}/action_status/${actionId}`)).json
      .data;
  }

  clusterId(number = 1): string {
    return this.simulator.world.cluster(number).clusterId;
  }

  async print(jobId: string, number = 1): Promise<string> {
    const reply = await this.api('POST', `/connect/v1/clusters/${this.clusterId(number)}/print/${jobId}`);
    return reply.json.data.job_instance_uuid;
  }

  async status(number = 1): Promise<Wire> {
    return (await this.api('GET', `/connect/v1/clusters/${this.clusterId(number)}/status`)).json.data;
  }
}

export function signIn(simulator: Simulator, redirectUri = REDIRECT, scope = SCOPE): Wire {
  const [user] = simulator.users;
  const organizationId = user!.organizations[0]!.organizationId;
  return simulator.tokens.signIn({ userId: user!.userId, organizationId, redirectUri, scope });
}

/** Returns a record without signed addresses, which contain the port of their simulator. */
export const withoutAddresses = (record: unknown): unknown =>
  JSON.parse(JSON.stringify(record, (name, value: unknown) => (name === 'preview_url' ? undefined : value)));
