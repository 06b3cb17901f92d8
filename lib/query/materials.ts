import type { Material } from '../service/printer';
import type { PrinterEntry } from '../service/cluster';
import { matchesMaterial, type MaterialFilter } from '../service/printer-filter';

/** A material, and where it is loaded (reference 3.5, query `materials`). */
export interface LoadedMaterial extends Pick<Material, 'guid' | 'brand' | 'name' | 'color'> {
  /** Sum of the known rests in the extruders, mm³; null if none is known. */
  volumeLeft: number | null;
  printers: MaterialPlace[];
}

interface MaterialPlace {
  clusterId: string;
  printerId: string | null;
  name: string | null;
  /** Extruder that has or gets the material, counted from 0 (left). */
  extruder: number | null;
  /** Slot of the material station; null for an extruder. */
  slot: number | null;
  /** mm³; null for a slot. */
  volumeLeft: number | null;
  /** Share from 0 to 1. */
  remaining: number | null;
}

/**
 * Sums the loaded materials of printers. A slot adds no volume, since the material that an extruder reports comes from
 * one.
 */
export function sumMaterials(
  printers: readonly PrinterEntry[],
  wanted: readonly MaterialFilter[] = [],
): LoadedMaterial[] {
  const found = new Map<string, LoadedMaterial>();
  for (const { material, place } of printers.flatMap(placesOf)) {
    if (wanted.length > 0 && !wanted.some((one) => matchesMaterial(one, material))) continue;
    const { guid, brand, name, color } = material;
    const key = guid ?? JSON.stringify([brand, name, color]).toLowerCase();
    const sum = found.get(key) ?? { guid, brand, name, color, volumeLeft: null, printers: [] };
    if (place.volumeLeft !== null) sum.volumeLeft = (sum.volumeLeft ?? 0) + place.volumeLeft;
    sum.printers.push(place);
    found.set(key, sum);
  }
  return [...found.values()];
}

function placesOf({ clusterId, printerId, name, extruders, slots }: PrinterEntry) {
  const printer = { clusterId, printerId, name };
  const loaded = extruders.flatMap(({ index, material, volumeLeft, volumeFull }) => {
    const remaining = volumeLeft !== null && volumeFull ? Math.min(1, volumeLeft / volumeFull) : null;
    return material ? { material, place: { ...printer, extruder: index, slot: null, volumeLeft, remaining } } : [];
  });
  const stored = slots.flatMap(({ index, extruder, material, remaining }) =>
    material ? { material, place: { ...printer, extruder, slot: index, volumeLeft: null, remaining } } : [],
  );
  return [...loaded, ...stored];
}
