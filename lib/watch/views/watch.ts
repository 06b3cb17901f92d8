import type { PrintEvent } from '../../events/print-event';
import type { PrintingError } from '../../service/errors';
import type { PrintJob } from '../../service/print-job';
import type { Sentence } from '../../words/sentence';
import type { PollResult } from '../polling/poll-result';
import type { Standby } from '../replication/sharing';

/** Log entry. `fault`: the store or a listener failed; watching continues. `clusterId` null: the list, or several. */
export interface WatcherReport {
  kind: 'outage' | 'recovered' | 'fault';
  clusterId: string | null;
  error?: PrintingError;
  /** Reports the end of the outage. */
  sentence?: Sentence;
}

/** Results delivered together: of one cluster, or a part of a group. The receiver may keep and change them. */
export interface Round {
  results: PollResult[];
  /** Where all clusters are watched: `start` results of the group precede these; the last part states the `count`. */
  group: { id: string; start: number; count: number | null } | null;
  /** First failure among the results. */
  error: PrintingError | null;
}

export interface WatchOptions {
  /** Identifies the watch across deploys: a known watch keeps its polling turn. */
  key?: string | undefined;
  /** Null: all clusters of the account. */
  clusterId: string | null;
  /** Seconds; at least 10. */
  interval: number;
  milestones: readonly number[];
  /** Share below which material is low, percent. Default 0: no events. */
  lowMaterial?: number | undefined;
  /** Time after which a plate that was not cleared is reported, minutes. Default 0: no events. */
  plateWait?: number | undefined;
  /** Omits a status without a change (reference 3.1, `send`). Default false. */
  onlyChanges?: boolean | undefined;
  /** Watch with the same `onEvents`: this watch omits the events of clusters that the other one watches as well. */
  beside?: Watch | undefined;
  /** Starts without regular polls. Default false. */
  paused?: boolean | undefined;
  /** Called at this watch's turn: for all clusters once per interval, in several parts if large. */
  onRound(round: Round): void;
  /** Called with new events, whichever watch caused the poll. Never empty. */
  onEvents(events: PrintEvent[]): void;
  /** Called after `state.standby` has changed. */
  onStandby?: (() => void) | undefined;
  /** One watch of each audience receives a notice. Default: the watch is an audience of its own. */
  audience?: string | undefined;
  /** Receives the notice of an outage, or of the end of the sign-in. */
  onTrouble(error: PrintingError): void;
}

export interface WatchState {
  paused: boolean;
  /** Null where this runtime polls. */
  standby: Standby | null;
  /** Wall time of the last poll that left no failure, ms. */
  lastSuccess: number | null;
  trouble: { error: PrintingError; since: number } | null;
  /** Whether the figures shown are older than an interval although no poll has failed yet. */
  overdue: boolean;
  /** Number of known clusters, and of those online. */
  clusters: { total: number; online: number };
}

export interface Watch {
  /** Whether it watches one cluster or all of them. */
  readonly wants: 'cluster' | 'all';
  readonly state: WatchState;
  readonly audience: string;
  readonly paused: boolean;
  /** Whether a message waits for a poll of this watch. */
  readonly isAsking: boolean;
  /** Delivers a notice. */
  notify(error: PrintingError): void;
  /** Reports a changed `standby`; called after the assignment of polls may have changed. */
  checkStandby(): void;
  /**
   * Polls at once, even while paused, and delivers every result. Resolves with the first failure, which `onTrouble`
   * does not report as well.
   */
  ask(deliver: (round: Round) => void): Promise<PrintingError | null>;
  /** Stops this watch's regular polls; events from the polls of other watches still arrive. */
  pause(): void;
  /** Polls at once, then resumes the regular polls. */
  resume(): void;
  close(): void;
}

export interface JobEndOptions {
  signal?: AbortSignal | undefined;
  /** Called after each poll that showed the job. `ahead`: number of jobs before it in the queue, if known. */
  onProgress?: ((job: PrintJob, ahead: number | null) => void) | undefined;
  /** Called after each failed poll: the last progress is stale. */
  onStale?: (() => void) | undefined;
}

/** End of an awaited print. `ended`: the outcome is unknown. */
export interface JobEnd {
  outcome: 'finished' | 'failed' | 'aborted' | 'ended';
  job: PrintJob | null;
  /** Cluster that the print ended on; a new id where the cluster moved to one. */
  clusterId?: string;
  /** The account's list lacks the cluster: the print may still be running. */
  isDisconnected?: true;
}
