import type { Observation } from './observation';
import type { Position, PrinterPosition } from './position';
import type { Teller } from './teller';

type UploadTarget = Pick<Position, 'online' | 'onlineDoubted' | 'hostPrinterId' | 'printers'>;

/** Versions remembered per printer, so that each is told once. */
const LONGEST_MEMORY = 20;

/** Takes a cluster and its printers to their new place, and tells the edges they crossed (reference 3.3). */
export function followPrinters(before: Position | null, seen: Observation, teller: Teller | null): UploadTarget {
  const hostPrinterId = seen.hostPrinterId ?? before?.hostPrinterId ?? null;
  const names = [...seen.status.printers, ...(before?.status.printers ?? [])];
  const hostName = names.find(({ printerId }) => printerId !== null && printerId === hostPrinterId)?.name ?? null;
  const host = { printerId: hostPrinterId, printerName: hostName };

  const places = new Map((before?.printers ?? []).map((place) => [place.id, place]));
  const online = followOnline(before, seen.status.online, (now) =>
    teller?.edge(now ? 'printer.online' : 'printer.offline', hostPrinterId ?? '', {
      ...host,
      previous: !now,
      value: now,
    }),
  );
  // Ids repeat only where a printer has none of its own (trap 14): the first then stands for all.
  const done = new Set<string>();
  for (const printer of seen.status.printers) {
    if (printer.printerId === null || done.has(printer.printerId)) continue;
    done.add(printer.printerId);
    places.set(printer.printerId, followPrinter(places.get(printer.printerId), printer, seen, teller));
  }
  return { ...online, hostPrinterId, printers: [...places.values()] };
}

/** Told after the same answer twice in a row; no answer is no information. */
function followOnline(before: Position | null, now: boolean | null, tell: (now: boolean) => void) {
  const known = before?.online ?? null;
  if (now === null) return { online: known, onlineDoubted: before?.onlineDoubted ?? false };
  if (known === null || now === known) return { online: now, onlineDoubted: false };
  if (!before?.onlineDoubted) return { online: known, onlineDoubted: true };
  tell(now);
  return { online: now, onlineDoubted: false };
}

function followPrinter(
  before: PrinterPosition | undefined,
  printer: Observation['status']['printers'][number],
  seen: Observation,
  teller: Teller | null,
): PrinterPosition {
  const id = printer.printerId ?? '';
  const tell = before ? teller : null;
  const who = { printerId: id, printerName: printer.name };

  const previous = before?.status ?? null;
  if (previous !== null && printer.status !== null && printer.status !== previous) {
    tell?.edge('printer.status', `${id}/${printer.status}`, { ...who, previous, value: printer.status });
  }

  const faults = seen.faults.get(id);
  for (const [key, fault] of faults ?? []) {
    if (!before?.faults.includes(key)) tell?.edge('printer.fault', `${id}/${key}`, { ...who, value: fault });
  }

  const { version, latest, updateStatus } = printer.firmware;
  let firmware = before?.firmware ?? [];
  if (latest !== null && latest !== version && updateStatus !== 'up_to_date' && !firmware.includes(latest)) {
    tell?.once('firmware.available', `${id}/${latest}`, { ...who, previous: version, value: latest });
    firmware = [...firmware, latest].slice(-LONGEST_MEMORY);
  }

  return {
    id,
    status: printer.status ?? previous,
    faults: faults ? [...faults.keys()] : (before?.faults ?? []),
    firmware,
  };
}
