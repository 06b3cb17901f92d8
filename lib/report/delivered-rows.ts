import { createHash } from 'node:crypto';
import type { Scope } from '../state/scope';
import type { Key, Lock, StateStore } from '../state/store';
import { underDeadline, type Deadline } from '../time/deadline';
import type { Row } from './csv';

const DAY = 24 * 60 * 60 * 1000;
const KEEP_FOR = 366 * DAY;
/** The newest ones: 20 bytes each in the store. */
const MOST = 100_000;

/**
 * Columns that name one printing, as the service calls it elsewhere (wire facts 8); those of reports are unknown (10).
 * `job_id` is none of them: it names the stored file, which may be printed many times.
 */
const ID_COLUMNS = ['cluster_job_id', 'job_instance_uuid', 'print_job_id', 'print_job_uuid', 'job_uuid', 'uuid'];

/** Rows that were handed over: before (in earlier reports), and now. */
export interface DeliveredRows {
  isNew(row: Row): boolean;
  /** These were handed over just now. */
  add(rows: readonly Row[]): void;
}

/**
 * Remembers which rows of reports were handed over, by the print job they tell of, or whole where they name none: the
 * last 100,000 for a year. `name` stands for who they were handed to.
 * The memory is written after `work`, also where that throws: rows that were handed over before a crash come again.
 * One report at a time for one name: `deadline` ends the wait for another, and the work's own ends with the lock. Throws FILE_NOT_READABLE, without beginning,
 * where the memory can't be read now; that it can't be written takes back nothing of what was handed over.
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
    const now: string[] = [];
    const markOf = marker();
    const delivered: DeliveredRows = {
      isNew: (row) => !known.has(markOf(row)),
      add: (rows) => rows.forEach((row) => now.push(markOf(row))),
    };
    outcome = underDeadline(deadline.clock, { parent: deadline, lost: lock.signal }, (limit) => work(delivered, limit));
    await outcome.catch(() => undefined);
    if (now.length === 0) return before;
    return [...new Set([...(before ?? []), ...now.slice(-MOST)])].slice(-MOST);
  };
  await store.update(key, change, { keepFor: KEEP_FOR, deadline, insist: true }).catch((error: unknown) => {
    if (!outcome) throw error;
  });
  return outcome as Promise<T>;
}

/** Sixteen characters for a row, however long it is. The rows of one report have the same columns. */
function marker(): (row: Row) => string {
  let columns: string[] | undefined;
  return (row) => {
    columns ??= idColumns(Object.keys(row));
    const column = columns.find((name) => (row[name] ?? '').trim() !== '');
    const mark = column === undefined ? JSON.stringify(row) : (row[column] ?? '');
    return createHash('sha256').update(mark).digest('base64').slice(0, 16);
  };
}

const idColumns = (columns: string[]): string[] =>
  ID_COLUMNS.flatMap((id) => columns.filter((column) => plain(column) === id));

/** `Cluster Job ID` and `clusterJobId` are `cluster_job_id`. */
const plain = (column: string): string =>
  column
    .trim()
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z\d]+/g, '_');
