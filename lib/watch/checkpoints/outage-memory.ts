import type { PrintingError } from '../../service/errors';
import type { Concerned } from '../views/notice';
import type { Mark } from './outage-marks';

/** An outage that goes on. */
export interface Outage {
  id: string;
  kind: string;
  error: PrintingError | null;
  /** Wall time, ms. */
  since: number;
  /** Monotonic, ms. */
  began: number;
  /** Clusters whose last poll failed. */
  readonly members: Set<string>;
  /** Clusters that were read since the outage began: another failure of theirs is another outage. */
  readonly fine: Set<string>;
  /** Clusters to ask before the notice, and how many of them were asked already. */
  readonly pending: readonly string[];
  asked: number;
  /** Its mark lacks members. */
  hasGrown: boolean;
  /** Audiences that have their notice. */
  told: Set<string>;
  isReported: boolean;
  /** The notice is being handed over. */
  telling: Promise<void> | null;
  /** Its printers when it was reported. */
  concerned: Concerned | null;
  /** When its mark was written last, monotonic ms. */
  markedAt: number;
  disarm: () => void;
}

/** Outages, remembered over deploys. */
export class OutageMemory {
  open: Outage[] = [];
  /** Has the watching that goes on report an outage that another one could not report any more. */
  resume: (outage: Outage) => void = () => undefined;
  /** Outages that an earlier process reported, or another runtime. */
  marks: Mark[] = [];
  areMarksRead = false;
  wasSignedIn = false;
}
