import { readPriceList, type PriceList } from '../rules/queue-settings';
import { PrintingError } from '../service/errors';
import { folded } from '../service/printer-filter';
import { phrase } from '../words/sentence';
import type { FileFacts } from './requirement';

/** Prices of a queue (print queue, 3.1); a missing price makes a cost null. */
export type Prices = Readonly<PriceList>;

/** Quantities of one print, by extruder; null: unknown, or not used. */
export interface Consumption {
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
  return Math.round(cost * 10_000) / 10_000;
}

/** Price of a kilogram; an unknown type has one only where all types have the same price. */
function priceOf(kilogram: Prices['kilogram'], type: string | null): number | null {
  const other = kilogram[OTHER] ?? null;
  const named = Object.entries(kilogram).filter(([name]) => name !== OTHER);
  if (type === null) return named.length === 0 ? other : null;
  return named.find(([name]) => folded(name) === folded(type))?.[1] ?? other;
}

/** Cost of printing a file for `seconds`. */
export const costOfFile = (prices: Prices, facts: FileFacts | null, seconds: number | null): number | null =>
  facts && costOf(prices, { seconds, materials: facts.materials, weights: facts.weights });
