import type { ApiClient } from '../account/api-client';
import { statusRecord, type ClusterStatus } from '../service/cluster-status';
import { readPrintJobs, type PrintJob } from '../service/print-job';
import { flag, time } from '../service/json-readers';
import type { Deadline } from '../time/deadline';
import { phrase } from '../words/sentence';

/** The printings that a cluster's lists show. */
export interface Listing {
  /** Queue, running and history. */
  printings: PrintJob[];
  /** Whether a printing that was just made and isn't among them isn't there: an offline cluster's lists are old (wire facts, trap 15). */
  current: boolean;
  /** When, by the service's clock, milliseconds since 1970; null where it doesn't say. */
  at: number | null;
}

type Listener = (listing: Listing) => void;

/** Reads the lists of clusters, and passes on what others have read of them. */
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
      printings: [
        ...readPrintJobs(status.print_jobs, clusterId),
        ...readPrintJobs(status.recently_completed, clusterId),
      ],
      current: Array.isArray(status.print_jobs) && flag(status.is_online) !== false,
      at: moment(time(status.generated_time)),
    };
  }

  /** Whether somebody listens to what polls read of the cluster. */
  isHeard(clusterId: string): boolean {
    return this.#listeners.has(clusterId);
  }

  /** A poll has read this. */
  seen(clusterId: string, status: ClusterStatus): Listing {
    const listing = {
      printings: [...status.jobs, ...status.history],
      current: status.online !== false,
      at: moment(status.generatedAt),
    };
    for (const listener of this.#listeners.get(clusterId) ?? []) listener(listing);
    return listing;
  }

  /** Calls `listener` with what polls read of the cluster; the returned function ends that. */
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
