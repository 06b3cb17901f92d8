import { randomUUID } from 'node:crypto';
import type { PrintingError } from '../../service/errors';

/** Kind of the outage that a lost sign-in causes. */
export const SIGN_IN = 'sign-in';

/** Printers affected by an outage: their number, and the names of the first ones. */
export interface AffectedPrinters {
  count: number;
  names: readonly string[];
  /** Id of a single printer. */
  clusterId: string | null;
}

/** Outage in progress. */
export interface Outage {
  id: string;
  kind: string;
  error: PrintingError | null;
  /** Wall time, ms. */
  since: number;
  /** Start, monotonic ms. */
  began: number;
  /** Clusters whose last poll failed. */
  readonly members: Set<string>;
  /** Clusters read successfully since the outage began: their next failure is another outage. */
  readonly recovered: Set<string>;
  /** Clusters to poll before the notice, and how many of them were polled. */
  readonly pending: readonly string[];
  polled: number;
  /** Whether the stored mark lacks members. */
  hasGrown: boolean;
  /** Audiences that have received the notice. */
  notified: Set<string>;
  isReported: boolean;
  /** Notification in flight. */
  notifying: Promise<void> | null;
  /** Affected printers at the time of the report. */
  affected: AffectedPrinters | null;
  /** Time when the mark was last written, monotonic ms. */
  markedAt: number;
  disarm: () => void;
}

type NewOutage = Pick<Outage, 'kind' | 'error' | 'pending' | 'since' | 'began'>;

export const newOutage = (outage: NewOutage): Outage => ({
  ...{ ...outage, id: randomUUID(), members: new Set<string>(), recovered: new Set<string>(), polled: 0 },
  ...{ hasGrown: false, notified: new Set<string>(), isReported: false, notifying: null, affected: null },
  ...{ markedAt: -Infinity, disarm: () => undefined },
});

/** The stored mark of a reported outage. */
export interface Mark {
  id: string;
  /** Wall time, ms. */
  since: number;
  /** Time of the last write, wall time, ms. */
  at: number;
  kind: string;
  /** Null: too many to list. */
  printers: string[] | null;
  /** Audiences that have received the notice. */
  told: string[];
}

/** Outages, kept across deploys. */
export class OutageMemory {
  open: Outage[] = [];
  /** Lets the present watcher report an outage that a closed one could not report. */
  resume: (outage: Outage) => void = () => undefined;
  /** Marks of outages that an earlier process or another runtime has reported. */
  marks: Mark[] = [];
  areMarksRead = false;
  wasSignedIn = false;

  get isSignInLost(): boolean {
    return this.open.some(({ kind }) => kind === SIGN_IN);
  }
}
