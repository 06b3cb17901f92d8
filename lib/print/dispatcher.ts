import { Deadline } from '../time/deadline';
import type { Service } from '../account/service';
import { asPrintingError, PrintingError } from '../service/errors';
import { readPrintJobs, type PrintJob } from '../service/print-job';
import { record, text } from '../service/wire';
import { waitBefore, WORK_IN_PROGRESS } from '../time/backoff';
import type { Clock } from '../time/clock';
import type { Dispatched, Entry, Ledger } from './ledger';

export interface DispatchRequest {
  clusterId: string;
  jobId: string;
  /** False: into the service's queue only. */
  startNow: boolean;
  /** Blank: nothing is remembered beyond this call. */
  printKey: string;
  /** Kept with the print key, for repeats. */
  note: unknown;
  /** Ends the work before the call is made; a call under way is never broken off by the node's close. */
  deadline: Deadline;
}

/** A dispatch with the service's own answer, where there was one. */
export interface Answered extends Dispatched {
  raw?: unknown;
}

/** How long a print whose answer was lost is looked for (reference 3.4). */
const LOOK_FOR = 30_000;

/**
 * Sends a stored job to a cluster exactly once (interface, endpoint 10). The service prints again at each call, so a call
 * is never repeated: when its answer is lost, the print is looked for on the cluster.
 */
export class Dispatcher {
  readonly #service: Service;
  readonly #ledger: Ledger;
  readonly #clock: Clock;

  constructor(deps: { service: Service; ledger: Ledger; clock: Clock }) {
    this.#service = deps.service;
    this.#ledger = deps.ledger;
    this.#clock = deps.clock;
  }

  /**
   * @throws PrintingError PRINT_OUTCOME_UNKNOWN when the answer was lost and the print can't be seen; PRINT_FAILED when
   *   the service took the call but says that the print failed; else what the call throws, and then nothing was printed.
   */
  dispatch(request: DispatchRequest): Promise<Answered> {
    const { clusterId, jobId, printKey } = request;
    return this.#ledger.holdJob(clusterId, jobId, async () => {
      const known = await this.#known(request);
      request.deadline.throwIfOver();
      const entry: Entry = { jobId, begunAt: this.#clock.now(), known, note: request.note };
      if (!printKey) return this.#send(request, known);
      await this.#ledger.begin(clusterId, printKey, entry);
      try {
        const done = await this.#send(request, known);
        // If this can't be saved, the key stays unsettled and the next look at the cluster settles it.
        const { raw: _, ...kept } = done;
        await this.#ledger.settle(clusterId, printKey, kept).catch(() => undefined);
        return done;
      } catch (error) {
        if (asPrintingError(error).code !== 'PRINT_OUTCOME_UNKNOWN') await this.#ledger.release(clusterId, printKey);
        throw error;
      }
    });
  }

  /** Looks for the print of an earlier attempt whose outcome is not known. Null: nothing is there. */
  lookAgain(request: { clusterId: string; printKey: string; entry: Entry; deadline: Deadline }) {
    const { clusterId, printKey, entry, deadline } = request;
    return this.#ledger.holdJob(clusterId, entry.jobId, async () => {
      const settled = async () => (await this.#ledger.find(clusterId, printKey))?.done;
      const found = await this.#look({ clusterId, jobId: entry.jobId, known: entry.known, deadline, settled });
      deadline.throwIfOver();
      if (found) await this.#ledger.settle(clusterId, printKey, found);
      return found;
    });
  }

  /** Settles print keys by what a poll has seen on the cluster. */
  async settleSeen(clusterId: string, printings: PrintJob[]): Promise<void> {
    for (const printKey of await this.#ledger.unsettled(clusterId)) {
      const entry = await this.#ledger.find(clusterId, printKey);
      if (!entry || entry.done) continue;
      const found = await this.#pick(clusterId, entry.jobId, entry.known, printings);
      if (found) await this.#ledger.settle(clusterId, printKey, found);
    }
  }

  /** Printings of the job that are there before the call; the cluster must answer, or nothing is sent. */
  async #known({ clusterId, jobId, deadline }: DispatchRequest): Promise<string[]> {
    const printings = await this.#printings(clusterId, deadline);
    const seen = printings
      .filter((printing) => printing.jobId === jobId)
      .flatMap(({ clusterJobId }) => clusterJobId ?? []);
    return [...new Set([...seen, ...(await this.#ledger.claims(clusterId, jobId))])];
  }

  async #send({ clusterId, jobId, startNow, deadline }: DispatchRequest, known: string[]): Promise<Answered> {
    let answer;
    const limit = new Deadline(this.#clock, { ms: deadline.remaining() });
    try {
      answer = await this.#service.call('print', {
        ids: { cluster_id: clusterId, job_id: jobId },
        data: startNow ? {} : { start_now: false },
        what: 'the print',
        deadline: limit,
      });
    } catch (thrown) {
      const error = asPrintingError(thrown);
      if (error.outcome !== 'unknown') throw error;
      const found = await this.#look({ clusterId, jobId, known, deadline });
      if (found) return found;
      throw new PrintingError(
        'PRINT_OUTCOME_UNKNOWN',
        'The answer to the print was lost and the print can’t be seen on the cluster: look there for the job before you print again.',
        { cause: error, statusCode: error.statusCode, serviceCode: error.serviceCode, ids: { clusterId, jobId } },
      );
    } finally {
      limit.end();
    }
    return this.#accepted({ clusterId, jobId, known, deadline }, answer.data);
  }

  async #accepted(
    look: { clusterId: string; jobId: string; known: string[]; deadline: Deadline },
    data: unknown,
  ): Promise<Answered> {
    const { clusterId, jobId } = look;
    const said = record(data);
    const status = text(said?.status);
    const clusterJobId = text(said?.job_instance_uuid) ?? text(said?.cluster_job_id);
    if (status === 'failed')
      throw new PrintingError(
        'PRINT_FAILED',
        'The service took the job but says that its print failed: look at the printer.',
        {
          ids: { clusterId, jobId, clusterJobId: clusterJobId ?? undefined },
        },
      );
    if (clusterJobId) {
      await this.#claim(clusterId, jobId, [clusterJobId]);
      return { jobId, clusterJobId, status, raw: data };
    }
    // Taken, but without the printing's id (wire facts 7): it can be seen on the cluster soon.
    const found = await this.#look(look).catch(() => null);
    return { jobId, clusterJobId: found?.clusterJobId ?? null, status: status ?? found?.status ?? null, raw: data };
  }

  async #look(look: {
    clusterId: string;
    jobId: string;
    known: string[];
    deadline: Deadline;
    settled?: () => Promise<Dispatched | undefined>;
  }): Promise<Dispatched | null> {
    const limit = look.deadline.within(LOOK_FOR);
    try {
      for (let turn = 0; ; turn++) {
        const settled = await look.settled?.();
        if (settled) return settled;
        const printings = await this.#printings(look.clusterId, limit).catch(() => []);
        const found = await this.#pick(look.clusterId, look.jobId, look.known, printings);
        if (found) return found;
        const wait = waitBefore(turn, WORK_IN_PROGRESS);
        if (!limit.allows(wait)) return null;
        await limit.sleep(wait).catch(() => undefined);
      }
    } finally {
      limit.end();
    }
  }

  /** Takes the printing of the job that is not known and not another's, the oldest first. */
  async #pick(clusterId: string, jobId: string, known: string[], printings: PrintJob[]): Promise<Dispatched | null> {
    const fresh = printings
      .filter((printing) => printing.jobId === jobId && printing.clusterJobId && !known.includes(printing.clusterJobId))
      .sort((a, b) => (a.createdAt ?? '').localeCompare(b.createdAt ?? ''));
    if (!fresh.length) return null;
    const candidates = fresh.flatMap((printing) => printing.clusterJobId ?? []);
    const clusterJobId = await this.#claim(clusterId, jobId, candidates);
    const job = fresh.find((printing) => printing.clusterJobId === clusterJobId);
    return job ? { jobId, clusterJobId, status: job.status } : null;
  }

  /** A claim that can't be saved is as good as one for this print; it must not look like a failed one. */
  #claim(clusterId: string, jobId: string, candidates: string[]): Promise<string | null> {
    return this.#ledger.claim(clusterId, jobId, candidates).catch(() => candidates[0] ?? null);
  }

  async #printings(clusterId: string, deadline: Deadline): Promise<PrintJob[]> {
    const { data } = await this.#service.call('clusterStatus', {
      ids: { cluster_id: clusterId },
      what: 'the cluster',
      deadline,
    });
    const status = record(data);
    return [...readPrintJobs(status?.print_jobs, clusterId), ...readPrintJobs(status?.recently_completed, clusterId)];
  }
}
