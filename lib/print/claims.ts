import type { PrintJob } from '../service/print-job';
import type { Scope, StateStore } from '../state/store';
import { type Lock, LockLostError } from '../state/membership';
import { candidates, doubtful, type Dispatched, type PrintAttempt } from './attempt';

/** A printing on a cluster, and the attempt that created it. */
interface Claim {
  clusterJobId: string;
  attempt: string;
}

/** Retention, ms, equal to that of print keys: a claim must outlive every entry that could claim the same printing. */
export const KEEP = 100 * 24 * 60 * 60 * 1000;
/** Most printings stored per job; a cluster's lists hold far fewer. */
const MOST = 200;

/** Assigns printings to attempts, so that two attempts never share one printing. */
export class Claims {
  /** @param locks locks that must be held to write a claim */
  constructor(
    private readonly store: StateStore,
    private readonly scope: Scope,
    private readonly locks: readonly Lock[],
  ) {}

  /** Printings of a job that an attempt owns. */
  async of(clusterId: string, jobId: string): Promise<string[]> {
    const claims = (await this.store.get<Claim[]>(this.#key({ clusterId, jobId }))) ?? [];
    return claims.map(({ clusterJobId }) => clusterJobId);
  }

  /**
   * Claims the attempt's printing if it is in the list and no other attempt owns it. Rejects if the claims can't be
   * read.
   */
  async claim(attempt: PrintAttempt, printings: PrintJob[]): Promise<Dispatched | undefined> {
    const jobs = candidates(attempt, printings);
    if (jobs.length === 0) return undefined;
    const ids = jobs.flatMap(({ clusterJobId }) => clusterJobId ?? []);
    const claimed = await this.claimFirst(attempt, ids);
    return printOf(
      attempt,
      jobs.find(({ clusterJobId }) => clusterJobId === claimed),
    );
  }

  /** Whether no attempt owns some printing that this one may have created if its time is wrong. */
  async isDoubtful(attempt: PrintAttempt, printings: PrintJob[]): Promise<boolean> {
    const ids = doubtful(attempt, printings);
    if (ids.length === 0) return false;
    const owned = await this.of(attempt.clusterId, attempt.jobId);
    return ids.some((id) => !owned.includes(id));
  }

  /**
   * Claims the first of `ids` that no other attempt owns; null if there is none. A claim that can't be written is kept
   * in memory until it can. Rejects if the claims can't be read.
   */
  async claimFirst(attempt: PrintAttempt, ids: string[]): Promise<string | null> {
    let claimed: string | null | undefined;
    const change = (claims: Claim[] = []): Claim[] | undefined => {
      const owner = (id: string) => claims.find(({ clusterJobId }) => clusterJobId === id)?.attempt;
      claimed = ids.find((id) => [undefined, attempt.id].includes(owner(id))) ?? null;
      if (claimed === null || owner(claimed) === attempt.id) return claims.length > 0 ? claims : undefined;
      return [...claims, { clusterJobId: claimed, attempt: attempt.id }].slice(-MOST);
    };
    try {
      await this.store.update(this.#key(attempt), change, { keepFor: KEEP, insist: true, under: this.locks });
    } catch (error) {
      if (claimed === undefined || error instanceof LockLostError) throw error;
    }
    return claimed ?? null;
  }

  #key = ({ clusterId, jobId }: { clusterId: string; jobId: string }) =>
    ['claims', ...this.scope, clusterId, jobId] as const;
}

/** The most likely printing of an attempt, without a look into the claims. */
export const likeliest = (attempt: PrintAttempt, printings: PrintJob[]): Dispatched | undefined =>
  printOf(attempt, candidates(attempt, printings)[0]);

const printOf = ({ jobId }: PrintAttempt, job: PrintJob | undefined): Dispatched | undefined =>
  job && { jobId, clusterJobId: job.clusterJobId, status: job.status };
