import type { QueueRules } from './queue-rules';

/**
 * Plate gate of a printer: facts about the prints that ended there, shared by all queues of the account. Whether it is
 * open depends on the queue's mode (`isClear`). Saved under `['queue-plate', ...scope, clusterId, printerId]`. Times in
 * ms since 1970.
 */
export interface PlateGate {
  version: 1;
  clusterId: string;
  printerId: string | null;
  clusterName: string | null;
  /** Identity of the machine, which outlives its cluster id. */
  hostGuid: string | null;
  /** Number of prints that closed it: part of the ids of its events. */
  closings: number;
  /** Print that is under way there. */
  printing: { id: string; missingSince: number | null } | null;
  /** Print that ended there last. */
  ended: EndedPrint | null;
  /** Whether the printer has ever shown the cleanup state. */
  hasShownCleanup: boolean;
  /** Ids of jobs that are known to have ended, oldest first. */
  known: readonly string[];
  /** Verdicts of people on the parts, oldest first. */
  verdicts: readonly PlateVerdict[];
}

export interface EndedPrint {
  /** Id of the printing. */
  id: string;
  /** `earlier`: before the first sight of the printer. */
  outcome: 'finished' | 'failed' | 'aborted' | 'vanished' | 'earlier';
  at: number;
  cleanup: 'unseen' | 'seen' | 'over';
  /** Whether the printer had shown the cleanup state before this print. */
  hadShownCleanup: boolean;
  clearedAt: number | null;
}

export interface PlateVerdict {
  /** Id of the printing. */
  id: string;
  good: boolean;
  at: number;
}

/** Whether the plate is known to be clear (print queue, rule 3). A printer without a gate was not seen yet. */
export function isClear({ printing, ended }: PlateGate, mode: QueueRules['gate']): boolean {
  if (printing) return false;
  return !ended || isOver(ended, mode);
}

/** Whether the plate waits to be cleared: no print is under way. */
export const isPlateToClear = (gate: PlateGate, mode: QueueRules['gate']): boolean =>
  !gate.printing && !isClear(gate, mode);

/** Whether the plate of an ended print is clear. */
export function isOver(
  { outcome, cleanup, hadShownCleanup, clearedAt }: EndedPrint,
  mode: QueueRules['gate'],
): boolean {
  if (clearedAt !== null) return true;
  if (mode === 'confirm') return false;
  if (outcome === 'earlier') return true;
  if (mode === 'automatic') return outcome === 'finished';
  return cleanup === 'over' || (cleanup === 'unseen' && outcome === 'finished' && hadShownCleanup);
}
