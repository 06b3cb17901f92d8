import type { Material } from '../service/printer';
import type { PrinterEntry } from '../service/cluster';
import { offeredMaterials } from '../service/feeds';
import type { Clock } from '../time/clock';
import { Turns } from '../time/concurrency';
import { ComparableMaterial, matchesMaterial, type MaterialFilter } from '../service/printer-filter';

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
  /** Extruder that has or gets the material, counted from 0 (left); null: a slot that feeds none. */
  extruder: number | null;
  /** Slot of the material station; null for an extruder. */
  slot: number | null;
  /** Whether the extruder can print with what the slot holds, as the service says; null for an extruder. */
  compatible: boolean | null;
  /** mm³; null for a slot. */
  volumeLeft: number | null;
  /** Share from 0 to 1. */
  remaining: number | null;
}

/**
 * Sums the loaded materials of printers. A slot adds no volume, since the material that an extruder reports comes from
 * one. A slot from which no extruder can be fed matches no wanted material.
 */
export async function sumMaterials(
  printers: readonly PrinterEntry[],
  wanted: readonly MaterialFilter[],
  clock: Pick<Clock, 'monotonic'>,
): Promise<LoadedMaterial[]> {
  const found = new Map<string, LoadedMaterial>();
  const turns = new Turns(clock);
  for (const printer of printers) {
    await turns.next();
    for (const { material, isOffered, place } of placesOf(printer)) {
      if (wanted.length > 0 && !(isOffered && isWanted(wanted, material))) continue;
      const { guid, brand, name, color } = material;
      const key = guid ?? JSON.stringify([brand, name, color]).toLowerCase();
      const sum = found.get(key) ?? { guid, brand, name, color, volumeLeft: null, printers: [] };
      if (place.volumeLeft !== null) sum.volumeLeft = (sum.volumeLeft ?? 0) + place.volumeLeft;
      sum.printers.push(place);
      found.set(key, sum);
    }
  }
  return [...found.values()];
}

function isWanted(wanted: readonly MaterialFilter[], material: Material): boolean {
  const comparable = new ComparableMaterial(material);
  return wanted.some((one) => matchesMaterial(one, comparable));
}

function placesOf(entry: PrinterEntry) {
  const { clusterId, printerId, name, extruders, slots } = entry;
  const offered = new Set(offeredMaterials(entry));
  const found: { material: Material; isOffered: boolean; place: MaterialPlace }[] = [];
  const add = (material: Material | null, where: Omit<MaterialPlace, 'clusterId' | 'printerId' | 'name'>) => {
    if (!material) return;
    found.push({ material, isOffered: offered.has(material), place: { clusterId, printerId, name, ...where } });
  };
  for (const { index, material, volumeLeft, volumeFull } of extruders) {
    const remaining = volumeLeft !== null && volumeFull ? Math.min(1, volumeLeft / volumeFull) : null;
    add(material, { extruder: index, slot: null, compatible: null, volumeLeft, remaining });
  }
  for (const { index, extruder, compatible, material, remaining } of slots)
    add(material, { extruder, slot: index, compatible, volumeLeft: null, remaining });
  return found;
}
