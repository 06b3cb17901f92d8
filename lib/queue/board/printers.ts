import { isPlateWaiting, occupiesPrinter } from '../../service/job-words';
import type { PrintJob } from '../../service/print-job';
import type { Material, Printer } from '../../service/printer';
import { isoTime } from '../../time/clock';
import { phrase, type Sentence } from '../../words/sentence';
import { printerIdOf } from '../model/machine';
import {
  type BoardMaterial,
  type BoardPrinter,
  printerKey,
  type PrinterTarget,
  type QueueExplanation,
} from '../model/types';
import type { ClusterView } from '../records/statuses';
import type { QueueContext } from '../run/context';

type Explained = QueueExplanation['printers'][number];

/**
 * A printer of a queue as a page shows it.
 * @param next the item that each prints next by the forecast, by `printerKey`
 */
export function boardPrinter(
  { views, data }: Pick<QueueContext, 'views' | 'data'>,
  explained: Explained,
  next: ReadonlyMap<string, string>,
): BoardPrinter {
  const seen = views.get(explained.clusterId);
  const job = seen ? jobAt(seen, explained) : null;
  const itemId = next.get(printerKey(explained));
  const item = itemId === undefined ? undefined : data.items.get(itemId);
  const isAtWork = job !== null && !isPlateWaiting(job);
  return {
    ...explained,
    state: isAtWork
      ? job.state
      : explained.free
        ? 'free'
        : (explained.code ?? 'free').toLowerCase().replaceAll('_', '-'),
    sentence: sentenceOf(explained, isAtWork ? job : null),
    job,
    progress: job?.progress ?? null,
    endAt: isAtWork && seen ? endOf(job, seen) : null,
    pictureAt: null,
    next: item ? { itemId: item.itemId, name: item.name } : null,
    materials: materialsOf(seen ? printerAt(seen, explained) : undefined),
  };
}

/** The name of a printer among those of the queue. */
export const labelOf = ({
  clusterId,
  clusterName,
  printerName,
}: Pick<Explained, 'clusterId' | 'clusterName' | 'printerName'>): string => printerName ?? clusterName ?? clusterId;

const printerAt = (view: ClusterView, { printerId }: PrinterTarget): Printer | undefined =>
  view.printers.find((printer) => printerIdOf(printer, view) === printerId);

/** The job that a printer prints, or is about to print, or whose part waits on its plate. */
function jobAt({ status }: ClusterView, { printerId }: PrinterTarget): PrintJob | null {
  const here = status.jobs.filter((job) => printerId === null || job.printerId === printerId);
  return (
    here.find(occupiesPrinter) ?? here.find(({ state }) => state === 'preparing') ?? here.find(isPlateWaiting) ?? null
  );
}

function sentenceOf({ text }: Explained, job: PrintJob | null): Sentence {
  const name = job?.name;
  switch (job?.state) {
    case undefined:
      return text ?? phrase`The printer is free.`;
    case 'preparing':
      return name ? phrase`The printer prepares ${name}.` : phrase`The printer prepares a print.`;
    case 'paused':
      return name ? phrase`${name} is paused.` : phrase`The print is paused.`;
    case 'printing':
      return name ? phrase`The printer prints ${name}.` : phrase`The printer is printing.`;
    default:
      return text ?? phrase`The printer is printing.`;
  }
}

/** When a print ends by the last status. */
function endOf({ timeRemaining }: PrintJob, { status }: ClusterView): string | null {
  const seenAt = Date.parse(status.receivedAt);
  return timeRemaining === null || Number.isNaN(seenAt) ? null : isoTime(seenAt + timeRemaining * 1000);
}

function materialsOf(printer: Printer | undefined): BoardMaterial[] {
  const { extruders = [], slots = [] } = printer ?? {};
  const loaded = extruders.map(({ index, material, volumeLeft, volumeFull }, at) => ({
    ...{ extruder: index ?? at, slot: null, material: wordsOf(material) },
    left: volumeLeft === null || !volumeFull ? null : Math.min(1, Math.round((volumeLeft / volumeFull) * 1000) / 1000),
    volume: volumeLeft,
  }));
  const stored = slots.map(({ index, extruder, material, remaining }, at) => {
    const full = extruders.find((one, place) => (one.index ?? place) === extruder)?.volumeFull ?? null;
    return {
      ...{ extruder, slot: index ?? at, material: wordsOf(material), left: remaining },
      volume: remaining === null || full === null ? null : Math.round(remaining * full),
    };
  });
  return [...loaded, ...stored];
}

const wordsOf = (material: Material | null): BoardMaterial['material'] =>
  material && { guid: material.guid, brand: material.brand, name: material.name, color: material.color };
