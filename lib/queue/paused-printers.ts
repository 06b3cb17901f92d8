import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';
import type { PrinterTarget } from './queue-api';
import type { QueuePrinter } from './queue-printer';
import { paused, type PauseState, type QueueRecord } from './queue-state';

/**
 * Pauses the printers of a queue that a message names, or resumes them with null: one printer, or a whole group without
 * the id of a printer. Throws NOT_FOUND if the queue has no such printer.
 */
export function pausedPrinters(
  record: QueueRecord,
  printers: readonly QueuePrinter[],
  { clusterId, printerId }: PrinterTarget,
  pause: PauseState | null,
): QueueRecord {
  const here = printers.filter((printer) => printer.clusterId === clusterId);
  // The only printer of a cluster needs no id of its own.
  const named = here.length === 1 ? here : here.filter((one) => printerId === null || one.printerId === printerId);
  if (named.length === 0)
    throw new PrintingError('NOT_FOUND', phrase`The queue has not seen this printer yet: check msg.clusterId.`);
  return named.reduce((after, printer) => paused(after, printer, pause), record);
}
