import { PrintingError } from '../service/errors';
import type { CurrentScope } from '../state/scope';
import { hold, type Key, type StateStore } from '../state/store';
import type { Deadline } from '../time/deadline';

/** What was stored and printed: the first result that a repeated print key passes on. */
export interface Dispatched {
  jobId: string;
  clusterJobId: string | null;
  /** The service's word on the print. */
  status: string | null;
}

/** A dispatch that was begun; without `done` its outcome is not known. */
export interface Entry {
  jobId: string;
  /** Milliseconds since 1970. */
  begunAt: number;
  /** Printings of the same job on the cluster that are not this one. */
  known: string[];
  /** What the caller wants back with a repeat. */
  note: unknown;
  done?: Dispatched;
}

/** Keys are kept for at least 90 days (reference 3.4). */
const KEEP = 100 * 24 * 60 * 60 * 1000;
/** Printings of one job that are remembered; lists hold far fewer. */
const MOST_CLAIMS = 200;

/**
 * What was dispatched, so that nothing is dispatched twice: one entry per print key, written before the call; the
 * printings that are accounted for; and the keys of each cluster that wait to be settled.
 */
export class Ledger {
  readonly #store: StateStore;
  readonly #scope: CurrentScope;

  constructor(store: StateStore, scope: CurrentScope) {
    this.#store = store;
    this.#scope = scope;
  }

  /** One at a time for each print key, from the first look at it to the result. */
  async holdKey<T>(clusterId: string, printKey: string, work: () => Promise<T>, deadline?: Deadline): Promise<T> {
    return hold(this.#store, await this.#of('print-key-lock', clusterId, printKey), work, deadline);
  }

  /** One at a time for each job on a cluster, so that a lost answer can't be taken for another's print. */
  async holdJob<T>(clusterId: string, jobId: string, work: () => Promise<T>): Promise<T> {
    return hold(this.#store, await this.#of('dispatch-lock', clusterId, jobId), work);
  }

  async find(clusterId: string, printKey: string): Promise<Entry | undefined> {
    return this.#store.get<Entry>(await this.#key(clusterId, printKey));
  }

  /** Before the call. Throws FILE_NOT_WRITABLE where it can't be written: then nothing may be sent. */
  async begin(clusterId: string, printKey: string, entry: Entry): Promise<void> {
    try {
      await this.#store.update<Record<string, true>>(await this.#unsettled(clusterId), (keys) => ({
        ...keys,
        [printKey]: true,
      }));
      await this.#store.put(await this.#key(clusterId, printKey), entry, { keepFor: KEEP });
    } catch (cause) {
      throw new PrintingError(
        'FILE_NOT_WRITABLE',
        'The print key could not be saved, so nothing was printed: make the state folder writable.',
        { cause, outcome: 'not-sent' },
      );
    }
  }

  /** The outcome is known: printed. */
  async settle(clusterId: string, printKey: string, done: Dispatched): Promise<void> {
    await this.#store.update<Entry>(await this.#key(clusterId, printKey), (entry) => entry && { ...entry, done }, {
      keepFor: KEEP,
    });
    await this.#dropUnsettled(clusterId, printKey);
  }

  /** It failed for certain: the key is free again. */
  async release(clusterId: string, printKey: string): Promise<void> {
    await this.#store.delete(await this.#key(clusterId, printKey));
    await this.#dropUnsettled(clusterId, printKey);
  }

  /** Print keys of a cluster whose outcome is not known. */
  async unsettled(clusterId: string): Promise<string[]> {
    return Object.keys((await this.#store.get<Record<string, true>>(await this.#unsettled(clusterId))) ?? {});
  }

  /** Printings of a job that are accounted for. */
  async claims(clusterId: string, jobId: string): Promise<string[]> {
    return (await this.#store.get<string[]>(await this.#claims(clusterId, jobId))) ?? [];
  }

  /** Takes the first of `candidates` that nobody else has; null where all are taken. */
  async claim(clusterId: string, jobId: string, candidates: string[]): Promise<string | null> {
    let taken: string | null = null;
    await this.#store.update<string[]>(
      await this.#claims(clusterId, jobId),
      (claims = []) => {
        taken = candidates.find((candidate) => !claims.includes(candidate)) ?? null;
        return taken === null ? claims : [...claims, taken].slice(-MOST_CLAIMS);
      },
      { keepFor: KEEP },
    );
    return taken;
  }

  #key = (clusterId: string, printKey: string) => this.#of('print-key', clusterId, printKey);
  #unsettled = (clusterId: string) => this.#of('unsettled', clusterId);
  #claims = (clusterId: string, jobId: string) => this.#of('claims', clusterId, jobId);

  async #of(kind: string, ...words: string[]): Promise<Key> {
    return [kind, ...(await this.#scope()), ...words];
  }

  async #dropUnsettled(clusterId: string, printKey: string): Promise<void> {
    await this.#store.update<Record<string, true>>(await this.#unsettled(clusterId), (keys = {}) => {
      const left = Object.entries(keys).filter(([key]) => key !== printKey);
      return left.length ? Object.fromEntries(left) : undefined;
    });
  }
}
