import type { ApiClient } from '../account/api-client';
import type { EventDraft } from '../events/print-event';
import type { ClusterStatus } from '../service/cluster';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { CurrentScope, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Sentence } from '../words/sentence';
import type { WatchMemory } from './checkpoints/watch-memory';
import type { Sharing } from './replication/sharing';
import type { WatcherReport } from './views/watch';

export type { PollResult } from './polling/poll-result';
export type { Sharing, Standby } from './replication/sharing';
export type * from './views/watch';

export type ObservationListener = (clusterId: string, status: ClusterStatus) => void;

/** Receives the figures of the polls. */
export interface WatchMeter {
  /** Called before each poll that was due, with its delay, ms. */
  turnStarted(lag: number): void;
  /** Called with the changes of each observation that belongs to this runtime, before the observation listeners. */
  derived(clusterId: string, drafts: readonly EventDraft[]): void;
}

export interface WatcherOptions {
  service: ApiClient;
  store: StateStore;
  clock: Clock;
  signIn: SignInWatch & { info?(): { error: Sentence | null } };
  /** Scope that the checkpoints belong to at present. */
  scope: CurrentScope;
  /** Set where several runtimes share the store. */
  sharing?: Sharing | undefined;
  /** State that survives deploys. Default: no state survives. */
  memory?: WatchMemory | undefined;
  random?: () => number;
  /** Writes to the log: each outage once when it begins and once when it ends, and internal faults. */
  report?: (event: WatcherReport) => void;
  /** Seconds between polls of a cluster without a watch while the end of a print is awaited. Default 60. */
  followInterval?: number;
  meter?: WatchMeter | undefined;
}
