import type { NodeAPI, NodeMessage } from 'node-red';
import { readRequire } from '../../lib/queue/model/requirement';
import type {
  ItemChanges,
  ItemState,
  ListFilter,
  NamedCopy,
  Pause,
  PlateJudgement,
  PrinterTarget,
  ItemTarget,
  Settlement,
} from '../../lib/queue/model/types';
import { TEXT } from '../../lib/rules/limits';
import { readRangeEnd } from '../../lib/rules/ranges';
import { record } from '../../lib/service/json-readers';
import { isTime } from '../../lib/time/clock';
import { phrase, type Sentence } from '../../lib/words/sentence';
import { filePath, invalid, isBlank, kindOf, noPrinter, readFlag, wrongType } from '../shared/inputs';

/** Most of what an item may have, and of what an answer lists. */
const MOST = { copies: 10_000, number: 1_000_000, priority: 100, alternatives: 100, listed: 1_000 };

const STATES: readonly ItemState[] = ['active', 'waiting', 'held', 'blocked', 'failed', 'cancelled', 'finished'];

/** Reads the item, or the items of an order, that a message names; undefined if it names none. */
export function readTarget(msg: NodeMessage): ItemTarget | undefined {
  const itemId = wordsIn(msg, 'itemId');
  if (itemId) return { itemId };
  const queueKey = wordsIn(msg, 'queueKey');
  if (queueKey) return { queueKey };
  const orderId = wordsIn(msg, 'orderId');
  return orderId ? { orderId } : undefined;
}

/** The same; throws INVALID_INPUT if the message names none. */
export function needTarget(msg: NodeMessage): ItemTarget {
  const target = readTarget(msg);
  if (!target) throw invalid(phrase`The message names no item: set msg.itemId, msg.queueKey or msg.orderId.`);
  return target;
}

/** Reads what a message says about an item beside the settings of the node. Null clears a member, undefined leaves it. */
export function readDetails(RED: NodeAPI, msg: NodeMessage): ItemChanges {
  const held = readFlag(msg, 'held');
  return {
    orderId: wordsIn(msg, 'orderId'),
    owner: wordsIn(msg, 'owner'),
    costCode: wordsIn(msg, 'costCode'),
    notBefore: timeIn(msg, 'notBefore', 'begin'),
    deadlineAt: timeIn(msg, 'deadline', 'end'),
    ...(held !== undefined && { held }),
    alternatives: readAlternatives(RED, msg.alternatives),
  };
}

/** Reads the changes of an update. An order id that names the items is none of them. */
export function readChanges(RED: NodeAPI, msg: NodeMessage, target: ItemTarget): ItemChanges {
  const { orderId, ...details } = readDetails(RED, msg);
  return {
    ...details,
    orderId: 'orderId' in target ? undefined : orderId,
    copies: readCopies(msg.copies),
    ...readPartNumbers(msg),
    priority: readPriority(msg.priority),
    require: msg.require === undefined ? undefined : (readRequire(msg.require) ?? {}),
  };
}

/** Reads the parts that a message adds, in place of copies; undefined if it names none. Throws INVALID_INPUT. */
export function readParts(msg: NodeMessage): Pick<ItemChanges, 'wanted' | 'perPrint'> | undefined {
  const { wanted, perPrint } = readPartNumbers(msg);
  if (wanted !== undefined && !isBlank(msg.copies))
    throw invalid(phrase`The message has msg.copies and msg.wanted: leave one of them out.`);
  if (wanted === undefined && perPrint !== undefined)
    throw invalid(phrase`The message has msg.perPrint without msg.wanted, the number of good parts: set that too.`);
  return wanted === undefined ? undefined : { wanted, perPrint };
}

const readPartNumbers = (msg: NodeMessage): Pick<ItemChanges, 'wanted' | 'perPrint'> => ({
  wanted: wholeNumber(msg.wanted, 'wanted', 1, MOST.copies),
  perPrint: readPerPrint(msg.perPrint),
});

const readPerPrint = (value: unknown): number | undefined => wholeNumber(value, 'perPrint', 1, MOST.copies);

export const readCopies = (value: unknown): number | undefined => wholeNumber(value, 'copies', 1, MOST.copies);
export const readPriority = (value: unknown): number | undefined =>
  wholeNumber(value, 'priority', -MOST.priority, MOST.priority);

function readAlternatives(RED: NodeAPI, value: unknown): ItemChanges['alternatives'] {
  if (value === undefined) return undefined;
  if (isBlank(value)) return [];
  const wrong = () =>
    invalid(phrase`The property alternatives must be an array of objects with a jobId or a filename.`);
  if (!Array.isArray(value) || value.length > MOST.alternatives) throw wrong();
  return value.map((entry) => {
    const { jobId, filename, perPrint } = record(entry) ?? {};
    const number = readPerPrint(perPrint);
    const parts = number === undefined ? {} : { perPrint: number };
    if (typeof jobId === 'string' && !isBlank(jobId)) return { jobId, ...parts };
    if (typeof filename === 'string' && !isBlank(filename)) return { filename: filePath(RED, filename), ...parts };
    throw wrong();
  });
}

export function readPlace(msg: NodeMessage): { position: number } | { before: string } {
  const position = wholeNumber(msg.position, 'position', 1, Number.MAX_SAFE_INTEGER);
  if (position !== undefined) return { position };
  const before = wordsIn(msg, 'before');
  if (!before) throw invalid(phrase`The message names no place: set msg.position, or msg.before to the ID of an item.`);
  return { before };
}

export function readVerdict(msg: NodeMessage): Settlement {
  const { outcome } = msg;
  if (outcome !== 'printed' && outcome !== 'not-printed')
    throw invalid(phrase`The property outcome must be "printed" or "not-printed", but it is ${shownValue(outcome)}.`);
  const { copy = null, attempt = null } = readNamedCopy(msg) ?? {};
  return { outcome, copy, ...(attempt !== null && { attempt }) };
}

/** The copy that a message names, and its attempt; undefined if it names none. */
export function readNamedCopy(msg: NodeMessage): NamedCopy | undefined {
  const copy = wholeNumber(msg.copy, 'copy', 1, MOST.number);
  return copy === undefined
    ? undefined
    : { copy, attempt: wholeNumber(msg.attempt, 'attempt', 1, MOST.number) ?? null };
}

/** Reads what a message says about a plate beside good or bad. An item id without copy and attempt names no print. */
export function readJudgement(msg: NodeMessage): PlateJudgement {
  const itemId = wordsIn(msg, 'itemId');
  const { copy, attempt = null } = readNamedCopy(msg) ?? {};
  return {
    goodParts: wholeNumber(msg.goodParts, 'goodParts', 0, MOST.copies),
    print: itemId && copy !== undefined && attempt !== null ? { itemId, copy, attempt } : undefined,
    judges: wordsIn(msg, 'judges') ?? undefined,
  };
}

/** Reads the printer that a message names; null if it names none. */
export function readNamedPrinter(msg: NodeMessage): PrinterTarget | null {
  const clusterId = wordsIn(msg, 'clusterId');
  return clusterId ? { clusterId, printerId: wordsIn(msg, 'printerId') ?? null } : null;
}

/** The same; throws INVALID_INPUT if the message names none. */
export function needPrinter(msg: NodeMessage): PrinterTarget {
  const printer = readNamedPrinter(msg);
  if (!printer) throw noPrinter(phrase`The message names no printer: set msg.clusterId.`);
  return printer;
}

export const readPause = (msg: NodeMessage): Pause => ({
  printer: readNamedPrinter(msg),
  until: timeIn(msg, 'until', 'end') ?? null,
  reason: wordsIn(msg, 'reason') ?? null,
});

export function readListFilter(msg: NodeMessage): ListFilter {
  const state = wordsIn(msg, 'state') ?? undefined;
  if (state !== undefined && !isState(state))
    throw invalid(phrase`The property state must be one of ${STATES.join(', ')}, but it is ${shownValue(state)}.`);
  return {
    state,
    orderId: wordsIn(msg, 'orderId') ?? undefined,
    owner: wordsIn(msg, 'owner') ?? undefined,
    from: wholeNumber(msg.from, 'from', 0, Number.MAX_SAFE_INTEGER) ?? 0,
    limit: wholeNumber(msg.limit, 'limit', 1, MOST.listed) ?? MOST.listed,
  };
}

const isState = (words: string): words is ItemState => (STATES as readonly string[]).includes(words);

/** Text of a message property; null if it is blank, undefined if it is missing. Throws INVALID_INPUT. */
export function wordsIn(msg: NodeMessage, property: string): string | null | undefined {
  const value = msg[property];
  if (value === undefined) return undefined;
  if (isBlank(value)) return null;
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string')
    throw wrongType(phrase`The property ${property} must be a string, but it is ${kindOf(value)}.`);
  return short(property, value);
}

/** The text of a property. Throws INVALID_INPUT if it is longer than any that is read. */
export function short(property: string, words: string): string {
  if (words.length <= TEXT.matched) return words;
  throw invalid(phrase`The property ${property} has more than ${TEXT.matched} characters: shorten it.`);
}

/** A whole number, or its text; undefined if blank. Throws INVALID_INPUT. */
function wholeNumber(value: unknown, property: string, least: number, most: number): number | undefined {
  if (isBlank(value)) return undefined;
  const read = typeof value === 'string' && /^\s*-?\d+\s*$/.test(value) ? Number(value) : value;
  if (typeof read === 'number' && Number.isInteger(read) && read >= least && read <= most) return read;
  const shown = shownValue(value);
  throw invalid(
    most === Number.MAX_SAFE_INTEGER
      ? phrase`The property ${property} must be a whole number of at least ${least}, but it is ${shown}.`
      : phrase`The property ${property} must be a whole number from ${least} to ${most}, but it is ${shown}.`,
  );
}

/**
 * A time, ms since 1970; null if blank, undefined if missing. A date without time is that whole day: its begin or its end
 * counts. Throws INVALID_INPUT.
 */
function timeIn(msg: NodeMessage, property: string, ofDay: 'begin' | 'end'): number | null | undefined {
  const value = msg[property];
  if (value === undefined) return undefined;
  if (isBlank(value)) return null;
  const at = typeof value === 'string' ? timeOf(value, ofDay) : value;
  if (typeof at === 'number' && isTime(at)) return at;
  throw invalid(
    phrase`The property ${property} must be a time in ISO 8601 or in milliseconds since 1970, but it is ${shownValue(value)}.`,
  );
}

function timeOf(words: string, ofDay: 'begin' | 'end'): number | null {
  const end = readRangeEnd(words);
  if (end?.kind === 'moment') return end.at;
  if (end?.kind !== 'day') return null;
  const { year, month, day } = end;
  return new Date(year, month, ofDay === 'begin' ? day : day + 1).getTime();
}

/** A short text or a number as it is, and anything else by its kind. */
const shownValue = (value: unknown): string | Sentence =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : kindOf(value);
