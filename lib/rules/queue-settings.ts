import { TEXT } from './limits';

/** Prices of a queue; null and missing ones are unknown. */
export interface PriceList {
  currency: string | null;
  /** Per hour of printing. */
  hour: number | null;
  /** Per kilogram, by material type; `*` is any other. */
  kilogram: Record<string, number>;
}

/** Reads the cluster ids of a queue, an array or its JSON text; blank means none, null is a fault. */
export function readPrinterIds(setting: unknown): string[] | null {
  const ids = parsed(setting, []);
  return isList(ids) ? [...new Set(ids)] : null;
}

/** Reads tags by cluster id, an object of arrays or its JSON text; blank means none, null is a fault. */
export function readTags(setting: unknown): Record<string, string[]> | null {
  const tags = parsed(setting, {});
  return isObject(tags) && Object.values(tags).every(isList) ? (tags as Record<string, string[]>) : null;
}

/** Reads prices, an object or its JSON text; blank means none, null is a fault. */
export function readPriceList(setting: unknown): PriceList | null {
  const given = parsed(setting, {});
  if (!isObject(given)) return null;
  const { currency = null, hour = null, kilogram = {}, ...more } = given;
  if (Object.keys(more).length > 0 || !isObject(kilogram)) return null;
  if (currency !== null && (typeof currency !== 'string' || currency.length > 20)) return null;
  if (hour !== null && !isPrice(hour)) return null;
  if (!Object.values(kilogram).every(isPrice)) return null;
  return { currency: currency || null, hour, kilogram: kilogram as Record<string, number> };
}

const isPrice = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;

const isList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string' && entry.trim() !== '');

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Value of JSON text, or of a setting that is no text; undefined for malformed or overlong text. */
function parsed(setting: unknown, blank: unknown): unknown {
  if (typeof setting !== 'string') return setting ?? blank;
  if (setting.length > LONGEST) return undefined;
  if (setting.trim() === '') return blank;
  try {
    return JSON.parse(setting);
  } catch {
    return undefined;
  }
}

/** Characters of a setting: tags of 1,000 printers have 100 kB. */
const LONGEST = 64 * TEXT.setting;
