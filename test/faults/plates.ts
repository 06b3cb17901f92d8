import type { QueueRules } from '../../lib/queue/model/rules';
import type { PrintJob } from '../../simulator';
import type { World } from './machine';
import { Broken } from './trace';

/** Latencies between the queue's last look at a printer and its dispatch there: two round trips. */
const ROUND_TRIPS = 4;

/** Whether the plate of a job waits for a person, however its print ended. */
export const awaitsCleanup = ({ status }: Pick<PrintJob, 'status'>): boolean => status.endsWith('wait_cleanup');

/** Words of a print that has left its part although the printer is not free yet. */
const hasLeft = (job: PrintJob): boolean => awaitsCleanup(job) || job.status === 'post_print';

/** A part on a plate. */
interface Part {
  job: PrintJob;
  /** When its print began or was sent, ms. */
  since: number;
}

/** The plates of the printers, as they are: what was printed on them, and whether anybody has taken it off. */
export class Plates {
  /** By printer: the members of a group have a plate each. */
  readonly #parts = new Map<string, Part>();
  #broken: Broken | undefined;

  constructor(
    private readonly world: World,
    private readonly mode: QueueRules['gate'],
  ) {
    for (const cluster of world.simulator.world.clusters())
      for (const printer of cluster.printers) this.#watch(cluster.clusterId, printer);
  }

  /** Takes the part off a printer, or off all of its cluster; false while one of them prints. */
  clear(clusterId: string, printerId: string | null = null): boolean {
    const { world } = this.world.simulator;
    const cluster = world.cluster(clusterId);
    const ids = printerId === null ? cluster.printers.map(({ uuid }) => uuid) : [printerId];
    const busy = cluster.queue.filter(
      ({ status, printerUuid }) => printerUuid !== null && ids.includes(printerUuid) && status !== 'queued',
    );
    if (!busy.every(awaitsCleanup)) return false;
    for (const { uuid } of busy) world.clean(clusterId, uuid);
    for (const uuid of ids) this.#parts.delete(uuid);
    return true;
  }

  /** A print that leaves no trace leaves its part all the same. */
  vanished(job: PrintJob): void {
    const isWaiting = awaitsCleanup(job);
    const isEjected = this.mode === 'automatic' && isWaiting && job.printed >= job.timeTotal;
    // The end of the cleanup state says that a person was there.
    const isCleaned = this.mode === 'printer' && isWaiting;
    if (job.printerUuid !== null && job.printed > 0 && !isEjected && !isCleaned)
      this.#parts.set(job.printerUuid, { job, since: this.world.time.elapsed });
  }

  /**
   * Switches a printer off while it waits for a clear plate, and on again later: it does not ask any more, and the part
   * lies there still. Returns whether one of the cluster's printers waited.
   */
  switchOff(clusterId: string): boolean {
    const { world } = this.world.simulator;
    const job = world.cluster(clusterId).queue.find(awaitsCleanup);
    if (!job || job.printerUuid === null) return false;
    const isEjected = this.mode === 'automatic' && job.printed >= job.timeTotal;
    world.setOnline(clusterId, false);
    world.clean(clusterId, job.uuid);
    if (!isEjected) this.#parts.set(job.printerUuid, { job, since: this.world.time.elapsed });
    return true;
  }

  check(): void {
    if (this.#broken) throw this.#broken;
  }

  /** Follows what the printer notes of its plate: the job that left a part there; null when the next one begins. */
  #watch(clusterId: string, printer: { uuid: string; left?: string | null }): void {
    let left = printer.left ?? null;
    Object.defineProperty(printer, 'left', {
      enumerable: true,
      configurable: true,
      get: () => left,
      set: (value: string | null) => {
        left = value;
        const { queue, history } = this.#cluster(clusterId);
        if (value === null) {
          const job = queue.find(({ status, printerUuid }) => status === 'queued' && printerUuid === printer.uuid);
          if (job) this.#begins(clusterId, printer.uuid, job);
        } else
          this.#ends(
            printer.uuid,
            [...queue, ...history].find(({ uuid }) => uuid === value),
          );
      },
    });
  }

  #cluster(clusterId: string) {
    const found = this.world.simulator.world.listed().find((cluster) => cluster.clusterId === clusterId);
    if (!found) throw new Error(clusterId);
    return found;
  }

  #begins(clusterId: string, printerUuid: string, job: PrintJob): void {
    const part = this.#parts.get(printerUuid);
    if (!part) return;
    const isOurs = job.sentFrom === 'cloud';
    this.world.trace.add(`printer ${clusterId.slice(0, 6)}: ${job.name} begins on the part of ${part.job.name}`);
    // A print by hand may begin after the queue has read the printer, and end before the queue can recall its own job.
    const readAt = job.createdAt - ROUND_TRIPS * this.world.wire.latency;
    const isOvertaken = part.job.sentFrom !== 'cloud' && part.job.createdAt >= readAt;
    if (isOurs && !isOvertaken)
      this.#broken ??= new Broken(2, `${job.name} begins on the part of ${part.job.name} (${part.job.status})`);
    this.#parts.delete(printerUuid);
  }

  #ends(printerUuid: string, job: PrintJob | undefined): void {
    if (!job) return;
    // The machine ejects what is finished; a person at the printer ends the cleanup state.
    const isEjected = this.mode === 'automatic' && hasLeft(job) && job.printed >= job.timeTotal;
    const isCleaned = this.mode === 'printer' && awaitsCleanup(job);
    if (isEjected || isCleaned || job.printed === 0) return;
    this.#parts.set(printerUuid, { job, since: this.world.time.elapsed });
  }
}
