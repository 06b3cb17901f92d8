import { settle, type Settling } from './actions/settle';
import type { SimulatorClock } from './clock';
import { goOnline } from './connection';
import { materialName } from './materials';
import type { Cluster, EndedPrint, PrintJob } from './state';
import { advance } from './virtual-printer';

/** Number of ended prints to keep; limits the size of world.json. */
const LOG_KEPT = 10_000;

/**
 * Updates a cluster to the current time: its prints, its actions and its log; returns whether there is anything to
 * save.
 */
export function catchUp(cluster: Cluster, settling: Settling): boolean {
  const { clock } = settling;
  const at = clock.virtual();
  let kept = false;
  for (;;) {
    const next = nextEvent(cluster);
    if (next > at) break;
    advance(cluster, next);
    if (backAt(cluster) <= next) goOnline(cluster, next);
    settle(cluster, next, settling);
    kept = true;
  }
  advance(cluster, at);
  return log(cluster, clock) || kept;
}

const backAt = (cluster: Cluster): number => cluster.backAt ?? Infinity;

/** Time of the next end of an action or of an outage. */
const nextEvent = (cluster: Cluster): number =>
  cluster.actions
    .filter(({ ended }) => !ended)
    .reduce((first, { endsAt }) => Math.min(first, endsAt ?? Infinity), backAt(cluster));

/** Adds ended prints to the log; returns whether there were any. */
function log(cluster: Cluster, clock: SimulatorClock): boolean {
  // Both are in order of the ends, so the jobs still in the history are at the end of the log.
  const known = new Set(cluster.log.slice(-cluster.history.length).map(({ uuid }) => uuid));
  const fresh = cluster.history.filter((job) => !known.has(job.uuid) && job.deletedAt === null);
  if (fresh.length === 0) return false;
  const ended = fresh.reverse().map((job) => endedPrint(cluster, job, clock));
  cluster.log = [...cluster.log, ...ended].slice(-LOG_KEPT);
  return true;
}

function endedPrint(cluster: Cluster, job: PrintJob, clock: SimulatorClock): EndedPrint {
  const { uuid, jobId, name, sentFrom, createdAt, timeTotal } = job;
  const startedAt = job.startedAt === null ? null : Math.max(createdAt, clock.real(job.startedAt));
  const printer = cluster.printers.find((other) => other.uuid === job.printerUuid);
  return {
    uuid,
    jobId,
    name,
    status: job.status as EndedPrint['status'],
    printerUuid: job.printerUuid,
    user: job.owner?.name ?? null,
    sentFrom,
    materials:
      job.loaded ??
      (printer ?? cluster.printers[0]!).extruders.map(({ material }) => material && materialName(material)),
    createdAt,
    startedAt,
    endedAt: Math.max(startedAt ?? createdAt, clock.real(job.since)),
    timeTotal,
    timeElapsed: Math.floor(job.printed),
    ...(job.overPart ? { overPart: true as const } : {}),
  };
}
