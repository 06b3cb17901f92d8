import type { QueueRules } from '../../lib/queue/model/rules';
import type { PrintJob } from '../../simulator';
import type { World } from './machine';
import { Broken } from './trace';

/** Latencies between the queue's last look at a printer and its dispatch there: two round trips. */
const ROUND_TRIPS = 4;

/** A part on a plate. */
interface Part {
  job: PrintJob;
  /** When its print began or was sent, ms. */
  since: number;
}

/** The plates of the printers, as they are: what was printed on them, and whether anybody has taken it off. */
export class Plates {
  readonly #parts = new Map<string, Part>();
  #broken: Broken | undefined;

  constructor(
    private readonly world: World,
    private readonly mode: QueueRules['gate'],
  ) {
    for (const cluster of world.simulator.world.clusters())
      for (const printer of cluster.printers) this.#watch(cluster.clusterId, printer);
  }

  /** Takes the part off; false while the printer prints. */
  clear(clusterId: string): boolean {
    const { world } = this.world.simulator;
    const cluster = world.cluster(clusterId);
    const busy = cluster.queue.find(({ status, printerUuid }) => printerUuid !== null && status !== 'queued');
    if (busy && busy.status !== 'wait_cleanup') return false;
    if (busy) world.clean(clusterId, busy.uuid);
    this.#parts.delete(clusterId);
    return true;
  }

  /** A print that leaves no trace leaves its part all the same. */
  vanished(number: number, job: PrintJob): void {
    const { clusterId } = this.world.simulator.world.cluster(number);
    const isWaiting = job.status === 'wait_cleanup';
    const isEjected = this.mode === 'automatic' && isWaiting && job.printed >= job.timeTotal;
    // The end of the cleanup state says that a person was there.
    const isCleaned = this.mode === 'printer' && isWaiting;
    if (job.printerUuid !== null && job.printed > 0 && !isEjected && !isCleaned)
      this.#parts.set(clusterId, { job, since: this.world.time.elapsed });
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
          if (job) this.#begins(clusterId, job);
        } else
          this.#ends(
            clusterId,
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

  #begins(clusterId: string, job: PrintJob): void {
    const part = this.#parts.get(clusterId);
    if (!part) return;
    const isOurs = job.sentFrom === 'cloud';
    this.world.trace.add(`printer ${clusterId.slice(0, 6)}: ${job.name} begins on the part of ${part.job.name}`);
    // A print by hand may begin after the queue has read the printer, and end before the queue can recall its own job.
    const readAt = job.createdAt - ROUND_TRIPS * this.world.wire.latency;
    const isOvertaken = part.job.sentFrom !== 'cloud' && part.job.createdAt >= readAt;
    if (isOurs && !isOvertaken)
      this.#broken ??= new Broken(2, `${job.name} begins on the part of ${part.job.name} (${part.job.status})`);
    this.#parts.delete(clusterId);
  }

  #ends(clusterId: string, job: PrintJob | undefined): void {
    if (!job) return;
    // The machine ejects what is finished; a person at the printer ends the cleanup state.
    const isEjected =
      this.mode === 'automatic' &&
      (job.status === 'wait_cleanup' || job.status === 'post_print') &&
      job.printed >= job.timeTotal;
    const isCleaned = this.mode === 'printer' && job.status === 'wait_cleanup';
    if (isEjected || isCleaned || job.printed === 0) return;
    this.#parts.set(clusterId, { job, since: this.world.time.elapsed });
  }
}
