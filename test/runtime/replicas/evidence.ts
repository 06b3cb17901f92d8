import type { Line } from './flow';

/** What a replica's flow was told. */
export interface Told extends Line {
  replica: number;
}

/** One printing of the simulated world. */
export interface Printing {
  uuid: string;
  /** The key that it was asked for with. */
  name: string;
  clusterId: string;
  /** ms since 1970. */
  createdAt: number;
}

/** A message with a print key. */
export interface Asked {
  key: string;
  /** Where it was sent to. */
  replica: number;
  kind: 'print' | 'wait';
  /** Of `print`: the printing that it was answered with, or the code of what went wrong; null while there is no answer. */
  job: string | null;
  failed: string | null;
}

/** `renewal`: a kill in the middle of one. */
export type HazardKind = 'kill' | 'renewal' | 'pause' | 'cut' | 'outage' | 'deploy';

/** What was done to a replica, or to the database (0), ms since 1970. */
export interface Hazard {
  kind: HazardKind;
  replica: number;
  from: number;
  /** Infinity while it lasts. */
  to: number;
}

/** A stretch of time, ms since 1970. */
export interface Stretch {
  from: number;
  to: number;
}

/** A poll of a printer with a good answer. */
export interface Poll {
  /** ms since 1970. */
  at: number;
  /** Which replica made it, as it calls itself. */
  by: string;
}

/** All that is known of a run. */
export interface Evidence {
  /** Since everything ran. */
  since: number;
  now: number;
  told: readonly Told[];
  printings: readonly Printing[];
  asked: readonly Asked[];
  /** By cluster. */
  polls: ReadonlyMap<string, readonly Poll[]>;
  /** Good answers of the token endpoint: when, ms since 1970. */
  refreshes: readonly number[];
  hazards: readonly Hazard[];
  /** A renewal that its replica did not end: nobody else may renew meanwhile. */
  stuck: readonly Stretch[];
  /** Sign-ins that a kill between the service's answer and its commit has cost. */
  lost: readonly number[];
  reuseDetections: number;
  /** What each replica that runs says of the account; null: nothing. */
  states: readonly (string | null)[];
  /** What one of the replicas says of all; null: it knows of no others; undefined: nothing. */
  shares: Shares | null | undefined;
}

/** Who polls how many printers; the list of them counts as one. */
export interface Shares {
  members: number[];
}
