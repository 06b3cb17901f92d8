import { text } from './json-readers';

/** The service's words for a material, wherever it names one; every member may be unknown. */
export interface MaterialWords {
  guid: string | null;
  brand: string | null;
  name: string | null;
  color: string | null;
}

/** The material that a print needs on one extruder; every member may be unknown. */
export interface MaterialNeed {
  guid: string | null;
  brand: string | null;
  type: string | null;
  color: string | null;
  /** mm³. */
  volume: number | null;
  /** g. */
  weight: number | null;
}

/**
 * The extruders that a file lists, as a print of it uses them; null for those that it does not use. Older slicers list these
 * with a volume of 0. If no amount is above 0, the slicer wrote the file before it knew any: each extruder counts as used, by an
 * unknown amount.
 */
export function usedOf<T extends Pick<MaterialNeed, 'volume' | 'weight'>>(listed: readonly T[]): (T | null)[] {
  // Nearly all lists have no volume of 0, and stay as they are.
  if (listed.every(({ volume }) => volume !== 0)) return [...listed];
  const isKnown = listed.some(({ volume, weight }) => (volume ?? weight ?? 0) > 0);
  return listed.map((one) => {
    if (one.volume !== 0) return one;
    return isKnown ? null : { ...one, volume: null, weight: null };
  });
}

/** GUID that stands for none, as of no material (wire facts 6.2 and trap 14). */
const NIL = /^\{?0{8}-0{4}-0{4}-0{4}-0{12}\}?$/;
export const isNilGuid = (guid: string): boolean => NIL.test(guid);

const EMPTY = 'empty';

/** A GUID; null for none, and for the one that stands for none. */
export function guidOf(value: unknown): string | null {
  const guid = text(value);
  return guid === null || isNilGuid(guid) ? null : guid;
}

/**
 * Reads the words of a material, each null for an empty bay. The service has two forms of one (wire facts 6.2): the
 * material `empty` alone, and the nil GUID with the word `empty` in each field.
 */
export function readMaterialWords(wire: Readonly<Record<string, unknown>> | null | undefined): MaterialWords {
  const guid = guidOf(wire?.guid);
  // Three constants, not one pattern: this runs for every material of every poll.
  const brand = text(wire?.brand);
  const name = text(wire?.material);
  const color = text(wire?.color);
  const isEmpty = guid === null && (name ?? brand ?? color)?.trim().toLowerCase() === EMPTY;
  return isEmpty ? { guid, brand: null, name: null, color: null } : { guid, brand, name, color };
}
