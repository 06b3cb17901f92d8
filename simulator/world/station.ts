import { COLORS, materialName, newMaterial } from './materials';
import { Refusal } from '../http/refusals';
import { neededVolume, shareLeft, SPOOL } from './spools';
import type { Material, Printer, PrintJob, Slot } from './state';

/** Number of slots of a material station (wire facts 6.2). */
export const SLOTS = 6;

const FREE: Slot = { extruder: null, material: null, volumeLeft: null, compatible: false };

/** A slot of a new printer; null for a free one. */
export type NewSlot = {
  /** Index of the extruder that it feeds. */
  extruder: number;
  /** null or absent: no spool. */
  material?: Partial<Material> | null;
  /** Share of a full spool, 0 to 1; null if the printer doesn't know it. Default 1. */
  remaining?: number | null;
  /** Default true. */
  compatible?: boolean;
} | null;

export function newSlot(about: NewSlot): Slot {
  if (about === null) return { ...FREE };
  const { extruder, material = null, remaining = 1, compatible = true } = about;
  const volumeLeft = material === null || remaining === null ? null : Math.round(SPOOL * remaining);
  return { extruder, material: material && newMaterial(material), volumeLeft, compatible };
}

/** Creates the slots of a station; those that are not listed are free. */
export const newSlots = (listed: readonly NewSlot[]): Slot[] =>
  Array.from({ length: SLOTS }, (_, index) => newSlot(listed[index] ?? null));

/**
 * Slots of a new station without a list: of all kinds, so that clients meet each. Two spools feed the first extruder,
 * and two the last: one with an unknown rest, and one that its print core can't print.
 */
export function usualSlots(number: number, extruders: number): NewSlot[] {
  const last = extruders - 1;
  const spool = (shift: number): Partial<Material> => ({ color: COLORS[(number + shift) % COLORS.length]! });
  return [
    { extruder: 0, material: spool(0), remaining: shareLeft(number, 0) },
    { extruder: 0, material: spool(1), remaining: shareLeft(number, 1) },
    { extruder: last, material: spool(2), remaining: null },
    { extruder: last, material: { ...spool(3), material: 'ABS' }, remaining: shareLeft(number, 3), compatible: false },
    { extruder: last, material: null },
  ];
}

/** Slots that can feed an extruder now. */
const feeding = ({ slots = [] }: Printer, extruder: number): Slot[] =>
  slots.filter((slot) => slot.extruder === extruder && slot.compatible && slot.material !== null);

/** Materials that an extruder can print with: the one in it, or with a station those of all slots that feed it. */
export function offered(printer: Printer, extruder: number): Material[] {
  const material = printer.extruders[extruder]?.material ?? null;
  if (!printer.slots) return material === null ? [] : [material];
  return feeding(printer, extruder).map((slot) => slot.material!);
}

/** Loads what a print needs from the station into the extruders. */
export function loadFor(printer: Printer, job: PrintJob): void {
  const { slots } = printer;
  if (!slots) return;
  for (const [index, extruder] of printer.extruders.entries()) {
    if (neededVolume(job, index) === 0) continue;
    const guid = job.needs?.find((need) => need.extruder === index)?.guid?.toLowerCase();
    const candidates = feeding(printer, index);
    const slot = candidates.find(({ material }) => material!.guid.toLowerCase() === guid) ?? candidates[0];
    if (!slot) continue;
    Object.assign(extruder, { material: slot.material, slot: slots.indexOf(slot) });
  }
  job.loaded = printer.extruders.map(({ material }) => material && materialName(material));
}

/** Takes the material back from the extruders into the station. */
export function unload({ slots, extruders }: Printer): void {
  if (!slots) return;
  for (const extruder of extruders) {
    extruder.material = null;
    delete extruder.slot;
  }
}

/** Changes a slot. Throws a conflict while a print uses it. */
export function setSlot({ slots, extruders }: Printer, index: number, slot: Slot): void {
  if (extruders.some((extruder) => extruder.slot === index))
    throw new Refusal(409, 'conflict', 'A print uses this slot of the station.');
  slots![index] = slot;
}

/** Puts a spool, mm³, into the first slot that feeds an extruder, or into a free one; null removes all its spools. */
export function stock(printer: Printer, extruder: number, material: Material | null, volumeLeft: number): void {
  const slots = printer.slots!;
  if (material === null) {
    for (const [index, slot] of slots.entries())
      if (slot.extruder === extruder) setSlot(printer, index, { ...slot, material: null, volumeLeft: null });
    return;
  }
  const own = slots.findIndex((slot) => slot.extruder === extruder && slot.compatible);
  const index = own < 0 ? slots.findIndex((slot) => slot.extruder === null) : own;
  if (index < 0) throw new Refusal(409, 'conflict', 'No slot of the station is free for this extruder.');
  setSlot(printer, index, { extruder, material, volumeLeft, compatible: true });
}
