import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ENDPOINTS, type Faults } from '../http/faults';
import { pictureAnswer } from '../storage/picture/picture';
import { sceneOf } from '../world/scene';
import { modelOf } from '../world/models';
import { printJobRecord } from '../wire/print-job-record';
import type { Moment } from '../world/moment';
import { printerStatus } from '../world/printer';
import { recordNotFound } from '../http/refusals';
import type { RequestLog } from '../http/request-log';
import type { Answer, Route } from '../http/server';
import { SPOOL } from '../world/spools';
import type { Cluster, Extruder, Printer, PrintJob, Slot } from '../world/state';
import type { Tokens } from '../auth/tokens';
import { activeJob } from '../world/virtual-printer';
import type { World } from '../world/world';

const FOLDER = join(__dirname, 'page');
const SHOWN = 5;

/** Content security policy: the page loads only its own files, and no other page may frame it. */
const POLICY = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export async function pageFile(name: string, type: string): Promise<Answer> {
  return {
    status: 200,
    headers: { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': POLICY },
    text: await readFile(join(FOLDER, name), 'utf8'),
  };
}

/** Routes of the page's files and pictures. */
export function pageRoutes(world: World): Route[] {
  const route = (path: string, handle: Route['handle']): Route => ({
    endpoint: 'control',
    method: 'GET',
    path,
    handle,
  });
  return [
    route('/page.js', () => pageFile('page.js', 'text/javascript')),
    route('/page.css', () => pageFile('page.css', 'text/css')),
    route('/pictures/{cluster_id}/{printer}', ({ params }) => {
      const cluster = world.cluster(params.cluster_id!);
      const printer = cluster.printers[Number(params.printer)];
      if (!printer) throw recordNotFound('Printer');
      return pictureAnswer(sceneOf(cluster, printer, world.moment()));
    }),
  ];
}

/** State of the world that the page shows. */
export function overview(parts: {
  world: World;
  tokens: Tokens;
  faults: Faults;
  log: RequestLog;
  addresses: () => Record<string, unknown>;
}): unknown {
  const { world, tokens, faults, log } = parts;
  const clusters = world.clusters();
  const moment = world.moment();
  return {
    addresses: parts.addresses(),
    time_factor: world.timeFactor,
    clusters: clusters.map((cluster) => clusterView(cluster, moment)),
    tokens: {
      exchanges: tokens.exchanges,
      refreshes: tokens.refreshes,
      reuse_detections: tokens.reuseDetections,
      expired_status: tokens.expiredStatus,
    },
    upload_mode: world.uploadMode,
    endpoints: ['*', ...ENDPOINTS],
    faults: faults.list(),
    requests: { count: log.count(), last: log.list().slice(-SHOWN).reverse() },
  };
}

function clusterView(cluster: Cluster, moment: Moment): unknown {
  // The page shows the printer itself, not what the service knows of it.
  const record = (job: PrintJob): object => printJobRecord({ ...cluster, lastReport: null }, job, moment);
  return {
    cluster_id: cluster.clusterId,
    name: cluster.friendlyName ?? cluster.hostName,
    model: modelOf(cluster).display,
    online: cluster.online,
    authorized: cluster.authorized,
    enabled: cluster.printers.every(({ enabled }) => enabled),
    trouble: cluster.printers[0]!.trouble ?? '',
    cleaning: cluster.cleaning,
    end_words: cluster.endWords,
    mismatch: cluster.mismatch ?? 'ignored',
    dispatch: cluster.dispatch,
    actions: cluster.actionSwitch.outcome ?? 'success',
    changes: cluster.requiredChanges.length > 0,
    printers: cluster.printers.map((printer, index) => printerView(cluster, printer, index)),
    jobs: cluster.queue.map((job) => ({
      ...record(job),
      held: job.held,
      stalled: job.stalled === true,
    })),
    history: cluster.history.slice(0, SHOWN).map(record),
  };
}

function printerView(cluster: Cluster, printer: Printer, index: number): unknown {
  const job = activeJob(cluster, printer);
  return {
    uuid: printer.uuid,
    name: printer.name,
    number: index + 1,
    status: cluster.online ? printerStatus(printer, job) : 'offline',
    faults: printer.faults.map(({ message }) => message),
    loaded: printer.extruders.map(loadedText).join(', '),
    slots: (printer.slots ?? []).map((slot, place) => ({ number: place + 1, ...slotView(printer, slot, place) })),
    // A job that waits for its plate has a button of its own.
    uncleared: printer.uncleared === true && job === undefined,
    picture: `/pictures/${cluster.clusterId}/${index}`,
  };
}

/** What the page shows of a slot of a material station. `left` is in percent; null if it is unknown. */
function slotView({ extruders }: Printer, slot: Slot, place: number): Record<string, unknown> {
  const { extruder, material, volumeLeft, compatible } = slot;
  return {
    extruder: extruder === null ? null : extruder + 1,
    material: material && `${material.material} ${material.color}`,
    left: volumeLeft === null ? null : Math.round((100 * volumeLeft) / SPOOL),
    compatible,
    printing: extruders.some((other) => other.slot === place),
  };
}

const loadedText = ({ printCore, material }: Extruder): string =>
  `${printCore ?? 'no print core'} with ${material ? `${material.material} ${material.color}` : 'no material'}`;
