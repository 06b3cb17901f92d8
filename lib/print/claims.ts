import type { Scope } from '../state/scope';
import { LockLostError, type Lock, type StateStore } from '../state/store';

/** A printing on a cluster, and the attempt that it came of. */
interface Claim {
  clusterJobId: string;
  attempt: string;
}

/** As long as print keys: a claim must outlive every entry that could take the printing for its own. */
export const KEEP = 100 * 24 * 60 * 60 * 1000;
/** Printings of one job that are remembered; lists hold far fewer. */
const MOST = 200;

/** Which printing came of which attempt, so that no printing is the outcome of two. */
export class Claims {
  readonly #store: StateStore;
  readonly #scope: Scope;
  /** Claims are made under these. */
  readonly #locks: readonly Lock[];

  constructor(store: StateStore, scope: Scope, locks: readonly Lock[]) {
    this.#store = store;
    this.#scope = scope;
    this.#locks = locks;
  }

  /** Printings of a job that are accounted for. */
  async of(clusterId: string, jobId: string): Promise<string[]> {
    const claims = (await this.#store.get<Claim[]>(this.#key(clusterId, jobId))) ?? [];
    return claims.map(({ clusterJobId }) => clusterJobId);
  }

  /**
   * Takes the first of `candidates` that is no other attempt's; null where all are. A claim that can't be written stands
   * in this runtime until it can. Rejects where the claims can't be read.
   */
  async take(clusterId: string, jobId: string, candidates: string[], attempt: string): Promise<string | null> {
    let taken: string | null | undefined;
    const change = (claims: Claim[] = []): Claim[] | undefined => {
      const owner = (id: string) => claims.find(({ clusterJobId }) => clusterJobId === id)?.attempt;
      taken = candidates.find((id) => [undefined, attempt].includes(owner(id))) ?? null;
      if (taken === null || owner(taken) === attempt) return claims.length > 0 ? claims : undefined;
      return [...claims, { clusterJobId: taken, attempt }].slice(-MOST);
    };
    try {
      await this.#store.update(this.#key(clusterId, jobId), change, {
        keepFor: KEEP,
        insist: true,
        under: this.#locks,
      });
    } catch (error) {
      if (taken === undefined || error instanceof LockLostError) throw error;
    }
    return taken ?? null;
  }

  #key = (clusterId: string, jobId: string) => ['claims', ...this.#scope, clusterId, jobId] as const;
}
