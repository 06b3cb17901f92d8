import type { MaterialNeed } from './state';

/** Largest number of an extruder that counts. */
const LAST_EXTRUDER = 15;

const GRIFFIN = /^;EXTRUDER_TRAIN\.(\d{1,2})\.(MATERIAL\.VOLUME_USED|MATERIAL\.GUID|NOZZLE\.NAME):(.{1,64})$/gm;
/** PrusaSlicer and its relatives: one figure per extruder, cm³. */
const PRUSA = /^; filament used \[cm3\] = ([\d., ]{1,200})$/m;

/**
 * Returns the material that a toolpath needs on each extruder, by the comments of its slicer; an empty list without
 * such comments. `text` may consist of the file's head and tail.
 */
export function materialNeeds(text: string): MaterialNeed[] {
  const needs = new Map<number, MaterialNeed>();
  for (const [, number, field, value] of text.matchAll(GRIFFIN)) {
    const extruder = Number(number);
    if (extruder > LAST_EXTRUDER) continue;
    const need = needs.get(extruder) ?? { extruder, volume: 0, guid: null, printCore: null };
    if (field === 'MATERIAL.GUID') need.guid = value!.trim() || null;
    else if (field === 'NOZZLE.NAME') need.printCore = value!.trim() || null;
    else need.volume = volume(value!);
    needs.set(extruder, need);
  }
  if (needs.size === 0) {
    const figures = PRUSA.exec(text)?.[1]?.split(',') ?? [];
    for (const [extruder, cubicCentimetres] of figures.slice(0, LAST_EXTRUDER + 1).entries())
      needs.set(extruder, { extruder, volume: 1000 * volume(cubicCentimetres), guid: null, printCore: null });
  }
  return [...needs.values()].filter((need) => need.volume > 0).sort((one, other) => one.extruder - other.extruder);
}

function volume(text: string): number {
  const value = Number(text);
  return Number.isFinite(value) && value > 0 ? value : 0;
}
