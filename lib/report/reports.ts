import type { Deadline } from '../time/deadline';
import type { Service } from '../account/service';
import { checkTarget } from '../files/target-file';
import type { Http } from '../http/http';
import { asPrintingError, PrintingError, withIds } from '../service/errors';
import type { CurrentScope } from '../state/scope';
import type { StateStore } from '../state/store';
import { waitBefore } from '../time/backoff';
import { isoTime, type Clock } from '../time/clock';
import { readAllPages } from '../watch/cluster-list';
import type { Row } from './csv';
import { remembering, type Memory } from './given-rows';
import { orderReport, readReport, type Made } from './order';
import { asFile, asRows, asStream, asText, type Format, type Output, type Slice } from './outputs';
import type { Range } from './ranges';
import { transfer } from './transfer';

export interface ReportRequest {
  /** Null: all clusters of the account. */
  clusterIds: string[] | null;
  reportType: string;
  range: Range;
  format: Format;
  /** Where a `file` goes. */
  path: string;
  /** Leaves out rows that were handed over under this name before; null hands over all. For `rows` and `stream`. */
  onlyNew: string | null;
  /** For everything up to the last row. */
  deadline: Deadline;
  onProgress: (progress: ReportProgress) => void;
  /** Called once with the whole of it; not for a `stream`, unless that has no rows. */
  onResult: (report: Report, payload: Row[] | string) => void;
  /** Called for a `stream`, again and again; the next rows are read when it has resolved. */
  onRows: (report: Report, slice: Slice) => Promise<void>;
}

/** What a message says of its report beside the payload (reference 3.5). */
export interface Report {
  reportId: string;
  /** Where the report is about one cluster alone. */
  clusterId: string | null;
  columns: string[];
  /** ISO 8601. */
  from: string;
  to: string;
  /** Rows handed over; null while, or where, that isn't known. */
  rowCount: number | null;
  /** The service's own `data`. */
  raw: unknown;
}

export interface ReportProgress {
  stage: 'creating' | 'waiting' | 'downloading';
  /** Rows read so far. */
  rows: number;
}

/** A broken download is begun again so often, after these waits. */
const MOST_REPEATS = 3;
const REPEATS = { first: 1_000, longest: 15_000, factor: 3, jitter: 0.2 };
/** What object stores say to an address that has expired. */
const EXPIRED = [401, 403, 404, 410];
/** Between two reports of progress, ms. */
const PAUSE = 500;

/** Has reports made and hands them over. */
export class Reports {
  readonly #deps: { service: Service; http: Http; store: StateStore; clock: Clock; scope: CurrentScope };
  readonly #running = new Set<Promise<void>>();

  constructor(deps: { service: Service; http: Http; store: StateStore; clock: Clock; scope: CurrentScope }) {
    this.#deps = deps;
  }

  /**
   * Resolves when the last row was handed over. Throws INVALID_INPUT, FILE_NOT_WRITABLE, TOO_LARGE, REPORT_FAILED,
   * TIMEOUT, and what the service's calls throw; a `stream` may have handed over rows before.
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

  /** Resolves when nothing is under way any more; begun files are gone then. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async #run(request: ReportRequest): Promise<void> {
    const { service, store, scope } = this.#deps;
    const { reportType, range, format, path, onlyNew, deadline, onProgress } = request;
    if (onlyNew !== null && format !== 'rows' && format !== 'stream') {
      const sentence = 'Only new rows can be had as rows or as a stream: choose one of them, or all rows.';
      throw new PrintingError('INVALID_INPUT', sentence);
    }
    if (format === 'file') await checkTarget(path);
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
      const hand = (memory: Memory | null) => this.#hand(made, clusterId, request, memory);
      if (onlyNew === null) await hand(null);
      else await remembering(store, { scope: await deadline.wait(scope()), name: onlyNew }, hand);
    } catch (thrown) {
      throw withIds(asPrintingError(thrown), { clusterId: clusterId ?? undefined, reportId });
    }
  }

  async #allClusters(deadline: Deadline): Promise<string[]> {
    const listed = await readAllPages(this.#deps.service, deadline);
    if (listed.length === 0)
      throw new PrintingError('NOT_FOUND', 'The account has no clusters to report on: connect a printer first.');
    return listed.map(({ cluster }) => cluster.clusterId);
  }

  /** Fetches the report and hands it over; what breaks off before anything of it was handed over is fetched again. */
  async #hand(made: Made, clusterId: string | null, request: ReportRequest, memory: Memory | null): Promise<void> {
    const { service, http, clock } = this.#deps;
    const { range, deadline, onProgress, onResult, onRows } = request;
    const { signal } = deadline;
    const report = { reportId: made.reportId, clusterId, from: isoTime(range.from), to: isoTime(range.to) };
    const handed = { some: false };
    const handRows = async (slice: Slice) => {
      handed.some = true;
      await onRows({ ...report, columns: slice.columns, rowCount: slice.count, raw: made.raw }, slice);
      signal.throwIfAborted();
    };
    const onRead = paced(clock, (rows) => onProgress({ stage: 'downloading', rows }));
    for (let repeats = 0; ; repeats++) {
      const output = outputOf(request, memory, handRows);
      try {
        signal.throwIfAborted();
        onRead(0);
        const { columns, rows } = await transfer(http, made.url, output, { signal, onRows: onRead });
        const { payload, count } = await output.end();
        if (payload === null) return;
        onResult({ ...report, columns, rowCount: count ?? rows, raw: made.raw }, payload);
        if (typeof payload !== 'string') memory?.add(payload);
        return;
      } catch (thrown) {
        await output.drop?.();
        const error = asPrintingError(thrown);
        if (handed.some || !passes(error) || repeats === MOST_REPEATS) throw error;
        await deadline.sleep(waitBefore(repeats, REPEATS));
        made = await readReport(service, made.reportId, { deadline });
      }
    }
  }
}

function outputOf(
  { format, path }: ReportRequest,
  memory: Memory | null,
  handRows: (slice: Slice) => Promise<void>,
): Output {
  switch (format) {
    case 'rows':
      return asRows(memory);
    case 'csv':
      return asText();
    case 'file':
      return asFile(path);
    case 'stream':
      return asStream(memory, handRows);
  }
}

/** Whether the same download may well work the next time, with a fresh address. */
const passes = ({ code, outcome, statusCode }: PrintingError): boolean =>
  code === 'NETWORK' || (code === 'SERVICE_ERROR' && (outcome === 'unknown' || EXPIRED.includes(statusCode ?? 0)));

/** Tells a number now, and then not more often than twice a second. */
function paced(clock: Clock, tell: (rows: number) => void): (rows: number) => void {
  let told = -Infinity;
  return (rows) => {
    if (clock.monotonic() - told < PAUSE) return;
    told = clock.monotonic();
    tell(rows);
  };
}
