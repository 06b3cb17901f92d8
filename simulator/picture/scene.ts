import type { Ids } from '../ids';
import { temperature, printerStatus } from '../records';
import { modelOf } from '../models';
import type { Cluster, Printer, PrintJob } from '../state';
import { activeJob, elapsed } from '../virtual-printer';

/** All that a picture of a printer shows, so that it can be drawn at any later time. */
export interface Scene {
  printer: string;
  /** The printer's status; `offline` where its cluster is. */
  status: string;
  /** Real ms since 1970. */
  takenAt: number;
  /** °C */
  nozzle: number;
  plate: number;
  /** Where the head is on its way, 0 to 1. */
  head: number;
  material: string | null;
  color: string | null;
  job: { name: string; status: string; percent: number; layer: number; layers: number; left: number } | null;
}

/** Seconds of printing that one layer takes. */
const LAYER_SECONDS = 30;
const MOST_LAYERS = 500;

/** What the camera of a printer sees at this virtual time (`at`), which is `now` in real ms. */
export function sceneOf(cluster: Cluster, printer: Printer, moment: { at: number; now: number; ids: Ids }): Scene {
  const job = activeJob(cluster, printer);
  const model = modelOf(cluster);
  const material = printer.extruders.find((extruder) => extruder.material !== null)?.material ?? null;
  return {
    printer: printer.name,
    status: cluster.online ? printerStatus(printer, job) : 'offline',
    takenAt: moment.now,
    nozzle: temperature(printer, 'extruder 0', model.hot, moment),
    plate: temperature(printer, 'plate', model.plate, moment),
    head: job?.status === 'printing' ? swing(moment.at / 1000) : 0,
    material: material?.material ?? null,
    color: material?.color ?? null,
    job: job ? progress(job, moment.at) : null,
  };
}

function progress(job: PrintJob, at: number): NonNullable<Scene['job']> {
  const done = elapsed(job, at);
  const layers = Math.min(MOST_LAYERS, Math.max(5, Math.round(job.timeTotal / LAYER_SECONDS)));
  const share = job.timeTotal > 0 ? done / job.timeTotal : 0;
  return {
    name: job.name,
    status: job.status,
    percent: Math.floor(100 * share),
    layer: Math.min(layers, Math.floor(share * layers)),
    layers,
    left: Math.ceil(job.timeTotal - done),
  };
}

/** To and fro once in eight seconds, between 0 and 1. */
const swing = (seconds: number): number => Math.abs(((seconds / 4) % 2) - 1);
