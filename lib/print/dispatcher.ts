import type { Answer, ApiClient } from '../account/api-client';
import { asPrintingError, PrintingError, withIds } from '../service/errors';
import { list, record, single, text } from '../service/json-readers';
import type { Lock } from '../state/membership';
import type { Clock } from '../time/clock';
import { Deadline, underDeadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';
import type { JobListReader, Listing } from './job-list-reader';
import {
  type Dispatched,
  type Entry,
  idsOf,
  isTooLate,
  isWhole,
  type Ledger,
  newAttempt,
  type PrintAttempt,
} from './ledger';
import type { KeyOf } from './open-keys';
import { type Elsewhere, search, type Search } from './search';

export interface DispatchRequest {
  clusterId: string;
  jobId: string;
  /** False: only adds the job to the service's queue. */
  startNow: boolean;
  /** Blank: nothing is stored beyond this call. Otherwise the key's lock must be held. */
  printKey: string;
  /** Stored with the print key, for repeats. */
  note: unknown;
  /** Cancels the work before the call is sent. Only its own timeout cancels a call in flight. */
  deadline: Deadline;
  departure?: DepartureGuard;
}

/**
 * Decides whether a print may leave: `secure` right before its call leaves, and the check that it returns as the call leaves.
 * If either throws, nothing is sent, and the error is the outcome.
 */
export interface DepartureGuard extends Pick<Lock, 'secure'> {
  /** Decides first, under the job's lock: the wait for that lock may have been long. It must not wait for a lock of the ledger. */
  ready(deadline: Deadline): Promise<void>;
}

/** Result of a dispatch. */
export interface DispatchResult extends Dispatched {
  /** The service's own answer, if there was one. */
  raw?: unknown;
  /** The note stored with the request that printed. */
  note: unknown;
  /** An earlier request with this key printed. */
  duplicate: boolean;
}

/** State of an open key: its print was found, may still appear, or can no longer appear. */
type Settled = 'settled' | 'open' | 'hopeless';

/** How long an unreachable cluster keeps an outcome open, ms. */
const UNSEEN_FOR = 7 * 24 * 60 * 60 * 1000;

/** Growth of an attempt's age after which it is written, ms. */
const WRITE_AGE_AFTER = 10 * 60 * 1000;
/** Most time between two listings that counts as lived with both, ms: in a longer gap nobody looked. */
const LONGEST_GAP = 5 * 60 * 1000;

/** Time within which the lists of a printer show a print that the service has accepted, ms (wire facts 7). */
const LISTED_WITHIN = 15_000;

/** Least time allowed for saving the outcome of a print that may exist, ms. */
const LONGEST_SAVE = 10_000;

/** Least time allowed for freeing the key of a print that doesn't exist, ms. */
const LONGEST_RELEASE = 1_000;

/** A print whose call has left; `until`: the lists need not show it before, monotonic, ms. */
interface FreshPrint {
  clusterId: string;
  clusterJobId: string | null;
  until: number;
}

interface DispatcherDeps {
  service: ApiClient;
  jobListReader: JobListReader;
  clock: Clock;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

/**
 * Sends a stored job to a cluster exactly once (interface, endpoint 10; ADR 4). The service prints again at each call,
 * so a call is never repeated: if its answer is lost, the print is searched for on the cluster.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #ages: AttemptAges;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #fresh = new Set<FreshPrint>();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#ages = new AttemptAges(deps.clock);
  }

  /**
   * @throws PrintingError PRINT_OUTCOME_UNKNOWN if the answer was lost and the print can't be found; PRINT_FAILED if
   * the service accepted the call but reports a failed print; otherwise the call's own error, and then nothing was
   * printed.
   */
  async dispatch(ledger: Ledger, request: DispatchRequest): Promise<DispatchResult> {
    const { clusterId, jobId, printKey, deadline } = request;
    const key = printKey ? { clusterId, printKey } : undefined;
    const before = key && (await ledger.find(key));
    if (before?.done) return { ...before.done, note: before.note, duplicate: true };
    const jobs = [jobId, ...(before ? [before.attempt.jobId] : [])];
    const work = (held: Ledger, limit: Deadline) =>
      this.#recordAndSend(held, { ...request, deadline: limit }, key, before);
    const dispatched = ledger.waitForJobs(clusterId, jobs, work, deadline);
    this.#underWay.add(dispatched);
    return dispatched.finally(() => this.#underWay.delete(dispatched));
  }

  /** Resolves when no dispatch is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  /** Whether a print that was sent here may still appear on a cluster. `listed`: the jobs that its lists have shown. */
  mayShow(clusterId: string, listed: ReadonlySet<string>): boolean {
    const now = this.#deps.clock.monotonic();
    return [...this.#fresh].some(
      (one) => one.clusterId === clusterId && one.until > now && !listed.has(one.clusterJobId ?? ''),
    );
  }

  /** Records a new attempt and sends it, unless the listing shows the print of the attempt `before`. */
  async #recordAndSend(ledger: Ledger, request: DispatchRequest, key?: KeyOf, before?: Entry): Promise<DispatchResult> {
    const { clusterId, jobId, note, deadline, departure } = request;
    await departure?.ready(deadline);
    // Send nothing unless the cluster answers.
    const listing = await this.#deps.jobListReader.read(clusterId, deadline);
    const late = key && before && (await this.#settleIn(ledger, key, before, listing));
    if (late) return { ...late, note: before.note, duplicate: true };
    const doubts = key && before ? await ledger.claims.doubts(before, listing) : [];
    if (key && before && doubts.length > 0) throw await this.#doubt(ledger, key, before, doubts);
    if (before && !isWhole(before.attempt, listing)) throw outcomeUnknown(before.attempt, { end: 'cut' });
    const claimed = await ledger.claims.of(clusterId, jobId);
    const times = { now: this.#deps.clock.now(), maxDuration: deadline.remaining() };
    const attempt = newAttempt(request, { listing, claimed, ...times });
    deadline.throwIfOver();
    const entry = { attempt, note };
    const listed = listing.current && listing.hasHistory ? new Set(idsOf(listing)) : null;
    if (!key) return this.#remember(clusterId, this.#send(ledger, request, entry, listed));
    await ledger.begin(key, entry);
    try {
      return await this.#remember(clusterId, this.#send(ledger, request, entry, listed, key));
    } catch (thrown) {
      const isUnknown = asPrintingError(thrown).code === 'PRINT_OUTCOME_UNKNOWN';
      // If this can't be written, the next search lasts longer.
      const giveUp = (saving: Ledger) => saving.giveUp(key, entry).catch(() => undefined);
      const release = (saving: Ledger) =>
        this.#warnOnFailure(saving.release(key, entry, before), phrase`The release of a print key`);
      await (isUnknown ? this.#save(ledger, deadline, giveUp) : this.#save(ledger, deadline, release, LONGEST_RELEASE));
      throw thrown;
    }
  }

  /** Remembers a print until the lists of its cluster must show it. */
  async #remember(clusterId: string, sent: Promise<DispatchResult>): Promise<DispatchResult> {
    const { clock } = this.#deps;
    for (const one of this.#fresh) if (one.until <= clock.monotonic()) this.#fresh.delete(one);
    const fresh: FreshPrint = { clusterId, clusterJobId: null, until: Infinity };
    this.#fresh.add(fresh);
    try {
      const result = await sent;
      Object.assign(fresh, { clusterJobId: result.clusterJobId, until: clock.monotonic() + LISTED_WITHIN });
      return result;
    } catch (thrown) {
      this.#fresh.delete(fresh);
      throw thrown;
    }
  }

  /** Makes the call once. After a lost answer, searches for the print. */
  async #send(
    ledger: Ledger,
    { startNow, deadline, departure }: DispatchRequest,
    entry: Entry,
    listed: ReadonlySet<string> | null,
    key?: KeyOf,
  ): Promise<DispatchResult> {
    const { attempt, note } = entry;
    const { clusterId, jobId } = attempt;
    const saveOutcome = (done: Dispatched, unclaimed: string[] = []) =>
      this.#save(ledger, deadline, async (saving) => {
        if (unclaimed.length > 0)
          await this.#warnOnFailure(
            saving.claims.claimFirst(attempt, unclaimed, listed),
            phrase`The outcome of a print`,
          );
        if (key) await this.#warnOnFailure(saving.settle(key, entry, done), phrase`The outcome of a print`);
      });
    const lock = departure ? both(departure, ledger) : ledger;
    const answer = await this.#call(lock, attempt, startNow, deadline);
    if (answer instanceof PrintingError) {
      const found = await this.#search(ledger, entry, deadline);
      if (found.end !== 'found') throw outcomeUnknown(attempt, found, answer);
      await saveOutcome(found.print);
      return { ...found.print, note, duplicate: false };
    }
    const raw = answer.data;
    const answered = single(raw);
    const status = text(answered?.status);
    const answeredId = text(answered?.job_instance_uuid) ?? text(answered?.cluster_job_id);
    // The id of a printing that was there before the call is not that of this one.
    const isEarlier = answeredId !== null && attempt.known.includes(answeredId);
    const clusterJobId = isEarlier ? null : answeredId;
    if (status === 'failed')
      throw new PrintingError(
        'PRINT_FAILED',
        phrase`The service accepted the job, but says that the print failed: check the printer.`,
        { outcome: 'refused', ids: { clusterId, jobId, clusterJobId: clusterJobId ?? undefined } },
      );
    // From here on the print exists, whatever fails.
    const done = { jobId, clusterJobId, status };
    await saveOutcome(done, clusterJobId ? [clusterJobId] : []);
    if (clusterJobId) return { ...done, raw, note, duplicate: false };
    // Accepted, but without the printing's id (wire facts 7): the print appears on the cluster soon.
    const found = await this.#search(ledger, entry, deadline);
    if (found.end !== 'found') return { ...done, raw, note, duplicate: false };
    const named = { ...found.print, status: status ?? found.print.status };
    await saveOutcome(named);
    return { ...named, raw, note, duplicate: false };
  }

  /** Calls `print` once. Resolves with its answer, or with the reason why it is missing although a print may exist. */
  async #call(
    lock: Pick<Lock, 'secure'>,
    { clusterId, jobId }: PrintAttempt,
    startNow: boolean,
    deadline: Deadline,
  ): Promise<Answer | PrintingError> {
    const { service, clock } = this.#deps;
    const underWay = new Deadline(clock, { ms: deadline.remaining() });
    try {
      const answer = await service.call('print', {
        ids: { cluster_id: clusterId, job_id: jobId },
        data: startNow ? {} : { start_now: false },
        what: phrase`the print`,
        deadline,
        underWay,
        lock,
      });
      return confirmsPrint(answer) ? answer : unexpectedAnswer(answer);
    } catch (thrown) {
      const error = asPrintingError(thrown);
      // An error of our own code has no outcome, and may have occurred after the call.
      const isOpen = error.outcome === 'unknown' || (error.outcome === undefined && error.code === 'SERVICE_ERROR');
      // A redirect is no refusal: the print may have been made before it. After one of the sign-in, nothing was sent.
      const isRedirect = error.outcome === 'refused' && (error.statusCode ?? 400) < 400;
      if (!isOpen && !isRedirect) throw error;
      return error;
    } finally {
      underWay.end();
    }
  }

  /**
   * Searches for the print of an earlier attempt whose outcome is open. Undefined: the print does not exist. The key's
   * lock must be held. Throws PRINT_OUTCOME_UNKNOWN if the search is inconclusive.
   */
  searchAgain(ledger: Ledger, key: KeyOf, entry: Entry, deadline: Deadline): Promise<Dispatched | undefined> {
    const { attempt } = entry;
    const work = async (held: Ledger, limit: Deadline) => {
      const outcome = async () => {
        const now = await held.find(key);
        return now?.attempt.id === attempt.id ? now.done : undefined;
      };
      const elsewhere = held.isElsewhere(entry) ? { outcome, searchedFor: entry.searchedFor ?? 0 } : undefined;
      const { clock } = this.#deps;
      const began = clock.monotonic();
      const found = await this.#search(held, entry, limit, elsewhere);
      if (found.end === 'doubtful') throw await this.#doubt(held, key, entry, found.printings);
      if (found.end === 'cut') {
        const recordSearch = (saving: Ledger) => saving.recordSearch(key, entry, clock.monotonic() - began);
        if (elsewhere) await this.#save(held, limit, recordSearch, LONGEST_RELEASE).catch(() => undefined);
        throw outcomeUnknown(attempt, found);
      }
      if (found.end === 'absent') return undefined;
      await this.#warnOnFailure(held.settle(key, entry, found.print), phrase`The outcome of a print`);
      return found.print;
    };
    return ledger.waitForJobs(attempt.clusterId, [attempt.jobId], work, deadline);
  }

  /** Settles an open key by a polled listing, once no other work holds the key's lock. */
  settle(ledger: Ledger, key: KeyOf, listing: Listing, deadline: Deadline): Promise<Settled> {
    const underKey = async (held: Ledger, limit: Deadline): Promise<Settled> => {
      const entry = await held.read(key);
      if (entry === 'damaged') return (await held.close(key)) ? 'hopeless' : 'settled';
      if (!entry || (entry.done && entry.done.clusterJobId !== null)) {
        await held.close(key);
        if (entry) this.#ages.forget(entry);
        return 'settled';
      }
      const { attempt } = entry;
      const underJob = (heldTwice: Ledger) => this.#settleIn(heldTwice, key, entry, listing);
      if (await held.waitForJobs(attempt.clusterId, [attempt.jobId], underJob, limit)) return 'settled';
      const lived = this.#ages.of(entry);
      const isUnseen = !isWhole(attempt, listing) && this.#deps.clock.now() > attempt.latest + UNSEEN_FOR;
      if (!isTooLate(lived) && !isUnseen) {
        if (lived - (entry.lived ?? 0) >= WRITE_AGE_AFTER) await held.amend(key, entry, { lived });
        return 'open';
      }
      const doubted = await held.claims.doubts(entry, listing);
      await held.amend(key, entry, { lived, ...(doubted.length > 0 && { doubted }) });
      // Only the runtime that removes the key logs it.
      const wasOpen = await held.close(key);
      return entry.done || !wasOpen ? 'settled' : 'hopeless';
    };
    return ledger.waitForKey(key, underKey, deadline);
  }

  /**
   * Settles a key if its printing is in a listing. Rejects if the claims can't be read, as the owner is unknown then.
   */
  async #settleIn(ledger: Ledger, key: KeyOf, entry: Entry, listing: Listing): Promise<Dispatched | undefined> {
    const done = await ledger.claims.claim(entry.attempt, listing, this.#ages.seen(entry, listing));
    if (done) await this.#warnOnFailure(ledger.settle(key, entry, done), phrase`The outcome of a print`);
    return done;
  }

  #search(ledger: Ledger, entry: Entry, deadline: Deadline, elsewhere?: Elsewhere): Promise<Search> {
    const lived = (of: Entry, listing: Listing | null) => (listing ? this.#ages.seen(of, listing) : this.#ages.of(of));
    return search({ ...this.#deps, lived }, ledger, entry, deadline, elsewhere);
  }

  /** Records that only a person can tell whose printings these are: the key prints no more. Returns the error. */
  async #doubt(ledger: Ledger, key: KeyOf, entry: Entry, doubted: string[]): Promise<PrintingError> {
    const written = ledger.amend(key, entry, { doubted, lived: this.#ages.of(entry) });
    await this.#warnOnFailure(written, phrase`The outcome of a print`);
    return outcomeUnknown(entry.attempt, { end: 'doubtful' });
  }

  /**
   * Saves an answer through a ledger that allows the disk some extra time, even if the deadline has passed or the node
   * has closed: the next holder of the print key's lock must find the answer. A write that lasts longer continues.
   */
  async #save(
    ledger: Ledger,
    deadline: Deadline,
    save: (saving: Ledger) => Promise<void>,
    least = LONGEST_SAVE,
  ): Promise<void> {
    const ms = Math.max(least, deadline.remaining());
    await underDeadline(this.#deps.clock, { ms }, (limit) => save(ledger.within(limit)));
  }

  /** Awaits a write that later work needs; a failure is only logged. */
  async #warnOnFailure(work: Promise<unknown>, what: Sentence): Promise<void> {
    await work.catch((error: unknown) =>
      this.#deps.warn(phrase`${what} could not be saved yet: ${asPrintingError(error).sentence}`),
    );
  }
}

/**
 * Whether an answer confirms a print (wire facts 7): it carries no errors, and names the job, the printing or a status.
 * Any other answer, such as an empty one, proves nothing.
 */
function confirmsPrint({ data, body }: Answer): boolean {
  if (list(record(body)?.errors).length > 0) return false;
  const answer = single(data);
  const fields = [answer?.job_id, answer?.job_instance_uuid, answer?.cluster_job_id, answer?.status];
  return fields.some((field) => text(field) !== null);
}

/** Both locks. The second one is secured last, as the time between that and the request is limited (`leases.ts`). */
const both = (first: Pick<Lock, 'secure'>, second: Pick<Lock, 'secure'>): Pick<Lock, 'secure'> => ({
  secure: async (ms) => {
    const checks = [await first.secure(ms), await second.secure(ms)];
    return () => checks.forEach((check) => check());
  },
});

const unexpectedAnswer = ({ status: statusCode }: Answer): PrintingError =>
  new PrintingError(
    'SERVICE_ERROR',
    phrase`The service gave an unexpected answer about ${phrase`the print`}: check the hosts of the account, or try again later.`,
    { statusCode, outcome: 'unknown' },
  );

/** PRINT_OUTCOME_UNKNOWN of an attempt, after a search with this end. */
export function outcomeUnknown(
  { clusterId, jobId }: PrintAttempt,
  { end }: Pick<Search, 'end'>,
  cause?: PrintingError,
): PrintingError {
  const seen =
    end === 'cut'
      ? phrase`the printer could not be searched to the end`
      : end === 'doubtful'
        ? phrase`the printer shows a print of the same job that may be this one`
        : phrase`the print can’t be seen on the printer`;
  const sentence = phrase`The answer to the print was lost and ${seen}: look for the job there before you print again.`;
  const error = new PrintingError('PRINT_OUTCOME_UNKNOWN', sentence, {
    cause,
    outcome: 'unknown',
    statusCode: cause?.statusCode,
    serviceCode: cause?.serviceCode,
  });
  return withIds(error, { clusterId, jobId });
}

/** Ages of the attempts without an outcome: the time for which whole listings were read since their calls (ADR 32). */
class AttemptAges {
  readonly #ages = new Map<string, { lived: number; at: number }>();

  constructor(private readonly clock: Clock) {}

  /** Age of an attempt at a listing, ms. */
  seen(entry: Entry, listing: Listing): number {
    const at = this.clock.monotonic();
    const { id } = entry.attempt;
    const last = this.#ages.get(id);
    const lived = this.of(entry) + (last ? Math.min(at - last.at, LONGEST_GAP) : 0);
    if (isWhole(entry.attempt, listing)) this.#ages.set(id, { lived, at });
    return lived;
  }

  /** Age of an attempt at the last whole listing, ms. */
  of({ attempt, lived = 0 }: Entry): number {
    return this.#ages.get(attempt.id)?.lived ?? lived;
  }

  forget({ attempt }: Entry): void {
    this.#ages.delete(attempt.id);
  }
}
