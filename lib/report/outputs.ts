import { TargetFile, type TargetOptions } from '../files/target-file';
import { TABLE } from '../rules/limits';
import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';
import type { Row } from './csv';
import type { DeliveredRows } from './delivered-rows';

/** How a report is handed over (reference 3.5). */
export type Format = 'rows' | 'csv' | 'file' | 'stream';

/** Where a report's bytes or rows go while they arrive. One of them serves one download. */
export interface Output {
  /** Most bytes of the download, for what is held in memory. */
  most: number;
  /** Gets the download as it is; an output of bytes takes whatever they are. */
  bytes?(part: Buffer): Promise<void> | void;
  rows?(rows: Row[], columns: string[]): Promise<void> | void;
  /** All has arrived. Gives the payload, if it is still to be handed over. `count` is that of the rows in it. */
  end(): Promise<{ payload: Row[] | string | null; count: number | null }>;
  /** Nothing of it may stay behind. */
  drop?(): Promise<void>;
}

/** Some of the rows of a report. */
export interface Slice {
  rows: Row[];
  columns: string[];
  /** Index of the first of them in the whole report. */
  first: number;
  /** How many the whole report has, in its last slice; null in those before. */
  count: number | null;
}

const MIB = 1024 * 1024;
/** A report read into objects takes four times its size. */
const MOST_FOR_ROWS = 64 * MIB;
const MOST_FOR_TEXT = 256 * MIB;

export function asRows(delivered: DeliveredRows | null): Output {
  const all: Row[] = [];
  let cells = 0;
  return {
    most: MOST_FOR_ROWS,
    rows(rows, columns) {
      cells += rows.length * columns.length;
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

/** The text without the byte order mark. */
export function asText(): Output {
  const decoder = new TextDecoder();
  let text = '';
  return {
    most: MOST_FOR_TEXT,
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

/** Hands rows over as they arrive. They wait for the next ones: the last slice is to say how many there were. */
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
      if (waiting.length > 0) await pass(given + waiting.length);
      return { payload: given === 0 ? [] : null, count: given };
    },
  };
}
