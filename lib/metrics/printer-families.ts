import { oneHot, sampleOf, type Family } from './exposition';
import { STATES, type PrinterFigures, type Spool } from './printer-figures';

interface PrinterFamily extends Family {
  /** The samples of a printer; `now`: monotonic time, ms. */
  samples: (printer: PrinterFigures, name: string, now: number) => string;
}

/** One sample, if its value is known. */
const one =
  (value: (printer: PrinterFigures, now: number) => number | null): PrinterFamily['samples'] =>
  (printer, name, now) => {
    const known = value(printer, now);
    return known === null ? '' : sampleOf(name, printer.labels, known);
  };

/** One sample per extruder whose volume is known. */
const ofSpools =
  (value: (spool: Spool) => number | null): PrinterFamily['samples'] =>
  ({ spools }, name) => {
    let samples = '';
    for (const spool of spools) {
      const known = value(spool);
      if (known !== null) samples += sampleOf(name, spool.labels, known);
    }
    return samples;
  };

/** Metrics with one group of samples per printer (docs/monitoring.md). */
export const PRINTER_FAMILIES: readonly PrinterFamily[] = [
  {
    name: 'printer_online',
    type: 'gauge',
    help: '1 if the printer is online, 0 if it is not.',
    samples: one(({ online }) => online),
  },
  {
    name: 'printer_state',
    type: 'gauge',
    help: '1 for the present state of the printer, 0 for the others.',
    samples: ({ labels, state }, name) => oneHot(name, labels, STATES, state),
  },
  {
    name: 'job_progress_ratio',
    type: 'gauge',
    help: 'Progress of the print under way, 0 to 1.',
    samples: one(({ progress }) => progress),
  },
  {
    name: 'job_remaining_seconds',
    type: 'gauge',
    help: 'Remaining time of the print under way.',
    samples: one(({ remaining }) => remaining),
  },
  {
    name: 'prints_total',
    type: 'counter',
    help: 'Prints that ended, by result.',
    samples: ({ labels, prints: { finished, failed, aborted, ended } }, name) =>
      sampleOf(name, `${labels},result="finished"`, finished) +
      sampleOf(name, `${labels},result="failed"`, failed) +
      sampleOf(name, `${labels},result="aborted"`, aborted) +
      sampleOf(name, `${labels},result="ended"`, ended),
  },
  {
    name: 'print_seconds_total',
    type: 'counter',
    help: 'Duration of the prints that ended.',
    samples: one(({ printSeconds }) => printSeconds),
  },
  {
    name: 'material_remaining_mm3',
    type: 'gauge',
    help: 'Estimated rest of the material on an extruder, before the print under way.',
    samples: ofSpools(({ left }) => left),
  },
  {
    name: 'material_full_mm3',
    type: 'gauge',
    help: 'Volume of a full spool of the material on an extruder.',
    samples: ofSpools(({ full }) => full),
  },
  {
    name: 'maintenance_due',
    type: 'gauge',
    help: '1 if maintenance of the printer is due, 0 if it is not.',
    samples: one(({ maintenanceDue }) => maintenanceDue),
  },
  {
    name: 'plate_waiting_seconds',
    type: 'gauge',
    help: 'Time for which this process has seen the plate wait to be cleared, 0 if it does not wait.',
    samples: one(({ plateSince }, now) => (plateSince === null ? 0 : (now - plateSince) / 1000)),
  },
];
