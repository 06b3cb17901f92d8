import type { ApiClient } from '../account/api-client';
import { hasHistory, lacksJobs, statusRecord, type ClusterStatus } from '../service/cluster';
import { readPrintJobs, type PrintJob } from '../service/print-job';
import { flag, time } from '../service/json-readers';
import type { Deadline } from '../time/deadline';
import { phrase } from '../words/sentence';

/** The printings in a cluster's lists. */
export interface Printings {
  /** Queue and running. */
  jobs: PrintJob[];
  history: PrintJob[];
}

/** One look at a cluster's lists. */
export interface Listing extends Printings {
  /**
   * Whether the queue is complete. An offline cluster's lists are stale, so a missing printing proves nothing (wire
   * facts, trap 15).
   */
  current: boolean;
  /** Whether there was a history. Old firmware has none, and any answer may lack it (wire facts 6). */
  hasHistory: boolean;
  /** Time by the service's clock, milliseconds since 1970; null if the service doesn't report it. */
  at: number | null;
}

type Listener = (listing: Listing) => void;

/** Reads the job lists of clusters, and passes polled ones to its listeners. */
export class JobListReader {
  readonly #service: ApiClient;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(service: ApiClient) {
    this.#service = service;
  }

  async read(clusterId: string, deadline: Deadline): Promise<Listing> {
    const ids = { cluster_id: clusterId };
    const { data } = await this.#service.call('clusterStatus', { ids, what: phrase`the printer`, deadline });
    const status = statusRecord(data) ?? {};
    return {
      jobs: readPrintJobs(status.print_jobs, clusterId),
      history: readPrintJobs(status.recently_completed, clusterId),
      current: flag(status.is_online) !== false && !lacksJobs(status),
      hasHistory: hasHistory(status),
      at: moment(time(status.generated_time)),
    };
  }

  /** Whether a listener awaits polls of the cluster. */
  hasListeners(clusterId: string): boolean {
    return this.#listeners.has(clusterId);
  }

  /** Passes a polled status to the cluster's listeners. */
  publish(clusterId: string, status: ClusterStatus): Listing {
    const listing = {
      jobs: status.jobs,
      history: status.history,
      current: status.online !== false && !status.stale,
      hasHistory: status.hasHistory,
      at: moment(status.generatedAt),
    };
    for (const listener of this.#listeners.get(clusterId) ?? []) listener(listing);
    return listing;
  }

  /** Calls `listener` with each polled listing of the cluster; the returned function removes it. */
  listen(clusterId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(clusterId) ?? new Set();
    this.#listeners.set(clusterId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(clusterId) === listeners) this.#listeners.delete(clusterId);
    };
  }
}

const moment = (iso: string | null): number | null => (iso === null ? null : Date.parse(iso));
