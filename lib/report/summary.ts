import { TABLE, TEXT } from '../rules/limits';
import { PrintingError } from '../service/errors';
import { isEndDecided, stateOf } from '../service/job-words';
import { duration, time } from '../service/json-readers';
import { phrase } from '../words/sentence';
import { NamedColumns } from './columns';
import type { Row } from './csv';

/** Prints and hours of one printer or material. */
export interface Share {
  name: string;
  prints: number;
  hours: number | null;
}

/** A report in figures (reference 3.5); null where the report lacks the column. */
export interface ReportSummary {
  prints: number;
  finished: number | null;
  failed: number | null;
  aborted: number | null;
  hours: number | null;
  /** Most prints first. */
  printers: Share[] | null;
  materials: Share[] | null;
}

const MATERIAL = /^(?:extruder_?\d+_)?material(?:_name|_type)?$|^extruder_material(?:_\d+)?$/;
/** Prints and their time in ms, by name. */
type Counted = Map<string, { prints: number; time: number }>;

const TIMES = ['time_elapsed', 'started_at', 'removed_at'];

const HOUR = 3600_000;

/** Sums up the rows of a report as they arrive; only the figures are held. */
export class Summary {
  #keys: readonly string[] = [];
  #columns = new NamedColumns([]);
  #materialKeys: string[] = [];
  #prints = 0;
  #time = 0;
  readonly #ends = { finished: 0, failed: 0, aborted: 0 };
  readonly #printers: Counted = new Map();
  readonly #materials: Counted = new Map();

  /** Throws TOO_LARGE if the rows name too many printers or materials. */
  add(rows: readonly Row[], columns: readonly string[]): void {
    // All rows of a report have the same columns.
    if (columns !== this.#keys) {
      this.#keys = columns;
      this.#columns = new NamedColumns(columns);
      this.#materialKeys = this.#columns.matching(MATERIAL);
    }
    for (const row of rows) {
      const time = this.#timeOf(row);
      this.#prints++;
      this.#time += time;
      const end = endOf(this.#columns.cell(row, 'status'));
      if (end) this.#ends[end]++;
      const printer = this.#columns.cell(row, 'printer_name');
      if (printer) count(this.#printers, printer, time);
      for (const name of new Set(this.#materialKeys.map((key) => row[key])))
        if (name) count(this.#materials, name, time);
    }
    if (this.#printers.size + this.#materials.size > TABLE.names)
      throw new PrintingError(
        'TOO_LARGE',
        phrase`The report names more than ${TABLE.names} printers and materials: choose the output file or stream, or a shorter range.`,
      );
  }

  get result(): ReportSummary {
    const has = (column: string) => this.#columns.has(column);
    const isTimed = has('time_elapsed') || (has('started_at') && has('removed_at'));
    const ends = has('status') ? this.#ends : { finished: null, failed: null, aborted: null };
    const shares = (counted: Counted): Share[] =>
      [...counted]
        .map(([name, { prints, time }]) => ({ name, prints, hours: isTimed ? hoursOf(time) : null }))
        .sort((one, other) => other.prints - one.prints);
    return {
      prints: this.#prints,
      ...ends,
      hours: isTimed ? hoursOf(this.#time) : null,
      printers: has('printer_name') ? shares(this.#printers) : null,
      materials: this.#materialKeys.length > 0 ? shares(this.#materials) : null,
    };
  }

  /** Duration of a print, ms: its elapsed seconds, or else the time from its start to its removal. */
  #timeOf(row: Row): number {
    const [elapsed = '', from = '', to = ''] = TIMES.map((name) => this.#columns.cell(row, name));
    const seconds = elapsed ? elapsed : (momentOf(to) - momentOf(from)) / 1000;
    return 1000 * (duration(seconds) ?? 0);
  }
}

/** How the print of a row has ended, by its status, in any of the service's words (wire facts 12.2); null if it doesn't say. */
function endOf(status: string): 'finished' | 'failed' | 'aborted' | null {
  const words = { status: status.slice(0, TEXT.matched).trim().toLowerCase(), serviceState: null };
  const state = isEndDecided(words) ? stateOf(words, null) : null;
  return state === 'finished' || state === 'failed' || state === 'aborted' ? state : null;
}

function count(counted: Counted, words: string, time: number): void {
  const name = words.slice(0, TEXT.matched);
  const share = counted.get(name) ?? { prints: 0, time: 0 };
  share.prints++;
  share.time += time;
  counted.set(name, share);
}

/** A time of the report, which is UTC where it names no zone (wire facts 1), ms since 1970; also in a form of its own. */
function momentOf(cell: string): number {
  const given = cell.trim();
  return Date.parse(time(given) ?? given);
}

const hoursOf = (time: number): number => Math.round((100 * time) / HOUR) / 100;
