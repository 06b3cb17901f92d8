// The shapes that a board and its page share. The page imports nothing else from lib/, and these are types alone.
import type { ItemState, PlannedPrints } from '../queue/model/types';
import type { PrintJob } from '../service/print-job';

/**
 * Everything that a page shows (print queue, 9, Board). `Words`: sentences, which each page gets as text in its own
 * language. Times in ISO 8601.
 */
export interface BoardState<Words> {
  at: string;
  printers: readonly BoardPrinter<Words>[];
  /** Open items in their order, and the last ones that ended; empty without a queue. */
  items: readonly BoardItem<Words>[];
  orders: readonly BoardOrder[];
  /** Needs that a person has to meet, the most urgent first. */
  todo: readonly Need<Words>[];
  counts: Readonly<Partial<Record<ItemState, number>>>;
  /** Null without a queue. */
  forecast: BoardForecast | null;
}

export interface BoardPrinter<Words> {
  clusterId: string;
  /** Null: the only printer of its cluster. */
  printerId: string | null;
  clusterName: string | null;
  printerName: string | null;
  /** Coarse state, for colors and the order of the cards. */
  state: string;
  /** The state as one sentence. */
  sentence: Words;
  job: Pick<PrintJob, 'clusterJobId' | 'name' | 'state'> | null;
  /** Percent. */
  progress: number | null;
  endAt: string | null;
  /** Time of the last picture; null without one. */
  pictureAt: string | null;
  next: { itemId: string; name: string | null } | null;
  materials: readonly BoardMaterial[];
  /** Whether the plate waits for a person; null without a queue. */
  plate: 'clear' | 'awaiting' | null;
  /** Of the queue: no new prints begin there. */
  paused: { until: string | null; reason: string | null } | null;
  /** The print of the queue that is under way there. */
  current: { itemId: string; copy: number; attempt: number; clusterJobId: string | null } | null;
  /** Time of the figures; null: those of `at`. */
  seenAt?: string | null;
}

export interface BoardMaterial {
  /** Counted from 0. */
  extruder: number | null;
  /** Slot of a material station; null: the extruder itself. */
  slot: number | null;
  material: { guid: string | null; brand: string | null; name: string | null; color: string | null } | null;
  /** Share of a full spool, 0 to 1. */
  left: number | null;
  /** mm³. */
  volume: number | null;
}

/** An item of the queue as its messages show it (print queue, 4), as far as the page reads it. */
export interface BoardItem<Words> {
  itemId: string;
  name: string | null;
  orderId: string | null;
  owner: string | null;
  state: ItemState;
  held: boolean;
  priority: number;
  position: number | null;
  createdAt: string;
  deadline: string | null;
  endedAt: string | null;
  copies: { total: number; waiting: number; active: number; good: number; failed: number; held: number };
  /** Null: an item of copies. */
  parts?: { wanted: number; perPrint: number; good: number; rejected: number; owed: number } | null;
  estimate: { seconds: number | null; cost: number | null };
  eta: { startAt: string; endAt: string } | null;
  prints: readonly BoardPrint<Words>[];
  /** Why it waits, or how it is, as one sentence. */
  sentence: Words;
}

export interface BoardPrint<Words> {
  copy: number;
  attempt: number;
  clusterId: string;
  clusterName: string | null;
  printerId: string | null;
  clusterJobId: string | null;
  state: string;
  reason: Words | null;
  startedAt: string | null;
  endedAt: string | null;
  seconds: number | null;
  cost: number | null;
  goodParts?: number | null;
  used?: readonly { weight: number | null; estimated?: boolean }[];
}

export interface BoardOrder {
  orderId: string;
  good: number;
  wanted: number;
  endAt: string | null;
  late: boolean;
}

export interface BoardForecast {
  at: string;
  items: readonly { itemId: string; clusterId: string | null }[];
  prints: readonly PlannedPrints[];
  materials?: readonly {
    material: { guid: string | null; brand: string | null; type: string | null; color: string | null };
    shortAt: string | null;
  }[];
}

export type NeedKind = 'plate' | 'unknown' | 'blocked' | 'failed' | 'offline' | 'fault' | 'material' | 'sign-in';

/** One thing that a person has to do. `id` stays while it is the same need. */
export interface Need<Words> {
  id: string;
  kind: NeedKind;
  text: Words;
  clusterId: string | null;
  printerId: string | null;
  itemId: string | null;
  since: string | null;
  /** None: only hands can meet it. */
  answers: readonly Answer<Words>[];
  /** Material of a need. Only pages get it. */
  name?: string;
}

/** An answer is sent back as it is, as `{ action, ...properties }`. */
export interface Answer<Words> {
  label: Words;
  action: string;
  properties: Readonly<Record<string, unknown>>;
  /** Key of its label. Only pages get it. */
  kind?: AnswerKind;
}

export type AnswerKind =
  | 'good'
  | 'bad'
  | 'clear'
  | 'printed'
  | 'notPrinted'
  | 'printOn'
  | 'printAnyway'
  | 'remove'
  | 'again';

export type Allow = 'look' | 'press' | 'all';

/** A notice from the node's input. */
export interface Notice {
  id: string;
  text: string;
  level: 'info' | 'warn' | 'error';
}

/** Facts beside the board, for the first message to a page. */
export interface Facts {
  /** Changes with each build: a page of another one reloads itself. */
  version: string;
  title: string;
  allow: Allow;
  hasQueue: boolean;
  /** Currency of the costs; null: none. */
  currency: string | null;
}

/** The sections of the board whose entries a page gets one by one. */
export const SECTIONS = ['printers', 'items', 'orders', 'todo', 'notices'] as const;
export type Section = (typeof SECTIONS)[number];

/** The values that a page gets as a whole. */
export interface Values {
  facts: Facts;
  /** The runtime's time of this message, ms: the page's clock may be wrong. */
  now: number;
  counts: BoardState<string>['counts'];
  /** Open items, more than the page has got. */
  open: number;
  /** Time of the last end of a print; null without one. The page then reads its history anew. */
  endedAt: string | null;
  forecast: { prints: readonly PlannedPrints[] } | null;
}

/**
 * One message of the stream. `ids`: the entries of a section in their order, if that changed; `set`: the entries that
 * changed. `isWhole`: it has every section, and the page forgets each entry that is not among the `ids`.
 */
export interface Change {
  isWhole?: boolean;
  values?: Partial<Values>;
  sections?: Partial<Record<Section, { ids?: readonly string[]; set?: Readonly<Record<string, unknown>> }>>;
}

/** Outcome of a press. */
export type Outcome<Words> = { ok: true } | { ok: false; code: string; message: Words };

/** Details of one printer that is shown alone. */
export interface PrinterDetails {
  jobs: readonly Pick<PrintJob, 'clusterJobId' | 'name' | 'state' | 'progress' | 'timeRemaining' | 'owner'>[];
  history: readonly (Pick<PrintJob, 'clusterJobId' | 'name' | 'state' | 'createdAt' | 'owner'> & {
    seconds: number | null;
    /** Time of the picture after its end; null without one. */
    pictureAt: string | null;
  })[];
  model: string | null;
  firmware: { version: string | null; latest: string | null };
  /** Names of the printers behind its host whose maintenance is due. */
  maintenanceDue: readonly string[];
}

/** One print that has ended. */
export interface PastPrint<Words> {
  id: string;
  itemId: string;
  item: string | null;
  orderId: string | null;
  owner: string | null;
  copy: number;
  attempt: number;
  printer: string | null;
  result: string;
  reason: Words | null;
  startedAt: string | null;
  endedAt: string;
  seconds: number | null;
  /** g. */
  weight: number | null;
  cost: number | null;
  goodParts: number | null;
}
