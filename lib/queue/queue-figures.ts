import { itemStateOf } from './copies';
import { isPlateToClear } from './gate';
import type { ItemState } from './queue-api';
import type { QueueReading } from './queue-meter';
import type { QueuePrinter } from './queue-printer';
import type { QueueRules } from './queue-rules';
import type { Loaded } from './queue-runtime';
import type { PrinterReason } from './reasons';

/** Reasons for which a printer is at work, or is not meant to work. */
const NOT_IDLE: ReadonlySet<PrinterReason> = new Set([
  ...(['BUSY', 'OFFLINE', 'STALE', 'DISABLED', 'INACTIVE', 'PAUSED'] as const),
]);

/** Figures of a queue for its metrics. */
export function figuresOf({ data, view }: Loaded, { gate: mode }: Pick<QueueRules, 'gate'>): QueueReading {
  const items: Record<ItemState, number> = {
    ...{ waiting: 0, active: 0, held: 0, blocked: 0 },
    ...{ finished: 0, failed: 0, cancelled: 0 },
  };
  for (const record of data.items.all) items[itemStateOf(record, view.canBePlanned(record))]++;
  const wanted = view.wantedPrinters;
  const printers = view.input.printers.map((printer) => {
    const { clusterId, printerId } = printer;
    const gate = data.gates.of(clusterId, printerId);
    return {
      clusterId,
      printerId,
      isPlateWaiting: gate ? isPlateToClear(gate, mode) : null,
      isIdle: wanted.has(printer) && isIdle(printer),
    };
  });
  return { items, printers };
}

const isIdle = ({ obstacle }: QueuePrinter): boolean => obstacle === null || !NOT_IDLE.has(obstacle.code);
