import type { Answer, ApiClient } from '../account/api-client';
import { asPrintingError, PrintingError, withIds } from '../service/errors';
import type { PrintJob } from '../service/print-job';
import { list, record, text } from '../service/json-readers';
import type { Clock } from '../time/clock';
import { Deadline, underDeadline } from '../time/deadline';
import { newAttempt, type PrintAttempt } from './attempt';
import { claim } from './claim';
import type { Dispatched, Entry, KeyOf, Ledger } from './ledger';
import type { Listing, JobListReader } from './job-list-reader';
import { search, type Search } from './search';
import { phrase, type Sentence } from '../words/sentence';

export interface DispatchRequest {
  clusterId: string;
  jobId: string;
  /** False: into the service's queue only. */
  startNow: boolean;
  /** Blank: nothing is remembered beyond this call. Otherwise its lock must be held. */
  printKey: string;
  /** Kept with the print key, for repeats. */
  note: unknown;
  /** Ends the work before the call is made; a call under way is broken off by its time limit only. */
  deadline: Deadline;
}

/** What came of a request. */
export interface Answered extends Dispatched {
  /** The service's own answer, where there was one. */
  raw?: unknown;
  /** What was kept of the request that printed it. */
  note: unknown;
  /** That was an earlier request with this key. */
  duplicate: boolean;
}

/** What became of an open key: its print was seen, it may still be, or it can't be any more. */
export type Settled = 'settled' | 'open' | 'hopeless';

/** How long a cluster that can't be looked at keeps an outcome open, ms. */
const UNSEEN_FOR = 7 * 24 * 60 * 60 * 1000;

/** An outcome is waited for to be saved, at the least, ms. */
const LONGEST_SAVE = 10_000;

/**
 * Sends a stored job to a cluster exactly once (interface, endpoint 10; ADR 4). The service prints again at each call, so
 * a call is never repeated: when its answer is lost, the print is searched for on the cluster.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /**
   * @throws PrintingError PRINT_OUTCOME_UNKNOWN when the answer was lost and the print can't be seen; PRINT_FAILED when
   *   the service took the call but says that the print failed; else what the call throws, and then nothing was printed.
   */
  async dispatch(ledger: Ledger, request: DispatchRequest): Promise<Answered> {
    const { clusterId, jobId, printKey, note, deadline } = request;
    const key = printKey ? { clusterId, printKey } : undefined;
    const before = key && (await ledger.find(key));
    if (before?.done) return { ...before.done, note: before.note, duplicate: true };
    const jobs = [jobId, ...(before ? [before.attempt.jobId] : [])];
    const work = async (ledger: Ledger, deadline: Deadline): Promise<Answered> => {
      // The cluster must answer, or nothing is sent.
      const listing = await this.#deps.listings.read(clusterId, deadline);
      const late = key && before && (await this.#settleIn(ledger, key, before, listing.printings));
      if (late) return { ...late, note: before.note, duplicate: true };
      const claimed = await ledger.claims.of(clusterId, jobId);
      const times = { now: this.#deps.clock.now(), mayTake: deadline.remaining() };
      const attempt = newAttempt(request, { listing, claimed, ...times });
      deadline.throwIfOver();
      const held = { ...request, deadline };
      if (!key) return this.#send(ledger, held, attempt);
      const entry = { attempt, note };
      await ledger.begin(key, entry);
      try {
        return await this.#send(ledger, held, attempt, (ledger, done) => ledger.settle(key, entry, done));
      } catch (thrown) {
        const isUnknown = asPrintingError(thrown).code === 'PRINT_OUTCOME_UNKNOWN';
        await this.#saved(ledger, deadline, (ledger) =>
          isUnknown
            ? // Where it can't be written, the next search lasts longer.
              ledger.giveUp(key, entry).catch(() => undefined)
            : this.#noted(ledger.release(key, before), phrase`That a print key is free again`),
        );
        throw thrown;
      }
    };
    const dispatched = ledger.holdJobs(clusterId, jobs, work, deadline);
    this.#underWay.add(dispatched);
    return dispatched.finally(() => this.#underWay.delete(dispatched));
  }

  /** Resolves when no dispatch is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  /**
   * Searches for the print of an earlier attempt whose outcome is open. Undefined: it is not there. The key's lock must be
   * held. Throws PRINT_OUTCOME_UNKNOWN where the search can't tell.
   */
  searchAgain(ledger: Ledger, key: KeyOf, entry: Entry, deadline: Deadline): Promise<Dispatched | undefined> {
    const { attempt } = entry;
    const work = async (ledger: Ledger, deadline: Deadline) => {
      const written = async () => {
        const now = await ledger.find(key);
        return now?.attempt.id === attempt.id ? now.done : undefined;
      };
      const outcome = ledger.isElsewhere(entry) ? written : undefined;
      const found = await search({ ...this.#deps, ledger, outcome }, attempt, deadline);
      if (found.end === 'cut') throw unknown(attempt, found);
      if (found.end === 'absent') return undefined;
      await this.#noted(ledger.settle(key, entry, found.print), phrase`The outcome of a print`);
      return found.print;
    };
    return ledger.holdJobs(attempt.clusterId, [attempt.jobId], work, deadline);
  }

  /** Settles an open key by what a poll has seen, once nobody is at work on it. */
  settle(ledger: Ledger, key: KeyOf, listing: Listing, deadline: Deadline): Promise<Settled> {
    const underKey = async (ledger: Ledger, deadline: Deadline): Promise<Settled> => {
      const entry = await ledger.find(key);
      if (!entry || (entry.done && entry.done.clusterJobId !== null)) {
        await ledger.close(key);
        return 'settled';
      }
      const { attempt } = entry;
      const work = (ledger: Ledger) => this.#settleIn(ledger, key, entry, listing.printings);
      if (await ledger.holdJobs(attempt.clusterId, [attempt.jobId], work, deadline)) return 'settled';
      const now = this.#deps.clock.now();
      const isOver = listing.current ? (listing.at ?? now) > attempt.latest : now > attempt.latest + UNSEEN_FOR;
      if (!isOver) return 'open';
      // Whoever closes it says so.
      const wasOpen = await ledger.close(key);
      return entry.done || !wasOpen ? 'settled' : 'hopeless';
    };
    return ledger.holdKey(key, underKey, deadline);
  }

  /** Settles a key where its printing is in a listing. Rejects where the claims can't be read: then nobody can tell whose it is. */
  async #settleIn(ledger: Ledger, key: KeyOf, entry: Entry, printings: PrintJob[]): Promise<Dispatched | undefined> {
    const done = await claim(ledger, entry.attempt, printings);
    if (done) await this.#noted(ledger.settle(key, entry, done), phrase`The outcome of a print`);
    return done;
  }

  async #send(
    ledger: Ledger,
    { startNow, note, deadline }: DispatchRequest,
    attempt: PrintAttempt,
    settle: (ledger: Ledger, done: Dispatched) => Promise<void> = () => Promise.resolve(),
  ): Promise<Answered> {
    const { clusterId, jobId } = attempt;
    const keep = (done: Dispatched) =>
      this.#saved(ledger, deadline, (ledger) => this.#noted(settle(ledger, done), phrase`The outcome of a print`));
    const answer = await this.#call(ledger, startNow, attempt, deadline);
    if (answer instanceof PrintingError) {
      const found = await search({ ...this.#deps, ledger }, attempt, deadline);
      if (found.end !== 'found') throw unknown(attempt, found, answer);
      await keep(found.print);
      return { ...found.print, note, duplicate: false };
    }
    const raw = answer.data;
    const said = record(raw);
    const status = text(said?.status);
    const clusterJobId = text(said?.job_instance_uuid) ?? text(said?.cluster_job_id);
    if (status === 'failed')
      throw new PrintingError(
        'PRINT_FAILED',
        phrase`The service accepted the job, but says that the print failed: check the printer.`,
        { outcome: 'refused', ids: { clusterId, jobId, clusterJobId: clusterJobId ?? undefined } },
      );
    // From here on it is printed, whatever fails.
    if (clusterJobId) {
      await this.#saved(ledger, deadline, ({ claims }) =>
        this.#noted(claims.take(clusterId, jobId, [clusterJobId], attempt.id), phrase`The outcome of a print`),
      );
    }
    const done = { jobId, clusterJobId, status };
    await keep(done);
    if (clusterJobId) return { ...done, raw, note, duplicate: false };
    // Taken, but without the printing's id (wire facts 7): it can be seen on the cluster soon.
    const found = await search({ ...this.#deps, ledger }, attempt, deadline);
    if (found.end !== 'found') return { ...done, raw, note, duplicate: false };
    await keep({ ...found.print, status: status ?? found.print.status });
    return { ...found.print, status: status ?? found.print.status, raw, note, duplicate: false };
  }

  /** The call's answer, or why there is none although the print may have been taken. */
  async #call(
    lock: Ledger,
    startNow: boolean,
    { clusterId, jobId }: PrintAttempt,
    deadline: Deadline,
  ): Promise<Answer | PrintingError> {
    const underWay = new Deadline(this.#deps.clock, { ms: deadline.remaining() });
    try {
      const answer = await this.#deps.service.call('print', {
        ids: { cluster_id: clusterId, job_id: jobId },
        data: startNow ? {} : { start_now: false },
        what: phrase`the print`,
        deadline,
        underWay,
        lock,
      });
      return saysPrinted(answer) ? answer : notUnderstood(answer);
    } catch (thrown) {
      const error = asPrintingError(thrown);
      // A fault of our own code has no outcome; it may have come after the call.
      const isOpen = error.outcome === 'unknown' || (error.outcome === undefined && error.code === 'SERVICE_ERROR');
      if (!isOpen) throw error;
      return error;
    } finally {
      underWay.end();
    }
  }

  /**
   * Saves what an answer said, with a ledger that waits for the disk a little while, though the work's time is over or its
   * node closed: the next holder of the print key's lock must find it there.
   */
  async #saved(ledger: Ledger, deadline: Deadline, save: (ledger: Ledger) => Promise<void>): Promise<void> {
    const ms = Math.max(LONGEST_SAVE, deadline.remaining());
    await underDeadline(this.#deps.clock, { ms }, (limit) => save(ledger.within(limit)));
  }

  /** Waits for what is worth knowing later, but changes nothing now. */
  async #noted(work: Promise<unknown>, what: Sentence): Promise<void> {
    await work.catch((error: unknown) =>
      this.#deps.warn(phrase`${what} could not be saved yet: ${asPrintingError(error).sentence}`),
    );
  }
}

interface DispatcherDeps {
  service: ApiClient;
  listings: JobListReader;
  clock: Clock;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

/**
 * Whether an answer is one to a print (wire facts 7): it carries no errors, and names the job, the printing or a status.
 * Any other answer, such as an empty one, proves nothing.
 */
function saysPrinted({ data, body }: Answer): boolean {
  if (list(record(body)?.errors).length > 0) return false;
  const said = record(data);
  const fields = [said?.job_id, said?.job_instance_uuid, said?.cluster_job_id, said?.status];
  return fields.some((field) => text(field) !== null);
}

const notUnderstood = ({ status: statusCode }: Answer): PrintingError =>
  new PrintingError(
    'SERVICE_ERROR',
    phrase`The service gave an unexpected answer about ${phrase`the print`}: check the hosts of the account, or try again later.`,
    { statusCode, outcome: 'unknown' },
  );

function unknown({ clusterId, jobId }: PrintAttempt, { end }: Search, cause?: PrintingError): PrintingError {
  const seen =
    end === 'absent'
      ? phrase`the print can’t be seen on the printer`
      : phrase`the printer could not be searched to the end`;
  const sentence = phrase`The answer to the print was lost and ${seen}: look for the job there before you print again.`;
  const error = new PrintingError('PRINT_OUTCOME_UNKNOWN', sentence, {
    cause,
    outcome: 'unknown',
    statusCode: cause?.statusCode,
    serviceCode: cause?.serviceCode,
  });
  return withIds(error, { clusterId, jobId });
}
