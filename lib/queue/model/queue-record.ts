import { PrintingError } from '../../service/errors';
import { phrase, type Sentence } from '../../words/sentence';
import { type Closing, hadToBeCleared, isCleared, lastClosing, type PlateGate } from './gate';
import { type ChangeContext, copiesIn, eventId, firstNumber, itemStateOf } from './item';
import { countParts } from './parts';
import { type Prices, type QueueRules, roundedCost } from './rules';
import {
  type Attempt,
  type ItemRecord,
  type MaterialForecast,
  type Pause,
  printerKey,
  type PrinterReason,
  type PrinterTarget,
  type QueueEventDraft,
} from './types';

/** A pause of the queue or of one printer. */
export type PauseState = Omit<Pause, 'printer'>;

/** Saved state of a queue beside its items, under `['queue-state', ...scope, queueId]`. */
export interface QueueRecord {
  version: 1;
  paused: PauseState | null;
  /** By the plate gate of the machine (`machineKey`) or, before one is known and in older records, by `printerKey`. */
  pausedPrinters: Readonly<Record<string, PauseState>>;
  /**
   * The last event about each plate gate, by its id; of 1.0.0-rc.1 by `printerKey`. `count`: how often its last closing was
   * announced, if more than once: under another mode its plate may wait again.
   */
  plates: Readonly<Record<string, { closing: number; isAwaiting: boolean; count?: number }>>;
  /** By order: the sum of its items' ends that is reported, and the number of its `order.finished`. */
  orders: Readonly<Record<string, { ends: number; reports: number }>>;
  /** The highest number of an `order.finished` among forgotten orders; missing before there are any. */
  reports?: number;
  /** Whether a copy was active or waiting, and the number of the last `queue.idle` (`firstNumber`); 0: there was none. */
  isBusy: boolean;
  idles: number;
  /** Items that ended before are not listed any more, ms since 1970. */
  oldBefore: number;
  /** Time that was lived with the queue when the record was written last (`LivedTime`), ms; absent in older records. */
  lived?: number;
  /** What printers refused a moment ago (`Refusals`); absent before there was any. */
  refusals?: StoredRefusals;
  /** Materials of which something is missing, as told, and the number of the last `material.short`; absent before there was one. */
  materials?: { short: readonly string[]; reports: number };
  /** Events that no node has received yet, oldest first. */
  outbox: readonly QueueEventDraft[];
}

/** Pauses after refusals. Times are the queue's lived time (`LivedTime`), ms. */
export interface StoredRefusals {
  printers: readonly (StoredPause & { clusterId: string })[];
  items: readonly (StoredPause & { clusterId: string; itemId: string; count: number })[];
  rows: readonly { clusterId: string; code: string; items: readonly string[]; pauses: number }[];
}

export interface StoredPause {
  until: number;
  /** Whether the next planner does not continue it. */
  isOwn?: boolean;
  code: PrinterReason;
  sentence: Pick<Sentence, 'pattern' | 'values'>;
}

export const NEW_QUEUE: QueueRecord = {
  version: 1,
  paused: null,
  pausedPrinters: {},
  plates: {},
  orders: {},
  isBusy: false,
  idles: 0,
  oldBefore: 0,
  outbox: [],
};

const HOUR = 3_600_000;

/** Pauses the queue; null resumes it. */
export const paused = (record: QueueRecord, pause: PauseState | null): QueueRecord => ({ ...record, paused: pause });

/** Whether a pause has ended by itself. */
export const isPauseOver = ({ until }: Pick<PauseState, 'until'>, now: number): boolean =>
  until !== null && until <= now;

/** A printer at its place, and the id of its machine's plate gate; undefined: none is known. */
export type PlacedMachine = PrinterTarget & { gateId: string | undefined };

/** The pause of a printer that is not over: of its machine, of its place, or of its whole cluster. */
export function pauseAt(
  all: QueueRecord['pausedPrinters'],
  printer: PlacedMachine,
  now: number,
): PauseState | undefined {
  // Each plan asks for every printer, of which most queues pause none.
  if (Object.keys(all).length === 0) return undefined;
  return keysOf(printer)
    .map((key) => all[key])
    .find((one) => one && !isPauseOver(one, now));
}

/** Keys under which the pause of a printer may be stored; a new one is stored under the first. */
function keysOf(printer: PlacedMachine): [string, ...string[]] {
  const { gateId, clusterId } = printer;
  // That of a cluster whose printers were not seen when it was paused.
  const ofPlace = [printerKey(printer), printerKey({ clusterId, printerId: null })] as const;
  // A gate that knows nothing but its place may be that of another machine later.
  return gateId === undefined || gateId === clusterId ? [...ofPlace] : [machineKey(gateId), ...ofPlace];
}

/** A text that is no `printerKey`. */
const machineKey = (gateId: string): string => JSON.stringify([gateId]);

/** A gate, and what it means to a queue. */
export interface FollowedGate {
  gate: PlateGate;
  /** Whether its printer belongs to the queue, or the part on its plate. */
  isConcerned: boolean;
}

/** Records what a queue has seen of its plates, with the events of each gate. One copy of the record holds them all. */
export function platesFollowed(
  record: QueueRecord,
  gates: readonly FollowedGate[],
  mode: QueueRules['gate'],
  context: ChangeContext,
): QueueRecord {
  const plates = new Map(Object.entries(record.plates));
  const outbox = [...record.outbox];
  let isChanged = false;
  for (const followed of gates) {
    const { gateId } = followed.gate;
    const current = plates.get(gateId);
    const oldKey = current ? null : printerKey(followed.gate);
    const known = oldKey === null ? current : plates.get(oldKey);
    const { plate, events } = plateFollowed(known, followed, mode, context);
    if (!plate || plate === current) continue;
    isChanged = true;
    if (oldKey !== null) plates.delete(oldKey);
    plates.set(gateId, plate);
    outbox.push(...events);
  }
  return isChanged ? { ...record, plates: Object.fromEntries(plates), outbox } : record;
}

/** The last event about a plate; undefined: the queue has seen nothing of it. */
type ToldPlate = QueueRecord['plates'][string] | undefined;

/**
 * The events of a printer's gate, in the order in which they happened: each closing that the queue's mode does not
 * open at once, and its opening. Those that happened while no runtime planned the queue are among them, as far back as the gate
 * remembers. Of a gate that does not concern the queue any more, only the opening after an announced closing is added.
 */
function plateFollowed(
  known: ToldPlate,
  { gate, isConcerned }: FollowedGate,
  mode: QueueRules['gate'],
  { queueId, now }: ChangeContext,
): { plate: ToldPlate; events: readonly QueueEventDraft[] } {
  const { ended, closings } = gate;
  if (!isConcerned && !known?.isAwaiting) return { plate: known, events: [] };
  const before: NonNullable<ToldPlate> = known ? continued(known, gate) : { closing: closings, isAwaiting: false };
  const isNew = before.closing !== closings;
  const isAwaiting = ended !== null && !isCleared(ended, mode) && (isConcerned || !isNew);
  if (known && !isNew && known.isAwaiting === isAwaiting) return { plate: known, events: [] };
  const all = [...(gate.past ?? []), lastClosing(gate)].filter((closing) => closing !== null);
  const event = (type: PlateEventType, number: number, count = 1) =>
    plateEvent(type, number, { gate, all, count, queueId, now });
  const events: QueueEventDraft[] = [];
  const told = before.count ?? 1;
  let count = known && !isNew ? told : 0;
  // Another print has begun since, or the plate was cleared.
  if (before.isAwaiting && (isNew || !isAwaiting)) events.push(event('plate.cleared', before.closing, told));
  for (const closing of isConcerned ? all : []) {
    const { number } = closing;
    const isLast = number === closings;
    const isNews = isLast ? isNew : number > before.closing;
    // A later status may show that the print did not end as it seemed, so that its plate is not clear after all.
    if (isLast && isAwaiting && (isNews || !before.isAwaiting)) events.push(event('plate.awaiting', number, ++count));
    // It was cleared meanwhile.
    if (!(isLast && isAwaiting) && isNews && hadToBeCleared(closing, mode))
      events.push(event('plate.awaiting', number), event('plate.cleared', number));
  }
  return { plate: { closing: closings, isAwaiting, ...(count > 1 && { count }) }, events };
}

/** The last event as one of this gate: the record of the one that it concerned is lost, and nobody has cleared the plate since. */
function continued(told: NonNullable<ToldPlate>, { replacesUpTo = -1 }: PlateGate): NonNullable<ToldPlate> {
  const { closing, isAwaiting } = told;
  if (closing > replacesUpTo) return told;
  return { closing: isAwaiting ? replacesUpTo + 1 : replacesUpTo, isAwaiting };
}

type PlateEventType = 'plate.awaiting' | 'plate.cleared';

function plateEvent(
  type: PlateEventType,
  number: number,
  about: { gate: PlateGate; all: readonly Closing[]; count: number } & Pick<ChangeContext, 'queueId' | 'now'>,
): QueueEventDraft {
  const { gate, all, count, queueId, now } = about;
  const { gateId, clusterId, clusterName } = gate;
  const closing = all.find((one) => one.number === number);
  // A plate that nobody cleared was clear when the next print began there.
  const next = all.find((one) => one.number > number);
  const isOpening = type === 'plate.cleared';
  const at = isOpening ? (closing?.clearedAt ?? next?.at ?? now) : (closing?.at ?? now);
  const value = isOpening ? { good: closing?.good ?? null } : null;
  // The machine may be elsewhere by the time that its plate is clear.
  const occurrence = count > 1 ? `${number}-${count}` : number;
  return { id: eventId(queueId, type, gateId, occurrence), type, at, print: null, clusterId, clusterName, value };
}

/** Records whether a copy is active or waiting; adds `queue.idle` when there is none any more. */
export function busyFollowed(record: QueueRecord, isBusy: boolean, { queueId, now }: ChangeContext): QueueRecord {
  if (record.isBusy === isBusy) return record;
  if (isBusy) return { ...record, isBusy };
  const idles = (record.idles || firstNumber(now)) + 1;
  const id = eventId(queueId, 'queue.idle', idles);
  const idle = {
    id,
    type: 'queue.idle',
    at: now,
    print: null,
    clusterId: null,
    clusterName: null,
    value: null,
  } as const;
  return { ...record, isBusy, idles, outbox: [...record.outbox, idle] };
}

/** Adds `material.short` for each material of which something is missing anew; `short`: the entries of those, by material. */
export function materialsFollowed(
  record: QueueRecord,
  short: ReadonlyMap<string, MaterialForecast>,
  { queueId, now }: ChangeContext,
): QueueRecord {
  const { short: before, reports } = record.materials ?? { short: [], reports: firstNumber(now) };
  const fresh = [...short].filter(([key]) => !before.includes(key));
  if (fresh.length === 0 && before.every((key) => short.has(key))) return record;
  const events = fresh.map(([key, value], at): QueueEventDraft => {
    const id = eventId(queueId, 'material.short', key, reports + at + 1);
    return { id, type: 'material.short', at: now, print: null, clusterId: null, clusterName: null, value };
  });
  const materials = { short: [...short.keys()], reports: reports + fresh.length };
  return { ...record, materials, outbox: [...record.outbox, ...events] };
}

/** The reported ends of an order. Its id may be any text, such as the name of a member of every object. */
const orderOf = ({ orders }: QueueRecord, orderId: string): QueueRecord['orders'][string] | undefined =>
  Object.hasOwn(orders, orderId) ? orders[orderId] : undefined;

/** Adds `order.finished` for an order all of whose items have ended; `ends`: the sum of their ends. */
function orderFollowed(
  record: QueueRecord,
  orderId: string,
  ends: number,
  value: unknown,
  { queueId, now }: ChangeContext,
): QueueRecord {
  const before = orderOf(record, orderId) ?? { ends: 0, reports: record.reports ?? 0 };
  if (ends <= before.ends) return record;
  const reports = before.reports + 1;
  const id = eventId(queueId, 'order.finished', orderId, reports);
  const done = { id, type: 'order.finished', at: now, print: null, clusterId: null, clusterName: null, value } as const;
  const orders = { ...record.orders, [orderId]: { ends, reports } };
  return { ...record, orders, outbox: [...record.outbox, done] };
}

/** Forgets the ends of items that have left an order, so that the next end counts. */
function orderReduced(record: QueueRecord, orderId: string, ends: number): QueueRecord {
  const before = orderOf(record, orderId);
  if (!before || ends >= before.ends) return record;
  return { ...record, orders: { ...record.orders, [orderId]: { ...before, ends } } };
}

/**
 * Records, at most once an hour, since when ended items are listed, and forgets the orders without a listed item; null:
 * not known yet. The ids of events of a forgotten order are not used again.
 */
export function oldForgotten(
  record: QueueRecord,
  oldBefore: number | null,
  items: readonly Pick<ItemRecord, 'orderId' | 'endedAt'>[],
): QueueRecord {
  if (oldBefore === null || oldBefore < record.oldBefore + HOUR) return record;
  const listed = new Set(items.filter((item) => !isOld(item, oldBefore)).map(({ orderId }) => orderId));
  const orders = Object.entries(record.orders);
  const left = orders.filter(([orderId]) => !listed.has(orderId)).map(([, { reports }]) => reports);
  const reports = left.reduce((most, one) => Math.max(most, one), record.reports ?? 0);
  const kept = Object.fromEntries(orders.filter(([orderId]) => listed.has(orderId)));
  return { ...record, oldBefore, orders: kept, reports };
}

/**
 * Corrects the time from which ended items are listed, if a clock that was ahead has set it. Such a clock was ahead for a day at
 * least, so no end of the last hour was reported before.
 */
export const pastCorrected = (record: QueueRecord, now: number): QueueRecord =>
  record.oldBefore > now + HOUR ? { ...record, oldBefore: now - HOUR } : record;

/** Whether an item ended too long ago to be listed. */
export const isOld = ({ endedAt }: Pick<ItemRecord, 'endedAt'>, oldBefore: number): boolean =>
  endedAt !== null && endedAt < oldBefore;

/** The state without delivered events. */
export function withoutQueueEvents(record: QueueRecord, ids: ReadonlySet<string>): QueueRecord {
  const outbox = record.outbox.filter(({ id }) => !ids.has(id));
  return outbox.length === record.outbox.length ? record : { ...record, outbox };
}

/** The state with the ends of the orders of which every item has ended. */
export function observedEnds(
  state: QueueRecord,
  items: readonly ItemRecord[],
  { currency }: Prices,
  context: ChangeContext,
): QueueRecord {
  const orders = new Map<string, ItemRecord[]>();
  for (const item of items) {
    if (item.orderId === null || isOld(item, state.oldBefore)) continue;
    const members = orders.get(item.orderId);
    if (members) members.push(item);
    else orders.set(item.orderId, [item]);
  }
  let after = state;
  for (const [orderId, members] of orders) {
    const ends = members.reduce((sum, item) => sum + item.ends, 0);
    after = orderReduced(after, orderId, ends);
    if (members.some(({ endedAt }) => endedAt === null)) continue;
    after = orderFollowed(after, orderId, ends, { orderId, ...valueOf(members), currency }, context);
  }
  return after;
}

function valueOf(members: readonly ItemRecord[]): { good: number; wanted: number; cost: number | null } {
  const cost = costOfPrints(members.flatMap(({ prints }) => prints));
  const counts = members.map(goodAndWanted);
  const sumOf = (name: 'good' | 'wanted') => counts.reduce((sum, one) => sum + one[name], 0);
  return { good: sumOf('good'), wanted: sumOf('wanted'), cost };
}

/** Cost of prints, those that failed or were rejected included; null where the cost of one is not known. */
export function costOfPrints(prints: readonly Attempt[]): number | null {
  const costs = prints.filter(hasConsumed).map(({ cost }) => cost);
  return costs.includes(null) ? null : roundedCost(costs.reduce<number>((sum, one) => sum + (one ?? 0), 0));
}

/** Good and wanted copies of an item, or its parts. What was cancelled is not wanted. */
export function goodAndWanted(item: ItemRecord): { good: number; wanted: number } {
  const parts = countParts(item);
  if (!parts || !item.parts)
    return { good: copiesIn(item, 'good').length, wanted: item.copies - copiesIn(item, 'cancelled').length };
  const { good } = parts;
  const { wanted } = item.parts;
  return { good, wanted: itemStateOf(item) === 'cancelled' ? Math.min(wanted, good) : wanted };
}

/** Whether a print consumed material or time: one that failed may never have begun. */
const hasConsumed = ({ state, startedAt, cost }: Attempt): boolean =>
  state === 'finished' ||
  state === 'rejected' ||
  ((state === 'failed' || state === 'aborted') && (startedAt !== null || cost !== null));

/**
 * Pauses the printers of a queue that a message names, or resumes them with null: one printer, or a whole group without
 * the id of a printer. Throws NOT_FOUND if the queue has no such printer.
 */
export function pausedPrinters(
  record: QueueRecord,
  printers: readonly PlacedMachine[],
  { clusterId, printerId }: PrinterTarget,
  pause: PauseState | null,
  now: number,
): QueueRecord {
  const here = printers.filter((printer) => printer.clusterId === clusterId);
  // The only printer of a cluster needs no id of its own.
  const named = here.length === 1 ? here : here.filter((one) => printerId === null || one.printerId === printerId);
  if (named.length === 0)
    throw new PrintingError('NOT_FOUND', phrase`The queue has not seen this printer yet: check msg.clusterId.`);
  const left = new Map(Object.entries(record.pausedPrinters));
  for (const printer of here) for (const key of keysOf(printer)) left.delete(key);
  for (const printer of here) {
    // The pause of a whole cluster stays that of each printer that is not named.
    const after = named.includes(printer) ? pause : pauseAt(record.pausedPrinters, printer, now);
    const [key] = keysOf(printer);
    if (after) left.set(key, after);
  }
  return { ...record, pausedPrinters: Object.fromEntries(left) };
}
