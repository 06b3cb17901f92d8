import type { Cluster, Extruder, Printer, PrintJob } from './state';

/** Volume of a full spool, 750 g of PLA, mm³. */
export const SPOOL = 604_800;
/** Diameter of the filament, mm. */
export const DIAMETER = 2.85;
/** Materials with densities in g/cm³. */
export const DENSITIES: Readonly<Record<string, number>> = { PLA: 1.24, PETG: 1.27, ABS: 1.1, TPU: 1.22 };
/** Share that is left on a spool of a new printer: each has been in use for another time. */
export const shareLeft = (number: number, place: number): number => 1 - ((3 * number + 2 * place) % 8) / 10;
/** Material per second of printing that counts for a file whose comments don't state it, mm³. */
const FLOW = 4;

export const densityOf = (material: string): number => DENSITIES[material] ?? DENSITIES.PLA!;

const volumeLeft = (extruder: Extruder): number => extruder.volumeLeft ?? SPOOL;

/** Material that a print needs on an extruder, mm³. */
export function neededVolume(job: PrintJob, extruder: number): number {
  if (!job.needs?.length) return extruder === 0 ? FLOW * job.timeTotal : 0;
  return job.needs.find((need) => need.extruder === extruder)?.volume ?? 0;
}

/** Rest of the spool that feeds an extruder, mm³; null if the printer doesn't know it. */
export const volumeOf = ({ slots }: Printer, extruder: Extruder): number | null =>
  slots && extruder.slot !== undefined ? slots[extruder.slot]!.volumeLeft : volumeLeft(extruder);

/**
 * Reduces the spools by the material of a print that has just ended, by the printed share: records state the material
 * before a print (wire facts 6.2). A full spool replaces an empty one.
 */
export function useMaterial(printer: Printer, job: PrintJob): void {
  const share = job.timeTotal > 0 ? job.printed / job.timeTotal : 0;
  for (const [index, extruder] of printer.extruders.entries()) {
    const before = volumeOf(printer, extruder);
    if (before === null) continue;
    const left = Math.round(before - share * neededVolume(job, index));
    const spool = extruder.slot === undefined ? extruder : printer.slots![extruder.slot]!;
    spool.volumeLeft = left > 0 ? left : SPOOL + (left % SPOOL);
  }
}

/** Hours that the printers of a cluster have printed; the age of the air filter. */
export const printedHours = ({ log }: Cluster): number =>
  log.reduce((sum, { timeElapsed }) => sum + timeElapsed, 0) / 3600;
