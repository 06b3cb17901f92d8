import { Histogram, labelOf } from './exposition';

/** An open queue, as `lib/queue` shows it. */
interface MeteredQueue {
  queueId: string;
  name: string | null;
  /** Null while another runtime plans the queue. */
  figures(): QueueNumbers | null;
}

interface QueueNumbers {
  /** By state. */
  items: Readonly<Record<string, number>>;
  printers: readonly {
    clusterId: string;
    /** Null: the only printer of its cluster. */
    printerId: string | null;
    isPlateWaiting: boolean | null;
    isIdle: boolean;
  }[];
}

/** A queue at the time of a scrape. */
export interface ScrapedQueue {
  labels: string;
  /** Items by state. */
  items: Readonly<Record<string, number>>;
  waits: Histogram;
  printers: readonly ScrapedQueuePrinter[];
}

/** Null: unknown, without a sample. */
export interface ScrapedQueuePrinter {
  labels: string;
  isPlateWaiting: boolean | null;
  isIdle: boolean;
}

/** Labels of a printer; null if no status of it was read here. */
type PrinterLabels = (clusterId: string, printerId: string | null) => string | null;

/** Counts what happens in the queues of one account, from the start of the process. */
export class QueueMetrics {
  readonly #sources = new Set<MeteredQueue>();
  readonly #waits = new Map<string, Histogram>();

  /** @param owner label of the account */
  constructor(private readonly owner: string) {}

  /** Adds an open queue. The returned function removes it. */
  attach(source: MeteredQueue): () => void {
    this.#sources.add(source);
    return () => void this.#sources.delete(source);
  }

  /** @param ms time that a copy waited for its print */
  waited(queueId: string, ms: number): void {
    this.#waitsOf(queueId).count(ms);
  }

  /** The open queues, each once: a queue in a subflow has several instances. */
  state(labelsOf: PrinterLabels): ScrapedQueue[] {
    const queues = new Map<string, ScrapedQueue>();
    for (const source of this.#sources) {
      const { queueId, name } = source;
      const figures = source.figures();
      if (!figures && queues.has(queueId)) continue;
      const queue = labelOf('queue', queueId);
      queues.set(queueId, {
        labels: `${this.owner},${queue},${labelOf('name', name ?? queueId)}`,
        items: figures?.items ?? {},
        waits: this.#waitsOf(queueId),
        printers: (figures?.printers ?? []).flatMap(({ clusterId, printerId, isPlateWaiting, isIdle }) => {
          const labels = labelsOf(clusterId, printerId);
          return labels === null ? [] : [{ labels: `${labels},${queue}`, isPlateWaiting, isIdle }];
        }),
      });
    }
    return [...queues.values()];
  }

  #waitsOf(queueId: string): Histogram {
    let waits = this.#waits.get(queueId);
    if (!waits) this.#waits.set(queueId, (waits = new Histogram(WAITS)));
    return waits;
  }
}

/** Upper bounds, s: from a minute to a week. */
const WAITS = [60, 300, 900, 3_600, 14_400, 43_200, 86_400, 259_200, 604_800];
