import { download } from '../http/download';
import type { Http } from '../http/http';
import { PrintingError } from '../service/errors';
import { CsvReader, type Row } from './csv';
import type { Output } from './outputs';
import { phrase } from '../words/sentence';

interface Transferred {
  columns: string[];
  /** Rows in the table; null if the text is not a readable table. */
  rows: number | null;
}

/**
 * Downloads a report's table (interface, Upload to the storage location: downloads) into an output, in parts; only the
 * output keeps data. An output of bytes accepts any text, one of rows needs a table. Throws what a download and the
 * output throw, TOO_LARGE, and SERVICE_ERROR if a needed table can't be read.
 */
export async function receive(
  http: Http,
  url: string,
  output: Output,
  { signal, onRows }: { signal: AbortSignal; onRows: (rows: number) => void },
): Promise<Transferred> {
  const { contentType, size: announced, stream } = await download(http, url, { what: phrase`the report`, signal });
  const table = new CsvReader();
  const read = { rows: 0, isTable: true };
  let size = 0;
  const take = async (completed: Promise<Row[]>) => {
    try {
      const rows = await completed;
      read.rows += rows.length;
      await output.rows?.(rows, table.columns);
      onRows(read.rows);
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
