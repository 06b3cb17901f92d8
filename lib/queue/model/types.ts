import { asPrintingError, PrintingError } from '../../service/errors';
import type { Feed } from '../../service/feeds';
import type { PrintJob } from '../../service/print-job';
import type { Deadline } from '../../time/deadline';
import type { FileFacts } from '../../toolpath/facts';
import type { Source } from '../../upload/content';
import { phrase, type Sentence } from '../../words/sentence';
import type { Require, Requirement } from './requirement';

/** The operations of one queue, for flows and the editor (print queue, 3.2). All throw PrintingError. */
export interface QueueApi {
  /** Resolves once the item is durable, and with a source once its file is stored. */
  add(request: AddRequest): Promise<Changed>;
  /** Items of the target, in their order; throws QUEUE_ITEM_NOT_FOUND. */
  update(target: ItemTarget, changes: ItemChanges, deadline: Deadline): Promise<QueueItem[]>;
  move(target: ItemTarget, to: { position: number } | { before: string }, deadline: Deadline): Promise<QueueItem[]>;
  hold(target: ItemTarget, deadline: Deadline): Promise<QueueItem[]>;
  release(target: ItemTarget, deadline: Deadline): Promise<QueueItem[]>;
  /** `print`: only the copy whose print that was; throws NOT_ACCEPTED unless it failed. */
  retry(target: ItemTarget, deadline: Deadline, print?: NamedCopy): Promise<QueueItem[]>;
  remove(target: ItemTarget, deadline: Deadline): Promise<QueueItem[]>;
  settle(target: ItemTarget, verdict: Settlement, deadline: Deadline): Promise<QueueItem[]>;
  /** Throws NOT_ACCEPTED while the printer prints, and for a verdict that names another print or contradicts one. */
  plateCleared(
    printer: PrinterTarget,
    good: boolean,
    deadline: Deadline,
    about?: PlateJudgement,
  ): Promise<QueueExplanation>;
  pause(pause: Pause, deadline: Deadline): Promise<QueueExplanation>;
  resume(printer: PrinterTarget | null, deadline: Deadline): Promise<QueueExplanation>;
  /** From memory, also while the store is unreachable. */
  list(filter: ListFilter): Promise<QueueItem[]>;
  /** Number of the items that `list` has without a filter. */
  count(): Promise<number>;
  explain(target: ItemTarget): Promise<ExplainedItem[]>;
  explainQueue(): Promise<QueueExplanation>;
  forecast(): Promise<Forecast>;
  board(): Promise<Board>;
  /**
   * Sends the board at once, and again after changes, at most once a second. An entry that is the same as before is the same
   * object. Returns a function that ends it.
   */
  watchBoard(onBoard: (event: BoardEvent) => void): () => void;
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
  /** Replaces the type of the file's extension. */
  mediaType?: string | undefined;
  queueKey: string | null;
  /** Covers the upload. */
  deadline: Deadline;
  /** Called while a file is uploaded. */
  onProgress: (percent: number | null) => void;
}

/** Properties that a message may name; undefined members stay as they are. */
export interface ItemChanges {
  copies?: number | undefined;
  /** Good parts in place of copies: the queue decides the number of prints. */
  wanted?: number | undefined;
  /** Parts that one print makes. Default: 1. */
  perPrint?: number | undefined;
  priority?: number | undefined;
  require?: Require | undefined;
  orderId?: string | null | undefined;
  owner?: string | null | undefined;
  costCode?: string | null | undefined;
  /** ms since 1970. */
  notBefore?: number | null | undefined;
  deadlineAt?: number | null | undefined;
  held?: boolean | undefined;
  /** `perPrint`: parts that one print of it makes; default: those of the item. */
  alternatives?:
    | readonly (({ jobId: string } | { filename: string }) & { perPrint?: number | undefined })[]
    | undefined;
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
  /** The attempt of the copy; null: whichever is in doubt. */
  attempt?: number | null;
}

/** A copy, and the attempt that is meant; null: the last one. */
export interface NamedCopy {
  copy: number;
  attempt: number | null;
}

/** Members of a verdict on a plate beside good or bad. */
export interface PlateJudgement {
  /** Number of good parts. Default: all or none. */
  goodParts?: number | undefined;
  /** The print that is meant. Default: the last one that ended there. */
  print?: { itemId: string; copy: number; attempt: number } | undefined;
  /** The same, by what `explain` gives as `judges`. */
  judges?: string | undefined;
  /** Only finds out whether it is taken. */
  isTrial?: boolean;
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
  copies: CopyCounts;
  /** Null: the item owes copies. */
  parts: { wanted: number; perPrint: number; good: number; rejected: number; owed: number } | null;
  requires: Omit<Requirement, 'nozzles'>;
  estimate: {
    seconds: number | null;
    volumes: readonly (number | null)[];
    weights: readonly (number | null)[];
    cost: number | null;
  };
  /** Of its prints so far, failed and rejected ones included; null: not known. */
  cost: number | null;
  eta: { startAt: string; endAt: string } | null;
  waitingFor: readonly { code: PrinterReason | ItemReason; printers: number; text: Sentence }[];
  prints: readonly QueuePrint[];
}

/** Numbers of copies by state. */
export interface CopyCounts {
  total: number;
  waiting: number;
  active: number;
  good: number;
  rejected: number;
  failed: number;
  held: number;
  unknown: number;
}

export interface QueuePrint {
  copy: number;
  attempt: number;
  clusterId: string;
  clusterName: string | null;
  printerId: string | null;
  clusterJobId: string | null;
  state: AttemptState;
  /** Why it did not end well, if the service says it. */
  reason: Sentence | null;
  startedAt: string | null;
  endedAt: string | null;
  seconds: number | null;
  cost: number | null;
  perPrint: number;
  /** Null: not judged yet. */
  goodParts: number | null;
  used: readonly UsedMaterial[];
}

/** Material that a print used up on one extruder, counted from 0. Null: not known. */
export interface UsedMaterial {
  extruder: number;
  /** Slot of the material station, counted from 0; null: without one, or one of several. */
  slot: number | null;
  guid: string | null;
  /** mm³ and g. */
  volume: number | null;
  weight: number | null;
  /** Whether the print did not finish, so that this is its share by time. */
  estimated: boolean;
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
    printerName: string | null;
    free: boolean;
    plate: 'clear' | 'awaiting';
    /** Names the last print that ended there, for a verdict; null while one is under way, and before the first. */
    judges: string | null;
    code: PrinterReason | null;
    text: Sentence | null;
    /** Whatever the code: a printer that prints may be paused. */
    paused: { until: string | null; reason: string | null } | null;
    lastUsedAt: string | null;
    hours: number;
    current: { itemId: string; copy: number; attempt: number; clusterJobId: string | null } | null;
  }[];
  paused: { until: string | null; reason: string | null } | null;
  waiting: number;
  active: number;
}

/** Prints of one item that follow each other on one printer. */
export interface PlannedPrints {
  itemId: string;
  clusterId: string;
  printerId: string | null;
  startAt: string;
  endAt: string;
  copies: number;
}

export interface Forecast {
  at: string;
  items: readonly { itemId: string; startAt: string | null; endAt: string | null; clusterId: string | null }[];
  /** The prints that begin within the next 24 hours, in the order in which they begin. */
  prints: readonly PlannedPrints[];
  orders: readonly { orderId: string; endAt: string | null; late: boolean }[];
  idleAt: string | null;
  materials: readonly MaterialForecast[];
}

/** Amounts of a material that the waiting copies need, that are loaded and that are missing, and the time at which it runs out; null: not known. */
export interface MaterialForecast {
  material: { guid: string | null; brand: string | null; type: string | null; color: string | null };
  needed: { volume: number | null; weight: number | null };
  loaded: { volume: number | null; weight: number | null };
  missing: { volume: number | null; weight: number | null };
  shortAt: string | null;
}

/** Everything that a page shows of a queue (print queue, 9). */
export interface Board {
  at: string;
  printers: readonly BoardPrinter[];
  /** The open items in the order of `list`, and the last that ended, with their newest prints. */
  items: readonly BoardItem[];
  orders: readonly BoardOrder[];
  /** Needs that a person has to meet, the most urgent kind first. */
  todo: readonly Need[];
  counts: Readonly<Record<ItemState, number>>;
  /** It may be a minute old. */
  forecast: Forecast;
}

export type BoardPrinter = QueueExplanation['printers'][number] & {
  /** The state of its job, or else `free` or the code of its obstacle in lower case. */
  state: string;
  sentence: Sentence;
  job: PrintJob | null;
  progress: number | null;
  endAt: string | null;
  /** The queue takes no pictures: who shows the board does. */
  pictureAt: string | null;
  next: { itemId: string; name: string | null } | null;
  materials: readonly BoardMaterial[];
};

/** Material in an extruder or in a slot that feeds it, both counted from 0. Null: not known. */
export interface BoardMaterial {
  extruder: number | null;
  slot: number | null;
  material: { guid: string | null; brand: string | null; name: string | null; color: string | null } | null;
  /** Share of a full spool, from 0 to 1. */
  left: number | null;
  /** mm³. */
  volume: number | null;
}

export type BoardItem = QueueItem & { sentence: Sentence };

export interface BoardOrder {
  orderId: string;
  good: number;
  wanted: number;
  endAt: string | null;
  late: boolean;
}

/** Something that needs a person. */
export interface Need {
  /** Stays while it is the same need. */
  id: string;
  kind: 'sign-in' | 'plate' | 'unknown' | 'blocked' | 'failed' | 'fault' | 'offline' | 'material';
  text: Sentence;
  clusterId: string | null;
  printerId: string | null;
  itemId: string | null;
  since: string | null;
  /** Each may be sent back as `{ action, ...properties }`; none for what only hands can do. */
  answers: readonly Answer[];
}

export interface Answer {
  label: Sentence;
  action: 'plate-cleared' | 'settle' | 'update' | 'retry' | 'remove';
  properties: Readonly<Record<string, unknown>>;
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

/** A board that is sent on. It is not kept for later, and has no id. */
export type BoardEvent = Omit<QueueEvent, 'id' | 'type' | 'value'> & { type: 'queue.board'; value: Board };

/** Types of the queue's events (print queue, 4). */
export type QueueEventType =
  | 'item.queued'
  | 'item.approval'
  | 'item.cancelled'
  | 'item.finished'
  | 'item.failed'
  | 'item.reopened'
  | 'item.blocked'
  | 'item.unblocked'
  | 'item.overdue'
  | 'order.finished'
  | 'print.dispatched'
  | 'print.started'
  | 'print.finished'
  | 'print.rejected'
  | 'print.failed'
  | 'print.aborted'
  | 'print.recalled'
  | 'print.unknown'
  | 'print.extra'
  | 'plate.awaiting'
  | 'plate.cleared'
  | 'material.short'
  | 'queue.idle';

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

/** An item whose end is awaited. */
export interface AwaitedItem {
  itemId: string;
  /** Whether the message added a queue key that was known. */
  duplicate: boolean;
}

/** An item that has ended, and why it is not finished. */
export interface ItemEnd {
  item: QueueItem | null;
  error: PrintingError | null;
}

type WatchedQueue = Pick<QueueApi, 'endOf'>;

/** Resolves once the item has ended; null if `signal` aborts before. Never rejects. */
export async function itemEnd(
  queue: WatchedQueue,
  { itemId }: AwaitedItem,
  signal: AbortSignal,
): Promise<ItemEnd | null> {
  try {
    const item = await queue.endOf(itemId, signal);
    return item && { item, error: errorOf(item) };
  } catch (thrown) {
    return { item: null, error: asPrintingError(thrown) };
  }
}

function errorOf({ state, name, itemId, prints }: QueueItem): PrintingError | null {
  const shown = name ?? itemId;
  const details = { ids: { itemId } };
  switch (state) {
    case 'failed': {
      const failure = phrase`The prints of this item failed: ${shown}. Check the printers, then retry it.`;
      const reason = prints.findLast((print) => print.state === 'failed')?.reason;
      const sentence = reason ? phrase`${failure} The service says: ${reason}` : failure;
      return new PrintingError('PRINT_FAILED', sentence, details);
    }
    case 'cancelled':
      return new PrintingError('PRINT_FAILED', phrase`This item was removed from the queue: ${shown}.`, details);
    default:
      return null;
  }
}

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
  printers: readonly PrinterReading[];
}

interface PrinterReading {
  clusterId: string;
  /** Null: the only printer of its cluster. */
  printerId: string | null;
  /** Whether its plate waits for a person; null: the printer was not seen yet. */
  isPlateWaiting: boolean | null;
  /** Whether it stands idle while an item waits that suits it and may start. */
  isIdle: boolean;
}

/** Saved record of an item, under the key `['queue-item', ...scope, queueId, itemId]`. Times in ms since 1970. */
export interface ItemRecord {
  version: 1;
  /** Derived from the queue and its queue key, or random without one. */
  itemId: string;
  queueKey: string | null;
  orderId: string | null;
  owner: string | null;
  costCode: string | null;
  name: string | null;
  /** The file and its alternatives; the first one is the item's own. */
  files: readonly ItemFile[];
  require: Require | null;
  priority: number;
  /** Order among items of the same priority: compared as text (rank.ts). */
  rank: string;
  /** Rank with which it was added; absent as long as it has that rank. */
  added?: string;
  createdAt: number;
  /** The queue's lived time then (`LivedTime`), ms; absent in older records. */
  createdLived?: number;
  /** When it was added, or a person last released or retried it: from then on its copies wait. */
  waitsSince: number;
  notBefore: number | null;
  deadline: number | null;
  isHeld: boolean;
  awaitsApproval: boolean;
  /** Whether a person removed it: jobs that have not begun are recalled, and copies that do not end well are cancelled. */
  isRemoved: boolean;
  /**
   * Good parts that are wanted, and those that one print makes; absent: the item owes copies. `cancelled`: parts that are not
   * printed any more, because a person removed the item.
   */
  parts?: { wanted: number; perPrint: number; cancelled?: number };
  /** Owed copies, from 1; of an item of parts, those that were begun or wait (`owing`). */
  copies: number;
  /** Copies whose state differs from waiting, by number. */
  touched: Readonly<Record<number, CopyState>>;
  /** Copies owed again after a rejection: they go first, in this order. */
  front: readonly number[];
  /** The last one of a copy decides about it. */
  prints: readonly Attempt[];
  /** Number of times that the item has ended: part of the ids of `item.finished` and of the other ends. */
  ends: number;
  /** Null while it has not ended. */
  endedAt: number | null;
  isOverdue: boolean;
  /** The latest of its former deadlines that it was told to miss, ms since 1970; absent: there was none. */
  toldDeadline?: number;
  /** How often a person wanted it to be tried at once where the service had refused it; absent: never. */
  tries?: number;
  /** Whether `item.blocked` is reported and `item.unblocked` not yet, the number of `item.blocked` so far, and since when. */
  blocked: { is: boolean; count: number; at?: number };
  /** Events that no node has received yet, oldest first. */
  outbox: readonly QueueEventDraft[];
}

export interface ItemFile {
  /** Null while the file is not stored. */
  jobId: string | null;
  filename: string | null;
  size: number | null;
  /** Null: not read yet. */
  facts: FileFacts | null;
  /** Whether the service no longer has it. */
  isGone: boolean;
  /** Parts that one print makes; absent: those of the item. */
  perPrint?: number;
}

/** `waiting` copies have no entry. `dropped`: the parts of others are enough. */
export type CopyState = 'active' | 'good' | 'failed' | 'held' | 'unknown' | 'cancelled' | 'dropped';

/** One try to print a copy on one printer. */
export interface Attempt {
  copy: number;
  /** From 1, within the copy. */
  attempt: number;
  /** Index in `files`. */
  file: number;
  clusterId: string;
  clusterName: string | null;
  printerId: string | null;
  clusterJobId: string | null;
  state: AttemptState;
  assignedAt: number;
  /** While it is assigned, whether its call may have left; absent in older records, of which nobody knows. */
  hasLeft?: boolean;
  dispatchedAt: number | null;
  /**
   * The queue's lived time at its dispatch and at its beginning (`LivedTime`), ms; absent in older records. Until an answer or a
   * poll dates the dispatch (`dispatchedAt`), that is when its call has left.
   */
  dispatchedLived?: number | undefined;
  startedLived?: number;
  /** When its job was first seen to have begun (`hasBegun`). */
  startedAt: number | null;
  endedAt: number | null;
  /** Time that it printed, s. */
  seconds: number | null;
  cost: number | null;
  /** Why it did not end well, if the service says it; absent in older records. */
  reason?: Pick<Sentence, 'pattern' | 'values'> | null;
  /** Parts that it makes; absent: 1. */
  perPrint?: number;
  /** Good parts, where somebody has counted them (`goodPartsOf`). */
  goodParts?: number;
  /** Material that it used up, where that is more than its file says (`usedOf`). */
  used?: readonly UsedMaterial[];
  /** Types of its events so far: each happens once per attempt. */
  told: readonly QueueEventType[];
  /** Whether it counts against the retries. */
  counts: boolean;
  /** Why its job is to be removed from the printer, or was; null: it is not. */
  recall: Recall | null;
  /** A person's verdict on its unknown outcome; null: none. */
  settledAs: 'printed' | 'not-printed' | null;
  /**
   * Plate gates of the machines that may have taken it, once its outcome is unknown, or it has ended and `printerId` does not
   * name the machine. While it is open, its reservation stores them.
   */
  machines?: readonly string[] | undefined;
  /** Prints that had begun on those machines when its outcome became unknown, by plate gate. */
  begun?: Readonly<Record<string, number>>;
}

/** Removal of a dispatched job that has not begun. */
export interface Recall {
  /**
   * `late`: it did not begin in time. `changes`: the service asked for changes. `overtaken`: a foreign print began on
   * the printer first. `removed`: a person removed the item.
   */
  why: 'late' | 'changes' | 'overtaken' | 'removed';
  since: number;
  /** Whether the service refused the removal, so that only a person can help. */
  isStuck: boolean;
  /** Number of refused removals, and the queue's lived time from which the next one is due, ms; absent in older records. */
  tries?: number;
  again?: number;
  /** For `changes`: the printer's configuration (`configurationOf`) at that moment. */
  configuration: string | null;
}

export type AttemptState =
  | 'assigned'
  | 'dispatched'
  | 'printing'
  | 'finished'
  | 'rejected'
  | 'failed'
  | 'aborted'
  | 'recalled'
  | 'unknown';

/** A saved event. `item` and `print` are filled in when it is delivered. */
export interface QueueEventDraft {
  /** Made of the observed fact: two runtimes that report the same fact use the same id. */
  id: string;
  type: QueueEventType;
  /** ms since 1970. */
  at: number;
  /** Copy and attempt of the print; null for other events. */
  print: { copy: number; attempt: number } | null;
  clusterId: string | null;
  clusterName: string | null;
  value: unknown;
}

/** Print key of an attempt: `queue/item/copy/attempt`. */
export const attemptKey = (
  queueId: string,
  itemId: string,
  { copy, attempt }: Pick<Attempt, 'copy' | 'attempt'>,
): string => `${queueId}/${itemId}/${copy}/${attempt}`;

/** Names an attempt within its queue. */
export const nameOf = (itemId: string, { copy, attempt }: Pick<Attempt, 'copy' | 'attempt'>): string =>
  `${itemId}/${copy}/${attempt}`;

/** Id of an attempt's print at its printer: the service's, or the print key while that is unknown. */
export const printingId = (
  queueId: string,
  itemId: string,
  attempt: Pick<Attempt, 'copy' | 'attempt' | 'clusterJobId'>,
): string => attempt.clusterJobId ?? attemptKey(queueId, itemId, attempt);

/** All names under which a print may be known: the id of its printing, and its print key. */
export const namesOf = (
  queueId: string,
  itemId: string,
  attempt: Pick<Attempt, 'copy' | 'attempt' | 'clusterJobId'>,
): string[] => [...(attempt.clusterJobId === null ? [] : [attempt.clusterJobId]), attemptKey(queueId, itemId, attempt)];

/** Plate gates of the machines of which one may have taken a print, wherever these are now. */
export const machinesOf = ({ machines, begun }: Pick<Attempt, 'machines' | 'begun'>): readonly string[] =>
  machines ?? (begun ? Object.keys(begun) : NO_MACHINES);
const NO_MACHINES: readonly string[] = [];

/** A printer, as the plan sees it at one moment. */
export interface QueuePrinter {
  clusterId: string;
  /** Null: the only printer of its cluster, or unknown. */
  printerId: string | null;
  clusterName: string | null;
  /** Its own name: in a group, its members share `clusterName`. */
  printerName: string | null;
  /** Whether the service does not know it: it can print nothing, and nothing of it is known any more. */
  isMissing: boolean;
  /** Null members are unknown, such as those of a printer that is offline since the first sight. */
  model: string | null;
  extruders: readonly Feed[] | null;
  buildPlate: string | null;
  tags: readonly string[];
  /** The reason for which it can't print any item now; null: it is free. */
  obstacle: Reason<PrinterReason> | null;
  /** Whether it is offline or was not seen lately, whatever its obstacle: what is unknown of it may turn out to suit. */
  isOutOfSight: boolean;
  /** Last print of this queue, ms since 1970; null: none. */
  lastUsedAt: number | null;
  /** For the choice among several: the same in the queue's lived time, as a clock may have been wrong, and the time in use, ms. */
  lastUsedLived: number | null;
  usedFor: number;
  /** For the forecast: when its present print ends, ms since 1970; null: unknown or none. */
  freeAt: number | null;
  /**
   * For the forecast: when it may be used again, apart from its print and its plate, ms since 1970; 0: at once; Infinity: a
   * person decides.
   */
  barredUntil: number;
  /** For the forecast: whether a refusal of a moment ago is its obstacle. */
  isRefused: boolean;
}

/** Key of a printer within its account. */
export const printerKey = ({ clusterId, printerId }: PrinterTarget): string => JSON.stringify([clusterId, printerId]);

/** Reason for which a printer can't print a copy (print queue, 4), in the order of precedence after suitability. */
export type PrinterReason =
  | 'BUSY'
  | 'FOREIGN_JOB'
  | 'PLATE_NOT_CLEARED'
  | 'OFFLINE'
  | 'STALE'
  | 'DISABLED'
  | 'INACTIVE'
  | 'FAULT'
  | 'MAINTENANCE'
  | 'PAUSED'
  | Suitability
  | 'REFUSED'
  | 'OUTCOME_UNKNOWN';

/** Reason for which a printer does not suit. */
export type Suitability = 'MODEL' | 'PRINT_CORE' | 'MATERIAL' | 'MATERIAL_LOW' | 'BUILD_PLATE' | 'TAG' | 'NOT_CHOSEN';

/** Reason for which an item or a queue waits. */
export type ItemReason =
  | 'MODEL_UNKNOWN'
  | 'NO_PRINTER'
  | 'HELD'
  | 'APPROVAL'
  | 'NOT_BEFORE'
  | 'QUEUE_PAUSED'
  | 'HOURS'
  | 'STAGGER'
  | 'LIMIT'
  | 'BEHIND'
  | 'UPLOAD'
  | 'NO_STORE';

export interface Reason<Code = PrinterReason | ItemReason> {
  code: Code;
  sentence: Sentence;
}
