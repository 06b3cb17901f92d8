import { phrase, type Sentence } from '../words/sentence';

/** Reason for which a printer can't print a copy (print queue, 4), in the order of precedence after suitability. */
export type PrinterReason =
  | 'BUSY'
  | 'FOREIGN_JOB'
  | 'PLATE_NOT_CLEARED'
  | 'OFFLINE'
  | 'STALE'
  | 'DISABLED'
  | 'INACTIVE'
  | 'FAULT'
  | 'MAINTENANCE'
  | 'PAUSED'
  | Suitability
  | 'REFUSED'
  | 'OUTCOME_UNKNOWN';

/** Reason for which a printer does not suit. */
export type Suitability = 'MODEL' | 'PRINT_CORE' | 'MATERIAL' | 'MATERIAL_LOW' | 'BUILD_PLATE' | 'TAG' | 'NOT_CHOSEN';

/** Reason for which an item or a queue waits. */
export type ItemReason =
  | 'MODEL_UNKNOWN'
  | 'NO_PRINTER'
  | 'HELD'
  | 'APPROVAL'
  | 'NOT_BEFORE'
  | 'QUEUE_PAUSED'
  | 'HOURS'
  | 'STAGGER'
  | 'LIMIT'
  | 'BEHIND'
  | 'UPLOAD'
  | 'NO_STORE';

/** Reasons of a printer at which a copy of ours is stuck. */
export const REFUSED = {
  code: 'REFUSED',
  sentence: phrase`The service asked for changes at this printer.`,
} as const;
export const OUTCOME_UNKNOWN = {
  code: 'OUTCOME_UNKNOWN',
  sentence: phrase`It is unknown whether the printer has printed a copy: look there and settle it.`,
} as const;

export interface Reason<Code = PrinterReason | ItemReason> {
  code: Code;
  sentence: Sentence;
}
