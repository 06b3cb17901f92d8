import type { ApiClient } from '../account/api-client';
import type { PrintEvent } from '../events/print-event';
import type { ClusterStatus } from '../service/cluster-status';
import type { PrintingError } from '../service/errors';
import type { PrintJob } from '../service/print-job';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { CurrentScope } from '../state/scope';
import type { Key, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Sentence } from '../words/sentence';
import type { WatchMemory } from './checkpoints/watch-memory';

/** What is shared with other runtimes, and by which name they know this one. */
export interface Sharing {
  topic: Key;
  name: string;
}

export interface WatcherOptions {
  service: ApiClient;
  store: StateStore;
  clock: Clock;
  signIn: SignInWatch & { info?(): { error: Sentence | null } };
  /** What the checkpoints belong to now. */
  scope: CurrentScope;
  /** Where the store is shared: as what the other runtimes know this account, and this runtime. */
  sharing?: Sharing | undefined;
  /** What outlives deploys. Default: nothing does. */
  memory?: WatchMemory | undefined;
  random?: () => number;
  /** For the log: each outage once when it begins and once when it ends, and what failed inside. */
  report?: (event: WatcherReport) => void;
  /** Seconds between polls for a followed print that nobody watches. Default 60. */
  followInterval?: number;
}

/** `fault`: the store or a listener failed; the watching goes on. `clusterId` null: the list, or several clusters. */
export interface WatcherReport {
  kind: 'outage' | 'recovered' | 'fault';
  clusterId: string | null;
  error?: PrintingError;
  /** The subject that works again. */
  sentence?: Sentence;
}

/** What one poll brought for one cluster. */
export interface PollResult {
  clusterId: string;
  /** Last known figures with `stale: true` where they could not be read; null where there never were any. */
  status: ClusterStatus | null;
  /** The status answer's own `data`; null with figures of before. */
  raw: unknown;
  error: PrintingError | null;
}

/** What goes out at once: the result of one cluster, or several of a group. The receiver may keep and change them. */
export interface Round {
  results: PollResult[];
  /** Where all clusters are watched: which group this belongs to, and how far it is. */
  group: { id: string; start: number; count: number | null } | null;
  /** The first failure in it. */
  error: PrintingError | null;
}

export interface WatchOptions {
  /** Names the watch over deploys: one that is known goes on in its turn. */
  key?: string | undefined;
  /** Null: all clusters of the account. */
  clusterId: string | null;
  /** Seconds; at least 10. */
  interval: number;
  milestones: readonly number[];
  /** Leaves out what is no news (reference 3.1, `send`). Default false. */
  onlyChanges?: boolean | undefined;
  /** A watch with the same `onEvents`: events of clusters that it watches go out there, and not here again. */
  beside?: Watch | undefined;
  /** No regular polls yet. Default false. */
  paused?: boolean | undefined;
  /** In this watch's turn; for all clusters once per interval, a large group in several parts. */
  onRound(round: Round): void;
  /** Whenever something happened, whoever polled. Never empty. */
  onEvents(events: PrintEvent[]): void;
  /** After `state.standby` has changed. */
  onStandby?: (() => void) | undefined;
  /** Of the watches of one audience, one gets each notice. Default: the watch is an audience of its own. */
  audience?: string | undefined;
  /** The notice of an outage, or of the end of the sign-in. */
  onTrouble(error: PrintingError): void;
}

/** Why this runtime does not poll: another one does (`by`: its name, where that is known), or nobody can say whose turn it is. */
export type Standby = { why: 'elsewhere'; by: string | null } | { why: 'store' };

export interface WatchState {
  paused: boolean;
  /** Null where this runtime polls. */
  standby: Standby | null;
  /** Wall time of the last poll after which nothing was amiss, ms. */
  lastSuccess: number | null;
  trouble: { error: PrintingError; since: number } | null;
  /** Whether figures are shown that are older than an interval, though no poll has failed yet. */
  overdue: boolean;
  /** Clusters known, and how many of them are online. */
  clusters: { total: number; online: number };
}

export interface Watch {
  readonly state: WatchState;
  readonly audience: string;
  readonly paused: boolean;
  /** A message waits for a poll of this watch. */
  readonly isAsking: boolean;
  /** Hands a notice over. */
  trouble(error: PrintingError): void;
  /** Which runtime polls what may have changed. */
  shifted(): void;
  /**
   * Polls at once, even while paused, and hands over everything; resolves with the first failure. An outage that is met
   * so is not reported by `onTrouble` as well.
   */
  ask(deliver: (round: Round) => void): Promise<PrintingError | null>;
  /** Ends this watch's regular polls; events that others' polls bring still arrive. */
  pause(): void;
  /** Polls at once, then regularly again. */
  resume(): void;
  close(): void;
}

export interface JobEndOptions {
  signal?: AbortSignal | undefined;
  /** After each poll that saw the job; `ahead`: how many jobs stand before it in the queue, where that was seen. */
  onProgress?: ((job: PrintJob, ahead: number | null) => void) | undefined;
  /** After each poll that failed: what was seen last is old. */
  onStale?: (() => void) | undefined;
}

/** How a followed print ended. `ended`: nothing says how. */
export interface JobEnd {
  outcome: 'finished' | 'failed' | 'aborted' | 'ended';
  job: PrintJob | null;
  /** The cluster that it ended on: another id than at first, where the cluster was found under a new one. */
  clusterId?: string;
  /** The cluster is not in the account's list any more: the print may still be going on. */
  isDisconnected?: true;
}
