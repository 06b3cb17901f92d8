import { type Hours, nextClosing, nextOpening, parseHours, type Zone } from '../../rules/hours';
import { FORESEEN, LONGEST_KEPT, LONGEST_SPAN } from '../../rules/limits';
import { type PriceList, readPriceList, readPrinterIds, readTags } from '../../rules/queue-settings';
import { readAmount } from '../../rules/text';
import { PrintingError } from '../../service/errors';
import { folded } from '../../service/printer-filter';
import type { FileFacts } from '../../toolpath/facts';
import { phrase, type Sentence } from '../../words/sentence';
import { completed, type MaterialFinder } from './requirement';

/** Rules of a queue: the settings of its configuration node (print queue, 3.1). */
export interface QueueRules {
  /** Cluster ids that the queue may use; empty: all of the account. */
  printers: readonly string[];
  /** Tags by cluster id. */
  tags: ReadonlyMap<string, readonly string[]>;
  sort: 'priority' | 'shortest' | 'deadline' | 'staffed';
  choose: 'least-recently-used' | 'fewest-hours' | 'list';
  match: 'strict' | 'lenient';
  material: 'guid' | 'type-color' | 'type' | 'any';
  gate: 'printer' | 'confirm' | 'automatic';
  /** Further attempts for a copy whose print failed. */
  retries: number;
  /** Time for a dispatched print to begin, ms; 0: no limit. */
  startWithin: number;
  /** Minimum time between two starts, ms. */
  stagger: number;
  /** Maximum number of prints at a time; 0: no limit. */
  maxPrinting: number;
  /** When prints may start. */
  hours: Hours;
  /** When plates can be cleared. */
  staffed: Hours;
  /** Time from the end of a print to a clear plate in staffed hours, ms. */
  turnaround: number;
  /** Whether new items wait for their release. */
  approval: boolean;
  prices: Prices;
  /** Time for which ended items stay listed, ms. */
  keepFor: number;
}

/** Reads weekly hours. Throws NOT_CONFIGURED with the setting's name and the wrong part of a malformed text. */
export function readHours(text: string, name = 'hours'): Hours {
  const read = parseHours(text);
  if ('hours' in read) return read.hours;
  throw new PrintingError(
    'NOT_CONFIGURED',
    phrase`The print queue's ${name} can't contain "${read.wrong}": write it like Mon-Fri 22:00-06:00, Sat 09:00-12:00.`,
  );
}

/** The time at which `ms` of staffed time have passed since `from`, ms since 1970; Infinity: never, or not foreseen. */
export function afterHours(hours: Hours, from: number, ms: number, zone?: Zone): number {
  let left = ms;
  for (let at = nextOpening(hours, from, zone); at <= from + FORESEEN;) {
    const end = nextClosing(hours, at, zone);
    if (end - at >= left) return at + left;
    left -= end - at;
    at = nextOpening(hours, end, zone);
  }
  return Infinity;
}

/** Prices of a queue (print queue, 3.1); a missing price makes a cost null. */
export type Prices = Readonly<PriceList>;

/** Quantities of one print, by extruder; null: unknown, or not used. */
interface Consumption {
  /** s. */
  seconds: number | null;
  materials: readonly ({ type?: string | null } | null)[];
  /** g. */
  weights: readonly (number | null)[];
}

const OTHER = '*';

/** Reads prices: an object or its JSON; blank: none. Throws NOT_CONFIGURED. */
export function readPrices(given: unknown): Prices {
  const prices = readPriceList(given);
  if (prices) return prices;
  const example = '{"currency": "EUR", "hour": 1.2, "kilogram": {"PLA": 25, "*": 40}}';
  throw new PrintingError('NOT_CONFIGURED', phrase`The print queue's prices must be JSON like ${example}.`);
}

/**
 * Cost of one print in the prices' currency: its time and the material of each extruder. Null where a price or a
 * quantity is missing: a price of 0 means that something costs nothing.
 */
export function costOf(prices: Prices, { seconds, materials, weights }: Consumption): number | null {
  if (seconds === null || prices.hour === null) return null;
  const extruders = Array.from({ length: Math.max(materials.length, weights.length) }, (_, at) => ({
    material: materials[at] ?? null,
    weight: weights[at] ?? null,
  })).filter(({ material, weight }) => material !== null || weight !== null);
  if (extruders.length === 0) return null;
  let cost = (prices.hour * seconds) / 3600;
  for (const { material, weight } of extruders) {
    const price = priceOf(prices.kilogram, material?.type ?? null);
    if (weight === null || (price === null && weight > 0)) return null;
    cost += ((price ?? 0) * weight) / 1000;
  }
  return roundedCost(cost);
}

/** Without the traces of binary fractions. */
export const roundedCost = (cost: number): number => Math.round(cost * 10_000) / 10_000;

/** Price of a kilogram; an unknown type has one only where all types have the same price. */
function priceOf(kilogram: Prices['kilogram'], type: string | null): number | null {
  const other = kilogram[OTHER] ?? null;
  const named = Object.entries(kilogram).filter(([name]) => name !== OTHER);
  if (type === null) return named.length === 0 ? other : null;
  return named.find(([name]) => folded(name) === folded(type))?.[1] ?? other;
}

/** Cost of printing a file for `seconds`; `weights`: what it took of the materials, where that is not the whole. */
export const costOfFile = (
  prices: Prices,
  facts: FileFacts | null,
  find: MaterialFinder,
  seconds: number | null,
  weights = facts?.weights,
): number | null =>
  facts && costOf(prices, { seconds, materials: completed(facts.materials, find), weights: weights ?? [] });

/** Settings of a queue as its form saves them (print queue, 3.1); each may be missing. */
type QueueSettings = Readonly<Partial<Record<string, unknown>>>;

const SECOND = 1000;
const DAY = 24 * 60 * 60 * SECOND;
const SORTS = ['priority', 'shortest', 'deadline', 'staffed'] as const;
const CHOICES = ['least-recently-used', 'fewest-hours', 'list'] as const;
const MATCHES = ['strict', 'lenient'] as const;
const MATERIALS = ['guid', 'type-color', 'type', 'any'] as const;
const GATES = ['printer', 'confirm', 'automatic'] as const;

/** Reads the rules of a queue. Throws NOT_CONFIGURED with the name of the first malformed setting. */
export function readRules(settings: QueueSettings): QueueRules {
  const setting = (name: string) => settings[name];
  const count = (name: string, otherwise: number) => countOf(name, setting(name), otherwise);
  const span = (name: string, otherwise: number) => Math.min(amountOf(name, setting(name), otherwise), LONGEST_SPAN);
  const tags = readTags(setting('tags')) ?? invalid('tags', phrase`JSON like ${'{"abc=": ["food-safe"]}'}`);
  return {
    printers: readPrinterIds(setting('printers')) ?? invalid('printers', phrase`a JSON array of printer ids`),
    tags: new Map(Object.entries(tags)),
    sort: oneOf('sort', setting('sort'), SORTS),
    choose: oneOf('choose', setting('choose'), CHOICES),
    match: oneOf('match', setting('match'), MATCHES),
    material: oneOf('material', setting('material'), MATERIALS),
    gate: oneOf('gate', setting('gate'), GATES),
    retries: count('retries', 0),
    startWithin: span('startWithin', 900) * SECOND,
    stagger: span('stagger', 0) * SECOND,
    maxPrinting: count('maxPrinting', 0),
    hours: hoursOf('hours', setting('hours')),
    staffed: hoursOf('staffed', setting('staffed')),
    turnaround: span('turnaround', 600) * SECOND,
    approval: flagOf('approval', setting('approval')),
    prices: readPrices(setting('prices')),
    keepFor: Math.min(amountOf('keepDays', setting('keepDays'), 90), LONGEST_KEPT) * DAY,
  };
}

const isMissing = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '');

function oneOf<const Options extends readonly [string, ...string[]]>(
  name: string,
  value: unknown,
  options: Options,
): Options[number] {
  if (isMissing(value)) return options[0];
  const found = options.find((option) => option === value);
  if (found === undefined) return invalid(name, phrase`one of ${options.join(', ')}`);
  return found;
}

function amountOf(name: string, value: unknown, otherwise: number): number {
  if (isMissing(value)) return otherwise;
  const amount = readAmount(value, 0);
  if (amount === null) return invalid(name, phrase`a number from ${0}`);
  return amount;
}

function countOf(name: string, value: unknown, otherwise: number): number {
  const amount = amountOf(name, value, otherwise);
  if (!Number.isSafeInteger(amount)) return invalid(name, phrase`a whole number from 0`);
  return amount;
}

function hoursOf(name: string, value: unknown) {
  if (isMissing(value)) return readHours('');
  if (typeof value !== 'string') return invalid(name, phrase`text like ${'Mon-Fri 22:00-06:00, Sat 09:00-12:00'}`);
  return readHours(value, name);
}

function flagOf(name: string, value: unknown): boolean {
  if (isMissing(value)) return false;
  if (typeof value !== 'boolean') return invalid(name, phrase`true or false`);
  return value;
}

function invalid(name: string, rule: Sentence): never {
  throw new PrintingError('NOT_CONFIGURED', phrase`The print queue's ${name} must be ${rule}.`);
}
