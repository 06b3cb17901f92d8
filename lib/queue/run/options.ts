import type { ApiClient } from '../../account/api-client';
import type { JobControl } from '../../control/job-control';
import type { Dispatcher } from '../../print/dispatcher';
import type { JobListReader } from '../../print/job-list-reader';
import type { SignInWatch } from '../../sign-in/sign-in-state';
import type { CurrentScope, StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';
import type { Watcher } from '../../watch/watcher';
import type { QueueRules } from '../model/rules';
import type { QueueMeter } from '../model/types';
import type { LocalChanges } from '../records/store';

export interface QueueOptions {
  queueId: string;
  name: string | null;
  rules: QueueRules;
}

export interface QueueRuntimeDeps {
  service: ApiClient;
  store: StateStore;
  localChanges: LocalChanges;
  clock: Clock;
  scope: CurrentScope;
  signIn: SignInWatch;
  watcher: Watcher;
  dispatcher: Dispatcher;
  jobListReader: JobListReader;
  jobControl: Pick<JobControl, 'run'>;
  /** Names the account's service among those of all runtimes. */
  topic: readonly string[];
  /** Name of this runtime. */
  runtimeName: string;
  /** Interval of the shared polls, ms. */
  interval: number;
  meter?: QueueMeter | undefined;
}
