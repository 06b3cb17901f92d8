import type { Client } from '../client';
import type { ListedJob } from '../library/stored-jobs';
import { type LoadedMaterial, sumMaterials } from '../query/materials';
import type { QueueApi, QueueExplanation } from '../queue/model/types';
import type { PrinterEntry } from '../service/cluster';
import { PrintingError } from '../service/errors';
import type { PrintJob } from '../service/print-job';
import type { Deadline } from '../time/deadline';
import { phrase, Sentence } from '../words/sentence';
import { shown } from '../words/shown';
import type { ToolResult } from './protocol';
import type { Arguments } from './schema';

/** Objects that the tools read. */
export interface Workshop {
  client: Pick<Client, 'queries' | 'choices' | 'snapshots' | 'jobControl' | 'prints'>;
  /** Null: the node has none. */
  queue: QueueApi | null;
}

/** Entries of a list: an assistant reads every word. */
const MOST = 100;
/** Largest picture, bytes. */
const PICTURE = 1024 * 1024;

type Look = (workshop: Workshop, given: Arguments, deadline: Deadline) => Promise<Omit<ToolResult, 'isError'>>;

/** Work of each tool that only looks, except `read_request`. */
export const LOOKS: Readonly<Record<string, Look>> = {
  list_printers: async ({ client, queue }, { clusterId }, deadline) => {
    const listed = await deadline.wait(client.choices.printers());
    const plates = queue ? (await deadline.wait(queue.explainQueue())).printers : [];
    const all = listed.filter((printer) => clusterId === undefined || printer.clusterId === clusterId);
    if (all.length === 0 && clusterId !== undefined)
      throw new PrintingError('NOT_FOUND', phrase`The account has no such printer.`);
    const printers = all.slice(0, MOST).map((printer) => printerOf(printer, plates));
    return found({ printers, left: all.length - printers.length }, ['list_jobs', 'printer_picture']);
  },
  list_jobs: async ({ client }, { clusterId }, deadline) => {
    const all = await deadline.wait(client.choices.jobs(typeof clusterId === 'string' ? clusterId : undefined));
    const jobs = all
      .slice(0, MOST)
      .map((job) => ({ ...jobOf(job), clusterId: job.clusterId, createdAt: job.createdAt }));
    return found({ jobs, left: all.length - jobs.length }, ['list_printers']);
  },
  printer_picture: async ({ client }, { clusterId, printerId = null }, deadline) => {
    const place = { clusterId: String(clusterId), printerId: printerId === null ? null : String(printerId) };
    const taking = { ...place, deadline, maxBytes: PICTURE, onProgress: () => undefined };
    const { image, contentType, takenAt } = await client.snapshots.take(taking);
    const structured = { ...place, takenAt, contentType };
    return { ...found(structured, ['list_jobs']), image: { data: image, mimeType: contentType } };
  },
  list_files: async ({ client }, _, deadline) => {
    const all = await deadline.wait(client.choices.storedJobs(''));
    const files = all.slice(0, MOST).map(fileOf);
    return found({ files, left: all.length - files.length }, ['print_stored_job', 'add_to_queue']);
  },
  list_materials: async ({ client }, _, deadline) => {
    const printers = await deadline.wait(client.choices.printers());
    const all = await sumMaterials(printers, [], deadline.clock);
    const materials = all.slice(0, MOST).map(materialOf);
    return found({ materials, left: all.length - materials.length }, ['list_printers']);
  },
  list_queue: async ({ queue }, _, deadline) => {
    const items = await deadline.wait(needQueue(queue).list({ from: 0, limit: MOST }));
    const short = items.map(({ itemId, name, state, position, copies, eta, waitingFor }) => ({
      ...{ itemId, name, state, position, copies, startAt: eta?.startAt ?? null, endAt: eta?.endAt ?? null },
      waitsFor: waitingFor.map(({ text }) => text),
    }));
    const all = items.length < MOST ? items.length : await deadline.wait(needQueue(queue).count());
    return found({ items: short, left: Math.max(0, all - items.length) }, ['explain_item', 'queue_forecast']);
  },
  explain_item: async ({ queue }, { itemId }, deadline) => {
    const [item] = await deadline.wait(needQueue(queue).explain({ itemId: String(itemId) }));
    if (!item) throw new PrintingError('QUEUE_ITEM_NOT_FOUND', phrase`The queue has no such item.`);
    const { name, state, position, copies, parts, eta, waitingFor, prints } = item;
    const waits = waitingFor.slice(0, MOST);
    const newest = prints.slice(-MOST).map(({ used: _, cost: __, seconds: ___, ...print }) => print);
    const short = { itemId: item.itemId, name, state, position, copies, parts, eta, waitingFor: waits, prints: newest };
    return found({ item: short }, ['list_printers', 'move_item', 'release_item']);
  },
  queue_forecast: async ({ queue }, _, deadline) => {
    const { at, items, orders, idleAt, materials } = await deadline.wait(needQueue(queue).forecast());
    const short = items.slice(0, MOST);
    const forecast = { at, items: short, orders: orders.slice(0, MOST), idleAt, materials };
    return found({ forecast, left: items.length - short.length }, ['list_queue']);
  },
};

const found = (structured: object, next: readonly string[]) => ({
  structured: inWords({ ...structured, next }) as object,
});

/** A copy of plain data with each sentence in English, which assistants understand best, and each text in one line. */
export function inWords(value: unknown): unknown {
  if (value instanceof Sentence) return String(value);
  if (typeof value === 'string') return shown(value);
  if (Array.isArray(value)) return value.map(inWords);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, inWords(part)]));
}

export function needQueue(queue: QueueApi | null): QueueApi {
  if (!queue) throw new PrintingError('NOT_CONFIGURED', phrase`Choose a queue in the node and deploy.`);
  return queue;
}

function printerOf(printer: PrinterEntry, plates: QueueExplanation['printers']): object {
  const { clusterId, printerId, clusterName, name, model, online, status, idle, current, extruders, slots } = printer;
  const own = plates.filter((plate) => plate.clusterId === clusterId);
  const percent = (part: number | null) => (part === null ? null : Math.round(part * 100));
  return {
    ...{ clusterId, printerId: (printer.printerCount ?? 1) > 1 ? printerId : null, name: clusterName ?? name, model },
    ...{ online, status, idle, job: current && jobOf(current) },
    materials: [
      ...extruders.map(({ index, material, volumeLeft, volumeFull }) => ({
        ...wordsOf(material),
        ...{ extruder: index, slot: null },
        percentLeft: volumeLeft !== null && volumeFull ? percent(Math.min(1, volumeLeft / volumeFull)) : null,
      })),
      ...slots.map(({ index, extruder, material, remaining }) => ({
        ...wordsOf(material),
        ...{ extruder, slot: index, percentLeft: percent(remaining) },
      })),
    ],
    problems: [...printer.faults, ...printer.errors]
      .slice(0, 10)
      .map(({ message, code }) => message ?? code ?? 'fault'),
    plates: own.map(({ printerId: member, printerName, plate, judges, text }) => ({
      ...{ printerId: member, name: printerName, plate, judges, waitsFor: text },
    })),
  };
}

const wordsOf = (material: { brand: string | null; name: string | null; color: string | null } | null) => ({
  ...{ brand: material?.brand ?? null, name: material?.name ?? null, color: material?.color ?? null },
});

const jobOf = ({ clusterJobId, jobId, name, state, progress, timeRemaining }: PrintJob) => ({
  ...{ clusterJobId, jobId, name, state, percent: progress, secondsLeft: timeRemaining },
});

const fileOf = ({ jobId, name, fileSize, uploadedAt }: ListedJob) => ({ jobId, name, bytes: fileSize, uploadedAt });

const materialOf = ({ brand, name, color, volumeLeft, printers }: LoadedMaterial) => ({
  ...{ brand, name, color, cubicMillimetresLeft: volumeLeft },
  printers: printers
    .slice(0, MOST)
    .map(({ clusterId, printerId, name: printer }) => ({ clusterId, printerId, name: printer })),
});
