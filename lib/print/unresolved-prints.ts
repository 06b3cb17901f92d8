import type { SignInWatch } from '../sign-in/sign-in-state';
import type { CurrentScope, Scope, StateStore } from '../state/store';
import type { ClusterStatus } from '../service/cluster';
import type { Clock } from '../time/clock';
import { closed, Deadline } from '../time/deadline';
import { Rerun } from '../time/concurrency';
import { retryUntil } from '../time/retry';
import { nameFor } from '../watch/views/outages';
import type { Watcher } from '../watch/watcher';
import type { Dispatcher } from './dispatcher';
import { Ledger } from './ledger';
import type { JobListReader, Listing } from './job-list-reader';
import { phrase, type Sentence } from '../words/sentence';

interface UnresolvedPrintsDeps {
  watcher: Watcher;
  signIn: SignInWatch;
  store: StateStore;
  scope: CurrentScope;
  clock: Clock;
  jobListReader: JobListReader;
  /** Created on demand, when an outcome is open. */
  dispatcher: () => Dispatcher;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

/** Backoff between tries to read the open keys, ms. */
const RELOAD = { first: 1_000, longest: 30_000 };

/** A cluster that is polled because outcomes on it are open. */
interface HeldCluster {
  ledger: Ledger;
  release: () => void;
  settling: boolean;
  /** Another outcome was added after the settling began. */
  more: boolean;
}

/**
 * Watches the print keys whose outcome is open, from the runtime's start and from each lost answer on. Keeps polling
 * their clusters until every key is settled or hopeless (reference 3.4).
 */
export class UnresolvedPrints {
  readonly #deps: UnresolvedPrintsDeps;
  readonly #held = new Map<string, HeldCluster>();
  readonly #closing = new AbortController();
  readonly #deadline: Deadline;
  readonly #endings: (() => void)[];
  readonly #loads = new Rerun(() => this.#load());

  constructor(deps: UnresolvedPrintsDeps) {
    this.#deps = deps;
    this.#deadline = new Deadline(deps.clock, { parent: this.#closing.signal });
    const load = () => void this.#loads.request();
    this.#endings = [
      deps.watcher.onObservation((clusterId, status) => this.#publish(clusterId, status)),
      // Another sign-in can mean another workspace.
      deps.signIn.onChange(load),
      // Another runtime may have left open keys behind.
      deps.watcher.runtimes.onChange(load),
    ];
    load();
  }

  /** Number of clusters that are polled because outcomes on them are open. */
  get count(): number {
    return this.#held.size;
  }

  /** Adds an open outcome on this cluster. */
  add(scope: Scope, clusterId: string): void {
    if (this.#closing.signal.aborted) return;
    const held = this.#held.get(clusterId);
    if (held) held.more = true;
    else {
      const release = this.#deps.watcher.hold(clusterId);
      const ledger = new Ledger(this.#deps.store, scope);
      this.#held.set(clusterId, { ledger, release, settling: false, more: false });
    }
  }

  close(): void {
    this.#closing.abort(closed());
    for (const end of this.#endings) end();
    for (const { release } of this.#held.values()) release();
    this.#held.clear();
    this.#deadline.end();
  }

  /** Never rejects. */
  #load(): Promise<void> {
    return retryUntil(this.#deadline, RELOAD, () => this.#addOpen()).catch(() => undefined);
  }

  async #addOpen(): Promise<void> {
    if (this.#closing.signal.aborted || !this.#deps.signIn.usable) return;
    const scope = await this.#deps.scope();
    for (const { clusterId } of await new Ledger(this.#deps.store, scope).openKeys()) this.add(scope, clusterId);
  }

  #publish(clusterId: string, status: ClusterStatus): void {
    const { jobListReader } = this.#deps;
    const held = this.#held.get(clusterId);
    if (!held && !jobListReader.hasListeners(clusterId)) return;
    const listing = jobListReader.publish(clusterId, status);
    if (!held || held.settling) return;
    held.settling = true;
    held.more = false;
    this.#settle(clusterId, held, listing, status.name)
      // The next poll tries again.
      .catch(() => undefined)
      .finally(() => (held.settling = false));
  }

  /** Settles the cluster's open keys by a listing, and ends its polls when none is left. */
  async #settle(clusterId: string, held: HeldCluster, listing: Listing, name: string | null): Promise<void> {
    const keys = await held.ledger.openKeys(clusterId);
    const settled = await Promise.all(
      keys.map((key) =>
        this.#deps
          .dispatcher()
          .settle(held.ledger, key, listing, this.#deadline)
          // The next poll tries again; the other keys don't wait for it.
          .catch(() => 'open' as const),
      ),
    );
    if (settled.includes('hopeless')) this.#deps.warn(hopeless(nameFor(clusterId, name)));
    if (held.more || settled.includes('open') || this.#held.get(clusterId) !== held) return;
    this.#held.delete(clusterId);
    held.release();
  }
}

const hopeless = (name: string): Sentence =>
  phrase`Whether printer ${name} accepted a print can no longer be determined, as the answer was lost: check the printer before you print again.`;
