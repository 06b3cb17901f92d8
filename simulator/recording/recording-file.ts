import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { createInterface } from 'node:readline';

export type HostName = 'auth' | 'api' | 'storage';

/** Contents of a file that passed. */
export interface Content {
  size: number;
  sha256: string;
}

/** One request with its answer; a line of the file. */
export interface Exchange {
  /** Time of the answer, ms since the first request. */
  at: number;
  host: HostName;
  method: string;
  /** With the query. */
  path: string;
  /** 0 for a broken connection. */
  status: number;
  /** Sent contents: JSON, or a file. */
  sent?: { json: unknown } | { file: Content };
  headers?: Record<string, string>;
  json?: unknown;
  file?: Content;
  /** Whether the file is a picture. */
  picture?: true;
}

const FORMAT = 'remote-printing-recording';
const VERSION = 1;
/** Largest file, bytes. */
export const MOST = 100_000_000;
/** Longest line of a file, characters: an answer of 32 MiB with its escapes. */
const LINE = 80_000_000;

/** Whether a request changes nothing. */
export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** A file under way, beside its later name. Counts identical answers to a read instead of repeating them. */
export class RecordingFile {
  readonly #part: string;
  #size = 0;
  #lines = 0;
  #first: number | undefined;
  /** The last answer to each read. */
  readonly #last = new Map<string, { digest: string; line: number; times: number; until: number }>();
  #writing: Promise<void> = Promise.resolve();
  #failure: Error | undefined;
  isFull = false;

  private constructor(
    private readonly path: string,
    private readonly file: FileHandle,
    private readonly most: number,
  ) {
    this.#part = partOf(path);
  }

  /** Throws if the file can't be written. */
  static async create(path: string, most = MOST): Promise<RecordingFile> {
    return new RecordingFile(path, await open(partOf(path), 'w', 0o600), most);
  }

  get lines(): number {
    return this.#lines;
  }

  /** Notes the time of a request; the first one is the beginning of the recording. Returns ms since then. */
  begin(at: number): number {
    if (this.#first === undefined) {
      this.#first = at;
      this.#write({ format: FORMAT, version: VERSION, started: new Date(at).toISOString() });
    }
    return at - this.#first;
  }

  add(exchange: Exchange): void {
    const { at, ...rest } = exchange;
    const key = `${exchange.host} ${exchange.method} ${exchange.path}`;
    const digest = createHash('sha256').update(JSON.stringify(rest)).digest('base64');
    const last = this.#last.get(key);
    if (isRead(exchange.method) && last?.digest === digest) {
      last.times++;
      last.until = at;
      return;
    }
    if (last) this.#endRun(last);
    if (this.#write(exchange)) this.#last.set(key, { digest, line: this.#lines, times: 1, until: at });
  }

  /** Completes the file under its name. Throws if any of it could not be written. */
  async finish(): Promise<void> {
    for (const run of this.#last.values()) this.#endRun(run);
    if (this.#first === undefined) this.begin(Date.now());
    await this.#writing;
    try {
      if (this.#failure !== undefined) throw this.#failure;
      await this.file.sync();
      await this.file.close();
      await rename(this.#part, this.path);
    } catch (error) {
      await this.drop();
      throw error;
    }
  }

  async drop(): Promise<void> {
    await this.#writing;
    await this.file.close().catch(() => undefined);
    await rm(this.#part, { force: true });
  }

  #endRun({ line, times, until }: { line: number; times: number; until: number }): void {
    if (times > 1) this.#write({ same: line, times, until });
  }

  /** Whether there was room. */
  #write(record: object): boolean {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    if (this.#size + line.length > this.most) this.isFull = true;
    // A recording with a gap would replay what did not happen.
    if (this.isFull || this.#failure !== undefined) return false;
    this.#size += line.length;
    this.#lines++;
    this.#writing = this.#writing
      .then(() => this.file.writeFile(line))
      .catch((error: unknown) => void (this.#failure ??= error instanceof Error ? error : new Error(String(error))));
    return true;
  }
}

export const partOf = (path: string): string => `${path}.part`;

/** Reads a recording; throws a sentence about a file that is none. */
export async function readRecording(path: string): Promise<{ started: number; exchanges: Exchange[] }> {
  const exchanges: Exchange[] = [];
  let started: number | undefined;
  let size = 0;
  const lines = createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity });
  for await (const line of lines) {
    size += line.length;
    if (size > MOST || line.length > LINE) throw new Error(`${path} is too large for a recording.`);
    const record = parsed(line);
    if (started === undefined) {
      started = Date.parse(String(record?.started));
      if (record?.format !== FORMAT || record.version !== VERSION || Number.isNaN(started))
        throw new Error(`${path} is not a recording of this version.`);
    } else if (isExchange(record)) exchanges.push(record);
    else if (typeof record?.same !== 'number') throw new Error(`${path} has a damaged line.`);
  }
  if (started === undefined) throw new Error(`${path} is empty.`);
  return { started, exchanges };
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isExchange(record: object | undefined): record is Exchange {
  const { at, host, method, path, status, headers, file } = (record ?? {}) as Partial<Record<keyof Exchange, unknown>>;
  return (
    ['auth', 'api', 'storage'].includes(String(host)) &&
    typeof at === 'number' &&
    typeof method === 'string' &&
    typeof path === 'string' &&
    typeof status === 'number' &&
    (status === 0 || (Number.isInteger(status) && status >= 200 && status < 600)) &&
    (headers === undefined || (isObject(headers) && Object.values(headers).every(isHeader))) &&
    (file === undefined || (isObject(file) && Number.isSafeInteger(file.size) && Number(file.size) >= 0))
  );
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const isHeader = (value: unknown): boolean => typeof value === 'string' && /^[\x20-\x7e]*$/.test(value);
