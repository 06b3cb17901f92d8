import type { QueuePrinter } from './queue-printer';
import type { QueueRules } from './queue-rules';
import type { ItemReason, PrinterReason, Reason } from './reasons';
import type { Requirement } from './requirement';

/** An item that owes copies, as the plan sees it. */
export interface PlanItem {
  itemId: string;
  priority: number;
  rank: string;
  createdAt: number;
  deadline: number | null;
  notBefore: number | null;
  /** The item's files, in the order of preference. */
  files: readonly PlanFile[];
  /** Copies that wait, in the order in which they are printed. */
  waiting: readonly number[];
  /** Whether the first waiting copy was rejected, and goes to the front of its priority. */
  isFront: boolean;
  /** Keys of printers (`printerKey`) on which the first waiting copy failed: others are preferred. */
  avoid: ReadonlySet<string>;
  /** Keys of printers at which the service refused a file of this item. */
  refused: ReadonlySet<string>;
  /** Why nothing of it may start: held, awaits approval, no file …; null: it may. */
  obstacle: Reason<ItemReason> | null;
}

export interface PlanFile {
  requirement: Requirement;
  /** s; null: unknown. */
  seconds: number | null;
  isStored: boolean;
}

export interface PlanInput {
  items: readonly PlanItem[];
  printers: readonly QueuePrinter[];
  rules: QueueRules;
  /** ms since 1970. */
  now: number;
  /** Prints of this queue that are assigned, dispatched or printing. */
  printing: number;
  /** From when the next start is allowed by `stagger`, ms since 1970. */
  nextStartAt: number;
  /** Why the whole queue starts nothing; null: it may. */
  obstacle: Reason<ItemReason> | null;
}

export interface Assignment {
  itemId: string;
  copy: number;
  /** Index in the item's files. */
  file: number;
  clusterId: string;
  printerId: string | null;
}

export interface Plan {
  /** Copies to start now. */
  assignments: readonly Assignment[];
  /** Items in the order of their turn: those that can be planned. */
  order: readonly string[];
  /** When the plan may change by time alone (hours, stagger, notBefore, pause), ms since 1970; Infinity: never. */
  nextAt: number;
}

/** Why an item waits: reasons of item and queue first, then the printers per reason. */
export interface WaitingReasons {
  own: readonly Reason<ItemReason>[];
  printers: readonly { printer: QueuePrinter; reason: Reason<PrinterReason> }[];
}
