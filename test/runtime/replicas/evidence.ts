import type { QueueItem } from '../../../lib/queue/model/types';
import type { DiaryLine } from './flow';

/** Line of a replica's diary. */
export interface ReplicaDiaryLine extends DiaryLine {
  replica: number;
}

/** One print of the simulated world. */
export interface Printing {
  uuid: string;
  /** Print key of the message that requested it. */
  name: string;
  clusterId: string;
  /** ms since 1970. */
  createdAt: number;
  /** When it was listed last, ms since 1970: a queue may recall a print that has not begun. */
  listedAt: number;
}

/** A message with a print key. */
export interface Asked {
  key: string;
  /** Number of the replica that received the message. */
  replica: number;
  kind: 'print' | 'wait';
  /** Times of the request and of its answer or failure, ms since 1970; `answeredAt` null: there is none yet. */
  at: number;
  answeredAt: number | null;
  /** Answer to `print`: the id of the print, or the error code; both null until there is an answer. */
  job: string | null;
  failed: string | null;
}

/** A message that adds an item to a queue. */
export interface Added {
  queue: string;
  key: string;
  copies: number;
  /** Duration of a print, virtual s. */
  seconds: number;
  /** Number of the replica that received the message. */
  replica: number;
  /** ms since 1970. */
  at: number;
  /** Whether its message comes when the item has ended. */
  isWait: boolean;
  /** Answer: the id of the item, or the error code; both null until there is an answer. */
  itemId: string | null;
  failed: string | null;
}

/** A message that says that a plate is clear: from its sending to its answer. */
export interface Clearing extends Stretch {
  queue: string;
  clusterId: string;
  /** Null: the only printer of its cluster. */
  printerId: string | null;
}

/** A print of a queue that the service has accepted. */
export interface Dispatch {
  clusterId: string;
  /** Name of the replica that sent it. */
  by: string;
  /** ms since 1970. */
  at: number;
}

/** One print on a printer of the queues; times in ms since 1970. */
export interface QueuePrinting {
  uuid: string;
  /** Queue key of its item. */
  key: string;
  clusterId: string;
  /** Printer of the cluster that has it, or had it last; null: none yet. */
  printerId: string | null;
  createdAt: number;
  /** Null if it has not begun. */
  startedAt: number | null;
  /** When its part was first seen to be ready: the printer may ask for a clear plate before the print has ended. */
  doneAt: number | null;
  endedAt: number | null;
  outcome: 'finished' | 'failed' | 'aborted' | null;
}

/** Observations of the queues. */
export interface QueuesSeen {
  added: readonly Added[];
  clearings: readonly Clearing[];
  dispatches: readonly Dispatch[];
  printings: readonly QueuePrinting[];
  /** Clusters of all queues, and the number of printers in each. */
  printers: readonly string[];
  members: ReadonlyMap<string, number>;
  /** Items of each queue, as each running replica lists them; null without an answer. */
  lists: readonly { queue: string; replica: number; at: number; items: readonly QueueItem[] | null }[];
  /** Attempts (`itemId/copy/attempt`) that the operator settled as not printed. */
  settled: ReadonlySet<string>;
}

export type HazardKind =
  | 'kill'
  /** Kill in the middle of a token renewal. */
  | 'renewal'
  | 'pause'
  /** A replica is killed, or cut off from the database, while it sends a print of a queue. */
  | 'dispatch'
  | 'cut'
  | 'outage'
  | 'deploy'
  /** All connections to the database are silent but open from the answer to a renewal on. */
  | 'half-open'
  /** The same from the answer to a print on, which the service lists late. */
  | 'unlisted'
  /** The database has no room for large values. */
  | 'full'
  /** The database's clock jumps, and a replica is killed. */
  | 'clock'
  /** One replica can't connect to the service. */
  | 'unreached'
  /** One replica gets no notifications while another one signs in. */
  | 'deaf'
  /** The account is deleted at one replica, and deployed again. */
  | 'account'
  /** A Node-RED with another credential secret begins a sign-in. */
  | 'secret'
  /** A sign-out while another replica gets no answer to the write of its renewed pair. */
  | 'sign-out'
  /** Deploy while the database answers one replica late. */
  | 'slow'
  /** The wall clock of one replica is wrong. */
  | 'wall'
  /** Failover of the database that loses the last renewal. */
  | 'failover';

/** Fault injected into a replica, or into the database (0); times in ms since 1970. */
export interface Hazard {
  kind: HazardKind;
  replica: number;
  from: number;
  /** Infinity while the fault lasts. */
  to: number;
}

/** Period of time, ms since 1970. */
export interface Stretch {
  from: number;
  to: number;
}

/** Successful poll of a printer. */
export interface Poll {
  /** ms since 1970. */
  at: number;
  /** Name of the replica that made the poll. */
  by: string;
}

/** A sign-in or a sign-out at one replica, as a replica follows it. */
export interface Followed {
  state: 'signed-in' | 'signed-out';
  replica: number;
  /** ms since 1970. */
  at: number;
  /** Time until the replica reported the new state, ms; Infinity if it never did. */
  ms: number;
}

/** Observations of a run. */
export interface Evidence {
  /** Time at which the whole farm was running. */
  since: number;
  now: number;
  told: readonly ReplicaDiaryLine[];
  printings: readonly Printing[];
  asked: readonly Asked[];
  queues: QueuesSeen;
  /** Polls by cluster. */
  polls: ReadonlyMap<string, readonly Poll[]>;
  /** Times of the successful answers of the token endpoint, ms since 1970. */
  refreshes: readonly number[];
  /** Times at which a hazard expired all tokens, ms since 1970. */
  expired: readonly number[];
  hazards: readonly Hazard[];
  /** Periods in which an unfinished renewal blocked all other renewals. */
  stuck: readonly Stretch[];
  /** Sign-ins by the hazards, from their begin to their end. */
  signIns: readonly Stretch[];
  /** Errors of the sign-ins that did not succeed in time. */
  failedSignIns: readonly string[];
  /** Periods without a sign-in. */
  signedOut: readonly Stretch[];
  followed: readonly Followed[];
  /** Periods in which the farm, and with it the service, or a replica waited for a processor. */
  late: readonly Stretch[];
  /** Periods without a sign-in after a kill between the service's answer and the commit. */
  lost: readonly Stretch[];
  reuseDetections: number;
  /** Account state that each replica reports; null without an answer. */
  states: readonly (string | null)[];
  /** Shares that one replica reports for all; null if it sees no peers, undefined without an answer. */
  shares: Shares | null | undefined;
}

/** Number of printers that each replica polls; the list of printers counts as one. */
export interface Shares {
  members: number[];
}
