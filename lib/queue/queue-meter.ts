import type { ItemState } from './queue-api';

/** Receives the figures of the queues of an account. */
export interface QueueMeter {
  /** Adds an open queue. The returned function removes it. */
  attach(source: QueueSource): () => void;
  /** A print of the queue has begun; `ms`: the time that its copy waited. */
  waited(queueId: string, ms: number): void;
}

export interface QueueSource {
  queueId: string;
  name: string | null;
  /** Present figures; null while the queue is not loaded, or another runtime plans it. */
  figures(): QueueReading | null;
}

export interface QueueReading {
  /** Listed items by state. */
  items: Readonly<Record<ItemState, number>>;
  printers: readonly PrinterState[];
}

/** A printer of a queue. */
export interface PrinterState {
  clusterId: string;
  /** Null: the only printer of its cluster. */
  printerId: string | null;
  /** Whether its plate waits for a person; null: the printer was not seen yet. */
  isPlateWaiting: boolean | null;
  /** Whether it stands idle while an item waits that suits it and may start. */
  isIdle: boolean;
}
