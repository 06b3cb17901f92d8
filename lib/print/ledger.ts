import { asPrintingError, PrintingError } from '../service/errors';
import type { Scope } from '../state/scope';
import { DeadlineStore } from '../state/deadline-store';
import { hold, type Key, type Lock, type PutOptions, type StateStore } from '../state/store';
import { underDeadline, type Deadline } from '../time/deadline';
import type { JobEnd } from '../watch/watcher';
import type { PrintAttempt } from './attempt';
import { Claims, KEEP } from './claims';
import { phrase } from '../words/sentence';

/** What was stored and printed: the first result that a repeated print key passes on. */
export interface Dispatched {
  jobId: string;
  /** Null: the service took it without naming the printing. */
  clusterJobId: string | null;
  /** The service's word on the print. */
  status: string | null;
}

/** What is kept for a print key; without `done` the outcome is not known. */
export interface Entry {
  attempt: PrintAttempt;
  /** What the caller wants back with a repeat. */
  note: unknown;
  /** The runtime that is sending it, or ended while it was; missing: none, or one that shares its store with no other. */
  by?: string;
  done?: Dispatched;
  /** How the print ended, once that was seen. */
  ended?: JobEnd;
}

/** A print key of a cluster. */
export interface KeyOf {
  clusterId: string;
  printKey: string;
}

interface LedgerOptions {
  lasting?: Ledger;
  locks?: readonly Lock[];
  unbounded?: StateStore;
}

/**
 * What was dispatched, so that nothing is dispatched twice: an entry per print key, written before the call; the
 * printings that are accounted for; and an index of the keys whose outcome is open (ADR 4).
 * An entry is written under its key's lock, a claim made under its job's. Who takes both takes the key's first.
 */
export class Ledger {
  readonly claims: Claims;
  /** This ledger, for whatever outlives the work that it was made for. */
  readonly lasting: Ledger;
  readonly #store: StateStore;
  /** The store beyond the deadline of `within`. */
  readonly #unbounded: StateStore;
  readonly #scope: Scope;
  /** What is written is written under these. */
  readonly #locks: readonly Lock[];

  constructor(store: StateStore, scope: Scope, { lasting, locks = [], unbounded = store }: LedgerOptions = {}) {
    this.#store = store;
    this.#unbounded = unbounded;
    this.#scope = scope;
    this.#locks = locks;
    this.claims = new Claims(store, scope, locks);
    this.lasting = lasting ?? this;
  }

  /** The same ledger for one piece of work, which waits for no disk beyond its deadline. */
  within(deadline: Deadline): Ledger {
    const parts = { lasting: this.lasting, locks: this.#locks, unbounded: this.#unbounded };
    return new Ledger(new DeadlineStore(this.#unbounded, deadline), this.#scope, parts);
  }

  /** One at a time for each print key, from its first reading to the result. */
  holdKey<T>({ clusterId, printKey }: KeyOf, work: UnderLock<T>, deadline: Deadline): Promise<T> {
    return this.#hold(['print-key-lock', ...this.#scope, clusterId, printKey], work, deadline);
  }

  /** One at a time for each job on a cluster, so that a lost answer can't be taken for another's print. */
  holdJobs<T>(clusterId: string, jobIds: string[], work: UnderLock<T>, deadline: Deadline): Promise<T> {
    // In one order for everybody, so that nobody waits in a circle.
    const [first, ...others] = [...new Set(jobIds)].sort();
    if (first === undefined) return work(this, deadline);
    const inner: UnderLock<T> = (ledger, limit) => ledger.holdJobs(clusterId, others, work, limit);
    return this.#hold(['dispatch-lock', ...this.#scope, clusterId, first], inner, deadline);
  }

  #hold<T>(key: Key, work: UnderLock<T>, deadline: Deadline): Promise<T> {
    const held = (lock: Lock) => {
      const parts = { lasting: this.lasting, locks: [...this.#locks, lock], unbounded: this.#unbounded };
      const ledger = new Ledger(this.#store, this.#scope, parts);
      return underDeadline(deadline.clock, { parent: deadline, lost: lock.signal }, (limit) => work(ledger, limit));
    };
    return hold(this.#store, key, held, deadline);
  }

  /** As `Lock.secure`, for all locks that are held. */
  async secure(ms: number): Promise<() => void> {
    const checks = await Promise.all(this.#locks.map((lock) => lock.secure(ms)));
    return () => checks.forEach((check) => check());
  }

  find(key: KeyOf): Promise<Entry | undefined> {
    return this.#store.get<Entry>(this.#key(key));
  }

  /** Before the call. What it throws means that nothing may be sent. */
  async begin(key: KeyOf, entry: Entry): Promise<void> {
    const { runtime } = this.#store;
    try {
      await this.#changeOpen((keys) => (keys.some(same(key)) ? keys : [...keys, key]));
      await this.#store.put(this.#key(key), runtime === undefined ? entry : { ...entry, by: runtime }, this.#lasting());
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

  /** Another runtime may be sending it, or have an answer that it could not write yet. */
  isElsewhere({ by }: Entry): boolean {
    return by !== undefined && by !== this.#store.runtime;
  }

  /** This runtime has lost the answer, and has searched in vain: no other one need wait for it. */
  async giveUp(key: KeyOf, entry: Entry): Promise<void> {
    if (this.#store.runtime !== undefined) await this.#store.put(this.#key(key), entry, this.#lasting());
  }

  /** The outcome is known: printed. */
  async settle(key: KeyOf, entry: Entry, done: Dispatched): Promise<void> {
    // Another runtime may have the lock by now; the outcome still belongs to this attempt.
    const replaces = (stored: unknown) => (stored as Entry | undefined)?.attempt.id === entry.attempt.id;
    await this.#store.put(this.#key(key), { ...entry, done }, this.#lasting({ insist: true, replaces }));
    if (done.clusterJobId !== null) await this.close(key);
  }

  /** The call failed for certain: the key stands as before it. */
  async release(key: KeyOf, before: Entry | undefined): Promise<void> {
    if (before) return this.#store.put(this.#key(key), before, this.#lasting({ insist: true }));
    await this.#store.delete(this.#key(key), this.#lasting({ insist: true }));
    await this.close(key);
  }

  /** The print has ended. */
  async end(key: KeyOf, ended: JobEnd): Promise<void> {
    await this.#store.update<Entry>(this.#key(key), (entry) => entry && { ...entry, ended }, { keepFor: KEEP });
  }

  /** Keys whose printing is not known. */
  async open(): Promise<KeyOf[]> {
    return (await this.#store.get<KeyOf[]>(this.#open)) ?? [];
  }

  /** Takes a key off the index: it is settled, free again, or hopeless. False where it was not there. */
  async close(key: KeyOf): Promise<boolean> {
    let wasOpen = false;
    await this.#changeOpen((keys) => {
      wasOpen = keys.some(same(key));
      return wasOpen ? keys.filter((other) => !same(key)(other)) : keys;
    });
    return wasOpen;
  }

  async #changeOpen(change: (keys: KeyOf[]) => KeyOf[]): Promise<void> {
    const changed = (current: KeyOf[] = []) => {
      const keys = change(current);
      return keys.length > 0 ? keys : undefined;
    };
    await this.#store.update(this.#open, changed, { under: this.#locks });
  }

  #lasting(options: PutOptions = {}): PutOptions {
    return { ...options, keepFor: KEEP, under: this.#locks };
  }

  get #open() {
    return ['open-prints', ...this.#scope] as const;
  }

  #key = ({ clusterId, printKey }: KeyOf) => ['print-key', ...this.#scope, clusterId, printKey] as const;
}

/** Works on the ledger as it may be written under a lock, and stops when the lock is lost. */
type UnderLock<T> = (ledger: Ledger, deadline: Deadline) => Promise<T>;

const same = (one: KeyOf) => (other: KeyOf) => one.clusterId === other.clusterId && one.printKey === other.printKey;
