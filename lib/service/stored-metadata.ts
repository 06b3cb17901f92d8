import { TOOLPATH } from '../rules/limits';
import { extentBetween, type Extent } from './extent';
import { amount, number, record, records, text, type Json } from './json-readers';

/** Facts that the service has found in a stored job's file (reference 3.5). Null: unknown. */
export interface StoredMetadata {
  model: string | null;
  generator: { name: string | null; version: string | null } | null;
  /** By extruder, from 0; null: unused or unknown. */
  printCores: (string | null)[];
  /** Diameters, mm. */
  nozzles: (number | null)[];
  materials: (StoredMaterial | null)[];
  buildPlate: string | null;
  /** Estimated duration, s. */
  seconds: number | null;
  /** Extent of the print, mm. */
  size: Extent | null;
}

export interface StoredMaterial {
  guid: string | null;
  brand: string | null;
  type: string | null;
  color: string | null;
  /** Needed volume, mm³. */
  volume: number | null;
  /** g. */
  weight: number | null;
}

/** Reads the metadata of a stored job (wire facts 4.1); null before the service has parsed the file. */
export function readMetadata(wire: unknown): StoredMetadata | null {
  const metadata = record(wire);
  if (!metadata) return null;
  const generator = record(metadata.generator);
  const extruders = readExtruders(metadata.extruders);
  return {
    model: text(metadata.machine_variant),
    generator: generator && { name: text(generator.name), version: text(generator.version) },
    printCores: extruders.map((extruder) => text(extruder?.print_core_id)),
    nozzles: extruders.map((extruder) => amount(extruder?.nozzle_diameter)),
    materials: extruders.map((extruder) => extruder && readMaterial(extruder)),
    buildPlate: text(record(metadata.build_plate)?.type),
    seconds: amount(record(metadata.print)?.estimated_time),
    size: readSize(record(metadata.print)),
  };
}

/** The extruders by their index, or by their place in the list without one; null in gaps. */
function readExtruders(wire: unknown): (Json | null)[] {
  const extruders: (Json | null)[] = [];
  for (const [place, extruder] of records(wire).slice(0, TOOLPATH.extruders).entries()) {
    const index = number(extruder.extruder_index) ?? place;
    if (!Number.isInteger(index) || index < 0 || index >= TOOLPATH.extruders) continue;
    while (extruders.length <= index) extruders.push(null);
    extruders[index] = extruder;
  }
  return extruders;
}

function readMaterial(extruder: Json): StoredMaterial | null {
  const wire = record(extruder.material);
  const material = {
    guid: text(wire?.guid),
    brand: text(wire?.brand),
    type: text(wire?.material),
    color: text(wire?.color),
    volume: amount(extruder.estimated_material_volume),
    weight: amount(wire?.weight),
  };
  return Object.values(material).some((value) => value !== null) ? material : null;
}

function readSize(print: Json | null): Extent | null {
  const [least, most] = [record(print?.min_size), record(print?.max_size)];
  return extentBetween(
    (axis) => least?.[axis],
    (axis) => most?.[axis],
  );
}
