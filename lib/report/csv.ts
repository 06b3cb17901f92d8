import { finished } from 'node:stream/promises';
import { CsvError, parse, type Parser } from 'csv-parse';
import { PAGE, TABLE } from '../rules/limits';
import { PrintingError } from '../service/errors';
import { nextTurn } from '../time/concurrency';
import { keysBeyond, keysOf, shapeOf, type Shape } from './columns';
import { phrase } from '../words/sentence';

/** Cells by column, unchanged. */
export type Row = Record<string, string>;

const UNKNOWN: Shape = { separator: ',', newlines: ['\r\n', '\n'] };

/**
 * Reads a CSV table in parts (interface, Report; its format is unknown, wire facts 10): UTF-8 with or without a byte
 * order mark, lines ended by LF, CR LF or CR, cells separated by `,`, `;` or a tab. A missing cell is empty, a surplus
 * one is keyed by its number. `read` and `end` yield the completed rows, at most PAGE per turn of the event loop, and throw
 * SERVICE_ERROR if the text is not a table.
 */
export class CsvReader {
  /** Keys of the rows; empty until the header has been read. */
  columns: string[] = [];
  #start: Buffer = Buffer.alloc(0);
  #parser: Parser | undefined;
  #ended: Promise<void> | undefined;
  #rows: Row[] = [];
  #toRow: ((cells: string[]) => Row) | undefined;
  #tooWide = false;

  read(part: Buffer): AsyncGenerator<Row[], void> {
    return this.#read(part);
  }

  async *#read(part: Buffer, isLast = false): AsyncGenerator<Row[], void> {
    let parser = this.#parser;
    if (!parser) {
      part = this.#start = Buffer.concat([this.#start, part]);
      const shape = shapeOf(part) ?? (isLast || part.length > TABLE.line ? UNKNOWN : null);
      if (shape === null) return;
      parser = this.#begin(shape);
    }
    for (let [at, end] = [0, 0]; at < part.length; at = end) {
      end = at + this.#bytesAtOnce;
      await new Promise<void>((resolve, reject) => {
        parser.write(part.subarray(at, end), (error) => (error ? reject(notATable(error)) : resolve()));
      });
      yield* this.#completedRows();
    }
  }

  async *end(): AsyncGenerator<Row[], void> {
    // A header line without an end, or with a quote that is never closed.
    if (!this.#parser) yield* this.#read(Buffer.from('\n'), true);
    this.#parser?.end();
    await this.#ended?.catch((error: unknown) => {
      throw notATable(error);
    });
    yield* this.#completedRows();
  }

  /** A row may have two bytes, however many columns there are. */
  get #bytesAtOnce(): number {
    const rows = Math.floor(TABLE.turn / (this.columns.length || TABLE.columns));
    return Math.min(TABLE.part, 2 * rows);
  }

  #begin({ separator, newlines }: Shape): Parser {
    const parser = parse({
      delimiter: separator,
      bom: true,
      record_delimiter: newlines,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      max_record_size: TABLE.line,
    });
    parser.on('data', (cells: string[]) => {
      if (this.#tooWide || cells.length > TABLE.columns) this.#tooWide = true;
      else if (this.#toRow) this.#rows.push(this.#toRow(cells));
      else {
        this.columns = keysOf(cells);
        this.#toRow = rowMaker(this.columns);
      }
    });
    this.#ended = finished(parser);
    // `read` and `end` report a failure; this only prevents an unhandled rejection.
    this.#ended.catch(() => undefined);
    this.#parser = parser;
    this.#start = Buffer.alloc(0);
    return parser;
  }

  async *#completedRows(): AsyncGenerator<Row[], void> {
    if (this.#tooWide) throw notATable('CSV_TOO_MANY_COLUMNS');
    const rows = this.#rows;
    this.#rows = [];
    for (let at = 0; at === 0 || at < rows.length; at += PAGE) {
      await nextTurn();
      yield rows.slice(at, at + PAGE);
    }
  }
}

/** Makes rows as plain objects of one shape; copies of `blank` even accept a column called `__proto__`. */
function rowMaker(columns: readonly string[]): (cells: string[]) => Row {
  const blank = Object.fromEntries(columns.map((column) => [column, '']));
  // No line has more cells.
  const keys = [...columns, ...keysBeyond(columns, TABLE.columns - columns.length)];
  return (cells) => {
    const row: Row = { ...blank };
    for (let index = 0; index < cells.length; index++) row[keys[index] as string] = cells[index] as string;
    return row;
  };
}

function notATable(thrown: unknown): PrintingError {
  const code = thrown instanceof CsvError ? thrown.code : typeof thrown === 'string' ? thrown : 'unknown';
  const sentence = phrase`The report can't be read as a CSV table (${code}): choose the output csv or file.`;
  return new PrintingError('SERVICE_ERROR', sentence, { cause: new Error(code), outcome: 'refused' });
}
