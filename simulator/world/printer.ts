import type { Moment } from './moment';
import type { Printer, PrintJob } from './state';
import { hasBegun, warmth } from './virtual-printer';

/** Status of a printer (wire facts 12.1). */
export function printerStatus(printer: Printer, job: PrintJob | undefined): string {
  if (printer.trouble !== null) return printer.trouble;
  if (!job) return 'idle';
  // The status is also `printing` while paused, aborting, cooling and waiting for cleaning (wire facts 15.19).
  return hasBegun(job) && job.status !== 'pre_print' ? 'printing' : 'pre_print';
}

/** Temperature in °C, with a little noise that changes every ten virtual seconds. */
export function temperature(
  printer: Printer,
  part: string,
  hot: number,
  { at, ids }: Pick<Moment, 'at' | 'ids'>,
): number {
  const room = 21;
  const noise = 0.4 * ids.noise(`${printer.name} ${part} ${Math.floor(at / 10_000)}`);
  return Math.round(10 * (room + (hot - room) * warmth(printer, at) + noise)) / 10;
}
