import { sampleOf, type Family } from './exposition';
import type { ScrapedQueue, ScrapedQueuePrinter } from './queue-metrics';

interface QueueFamily extends Family {
  /** The samples of a queue. */
  samples: (queue: ScrapedQueue, name: string) => string;
}

interface QueuePrinterFamily extends Family {
  /** The samples of a printer of a queue. */
  samples: (printer: ScrapedQueuePrinter, name: string) => string;
}

/** Metrics with one group of samples per print queue (docs/monitoring.md). */
export const QUEUE_FAMILIES: readonly QueueFamily[] = [
  {
    name: 'queue_items',
    type: 'gauge',
    help: 'Listed items of the print queue, by state.',
    samples: ({ labels, items }, name) =>
      Object.entries(items)
        .map(([state, count]) => sampleOf(name, `${labels},state="${state}"`, count))
        .join(''),
  },
  {
    name: 'queue_wait_seconds',
    type: 'histogram',
    help: 'Time that a copy waited for the beginning of its print.',
    samples: ({ labels, waits }, name) => waits.samples(name, labels),
  },
];

/** Metrics with one sample per print queue and printer. */
export const QUEUE_PRINTER_FAMILIES: readonly QueuePrinterFamily[] = [
  {
    name: 'plate_waiting',
    type: 'gauge',
    help: '1 if the print queue sends nothing to the printer until a person has cleared its plate, else 0.',
    samples: ({ labels, isPlateWaiting }, name) =>
      isPlateWaiting === null ? '' : sampleOf(name, labels, Number(isPlateWaiting)),
  },
  {
    name: 'queue_printer_idle',
    type: 'gauge',
    help: '1 if the printer stands idle while an item of the print queue waits that suits it and may start, else 0.',
    samples: ({ labels, isIdle }, name) => sampleOf(name, labels, Number(isIdle)),
  },
];
