import type { ApiClient } from '../account/api-client';
import { tidied } from '../files/file-calls';
import type { Leftovers } from '../files/leftovers';
import { checkTarget } from '../files/target-file';
import { download } from '../http/download';
import type { Http } from '../http/http';
import { isTransient, retry, TRANSFERS } from '../http/retry';
import { asPrintingError, PrintingError, withIds } from '../service/errors';
import type { CurrentScope, StateStore } from '../state/store';
import { type Clock, isoTime } from '../time/clock';
import type { Deadline } from '../time/deadline';
import { readClusters } from '../watch/polling/cluster-list';
import { phrase } from '../words/sentence';
import { CsvReader, type Row } from './csv';
import { type DeliveredRows, withDeliveredRows } from './delivered-rows';
import { type Made, orderReport, readReport } from './order';
import {
  asFile,
  asRows,
  asStream,
  asSummary,
  type Format,
  type Output,
  type Payload,
  type Slice,
  textOutput,
} from './outputs';
import type { Range } from './ranges';

export interface ReportRequest {
  /** Null for all clusters of the account. */
  clusterIds: string[] | null;
  reportType: string;
  range: Range;
  format: Format;
  /** Path of a `file`. */
  path: string;
  /**
   * Name under which delivered rows are recorded, so that each is delivered once; null delivers all. For `rows` and
   * `stream`.
   */
  onlyNew: string | null;
  /** Covers everything up to the last row. */
  deadline: Deadline;
  onProgress: (progress: ReportProgress) => void;
  /** Called once with the whole report; for a `stream` only if it has no rows. */
  onResult: (report: Report, payload: Payload) => void;
  /** Called for each slice of a `stream`. */
  onRows: (report: Report, slice: Slice) => void;
}

/** Data of a report in a message, beside the payload (reference 3.5). */
export interface Report {
  reportId: string;
  /** Set if the report covers a single cluster. */
  clusterId: string | null;
  columns: string[];
  /** ISO 8601. */
  from: string;
  to: string;
  /** Number of delivered rows; null if unknown. */
  rowCount: number | null;
  /** The service's own `data`. */
  raw: unknown;
}

export interface ReportProgress {
  stage: 'creating' | 'waiting' | 'downloading';
  /** Rows read so far. */
  rows: number;
}

/** Answers of object stores to an expired URL. */
const EXPIRED = [401, 403, 404, 410];
/** Shortest interval between two progress reports, ms. */
const PAUSE = 500;

/** Creates and delivers reports. */
export class Reports {
  readonly #running = new Set<Promise<void>>();

  constructor(private readonly deps: ReportsDeps) {}

  /**
   * Resolves when the last row has been delivered. Throws INVALID_INPUT, FILE_NOT_WRITABLE, TOO_LARGE, REPORT_FAILED,
   * TIMEOUT, and the errors of the service's calls; a `stream` may have delivered rows by then.
   */
  async run(request: ReportRequest): Promise<void> {
    const running = this.#run(request);
    this.#running.add(running);
    try {
      await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Resolves when all reports have ended and their temporary files are deleted. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
    await tidied(this.deps.clock);
  }

  async #run(request: ReportRequest): Promise<void> {
    const { service, store, scope } = this.deps;
    const { reportType, range, format, path, onlyNew, deadline, onProgress } = request;
    if (onlyNew !== null && format !== 'rows' && format !== 'stream') {
      const sentence = phrase`Only rows and streams can leave out rows sent before: choose one of them as output, or all rows.`;
      throw new PrintingError('INVALID_INPUT', sentence);
    }
    if (format === 'file') await checkTarget(path, deadline);
    let reportId: string | undefined;
    let clusterId: string | null = null;
    try {
      onProgress({ stage: 'creating', rows: 0 });
      const clusterIds = request.clusterIds ?? (await this.#allClusters(deadline));
      clusterId = clusterIds.length === 1 ? (clusterIds[0] ?? null) : null;
      const onOrdered = (id: string) => {
        reportId = id;
        onProgress({ stage: 'waiting', rows: 0 });
      };
      const made = await orderReport(service, { clusterIds, reportType, range, deadline, onOrdered });
      const deliver = (delivered: DeliveredRows | null, limit: Deadline) =>
        this.#deliver(made, clusterId, { ...request, deadline: limit }, delivered);
      if (onlyNew === null) await deliver(null, deadline);
      else await withDeliveredRows(store, { scope: await deadline.wait(scope()), name: onlyNew, deadline }, deliver);
    } catch (thrown) {
      throw withIds(asPrintingError(thrown), { clusterId: clusterId ?? undefined, reportId });
    }
  }

  async #allClusters(deadline: Deadline): Promise<string[]> {
    const listed = await readClusters(this.deps.service, deadline);
    if (listed.length === 0)
      throw new PrintingError('NOT_FOUND', phrase`The account has no printers to report on: connect a printer first.`);
    return listed.map(({ clusterId }) => clusterId);
  }

  /** Downloads and delivers the report; retries an interrupted download if nothing has been delivered yet. */
  async #deliver(
    made: Made,
    clusterId: string | null,
    request: ReportRequest,
    delivered: DeliveredRows | null,
  ): Promise<void> {
    const { service, http, clock, leftovers } = this.deps;
    const { range, deadline, onProgress, onResult, onRows } = request;
    const { reportId, raw } = made;
    const report = { reportId, clusterId, from: isoTime(range.from), to: isoTime(range.to), raw };
    const onRead = paced(clock, (rows) => onProgress({ stage: 'downloading', rows }));
    let handedOver = false;
    const handRows = async (slice: Slice) => {
      deadline.throwIfOver();
      handedOver = true;
      onRows({ ...report, columns: slice.columns, rowCount: slice.count }, slice);
      await delivered?.add(slice.rows);
    };
    const fetchOnce = async (attempt: number) => {
      deadline.throwIfOver();
      // Signed URLs expire.
      const { url } = attempt === 0 ? made : await readReport(service, reportId, { deadline });
      const output = outputOf(request, leftovers, delivered, handRows);
      try {
        onRead(0);
        const { columns, rows } = await receive(http, url, output, { signal: deadline.signal, onRows: onRead });
        const { payload, count } = await output.end();
        if (payload === null) return;
        deadline.throwIfOver();
        onResult({ ...report, columns, rowCount: count ?? rows }, payload);
        if (Array.isArray(payload)) await delivered?.add(payload);
      } catch (error) {
        await output.drop?.();
        throw error;
      }
    };
    await retry(deadline, TRANSFERS, fetchOnce, { passes: (error) => !handedOver && mayPass(error) });
  }
}

interface ReportsDeps {
  service: ApiClient;
  http: Http;
  store: StateStore;
  clock: Clock;
  scope: CurrentScope;
  /** Record of unfinished files. */
  leftovers?: Leftovers | undefined;
}

function outputOf(
  { format, path, deadline }: ReportRequest,
  leftovers: Leftovers | undefined,
  delivered: DeliveredRows | null,
  handRows: (slice: Slice) => Promise<void>,
): Output {
  switch (format) {
    case 'rows':
      return asRows(delivered);
    case 'csv':
      return textOutput();
    case 'file':
      return asFile(path, { deadline, leftovers });
    case 'summary':
      return asSummary();
    case 'stream':
      return asStream(delivered, handRows);
  }
}

/** Whether the download may succeed with a fresh URL. */
const mayPass = (error: PrintingError): boolean =>
  isTransient(error) || (error.code === 'SERVICE_ERROR' && EXPIRED.includes(error.statusCode ?? 0));

/** Limits calls of `report` to two per second, beginning with the first. */
function paced(clock: Clock, report: (rows: number) => void): (rows: number) => void {
  let reportedAt = -Infinity;
  return (rows) => {
    if (clock.monotonic() - reportedAt < PAUSE) return;
    reportedAt = clock.monotonic();
    report(rows);
  };
}

/**
 * Downloads a report's table (interface, Upload to the storage location: downloads) into an output, in parts; only the
 * output keeps data. Resolves with `rows` null if the text is not a readable table. An output of bytes accepts any text, one of rows needs a table. Throws what a download and the
 * output throw, TOO_LARGE, and SERVICE_ERROR if a needed table can't be read.
 */
export async function receive(
  http: Http,
  url: string,
  output: Output,
  { signal, onRows }: { signal: AbortSignal; onRows: (rows: number) => void },
): Promise<{ columns: string[]; rows: number | null }> {
  const { contentType, size: announced, stream } = await download(http, url, { what: phrase`the report`, signal });
  const table = new CsvReader();
  const read = { rows: 0, isTable: true };
  let size = 0;
  const take = async (completed: AsyncGenerator<Row[], void>) => {
    try {
      for await (const rows of completed) {
        read.rows += rows.length;
        await output.rows?.(rows, table.columns);
        onRows(read.rows);
      }
    } catch (error) {
      if (output.rows) throw error;
      read.isTable = false;
    }
  };
  try {
    if (contentType === 'text/html') throw notReport();
    if ((announced ?? 0) > output.most) throw tooLarge(output.most);
    for await (const part of stream as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > output.most) throw tooLarge(output.most);
      await output.bytes?.(part);
      if (read.isTable) await take(table.read(part));
      signal.throwIfAborted();
    }
    if (read.isTable) await take(table.end());
  } finally {
    stream.destroy();
  }
  return { columns: table.columns, rows: read.isTable ? read.rows : null };
}

const notReport = (): PrintingError =>
  new PrintingError('SERVICE_ERROR', phrase`The storage sent a web page instead of the report: try again later.`, {
    outcome: 'unknown',
  });

const tooLarge = (most: number): PrintingError =>
  new PrintingError(
    'TOO_LARGE',
    phrase`The report has more than ${most / 1024 / 1024} MiB: choose the output file or stream, or a shorter range.`,
  );
