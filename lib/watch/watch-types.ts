import type { Service } from '../account/service';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { ClusterStatus } from '../service/cluster-status';
import type { PrintingError } from '../service/errors';
import type { PrintJob } from '../service/print-job';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { PrintEvent } from './events';

export interface WatcherOptions {
  service: Service;
  store: StateStore;
  clock: Clock;
  signIn: SignInWatch;
  accountId: string;
  random?: () => number;
  /** For the log: each outage once when it begins and once when it ends, and what failed inside. */
  report?: (event: WatcherReport) => void;
  /** Seconds between polls for a followed print that nobody watches. Default 60. */
  followInterval?: number;
}

/** `fault`: the store or a listener failed; the watching goes on. `clusterId` null: the cluster list. */
export interface WatcherReport {
  kind: 'outage' | 'recovered' | 'fault';
  clusterId: string | null;
  error?: PrintingError;
}

/** What one poll brought for one cluster. */
export interface ClusterResult {
  clusterId: string;
  /** Last known figures with `stale: true` where the poll failed; null where there never were any. */
  status: ClusterStatus | null;
  /** The status answer's own `data`; null where none was read since the start. */
  raw: unknown;
  error: PrintingError | null;
}

/** What one poll brought: one result for a watched cluster, one for each cluster of the account. */
export interface PollOutcome {
  results: ClusterResult[];
  /** Why the cluster list could not be read. */
  listError: PrintingError | null;
}

/** A poll as one watch sees it. `changed` leaves out what is no news (reference 3.1, `send`). */
export interface Round {
  results: (ClusterResult & { changed: boolean })[];
  /** The first failure in it. */
  error: PrintingError | null;
  changed: boolean;
}

export interface WatchOptions {
  /** Null: all clusters of the account. */
  clusterId: string | null;
  /** Seconds; at least 10. */
  interval: number;
  milestones: readonly number[];
  /** After each poll in this watch's turn, but for those it asked for itself. */
  onRound(round: Round): void;
  /** Whenever something happened, whoever polled. Never empty. */
  onEvents(events: PrintEvent[]): void;
  /** Once when an outage begins (for each cluster of a round), and null once all is well again. */
  onTrouble(error: PrintingError | null): void;
}

export interface WatchState {
  paused: boolean;
  /** Wall time of the last poll without any failure, ms. */
  lastSuccess: number | null;
  trouble: { error: PrintingError; since: number } | null;
}

export interface Watch {
  readonly state: WatchState;
  /** Polls at once, even while paused. Never rejects: failures are in the round. */
  poll(): Promise<Round>;
  /** Ends this watch's regular polls; events that others' polls bring still arrive. */
  pause(): void;
  /** Polls at once, then regularly again. */
  resume(): void;
  close(): void;
}

export interface FollowOptions {
  signal?: AbortSignal | undefined;
  /** After each poll that saw the job. */
  onProgress?: ((job: PrintJob) => void) | undefined;
}

/** How a followed print ended. `ended`: nothing says how. */
export interface Followed {
  outcome: 'finished' | 'failed' | 'aborted' | 'ended';
  job: PrintJob | null;
}
