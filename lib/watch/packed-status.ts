import type { ClusterStatus } from '../service/cluster-status';
import type { PrintJob } from '../service/print-job';

/**
 * A status kept as text without the names of its jobs' fields, outside of the heap: thousands of clusters wait in memory
 * for the moment that one can't be read, and each has a dozen jobs.
 */
export class PackedStatus {
  #bytes = Buffer.alloc(0);
  #length = 0;

  static of(status: ClusterStatus): PackedStatus {
    const packed = new PackedStatus();
    packed.set(status);
    return packed;
  }

  /** As `toString` gave it. */
  static from(text: string): PackedStatus {
    const packed = new PackedStatus();
    packed.#write(text);
    return packed;
  }

  set(status: ClusterStatus): void {
    this.#write(textOf(status));
  }

  read(): ClusterStatus {
    return statusOf(this.toString());
  }

  toString(): string {
    return this.#bytes.toString('utf8', 0, this.#length);
  }

  /** In the place of what was there: an answer of a cluster is as long as the one before. */
  #write(text: string): void {
    const length = Buffer.byteLength(text);
    // Not from the pool that buffers share: it would be kept whole.
    if (length > this.#bytes.length || length < this.#bytes.length / 2)
      this.#bytes = Buffer.allocUnsafeSlow(length + SPARE);
    this.#length = this.#bytes.write(text);
  }
}

/** For numbers that get longer. */
const SPARE = 64;

const FIELDS = [
  'clusterJobId',
  'jobId',
  'clusterId',
  'name',
  'status',
  'state',
  'progress',
  'timeElapsed',
  'timeTotal',
  'timeRemaining',
  'printerId',
  'printerName',
  'owner',
  'sentFrom',
  'createdAt',
  'changesRequired',
] as const satisfies readonly (keyof PrintJob)[];

/** A job of the columns alone: no field of a PrintJob is left out. */
type Row = Record<(typeof FIELDS)[number], unknown>;

function textOf(status: ClusterStatus): string {
  const rows = (jobs: readonly PrintJob[]) => jobs.map((job) => FIELDS.map((field) => job[field]));
  const { jobs, history, current, ...rest } = status;
  const at = current ? jobs.indexOf(current) : -1;
  return JSON.stringify([rest, rows(jobs), rows(history), at]);
}

function statusOf(text: string): ClusterStatus {
  const [rest, jobs, history, at] = JSON.parse(text) as [Omit<ClusterStatus, 'jobs'>, unknown[][], unknown[][], number];
  const read = (rows: unknown[][]) =>
    rows.map((row) => Object.fromEntries(FIELDS.map((field, index) => [field, row[index]])) as Row as PrintJob);
  const list = read(jobs);
  return { ...rest, jobs: list, history: read(history), current: list[at] ?? null };
}
