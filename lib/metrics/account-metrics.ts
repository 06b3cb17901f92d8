import type { EventDraft } from '../events/print-event';
import { METERED_PRINTERS } from '../rules/limits';
import type { ClusterStatus } from '../service/cluster';
import type { SignInState } from '../sign-in/sign-in-state';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { Histogram, labelOf } from './exposition';
import { ClusterFigures, type PrinterFigures, RESULTS } from './printer-figures';
import { QueueMetrics, type ScrapedQueue } from './queue-metrics';
import { timedStore } from './timed-store';

/** Time for which the figures of a cluster without polls are kept, ms: a deploy interrupts the polls. */
const KEEP = 10 * 60_000;

/** State of a running client at the time of a scrape. */
export interface MetricsSource {
  signInState(): SignInState;
  /** Clusters that this runtime polls. `isStale`: the last poll failed, or the account is signed out. */
  polled(): Iterable<{ clusterId: string; isStale: boolean }>;
  /** Clusters with a print whose outcome is being determined. */
  unresolved(): number;
  /** Time since the last renewal of this runtime's lease, ms; null without one. */
  leaseAge(): number | null;
}

/** Present state of an account, collected from its running clients. */
export interface MetricsState {
  signIn: SignInState | null;
  clusters: number;
  stale: number;
  unresolved: number;
  leaseAge: number | null;
  printers: PrinterFigures[];
  queues: ScrapedQueue[];
}

/** Counts what happens in one account, from the start of the process, and keeps the last figures of its printers. */
export class AccountMetrics {
  readonly labels: string;
  /** Requests by status code; `none` without an answer. */
  readonly requests = new Map<string, number>();
  readonly requestTime = new Histogram([0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]);
  readonly pollLag = new Histogram([0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]);
  readonly storeTime = {
    read: new Histogram([0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]),
    write: new Histogram([0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]),
  };
  readonly refreshes = { saved: 0, failed: 0 };
  /** Prints that ended without a known outcome. */
  unknownDispatches = 0;
  readonly queues: QueueMetrics;
  readonly #clusters = new Map<string, ClusterFigures>();
  readonly #sources = new Set<MetricsSource>();
  #printers = 0;

  constructor(
    accountId: string,
    readonly clock: Clock,
  ) {
    this.labels = labelOf('account', accountId);
    this.queues = new QueueMetrics(this.labels);
  }

  /** Adds a running client. The returned function removes it. */
  attach(source: MetricsSource): () => void {
    this.#sources.add(source);
    return () => void this.#sources.delete(source);
  }

  timed(store: StateStore): StateStore {
    return timedStore(store, this);
  }

  dispatchUnknown(): void {
    this.unknownDispatches++;
  }

  refreshEnded(isSaved: boolean): void {
    this.refreshes[isSaved ? 'saved' : 'failed']++;
  }

  /** @param status null without an answer */
  requestEnded(status: number | null, ms: number): void {
    const code = String(status ?? 'none');
    this.requests.set(code, (this.requests.get(code) ?? 0) + 1);
    this.requestTime.count(ms);
  }

  /** @param lag ms */
  turnStarted(lag: number): void {
    this.pollLag.count(lag);
  }

  observed(clusterId: string, status: ClusterStatus): void {
    const cluster = this.#cluster(clusterId);
    const before = cluster.size;
    cluster.read(status, this.clock.monotonic(), METERED_PRINTERS - this.#printers + before);
    this.#printers += cluster.size - before;
  }

  /** Counts the ends of prints among the events of an observation. */
  derived(clusterId: string, drafts: readonly EventDraft[]): void {
    for (const { event } of drafts) if (event.type in RESULTS) this.#cluster(clusterId).ended(event);
  }

  state(): MetricsState {
    const queues = this.queues.state(
      (clusterId, printerId) => this.#clusters.get(clusterId)?.labelsOf(printerId) ?? null,
    );
    const counts = { clusters: 0, stale: 0, unresolved: 0 };
    const state: MetricsState = { signIn: null, ...counts, leaseAge: null, printers: [], queues };
    const polled = new Set<string>();
    for (const source of this.#sources) {
      state.signIn = source.signInState();
      state.unresolved += source.unresolved();
      state.leaseAge ??= source.leaseAge();
      for (const { clusterId, isStale } of source.polled()) {
        if (polled.has(clusterId)) continue;
        polled.add(clusterId);
        if (isStale) state.stale++;
        state.printers.push(...(this.#clusters.get(clusterId)?.printers ?? []));
      }
    }
    state.clusters = polled.size;
    this.#forgetOthers(polled);
    return state;
  }

  #forgetOthers(polled: ReadonlySet<string>): void {
    const before = this.clock.monotonic() - KEEP;
    for (const [clusterId, cluster] of this.#clusters) {
      if (polled.has(clusterId) || cluster.observedAt >= before) continue;
      this.#clusters.delete(clusterId);
      this.#printers -= cluster.size;
    }
  }

  #cluster(clusterId: string): ClusterFigures {
    let cluster = this.#clusters.get(clusterId);
    if (!cluster)
      this.#clusters.set(clusterId, (cluster = new ClusterFigures(`${this.labels},${labelOf('cluster', clusterId)}`)));
    return cluster;
  }
}
