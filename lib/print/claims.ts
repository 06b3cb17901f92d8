import type { Scope } from '../state/scope';
import { LockLostError, type Lock, type StateStore } from '../state/store';

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
  readonly #store: StateStore;
  readonly #scope: Scope;
  /** Locks that must be held to write a claim. */
  readonly #locks: readonly Lock[];

  constructor(store: StateStore, scope: Scope, locks: readonly Lock[]) {
    this.#store = store;
    this.#scope = scope;
    this.#locks = locks;
  }

  /** Printings of a job that an attempt owns. */
  async of(clusterId: string, jobId: string): Promise<string[]> {
    const claims = (await this.#store.get<Claim[]>(this.#key(clusterId, jobId))) ?? [];
    return claims.map(({ clusterJobId }) => clusterJobId);
  }

  /**
   * Claims the first of `candidates` that no other attempt owns; null if there is none. A claim that can't be written
   * is kept in memory until it can. Rejects if the claims can't be read.
   */
  async claimFirst(clusterId: string, jobId: string, candidates: string[], attempt: string): Promise<string | null> {
    let claimed: string | null | undefined;
    const change = (claims: Claim[] = []): Claim[] | undefined => {
      const owner = (id: string) => claims.find(({ clusterJobId }) => clusterJobId === id)?.attempt;
      claimed = candidates.find((id) => [undefined, attempt].includes(owner(id))) ?? null;
      if (claimed === null || owner(claimed) === attempt) return claims.length > 0 ? claims : undefined;
      return [...claims, { clusterJobId: claimed, attempt }].slice(-MOST);
    };
    try {
      await this.#store.update(this.#key(clusterId, jobId), change, {
        keepFor: KEEP,
        insist: true,
        under: this.#locks,
      });
    } catch (error) {
      if (claimed === undefined || error instanceof LockLostError) throw error;
    }
    return claimed ?? null;
  }

  #key = (clusterId: string, jobId: string) => ['claims', ...this.#scope, clusterId, jobId] as const;
}
