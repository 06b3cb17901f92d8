import type { QueueRules } from '../../lib/queue/model/rules';
import type { Cluster, Printer } from '../../simulator/world/state';
import type { PrintJob } from '../../simulator';
import type { Printed, World } from './machine';
import { Broken } from './trace';

/**
 * Latencies between the queue's last read of a printer and its dispatch there: two round trips, and that of another print of the
 * same file, which goes first.
 */
const LATENCIES = 6;

/** Whether the plate of a job waits for a person, however its print ended. */
export const awaitsCleanup = ({ status }: Pick<PrintJob, 'status'>): boolean => status.endsWith('wait_cleanup');

/** Words of a print that has left its part although the printer is not free yet. */
const hasLeft = (job: PrintJob): boolean => awaitsCleanup(job) || job.status === 'post_print';

/** Whether a job occupies this printer. */
const occupies = ({ status, printerUuid }: PrintJob, { uuid }: Printer): boolean =>
  printerUuid === uuid && status !== 'queued';

/** A part on a plate. In the mode `confirm` it lies there until a person says otherwise, whatever the printer shows. */
interface Part {
  job: PrintJob;
  /** Since when a queue could know of it, by the service's clock, ms. */
  since: number;
  /** Whether its print vanished in a group, so that nobody can know the member until a person settles it. */
  isInDoubt: boolean;
}

/**
 * Oracle of the plates: what lies on the plate of each machine, from the simulator's own truth. A machine is an object of
 * the simulator, so it stays the same under another id, in another group and after a power cycle. No print of the queue
 * may be sent to a plate with a part on it, or begin there (print queue, rules 2 and 3).
 */
export class Floor {
  readonly #parts = new Map<Printer, Part>();
  /** When the queue has read the printer at the earliest before it sent a print, by the print's id. */
  readonly #readAt = new Map<string, number>();
  /** When a member has last left a group, by the service's clock, ms. */
  readonly #shrunkAt = new Map<Cluster, number>();
  #broken: Broken | undefined;

  constructor(
    private readonly world: World,
    private readonly mode: QueueRules['gate'],
  ) {
    for (const { printers } of world.simulator.world.clusters()) for (const printer of printers) this.#watch(printer);
    world.onPrinted.push((printed, job) => this.#sent(printed, job));
  }

  /** Takes the part off a printer, or off all of its cluster; false while one of them prints. */
  clear(clusterId: string, printerId: string | null = null): boolean {
    const { world } = this.world.simulator;
    const cluster = world.cluster(clusterId);
    const printers = cluster.printers.filter(({ uuid }) => printerId === null || uuid === printerId);
    const busy = cluster.queue.filter((job) => printers.some((printer) => occupies(job, printer)));
    if (printers.length === 0 || !busy.every(awaitsCleanup)) return false;
    for (const { uuid } of busy) world.clean(clusterId, uuid);
    for (const printer of printers) this.#parts.delete(printer);
    return true;
  }

  /** Whether a part that anybody could know of lies at an idle printer, which does not ask for a clear plate. */
  get hasIdlePart(): boolean {
    return this.#listed.some(
      ({ online, printers, queue }) =>
        online &&
        printers.some((printer) => {
          const isIdle = printer.trouble === null && !queue.some((job) => occupies(job, printer));
          return isIdle && this.#parts.get(printer)?.isInDoubt === false;
        }),
    );
  }

  /**
   * Removes a print from all lists. It leaves its part all the same; returns whether there is one.
   * @param isSeen whether polls have shown the print on its printer
   */
  vanish(clusterId: string, job: PrintJob, isSeen = false): boolean {
    const { world } = this.world.simulator;
    const isWaiting = awaitsCleanup(job);
    const { printers } = world.cluster(clusterId);
    const printer = printers.find(({ uuid }) => uuid === job.printerUuid);
    world.vanish(clusterId, job.uuid);
    const isEjected = this.mode === 'automatic' && isWaiting && job.printed >= job.timeTotal;
    // The end of the cleanup state says that a person was there.
    const isCleaned = this.mode === 'printer' && isWaiting;
    if (!printer || job.printed === 0 || isEjected || isCleaned) return false;
    this.#leave(printer, job, printers.length > 1 && !isSeen);
    return true;
  }

  /** A member has left this group. */
  leave(group: Cluster): void {
    this.#shrunkAt.set(group, this.world.time.truth());
  }

  /** Whether the part of one of these prints lies somewhere. */
  holds(uuids: readonly string[]): boolean {
    return [...this.#parts.values()].some(({ job }) => uuids.includes(job.uuid));
  }

  /** A person has settled these prints as printed: their parts are known from now on. */
  settle(uuids: readonly string[]): void {
    for (const part of this.#parts.values()) if (uuids.includes(part.job.uuid)) part.isInDoubt = false;
  }

  /**
   * Switches a printer off while it waits for a clear plate: it does not ask any more, and the part lies there still. A
   * member of a group does so alone. Returns the function that switches it on again; null if no printer of the cluster waits.
   */
  switchOff(clusterId: string): (() => void) | null {
    const { world } = this.world.simulator;
    const cluster = world.cluster(clusterId);
    const job = cluster.queue.find(awaitsCleanup);
    const printer = job && cluster.printers.find((one) => occupies(job, one));
    if (!job || !printer) return null;
    const isEjected = this.mode === 'automatic' && job.printed >= job.timeTotal;
    const isAlone = cluster.printers.length === 1;
    if (isAlone) world.setOnline(clusterId, false);
    else printer.trouble = 'unreachable';
    world.clean(clusterId, job.uuid);
    if (!isEjected) this.#leave(printer, job);
    return () => {
      if (isAlone) return this.#listed.includes(cluster) ? world.setOnline(cluster.clusterId, true) : undefined;
      Object.assign(printer, { trouble: null, freeSince: world.moment().at });
    };
  }

  check(): void {
    if (this.#broken) throw this.#broken;
  }

  /** The clusters, without an update: this may happen within one. */
  get #listed(): Cluster[] {
    return this.world.simulator.world.listed();
  }

  /** Follows what the printer notes of its plate: the job that left a part there; null when the next one begins. */
  #watch(printer: Printer): void {
    let left = printer.left ?? null;
    Object.defineProperty(printer, 'left', {
      enumerable: true,
      configurable: true,
      get: () => left,
      set: (value: string | null) => {
        left = value;
        const cluster = this.#listed.find(({ printers }) => printers.includes(printer));
        if (!cluster) return;
        const { queue, history } = cluster;
        if (value === null) {
          const job = queue.find(({ status, printerUuid }) => status === 'queued' && printerUuid === printer.uuid);
          if (job) this.#begins(printer, job);
        } else {
          const job = [...queue, ...history].find(({ uuid }) => uuid === value);
          if (job) this.#ends(printer, job, cluster);
        }
      },
    });
  }

  #sent({ clusterId, jobName, left }: Printed, job: PrintJob): void {
    const { time, wire } = this.world;
    const readAt = time.truth() - (time.elapsed - left.at) - LATENCIES * wire.latency;
    this.#readAt.set(job.uuid, readAt);
    const cluster = this.#listed.find((one) => one.clusterId === clusterId);
    if (!cluster) return;
    const { printers, queue } = cluster;
    const busyWith = (printer: Printer) => queue.find((other) => occupies(other, printer));
    for (const printer of printers) {
      const part = this.#parts.get(printer);
      const isIdle = printer.trouble === null && !busyWith(printer);
      if (part && part.since < readAt && isIdle)
        this.#break(`${jobName} is sent to ${printer.name}, where the part of ${part.job.name} lies`);
    }
    // The queue may have counted on a member that has left since.
    if ((this.#shrunkAt.get(cluster) ?? -Infinity) > readAt) return;
    const others = printers.map((printer) => busyWith(printer));
    if (others.every((other) => other && other.createdAt < readAt))
      this.#break(`${jobName} is sent where ${others[0]?.name} is (${others[0]?.status})`);
  }

  #begins(printer: Printer, job: PrintJob): void {
    const part = this.#parts.get(printer);
    if (!part) return;
    this.world.trace.add(`printer ${printer.name}: ${job.name} begins on the part of ${part.job.name}`);
    // A print by hand may begin after the queue has read the printer, and end before the queue can recall its own job.
    const readAt = this.#readAt.get(job.uuid) ?? -Infinity;
    if (part.since < readAt) this.#break(`${job.name} begins on the part of ${part.job.name} (${part.job.status})`);
    this.#parts.delete(printer);
  }

  #ends(printer: Printer, job: PrintJob, { printers }: Cluster): void {
    // The machine ejects what is finished; a person at the printer ends the cleanup state.
    const isEjected = this.mode === 'automatic' && hasLeft(job) && job.printed >= job.timeTotal;
    const isCleaned = this.mode === 'printer' && printer.uncleared !== true;
    if (isEjected || isCleaned || job.printed === 0) return;
    const { world } = this.world.simulator;
    const { at, now } = world.moment();
    const freeAt = now - (at - printer.freeSince) / world.timeFactor;
    // A group may be sent a print while one of its members prints.
    this.#parts.set(printer, { job, since: printers.length === 1 ? job.createdAt : freeAt, isInDoubt: false });
  }

  #leave(printer: Printer, job: PrintJob, isInDoubt = false): void {
    this.#parts.set(printer, { job, since: this.world.time.truth(), isInDoubt });
  }

  #break(sentence: string): void {
    this.world.trace.add(`broken: ${sentence}`);
    this.#broken ??= new Broken(2, sentence);
  }
}
