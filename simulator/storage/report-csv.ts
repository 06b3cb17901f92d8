import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { iso } from '../world/clock';
import { ResetConnection } from '../http/receive';
import type { Printer, ReportSwitch } from '../world/state';
import type { ReportLine } from '../world/report-lines';

const BATCH = 64 * 1024;

/** Name of a column, and a function that returns its cell. */
type Column = [name: string, cell: (line: ReportLine) => string | number | null];

/** Streams the CSV of a report. The switches set its format (wire facts 10: separator and encoding are unknown). */
export function csv(lines: Iterable<ReportLine>, made: ReportSwitch): Readable {
  return Readable.from(chunks(lines, made), { objectMode: false });
}

async function* chunks(lines: Iterable<ReportLine>, made: ReportSwitch): AsyncGenerator<Buffer> {
  let left = made.cutAfter ?? Infinity;
  for await (const text of batches(lines, made)) {
    const bytes = Buffer.from(text);
    if (bytes.length > left) {
      yield bytes.subarray(0, left);
      // Lets the bytes arrive before the connection breaks.
      await nextTurn();
      throw new ResetConnection();
    }
    left -= bytes.length;
    yield bytes;
  }
}

async function* batches(lines: Iterable<ReportLine>, made: ReportSwitch): AsyncGenerator<string> {
  const columns = columnsOf(made);
  const row = (cells: (string | number | null)[]): string =>
    cells.map((cell) => quoted(cell, made)).join(made.separator ?? ',') + (made.crlf ? '\r\n' : '\n');
  let text = (made.bom ? '\uFEFF' : '') + row(columns.map(([name]) => name));
  for (const line of lines) {
    text += row(columns.map(([, cell]) => cell(line)));
    if (text.length < BATCH) continue;
    yield text;
    // Yields, so that a long report doesn't delay other requests.
    await nextTurn();
    text = '';
  }
  yield text;
}

/**
 * The documented columns; those of the extruders follow the documented pattern (wire facts 10). Status and duration are
 * missing.
 */
function columnsOf(made: ReportSwitch): Column[] {
  const material = (index: number): string =>
    made.repeatedColumns ? 'extruder_material' : `extruder_${index + 1}_material`;
  return [
    ['printer_model', ({ cluster }) => cluster.model],
    ['printer_name', (line) => printerOf(line)?.name ?? null],
    ['printer_uuid', ({ print }) => print.printerUuid],
    ['job_uuid', ({ print }) => print.uuid],
    ['job_name', ({ print }) => (made.hardNames ? hardened(print.name, made) : print.name)],
    ['queued_at', ({ print }) => iso(print.createdAt)],
    ['started_at', ({ print }) => (print.startedAt === null ? null : iso(print.startedAt))],
    ['removed_at', ({ print }) => iso(print.endedAt)],
    [material(0), ({ print }) => print.materials[0] ?? null],
    [material(1), ({ print }) => print.materials[1] ?? null],
  ];
}

const printerOf = ({ cluster, print }: ReportLine): Printer | undefined =>
  cluster.printers.find(({ uuid }) => uuid === print.printerUuid);

/** Adds every special character to a name. */
const hardened = (name: string, { separator = ',' }: ReportSwitch): string => `"${name}"${separator} part 1\n of "2"`;

function quoted(cell: string | number | null, { separator = ',' }: ReportSwitch): string {
  const text = String(cell ?? '');
  return text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
