import { TargetFile, type TargetOptions } from '../files/target-file';
import { TABLE } from '../rules/limits';
import { PrintingError } from '../service/errors';
import { nextTurn } from '../time/concurrency';
import { phrase } from '../words/sentence';
import type { Row } from './csv';
import type { DeliveredRows } from './delivered-rows';
import { type ReportSummary, Summary } from './summary';

/** Form in which a report is delivered (reference 3.5). */
export type Format = 'rows' | 'csv' | 'file' | 'stream' | 'summary';

/** Contents of one message. */
export type Payload = Row[] | string | ReportSummary;

/** Destination of a report's bytes or rows, for one download. */
export interface Output {
  /** Largest download, bytes; limited if it is held in memory. */
  most: number;
  /** Receives the download unchanged; any bytes are accepted. */
  bytes?(part: Buffer): Promise<void> | void;
  rows?(rows: Row[], columns: string[]): Promise<void> | void;
  /** Completes the output. Returns the payload, if it is still to be delivered; `count` is the number of its rows. */
  end(): Promise<{ payload: Payload | null; count: number | null }>;
  /** Discards everything that was written. */
  drop?(): Promise<void>;
}

/** Consecutive rows of a report. */
export interface Slice {
  rows: Row[];
  columns: string[];
  /** Index of its first row in the whole report. */
  first: number;
  /** Number of rows in the whole report, in its last slice; null before that. */
  count: number | null;
}

export function asRows(delivered: DeliveredRows | null): Output {
  const all: Row[] = [];
  let cells = 0;
  return {
    most: TABLE.held,
    rows(rows) {
      // A row may have more cells than the header.
      for (const row of rows) cells += Object.keys(row).length;
      if (cells > TABLE.cells)
        throw new PrintingError(
          'TOO_LARGE',
          phrase`The report has more than ${TABLE.cells} cells: choose the output file or stream, or a shorter range.`,
        );
      for (const row of rows) if (delivered?.isNew(row) ?? true) all.push(row);
    },
    end: async () => ({ payload: all, count: all.length }),
  };
}

/** The figures of a report of any length. */
export function asSummary(): Output {
  const summary = new Summary();
  return {
    most: Infinity,
    rows: (rows, columns) => summary.add(rows, columns),
    end: async () => {
      const { result } = summary;
      return { payload: result, count: result.prints };
    },
  };
}

/** The text without its byte order mark. */
export function textOutput(): Output {
  const decoder = new TextDecoder();
  let text = '';
  return {
    most: TABLE.held,
    bytes: (part) => void (text += decoder.decode(part, { stream: true })),
    end: async () => ({ payload: text + decoder.decode(), count: null }),
  };
}

export function asFile(path: string, options: TargetOptions): Output {
  let file: TargetFile | undefined;
  const opened = async () => (file ??= await TargetFile.open(path, options));
  return {
    most: Infinity,
    bytes: async (part) => (await opened()).write(part),
    end: async () => {
      await (await opened()).finish();
      return { payload: path, count: null };
    },
    drop: async () => file?.drop(),
  };
}

/** Delivers rows as they arrive, one slice late, as the last slice contains the number of rows. */
export function asStream(delivered: DeliveredRows | null, hand: (slice: Slice) => Promise<void>): Output {
  let waiting: Row[] = [];
  let columns: string[] = [];
  let given = 0;
  const pass = async (count: number | null) => {
    await hand({ rows: waiting, columns, first: given, count });
    given += waiting.length;
  };
  return {
    most: Infinity,
    async rows(rows, keys) {
      columns = keys;
      const fresh = delivered ? rows.filter((row) => delivered.isNew(row)) : rows;
      if (fresh.length === 0) return;
      if (waiting.length > 0) await pass(null);
      waiting = fresh;
    },
    async end() {
      // The slice before the last one may have been delivered in this turn.
      await nextTurn();
      if (waiting.length > 0) await pass(given + waiting.length);
      return { payload: given === 0 ? [] : null, count: given };
    },
  };
}
