import type { Moment } from './moment';
import { printerStatus, temperature } from './printer';
import { modelOf } from './models';
import { offered } from './station';
import type { Cluster, Printer, PrintJob, Scene, StoredFile } from './state';
import { activeJob, elapsed, leftJob } from './virtual-printer';

/** Printing time of one layer, seconds. */
const LAYER_SECONDS = 30;
const MOST_LAYERS = 500;

/** Returns the camera's view of a printer at virtual time `at`, which is `now` in real ms. */
export function sceneOf(cluster: Cluster, printer: Printer, moment: Moment): Scene {
  const job = activeJob(cluster, printer);
  const shown = job ?? leftJob(cluster, printer);
  const model = modelOf(cluster);
  const [material = null] = printer.extruders
    .map((extruder, index) => extruder.material ?? offered(printer, index)[0] ?? null)
    .filter((one) => one !== null);
  return {
    printer: printer.name,
    status: cluster.online ? printerStatus(printer, job) : 'offline',
    takenAt: moment.now,
    nozzle: temperature(printer, 'extruder 0', model.hot, moment),
    plate: temperature(printer, 'plate', model.plate, moment),
    head: job?.status === 'printing' ? swing(moment.at / 1000) : 0,
    material: material?.material ?? null,
    color: material?.color ?? null,
    job: shown ? progress(shown, moment.at) : null,
  };
}

/** Returns the view of a file's finished part, without the printer's lamp and temperatures. */
export function previewOf(file: StoredFile, now: number): Scene {
  const name = 'jobName' in file ? String(file.jobName) : '';
  const layers = layersOf('printSeconds' in file ? Number(file.printSeconds) : 0);
  const job = { name, status: 'finished', percent: 100, layer: layers, layers, left: 0 };
  return {
    printer: 'Preview',
    status: 'idle',
    takenAt: now,
    nozzle: 25,
    plate: 25,
    head: 0,
    material: 'PLA',
    color: 'Silver',
    job,
  };
}

const layersOf = (seconds: number): number => Math.min(MOST_LAYERS, Math.max(5, Math.round(seconds / LAYER_SECONDS)));

function progress(job: PrintJob, at: number): NonNullable<Scene['job']> {
  const done = elapsed(job, at);
  const layers = layersOf(job.timeTotal);
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

/** Oscillates between 0 and 1 with a period of eight seconds. */
const swing = (seconds: number): number => Math.abs(((seconds / 4) % 2) - 1);
