import type { ApiClient } from '../../account/api-client';
import type { JobControl } from '../../control/job-control';
import type { Dispatcher } from '../../print/dispatcher';
import type { JobListReader } from '../../print/job-list-reader';
import type { SignInWatch } from '../../sign-in/sign-in-state';
import type { CurrentScope, StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';
import type { Uploads } from '../../upload/uploads';
import type { Watcher } from '../../watch/watcher';
import type { Sentence } from '../../words/sentence';
import type { QueueRules } from '../model/rules';
import type { QueueMeter } from '../model/types';
import type { LocalChanges } from '../records/records';
import type { QueueView, ViewSource } from '../view';

/** The settings of a queue. */
export interface QueueOptions {
  queueId: string;
  name: string | null;
  rules: QueueRules;
}

/** The settings of a queue, and the parts of its account. */
export interface QueueParts extends QueueOptions {
  service: ApiClient;
  store: StateStore;
  localChanges: LocalChanges;
  clock: Clock;
  /** For the log. */
  warn: (sentence: Sentence) => void;
  scope: CurrentScope;
  signIn: SignInWatch;
  watcher: Watcher;
  dispatcher: Dispatcher;
  jobListReader: JobListReader;
  jobControl: Pick<JobControl, 'run'>;
  uploads: Pick<Uploads, 'send'>;
  /** Names the account's service among those of all runtimes. */
  topic: readonly string[];
  /** Name of this runtime. */
  runtimeName: string;
  /** Interval of the shared polls, ms. */
  interval: number;
  meter?: QueueMeter | undefined;
  /** Called when the queue begins to close. */
  closed?: () => void;
}

/** A queue whose records are loaded: everything that its parts work with, handed down as it is. */
export interface QueueContext extends QueueParts, ViewSource {
  view: QueueView;
  /** Plans again and reports the change, once for several changes at a time. */
  changed: () => void;
  /** Repeats failed work later. */
  failed: (thrown: unknown) => void;
}
