import type { Deadline } from '../time/deadline';
import type { Source } from '../upload/content';
import type { PrintingError } from '../service/errors';
import type { Sentence } from '../words/sentence';
import type { AttemptState } from './queue-item';
import type { QueueEventType } from './queue-events';
import type { ItemReason, PrinterReason } from './reasons';
import type { MaterialNeed, Require, RequirementSource } from './requirement';

/** The operations of one queue, for flows and the editor (print queue, 3.2). All throw PrintingError. */
export interface QueueApi {
  /** Resolves once the item is durable, and with a source once its file is stored. */
  add(request: AddRequest): Promise<Changed>;
  /** Items of the target, in their order; throws QUEUE_ITEM_NOT_FOUND. */
  update(target: ItemTarget, changes: ItemChanges, deadline: Deadline): Promise<QueueItem[]>;
  move(target: ItemTarget, to: { position: number } | { before: string }, deadline: Deadline): Promise<QueueItem[]>;
  hold(target: ItemTarget, deadline: Deadline): Promise<QueueItem[]>;
  release(target: ItemTarget, deadline: Deadline): Promise<QueueItem[]>;
  retry(target: ItemTarget, deadline: Deadline): Promise<QueueItem[]>;
  remove(target: ItemTarget, deadline: Deadline): Promise<QueueItem[]>;
  settle(target: ItemTarget, verdict: Settlement, deadline: Deadline): Promise<QueueItem[]>;
  plateCleared(printer: PrinterTarget, good: boolean, deadline: Deadline): Promise<QueueExplanation>;
  pause(pause: Pause, deadline: Deadline): Promise<QueueExplanation>;
  resume(printer: PrinterTarget | null, deadline: Deadline): Promise<QueueExplanation>;
  /** From memory, also while the store is unreachable. */
  list(filter: ListFilter): Promise<QueueItem[]>;
  explain(target: ItemTarget): Promise<ExplainedItem[]>;
  explainQueue(): Promise<QueueExplanation>;
  forecast(): Promise<Forecast>;
  /**
   * Resolves with an item once it is finished, failed or cancelled, at once if it is, whichever runtime plans; null if
   * `signal` aborts. Throws QUEUE_ITEM_NOT_FOUND.
   */
  endOf(itemId: string, signal: AbortSignal): Promise<QueueItem | null>;
  /** Delivers the events of the queue, also those that waited for a node. Returns a function that ends it. */
  subscribe(onEvents: (events: readonly QueueEvent[]) => void): () => void;
  /** Figures for the node's status; calls `onChange` at once and after each change. Returns a function that ends it. */
  watchState(onChange: (state: QueueFigures) => void): () => void;
  /**
   * Stops planning and delivering. Sends under way go on to their ends. `isRemoved`: for good, so that other queues may have
   * its printers. Resolves when the outcomes of all sends are written. Never rejects.
   */
  close(isRemoved?: boolean): Promise<void>;
}

/** One item, or all items of an order. */
export type ItemTarget = { itemId: string } | { queueKey: string } | { orderId: string };

export interface PrinterTarget {
  clusterId: string;
  printerId: string | null;
}

export interface AddRequest extends ItemChanges {
  /** Opened on demand: a known queue key needs no file. Null with `jobId`. */
  source: (() => Promise<Source>) | null;
  /** The stored job to print, in place of a source. */
  jobId: string | null;
  jobName: string;
  queueKey: string | null;
  /** Covers the upload. */
  deadline: Deadline;
  /** Called while a file is uploaded. */
  onProgress: (percent: number | null) => void;
}

/** Properties that a message may name; undefined members stay as they are. */
export interface ItemChanges {
  copies?: number | undefined;
  priority?: number | undefined;
  require?: Require | undefined;
  orderId?: string | null | undefined;
  owner?: string | null | undefined;
  costCode?: string | null | undefined;
  /** ms since 1970. */
  notBefore?: number | null | undefined;
  deadlineAt?: number | null | undefined;
  held?: boolean | undefined;
  alternatives?: readonly ({ jobId: string } | { filename: string })[] | undefined;
}

export interface Changed {
  item: QueueItem;
  /** Whether the queue key was known. */
  duplicate: boolean;
}

export interface Settlement {
  outcome: 'printed' | 'not-printed';
  /** Null: all unknown copies. */
  copy: number | null;
}

export interface Pause {
  /** Null: the queue. */
  printer: PrinterTarget | null;
  /** ms since 1970; null: until it is resumed. */
  until: number | null;
  reason: string | null;
}

export interface ListFilter {
  state?: ItemState | undefined;
  orderId?: string | undefined;
  owner?: string | undefined;
  /** Number of items to skip, and the most to return. */
  from: number;
  limit: number;
}

export type ItemState = 'active' | 'waiting' | 'held' | 'blocked' | 'failed' | 'cancelled' | 'finished';

/** Message shape (print queue, 4). Times in ISO 8601. */
export interface QueueItem {
  itemId: string;
  queueId: string;
  queueKey: string | null;
  orderId: string | null;
  name: string | null;
  owner: string | null;
  costCode: string | null;
  jobId: string | null;
  fileSize: number | null;
  state: ItemState;
  held: boolean;
  priority: number;
  position: number | null;
  createdAt: string;
  notBefore: string | null;
  deadline: string | null;
  endedAt: string | null;
  copies: {
    total: number;
    waiting: number;
    active: number;
    good: number;
    rejected: number;
    failed: number;
    held: number;
    unknown: number;
  };
  requires: {
    models: readonly string[] | null;
    printCores: readonly (string | null)[];
    materials: readonly (MaterialNeed | null)[];
    buildPlate: string | null;
    tags: readonly string[];
    printers: readonly string[] | null;
    volumes: readonly (number | null)[];
    size: { x: number; y: number; z: number } | null;
    sources: Readonly<Record<string, RequirementSource>>;
  };
  estimate: {
    seconds: number | null;
    volumes: readonly (number | null)[];
    weights: readonly (number | null)[];
    cost: number | null;
  };
  eta: { startAt: string; endAt: string } | null;
  waitingFor: readonly { code: PrinterReason | ItemReason; printers: number; text: Sentence }[];
  prints: readonly QueuePrint[];
}

export interface QueuePrint {
  copy: number;
  attempt: number;
  clusterId: string;
  clusterName: string | null;
  printerId: string | null;
  clusterJobId: string | null;
  state: AttemptState;
  startedAt: string | null;
  endedAt: string | null;
  seconds: number | null;
  cost: number | null;
}

export type ExplainedItem = Omit<QueueItem, 'waitingFor'> & {
  waitingFor: readonly {
    clusterId: string | null;
    printerId: string | null;
    clusterName: string | null;
    code: PrinterReason | ItemReason;
    text: Sentence;
  }[];
};

export interface QueueExplanation {
  printers: readonly {
    clusterId: string;
    printerId: string | null;
    clusterName: string | null;
    free: boolean;
    plate: 'clear' | 'awaiting';
    code: PrinterReason | null;
    text: Sentence | null;
    lastUsedAt: string | null;
    hours: number;
    current: { itemId: string; copy: number; attempt: number; clusterJobId: string | null } | null;
  }[];
  paused: { until: string | null; reason: string | null } | null;
  waiting: number;
  active: number;
}

export interface Forecast {
  at: string;
  items: readonly { itemId: string; startAt: string | null; endAt: string | null; clusterId: string | null }[];
  orders: readonly { orderId: string; endAt: string | null; late: boolean }[];
  idleAt: string | null;
}

export interface QueueEvent {
  id: string;
  type: QueueEventType;
  at: string;
  late: boolean;
  queueId: string;
  queueName: string | null;
  item: QueueItem | null;
  print: QueuePrint | null;
  clusterId: string | null;
  clusterName: string | null;
  value: unknown;
}

/** Figures of a queue for a node's status. */
export interface QueueFigures {
  waiting: number;
  /** Prints that are being sent or under way. */
  active: number;
  /** Blocked items, and the first reason. */
  blocked: number;
  firstReason: { code: PrinterReason | ItemReason; text: Sentence } | null;
  isPaused: boolean;
  /** Why nothing is planned: no store, not signed in …; null: it is. */
  error: PrintingError | null;
}
