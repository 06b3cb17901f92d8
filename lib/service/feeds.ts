import { STATION } from '../rules/limits';
import type { Extruder, Material, Printer, Slot } from './printer';

/** A place from which an extruder can print: itself, or a slot of the material station. */
export interface Source {
  /** The slot, counted from 0; null: the extruder itself. */
  slot: number | null;
  /** Print core that the material is for: the slot's own, or else the extruder's. */
  printCore: string | null;
  /** Null: none, or unknown. */
  material: Material | null;
  /** Estimated rest, mm³; null: unknown. */
  volumeLeft: number | null;
}

/** An extruder and the places from which it can print now. */
export interface Feed {
  printCore: string | null;
  /** Where each material is, that of the extruder first. One that has none, and that no slot feeds, is its own only source. */
  sources: readonly Source[];
}

/**
 * What each extruder of a printer can be fed, by its number (0 = left): what is in it, and what any compatible slot that
 * feeds it holds. An idle printer with a material station has empty extruders and full slots (wire facts 6.2). A slot
 * feeds one extruder, so that one spool never meets the needs of two.
 */
export function feedsOf({ extruders, slots }: Pick<Printer, 'extruders' | 'slots'>): Feed[] {
  const own = byIndex(extruders);
  const feeding = slotsByExtruder(slots);
  const count = Math.max(own.length, ...[...feeding.keys()].map((extruder) => extruder + 1));
  return Array.from({ length: count }, (_, at) => feedOf(own[at], feeding.get(at) ?? []));
}

/** The materials that a printer can print with now; one may be there twice, in an extruder and in its slot. */
export const offeredMaterials = (printer: Pick<Printer, 'extruders' | 'slots'>): Material[] =>
  feedsOf(printer).flatMap(({ sources }) => sources.flatMap(({ material }) => material ?? []));

/** A slot that can be fed from, with its number. */
type FeedingSlot = Omit<Slot, 'index'> & { index: number };

function feedOf(extruder: Extruder | undefined, slots: readonly FeedingSlot[]): Feed {
  const { material = null, volumeLeft = null, volumeFull = null } = extruder ?? {};
  const printCore = extruder?.printCore ?? slots.find((slot) => slot.printCore !== null)?.printCore ?? null;
  const stored = slots.map((slot) => ({
    slot: slot.index,
    printCore: slot.printCore ?? printCore,
    material: slot.material,
    // The service knows a slot's share of a full spool alone, and the volume of one by the extruder.
    volumeLeft: slot.remaining === null || !volumeFull ? null : Math.round(slot.remaining * volumeFull),
  }));
  if (material === null && stored.length > 0) return { printCore, sources: stored };
  return { printCore, sources: [{ slot: null, printCore, material, volumeLeft }, ...stored] };
}

/** The extruders by their numbers; one without a number has that of its place in the list. */
function byIndex(extruders: readonly Extruder[]): (Extruder | undefined)[] {
  const found: (Extruder | undefined)[] = [];
  for (const [place, extruder] of extruders.entries()) {
    const index = extruder.index ?? place;
    if (!isExtruder(index)) continue;
    while (found.length <= index) found.push(undefined);
    found[index] ??= extruder;
  }
  return found;
}

/** The slots that extruders can be fed from, each once; one without a number has that of its place in the list. */
function slotsByExtruder(slots: readonly Slot[]): Map<number, FeedingSlot[]> {
  const found = new Map<number, FeedingSlot[]>();
  const seen = new Set<number>();
  for (const [place, slot] of slots.entries()) {
    const { extruder, compatible, material } = slot;
    const index = slot.index ?? place;
    if (seen.has(index)) continue;
    seen.add(index);
    if (extruder === null || !isExtruder(extruder) || compatible === false || material === null) continue;
    const feeding = { ...slot, index };
    const others = found.get(extruder);
    if (others) others.push(feeding);
    else found.set(extruder, [feeding]);
  }
  return found;
}

const isExtruder = (index: number): boolean => Number.isInteger(index) && index >= 0 && index < STATION.extruders;
