import type { ClusterStatus } from '../../service/cluster';
import { isEndDecided, isPlateWaiting } from '../../service/job-words';
import type { PrintJob } from '../../service/print-job';
import { eachInTurn } from '../../time/concurrency';
import type { Deadline } from '../../time/deadline';
import type { JobEnd } from '../../watch/views/job-end-waiter';
import { isUnnamed } from '../model/item';
import * as changes from '../model/item-changes';
import { type Attempt, attemptKey } from '../model/types';
import type { AttemptRecords } from './attempt-records';
import type { QueueContext } from './context';

/** Finds the prints of a queue's attempts in the statuses of printers, and names those that had no name. */
export class SeenPrints {
  readonly #queue: QueueContext;
  readonly #deadline: Deadline;
  readonly #records: AttemptRecords;
  /** Searches for names that a dispatch has begun, by cluster. */
  readonly #naming = new Map<string, Promise<void>>();
  /** Jobs of the last status that may be unnamed prints and of which none could be named, by cluster. */
  readonly #tried = new Map<string, ReadonlySet<string>>();

  constructor(queue: QueueContext, deadline: Deadline, records: AttemptRecords) {
    this.#queue = queue;
    this.#deadline = deadline;
    this.#records = records;
  }

  /** Reads the status of a printer, and follows its plates as a poll does. Throws the errors of the call and of the store. */
  async read(clusterId: string, deadline: Deadline): Promise<ClusterStatus> {
    const { views, data, clock } = this.#queue;
    const requestedAt = clock.monotonic();
    const status = await views.read(clusterId, deadline);
    await this.name(status);
    await data.gates.observe(status, requestedAt);
    return status;
  }

  /**
   * Reads and follows the status of a printer just before a print leaves, under the lock of its job. The search for a name
   * waits for such locks. If the status shows a print that may lack its name, nothing may leave: the result is null, and `named`
   * resolves once that search has ended. Throws the errors of the call and of the store.
   */
  async readToSend(clusterId: string, deadline: Deadline): Promise<ClusterStatus | null> {
    const { views, data, clock } = this.#queue;
    const requestedAt = clock.monotonic();
    const status = await views.read(clusterId, deadline);
    const tried = this.#tried.get(clusterId);
    if (this.#unnamedIn(status).some(({ jobs }) => jobs.some(({ clusterJobId }) => !tried?.has(clusterJobId)))) {
      this.#naming.set(clusterId, this.name(status));
      return null;
    }
    await data.gates.observe(status, requestedAt);
    return status;
  }

  /** Resolves when the search for names that a dispatch has begun has ended. Never rejects. */
  async named(clusterId: string): Promise<void> {
    await this.#naming.get(clusterId);
    this.#naming.delete(clusterId);
  }

  /**
   * Finds in a status the print of an attempt whose printing is not known by name. Returns its id once it is there.
   * Rejects while the store can't be read.
   */
  async find(itemId: string, attempt: Attempt, status: ClusterStatus): Promise<string | null> {
    const { dispatcher, jobListReader } = this.#queue;
    const key = this.#records.keyOf(itemId, attempt);
    const listing = jobListReader.publish(status.clusterId, status);
    await dispatcher.settle(this.#records.ledger, key, listing, this.#deadline);
    const entry = await this.#records.ledger.read(key);
    return entry === 'damaged' ? null : (entry?.done?.clusterJobId ?? null);
  }

  /**
   * Names the prints that people have settled and that a status shows as ended, before the gates follow it: a plate that was
   * cleared for such a print does not wait again. Never rejects: a plate of which less is known waits.
   */
  async name(status: ClusterStatus): Promise<void> {
    if (this.#queue.data.unnamed.all.length > 0)
      await this.#name(status).catch((thrown: unknown) => this.#records.failed(thrown));
  }

  async #name(status: ClusterStatus): Promise<void> {
    const { data, queueId } = this.#queue;
    const { clusterId } = status;
    const unnamed = this.#unnamedIn(status);
    await eachInTurn(unnamed, async ({ itemId, attempt, jobs }) => {
      const id = await this.find(itemId, attempt, status);
      const job = jobs.find(({ clusterJobId }) => clusterJobId === id);
      if (id === null || !job) return;
      const printer = { clusterId, printerId: memberOf(job, status) };
      await data.plates.name(printer, attemptKey(queueId, itemId, attempt), id);
      await this.#records.change(itemId, (record) => changes.named(record, attempt, id));
    }).finally(() => {
      this.#tried.set(clusterId, new Set(unnamed.flatMap(({ jobs }) => jobs.map(({ clusterJobId }) => clusterJobId))));
    });
  }

  /** The attempts at a printer whose prints have no name, and the jobs of its status that may be these prints. */
  #unnamedIn(status: ClusterStatus) {
    const { data } = this.#queue;
    if (data.unnamed.all.length === 0) return [];
    const past = [...status.history, ...status.jobs.filter((job) => endOf(job) !== 'ended' || isPlateWaiting(job))]
      .filter(isNamed)
      .filter(({ clusterJobId }) => !data.printOf(clusterJobId));
    return data.unnamed.all.flatMap(({ itemId, prints, files }) =>
      prints
        .filter((attempt) => isUnnamed(attempt) && attempt.clusterId === status.clusterId)
        .map((attempt) => ({ itemId, attempt, jobs: past.filter(({ jobId }) => jobId === files[attempt.file]?.jobId) }))
        .filter(({ jobs }) => jobs.length > 0),
    );
  }
}

const isNamed = (job: PrintJob): job is PrintJob & { clusterJobId: string } => job.clusterJobId !== null;

/** How a job ended; `ended`: its end is not decided. */
export const endOf = (job: PrintJob): JobEnd['outcome'] => {
  const { state } = job;
  const isEnd = state === 'finished' || state === 'failed' || state === 'aborted';
  return isEnd && isEndDecided(job) ? state : 'ended';
};

/** The member of a group that a job is on: only the service chooses it. Null where the printer is alone. */
export const memberOf = ({ printerId }: PrintJob, { printers }: ClusterStatus): string | null =>
  printers.length > 1 ? printerId : null;
