import type { Material } from '../service/printer';
import type { PrinterReason, Reason } from './reasons';

/** A printer, as the plan sees it at one moment. */
export interface QueuePrinter {
  clusterId: string;
  /** Null: the only printer of its cluster, or unknown. */
  printerId: string | null;
  clusterName: string | null;
  /** Null members are unknown, such as those of a printer that is offline since the first sight. */
  model: string | null;
  extruders: readonly PlannedExtruder[] | null;
  buildPlate: string | null;
  tags: readonly string[];
  /** The reason for which it can't print any item now; null: it is free. */
  obstacle: Reason<PrinterReason> | null;
  /** For the choice among several, ms since 1970 and ms; null: never used by this queue. */
  lastUsedAt: number | null;
  usedFor: number;
  /** For the forecast: when its present print ends, ms since 1970; null: unknown or none. */
  freeAt: number | null;
}

export interface PlannedExtruder {
  printCore: string | null;
  material: Material | null;
  /** mm³. */
  volumeLeft: number | null;
}

/** Key of a printer within its account. */
export const printerKey = ({ clusterId, printerId }: Pick<QueuePrinter, 'clusterId' | 'printerId'>): string =>
  JSON.stringify([clusterId, printerId]);
