import type { Scope } from '../../state/store';
import { OutageMemory } from './outage-memory';
import { ScopeMemory } from './scope-memory';

const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * State of an account's watcher that survives deploys: poll times, so that a deploy moves no turn, and checkpoints, so
 * that it reads no files.
 */
export class WatchMemory {
  readonly #scopes = new Map<string, ScopeMemory>();
  readonly #phases = new Map<string, number>();
  #counted = 0;
  /** Last poll times of forgotten clusters, kept for a moment. */
  readonly #leaving = new Map<string, number | undefined>();
  /** Start of a cluster's last poll, monotonic ms. Before the first poll: one interval before it is due. */
  readonly polledAt = new Map<string, number>();
  readonly #outages = new Map<string, OutageMemory>();
  /** Keys of earlier watches, with their cluster id. */
  readonly watches = new Map<string, string | null>();

  scope(scope: Scope): ScopeMemory {
    const name = JSON.stringify(scope);
    let memory = this.#scopes.get(name);
    if (!memory) this.#scopes.set(name, (memory = new ScopeMemory(scope)));
    return memory;
  }

  /** Outages of one account on one service. */
  outages(service: string): OutageMemory {
    let memory = this.#outages.get(service);
    if (!memory) this.#outages.set(service, (memory = new OutageMemory()));
    return memory;
  }

  /** Position of a cluster's turn within its interval, 0 to 1. */
  phaseOf(clusterId: string): number {
    let phase = this.#phases.get(clusterId);
    if (phase === undefined) this.#phases.set(clusterId, (phase = phaseOf(this.#counted++)));
    return phase;
  }

  /** Forgets a cluster without subscribers and without state. Its last poll time stays for `keepFor` ms. */
  forget(clusterId: string, { now, keepFor }: { now: number; keepFor: number }): void {
    for (const { clusters } of this.#scopes.values()) clusters.delete(clusterId);
    this.#leaving.delete(clusterId);
    this.#leaving.set(clusterId, this.polledAt.get(clusterId));
    for (const [id, polledAt] of this.#leaving) {
      if (polledAt !== undefined && now - polledAt < keepFor) break;
      this.#leaving.delete(id);
      if (this.polledAt.get(id) !== polledAt) continue;
      this.polledAt.delete(id);
      this.#phases.delete(id);
    }
  }
}

/**
 * Position of the `n`th cluster's turn within its interval, 0 to 1. The positions of any number of clusters are evenly
 * spread, and a new cluster moves none of the others.
 */
const phaseOf = (n: number): number => (n * GOLDEN) % 1;
