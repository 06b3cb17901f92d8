import { randomBytes } from 'node:crypto';
import { asPrintingError, type Ids, PrintingError } from '../service/errors';
import { list, record, text } from '../service/json-readers';
import type { PrintJob } from '../service/print-job';
import { type Lock, LockLostError } from '../state/membership';
import { DeadlineStore } from '../state/memory-store';
import { type Key, type PutOptions, type Scope, type StateStore } from '../state/store';
import { type Deadline, underDeadline } from '../time/deadline';
import type { JobEnd } from '../watch/views/job-end-waiter';
import { phrase } from '../words/sentence';
import type { Listing, Printings } from './job-list-reader';
import { type KeyOf, OpenKeys } from './open-keys';

/** One call that prints, with the data that identifies its printing later. Times are milliseconds since 1970. */
export interface PrintAttempt {
  id: string;
  clusterId: string;
  jobId: string;
  /** By the service's clock; by the runtime's where the service reports no time. */
  begunAt: number;
  /**
   * The printing was created between these times; the bounds allow for clocks that differ. `earliest` 0: a current listing
   * with a history was read before the call, so that every printing that it lacks is new, whatever its date.
   */
  earliest: number;
  latest: number;
  /** Whether the listing before the call was current: every job that its queue lacks is new there, whatever its date. */
  hadQueue?: boolean;
  /** Whether it had a history. Missing in an entry of an earlier version, which did not record it. */
  hadHistory?: boolean;
  /** Printings that were listed before the call, whatever their job, or belong to other attempts. */
  known: string[];
}

/** A stored job and its printing: the first result, which every repeat of the print key returns. */
export interface Dispatched {
  jobId: string;
  /** Null: the service accepted the print without naming the printing. */
  clusterJobId: string | null;
  /** The print's status as the service reported it. */
  status: string | null;
}

/** Greatest difference between the clocks of service and runtime, plus the longest processing time of a call, ms. */
const TOLERANCE = 60 * 60 * 1000;
/** Longest attempt, ms. */
const LONGEST = 24 * 60 * 60 * 1000;

/** Returns an attempt that begins now on the cluster of `listing`; `claimed` are printings that other attempts own. */
export function newAttempt(
  { clusterId, jobId }: { clusterId: string; jobId: string },
  { listing, claimed, now, maxDuration }: { listing: Listing; claimed: string[]; now: number; maxDuration: number },
): PrintAttempt {
  const begunAt = listing.at ?? now;
  return {
    // Each claim of a printing repeats it, so it is short.
    id: randomBytes(12).toString('base64url'),
    clusterId,
    jobId,
    begunAt,
    earliest: listing.current && listing.hasHistory ? 0 : Math.min(begunAt, now) - TOLERANCE,
    // Either clock may be slow.
    latest: Math.max(begunAt, now) + Math.min(maxDuration, LONGEST) + TOLERANCE,
    hadQueue: listing.current,
    hadHistory: listing.hasHistory,
    known: [...new Set([...idsOf(listing), ...claimed])],
  };
}

/**
 * Whether a listing shows every printing that the attempt may have created. A print that has ended is only in the history,
 * so a listing that lacks it shows nothing, unless the firmware had none before the call either.
 */
export const isWhole = ({ hadHistory }: PrintAttempt, { current, hasHistory }: Listing): boolean =>
  current && (hasHistory || hadHistory === false);

/** Ids of the listed printings. */
export const idsOf = ({ jobs, history }: Printings): string[] =>
  [...jobs, ...history].flatMap(({ clusterJobId }) => clusterJobId ?? []);

/** Time for which a new printing of the job counts as the attempt's, and not as somebody's reprint, lived ms. */
const NEW_FOR = 60 * 60 * 1000;

/** Whether every new printing of the job is older than the attempt's could be, or may be somebody else's. */
export const isTooLate = (lived: number): boolean => lived > NEW_FOR;

/** Printings that were not there before the attempt. */
const unknownTo = ({ known }: PrintAttempt, { jobs, history }: Printings): (PrintJob & { clusterJobId: string })[] =>
  [...jobs, ...history].filter(
    (job): job is PrintJob & { clusterJobId: string } => job.clusterJobId !== null && !known.includes(job.clusterJobId),
  );

/**
 * Printings that count as the attempt's, the likeliest first; any other unknown one only forbids another call. `lived`:
 * time for which whole listings were read since the call, ms.
 */
export function candidates(attempt: PrintAttempt, printings: Printings, lived: number): PrintJob[] {
  const { jobId, begunAt, earliest, latest, hadQueue } = attempt;
  const createdAt = (job: PrintJob) => (job.createdAt === null ? begunAt : Date.parse(job.createdAt));
  const distance = (job: PrintJob) => Math.abs(createdAt(job) - begunAt);
  const isNew = (job: PrintJob) => earliest === 0 || (hadQueue && printings.jobs.includes(job));
  const counts = (job: PrintJob) =>
    isNew(job) ? !isTooLate(lived) : createdAt(job) >= earliest && createdAt(job) <= latest;
  return unknownTo(attempt, printings)
    .filter((job) => job.jobId === jobId && counts(job))
    .sort((one, other) => distance(one) - distance(other));
}

/** How a print is sent that no call has created (wire facts 8). */
const SENT_LOCALLY: readonly (string | null)[] = ['usb', 'network'];

/** Whether a printing may be one of the job: the service names no job where the account has no access to it. */
const mayBeOf = (jobId: string, job: PrintJob): boolean =>
  job.jobId === jobId || (job.jobId === null && !SENT_LOCALLY.includes(job.sentFrom));

/** A printing on a cluster, and the attempt that created it. */
interface Claim {
  clusterJobId: string;
  attempt: string;
  /** Whether a list has shown it. Once no list shows it any more, nothing can take it for another attempt's. */
  seen?: true;
}

/** Retention, ms, equal to that of print keys: a claim must outlive every entry that could claim the same printing. */
const KEEP = 100 * 24 * 60 * 60 * 1000;
/** Most printings stored per job; a cluster's lists hold far fewer. */
const MOST = 200;
/** The newest of them that stay although they have left the lists. */
const NEWEST = 5;

/** Assigns printings to attempts, so that two attempts never share one printing. */
class Claims {
  /** @param locks locks that must be held to write a claim */
  constructor(
    private readonly store: StateStore,
    private readonly scope: Scope,
    private readonly locks: readonly Lock[],
  ) {}

  /** Printings of a job that an attempt owns. */
  async of(clusterId: string, jobId: string): Promise<string[]> {
    return readClaims(await this.store.get(this.#key({ clusterId, jobId }))).map(({ clusterJobId }) => clusterJobId);
  }

  /**
   * Claims the attempt's printing if it is in the list and no other attempt owns it. Rejects if the claims can't be
   * read.
   */
  async claim(attempt: PrintAttempt, printings: Printings, lived: number): Promise<Dispatched | undefined> {
    const jobs = candidates(attempt, printings, lived);
    if (jobs.length === 0) return undefined;
    const ids = jobs.flatMap(({ clusterJobId }) => clusterJobId ?? []);
    const claimed = await this.claimFirst(attempt, ids);
    return printOf(
      attempt,
      jobs.find(({ clusterJobId }) => clusterJobId === claimed),
    );
  }

  /** Printings, now or before, that the attempt may have created and no other one owns, whether or not they count as its own. */
  async doubts({ attempt, doubted = [] }: Entry, printings: Printings): Promise<string[]> {
    const seen = unknownTo(attempt, printings);
    const isOther = new Set(seen.filter((job) => !mayBeOf(attempt.jobId, job)).map(({ clusterJobId }) => clusterJobId));
    const all = new Set([...doubted, ...seen.map(({ clusterJobId }) => clusterJobId)]);
    const ids = [...all].filter((id) => !isOther.has(id));
    if (ids.length === 0) return [];
    const owned = await this.of(attempt.clusterId, attempt.jobId);
    return ids.filter((id) => !owned.includes(id)).slice(-MOST);
  }

  /**
   * Claims the first of `ids` that no other attempt owns; null if there is none. A claim that can't be written is kept
   * in memory until it can. Rejects if the claims can't be read.
   * @param listed printings that whole lists showed before the call; null: not known
   */
  async claimFirst(
    attempt: PrintAttempt,
    ids: string[],
    listed: ReadonlySet<string> | null = null,
  ): Promise<string | null> {
    let claimed: string | null | undefined;
    const change = (stored: unknown): Claim[] | undefined => {
      const claims = readClaims(stored);
      const owner = (id: string) => claims.find(({ clusterJobId }) => clusterJobId === id)?.attempt;
      claimed = ids.find((id) => [undefined, attempt.id].includes(owner(id))) ?? null;
      if (claimed === null || owner(claimed) === attempt.id) return claims.length > 0 ? claims : undefined;
      return [...stillNeeded(claims, listed), { clusterJobId: claimed, attempt: attempt.id }].slice(-MOST);
    };
    try {
      await this.store.update<unknown>(this.#key(attempt), change, { keepFor: KEEP, insist: true, under: this.locks });
    } catch (error) {
      if (claimed === undefined || error instanceof LockLostError) throw error;
    }
    return claimed ?? null;
  }

  #key = ({ clusterId, jobId }: { clusterId: string; jobId: string }) =>
    ['claims', ...this.scope, clusterId, jobId] as const;
}

/** The claims of a stored record; an entry of another shape is left out, as if it were lost. */
const readClaims = (stored: unknown): Claim[] =>
  list(stored).filter(
    (claim) => text(record(claim)?.clusterJobId) !== null && text(record(claim)?.attempt) !== null,
  ) as unknown as Claim[];

/** The claims without the printings that have left the lists. */
function stillNeeded(claims: readonly Claim[], listed: ReadonlySet<string> | null): Claim[] {
  if (listed === null) return [...claims];
  return claims
    .map((claim) => (listed.has(claim.clusterJobId) ? { ...claim, seen: true as const } : claim))
    .filter(({ clusterJobId, seen }, at) => !seen || listed.has(clusterJobId) || at >= claims.length - NEWEST);
}

/** The most likely printing of an attempt, without a look into the claims. */
export const likeliest = (attempt: PrintAttempt, printings: Printings, lived: number): Dispatched | undefined =>
  printOf(attempt, candidates(attempt, printings, lived)[0]);

const printOf = ({ jobId }: PrintAttempt, job: PrintJob | undefined): Dispatched | undefined =>
  job && { jobId, clusterJobId: job.clusterJobId, status: job.status };

/** Stored state of a print key; without `done` the outcome is unknown. */
export interface Entry {
  attempt: PrintAttempt;
  /** Data of the caller, returned to repeats. */
  note: unknown;
  /**
   * Id of the runtime that sends it or stopped while sending; missing without such a runtime, or if the store has no other
   * runtime.
   */
  by?: string;
  /** Total time of unsuccessful searches for a print that another runtime may have sent, ms. */
  searchedFor?: number;
  /** Time for which whole listings were read since the call, as last written, ms. */
  lived?: number;
  /** Printings that may be the attempt's or somebody's reprints, even if no list shows them any more (ADR 32). */
  doubted?: string[];
  done?: Dispatched;
  /** How the print ended, once known. */
  ended?: JobEnd;
}

/** Whether a stored value is an entry, as far as its use relies on that. */
function isEntry(value: unknown): value is Entry {
  const { attempt, done } = record(value) ?? {};
  const { id, clusterId, jobId, known } = record(attempt) ?? {};
  const hasEnd = done === undefined || text(record(done)?.jobId) !== null;
  return hasEnd && [id, clusterId, jobId].every((word) => typeof word === 'string') && Array.isArray(known);
}

/**
 * Record of the dispatches, which prevents a second one: an entry per print key, written before the call; the claimed
 * printings; and an index of the keys whose outcome is open (ADR 4).
 * An entry is written under its key's lock, a claim under its job's. Work that needs both acquires the key's lock
 * first.
 */
export class Ledger {
  readonly claims: Claims;
  readonly #store: StateStore;
  readonly #openKeys: OpenKeys;

  /**
   * @param locks locks that must be held to write
   * @param deadline limits the waits for the disk
   */
  constructor(
    private readonly lasting: StateStore,
    readonly scope: Scope,
    private readonly locks: readonly Lock[] = [],
    private readonly deadline?: Deadline,
  ) {
    this.#store = deadline ? new DeadlineStore(lasting, deadline) : lasting;
    this.claims = new Claims(this.#store, scope, locks);
    this.#openKeys = new OpenKeys(this.#store, scope, locks);
  }

  /** Returns the same ledger for one piece of work: it doesn't wait for the disk beyond the deadline. */
  within(deadline: Deadline): Ledger {
    return new Ledger(this.lasting, this.scope, this.locks, deadline);
  }

  /** Serializes the work on a print key, from its first read to the result. */
  waitForKey<T>({ clusterId, printKey }: KeyOf, work: UnderLock<T>, deadline: Deadline): Promise<T> {
    return this.#waitForLock(['print-key-lock', ...this.scope, clusterId, printKey], work, deadline);
  }

  /** Serializes the work on a print key whose printer is chosen, from the choice to the result. */
  waitForChoice<T>(printKey: string, work: UnderLock<T>, deadline: Deadline): Promise<T> {
    return this.#waitForLock(['print-choice-lock', ...this.scope, printKey], work, deadline);
  }

  /**
   * Serializes the work on each job of a cluster, so that a lost answer can't be mistaken for another request's print.
   */
  waitForJobs<T>(clusterId: string, jobIds: string[], work: UnderLock<T>, deadline: Deadline): Promise<T> {
    // A fixed order prevents a deadlock.
    const [first, ...others] = [...new Set(jobIds)].sort();
    if (first === undefined) return work(this, deadline);
    const inner: UnderLock<T> = (held, limit) => held.waitForJobs(clusterId, others, work, limit);
    return this.#waitForLock(['dispatch-lock', ...this.scope, clusterId, first], inner, deadline);
  }

  #waitForLock<T>(key: Key, work: UnderLock<T>, deadline: Deadline): Promise<T> {
    const underLock = (lock: Lock) => {
      const held = new Ledger(this.lasting, this.scope, [...this.locks, lock], this.deadline);
      return underDeadline(deadline.clock, { parent: deadline, lost: lock.signal }, (limit) => work(held, limit));
    };
    return this.#store.waitForLock(key, underLock, deadline);
  }

  /** Calls `Lock.secure` on every held lock. */
  async secure(ms: number): Promise<() => void> {
    const checks = await Promise.all(this.locks.map((lock) => lock.secure(ms)));
    return () => checks.forEach((check) => check());
  }

  /** The entry of a print key. Throws PRINT_OUTCOME_UNKNOWN for a damaged one, which may have printed. */
  async find(key: KeyOf): Promise<Entry | undefined> {
    const entry = await this.read(key);
    if (entry !== 'damaged') return entry;
    throw damagedKey({ clusterId: key.clusterId });
  }

  /** The same; `damaged`: it has another shape. */
  async read(key: KeyOf): Promise<Entry | 'damaged' | undefined> {
    const stored = await this.#store.get<unknown>(this.#key(key));
    return stored === undefined || isEntry(stored) ? stored : 'damaged';
  }

  /** Writes an entry before the call. If it throws, nothing may be sent. */
  async begin(key: KeyOf, entry: Entry): Promise<void> {
    const { runtime } = this.#store;
    await this.#beforeSending(async () => {
      await this.#openKeys.add(key);
      await this.#store.put(this.#key(key), runtime === undefined ? entry : { ...entry, by: runtime }, this.#lasting());
    });
  }

  /** The cluster that was chosen last for a print key. */
  async choice(printKey: string): Promise<string | undefined> {
    const stored = await this.#store.get<unknown>(this.#choiceKey(printKey));
    if (stored === undefined || typeof stored === 'string') return stored;
    throw damagedKey();
  }

  /** Writes the chosen cluster before the call, so that a repeat finds the entry there. If it throws, nothing may be sent. */
  recordChoice(printKey: string, clusterId: string): Promise<void> {
    return this.#beforeSending(() => this.#store.put(this.#choiceKey(printKey), clusterId, this.#lasting()));
  }

  async #beforeSending(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (thrown) {
      const cause = asPrintingError(thrown);
      if (cause.code === 'FILE_NOT_READABLE' || cause.code === 'TIMEOUT') throw cause;
      throw new PrintingError(
        'FILE_NOT_WRITABLE',
        phrase`The print key could not be saved, so nothing was printed: make the state folder or the database writable.`,
        { cause, outcome: 'not-sent' },
      );
    }
  }

  /** Whether another runtime may still be sending the print, or holds an answer that it could not write yet. */
  isElsewhere({ by }: Entry): boolean {
    return by !== undefined && by !== this.#store.runtime;
  }

  /** Records that this runtime lost the answer and did not find the print: others need not wait for it. */
  async giveUp(key: KeyOf, entry: Entry): Promise<void> {
    if (this.#store.runtime !== undefined) await this.#store.put(this.#key(key), entry, this.#lasting());
  }

  /** Records a search that was cut short, so that a later one is shorter. */
  async recordSearch(key: KeyOf, entry: Entry, ms: number): Promise<void> {
    await this.#store.update<Entry>(
      this.#key(key),
      // The runtime that made the attempt may have written its outcome meanwhile.
      (stored) =>
        isAttempt(stored, entry) && !stored.done ? { ...stored, searchedFor: (stored.searchedFor ?? 0) + ms } : stored,
      this.#lasting(),
    );
  }

  /** Adds facts to the entry of an attempt without an outcome. */
  async amend(key: KeyOf, entry: Entry, facts: Pick<Entry, 'lived' | 'doubted'>): Promise<void> {
    await this.#store.update<Entry>(
      this.#key(key),
      (stored) => (isAttempt(stored, entry) && !stored.done ? { ...stored, ...facts } : stored),
      this.#lasting(),
    );
  }

  /** Records that the print exists. */
  async settle(key: KeyOf, entry: Entry, done: Dispatched): Promise<void> {
    // Nothing is searched for any more once the printing has a name.
    const attempt = done.clusterJobId === null ? entry.attempt : { ...entry.attempt, known: [] };
    await this.#store.put(
      this.#key(key),
      { ...entry, attempt, done },
      this.#outcome((stored) => isAttempt(stored, entry)),
    );
    if (done.clusterJobId !== null) await this.close(key);
  }

  /** Restores the state before `entry`, whose call certainly failed. */
  async release(key: KeyOf, entry: Entry, before: Entry | undefined): Promise<void> {
    const outcome = this.#outcome((stored) => isAttempt(stored, entry) && !stored.done);
    if (before) return this.#store.put(this.#key(key), before, outcome);
    await this.#store.delete(this.#key(key), outcome);
    await this.close(key);
  }

  /** Records the end of the print. */
  async end(key: KeyOf, ended: JobEnd): Promise<void> {
    await this.#store.update<Entry>(this.#key(key), (entry) => entry && { ...entry, ended }, { keepFor: KEEP });
  }

  /** Keys whose printing is unknown, of all clusters or of one. */
  openKeys(clusterId?: string): Promise<KeyOf[]> {
    return this.#openKeys.of(clusterId);
  }

  /** Removes a key from the index: it is settled, free again, or hopeless. False if it was not in the index. */
  close(key: KeyOf): Promise<boolean> {
    return this.#openKeys.remove(key);
  }

  /** Options for the outcome of an attempt: written even if another runtime holds the lock by now. */
  #outcome(replaces: (stored: Entry | undefined) => boolean): PutOptions {
    return this.#lasting({ insist: true, replaces: replaces as (stored: unknown) => boolean });
  }

  #lasting(options: PutOptions = {}): PutOptions {
    return { ...options, keepFor: KEEP, under: this.locks };
  }

  #choiceKey = (printKey: string) => ['print-choice', ...this.scope, printKey] as const;

  #key = ({ clusterId, printKey }: KeyOf) => ['print-key', ...this.scope, clusterId, printKey] as const;
}

const damagedKey = (ids?: Ids): PrintingError =>
  new PrintingError(
    'PRINT_OUTCOME_UNKNOWN',
    phrase`The saved print key is damaged: check whether the printer has printed, then print with another key.`,
    { outcome: 'unknown', ids },
  );

/** Work on the same ledger under a lock; it is cancelled if the lock is lost. */
type UnderLock<T> = (held: Ledger, limit: Deadline) => Promise<T>;

const isAttempt = (stored: Entry | undefined, { attempt }: Entry): stored is Entry => stored?.attempt.id === attempt.id;
