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
}

/** A message with a print key. */
export interface Asked {
  key: string;
  /** Number of the replica that received the message. */
  replica: number;
  kind: 'print' | 'wait';
  /** Answer to `print`: the id of the print, or the error code; both null until there is an answer. */
  job: string | null;
  failed: string | null;
}

/** `renewal` is a kill in the middle of a token renewal. */
export type HazardKind = 'kill' | 'renewal' | 'pause' | 'cut' | 'outage' | 'deploy';

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

/** Observations of a run. */
export interface Evidence {
  /** Time at which the whole farm was running. */
  since: number;
  now: number;
  told: readonly ReplicaDiaryLine[];
  printings: readonly Printing[];
  asked: readonly Asked[];
  /** Polls by cluster. */
  polls: ReadonlyMap<string, readonly Poll[]>;
  /** Times of the successful answers of the token endpoint, ms since 1970. */
  refreshes: readonly number[];
  hazards: readonly Hazard[];
  /** Periods in which an unfinished renewal blocked all other renewals. */
  stuck: readonly Stretch[];
  /** Times of the sign-ins lost to a kill between the service's answer and the commit. */
  lost: readonly number[];
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
