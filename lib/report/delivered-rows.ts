import { hash } from 'node:crypto';
import { isEndDecided } from '../service/job-words';
import type { Key, Scope, StateStore } from '../state/store';
import type { Lock } from '../state/membership';
import { Turns } from '../time/concurrency';
import { underDeadline, type Deadline } from '../time/deadline';
import { NamedColumns, normalized } from './columns';
import type { Row } from './csv';

const DAY = 24 * 60 * 60 * 1000;
const KEEP_FOR = 366 * DAY;
/** Most stored rows, the newest; each has about 20 bytes. */
const MOST = 100_000;

/**
 * Columns that identify one printing in the service's other answers (wire facts 8); those of reports are unknown (10).
 * `job_id` is not one: it identifies the stored file, which may be printed many times.
 */
const ID_COLUMNS = ['cluster_job_id', 'job_instance_uuid', 'print_job_id', 'print_job_uuid', 'job_uuid', 'uuid'];

/** Rows delivered by earlier reports and by this one. */
export interface DeliveredRows {
  isNew(row: Row): boolean;
  /** Adds rows that have just been delivered, in turns of the event loop. Never rejects. */
  add(rows: readonly Row[]): Promise<void>;
}

/**
 * Records the delivered rows of reports, by their print job, or by their whole text if they have none: the last 100,000
 * for a year. The row of a print that goes on is delivered once more after its end. `name` identifies the recipient.
 * The record is written after `work`, even if that throws; rows delivered before a crash are delivered again.
 * Serializes the reports of one name: `deadline` limits the wait for another report, and losing the lock cancels the
 * work. Throws FILE_NOT_READABLE before it begins if the record can't be read; a failure to write it doesn't undo the
 * delivery.
 */
export async function withDeliveredRows<T>(
  store: StateStore,
  { scope, name, deadline }: { scope: Scope; name: string; deadline: Deadline },
  work: (delivered: DeliveredRows, deadline: Deadline) => Promise<T>,
): Promise<T> {
  const key: Key = ['report-rows', ...scope, name];
  let outcome: Promise<T> | undefined;
  const change = async (before: string[] | undefined, lock: Lock) => {
    const known = new Set(before);
    const now = new NewestMarks();
    const markOf = marker();
    const turns = new Turns(deadline.clock);
    const delivered: DeliveredRows = {
      isNew: (row) => !known.has(markOf(row)),
      add: async (rows) => {
        for (const row of rows) {
          await turns.next();
          now.add(markOf(row));
        }
      },
    };
    outcome = underDeadline(deadline.clock, { parent: deadline, lost: lock.signal }, (limit) => work(delivered, limit));
    await outcome.catch(() => undefined);
    if (now.all.size === 0) return before;
    return [...new Set([...known, ...now.all])].slice(-MOST);
  };
  await store.update(key, change, { keepFor: KEEP_FOR, deadline, insist: true }).catch((error: unknown) => {
    if (!outcome) throw error;
  });
  return outcome as Promise<T>;
}

/** The last marks of a report, which may have any number of rows. */
class NewestMarks {
  readonly all = new Set<string>();
  /** One iterator for all removals: a new one would pass every removed mark again. */
  readonly #oldest = this.all.values();

  add(mark: string): void {
    this.all.add(mark);
    if (this.all.size > MOST) this.all.delete(this.#oldest.next().value as string);
  }
}

/** Returns a function that reduces a row to a 16-character digest. The rows of one report have the same columns. */
function marker(): (row: Row) => string {
  let columns: NamedColumns | undefined;
  return (row) => {
    columns ??= new NamedColumns(Object.keys(row));
    const mark = idOf(row, columns) ?? JSON.stringify(row);
    // A slice of a longer text would keep that text in memory.
    return hash('sha256', mark, 'buffer').toString('base64', 0, 12);
  };
}

function idOf(row: Row, columns: NamedColumns): string | null {
  for (const name of ID_COLUMNS) {
    const id = columns.cell(row, name);
    if (id !== '') return `${id}${goesOn(row, columns) ? ' goes on' : ''}`;
  }
  return null;
}

/**
 * Whether the print of a row may go on: its word, known or not, names no certain end. Without a word, the print goes on
 * until it has a time of its removal (wire facts 10).
 */
function goesOn(row: Row, columns: NamedColumns): boolean {
  const status = normalized(columns.cell(row, 'status'));
  if (status !== '') return !isEndDecided({ status, serviceState: null });
  return columns.has('removed_at') && columns.cell(row, 'removed_at') === '';
}
