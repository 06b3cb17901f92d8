import { flag, number, record, records, text, time, type Json } from './json-readers';

export interface Material {
  guid: string | null;
  brand: string | null;
  name: string | null;
  color: string | null;
}

export interface Extruder {
  /** Counted from 0 (left). */
  index: number | null;
  printCore: string | null;
  /** °C now. */
  temperature: number | null;
  material: Material | null;
}

export interface Fault {
  code: string | null;
  message: string | null;
  severity: string | null;
  at: string | null;
}

/** A printer in ClusterStatus (reference 3.1). */
export interface Printer {
  printerId: string | null;
  name: string | null;
  model: string | null;
  status: string | null;
  enabled: boolean | null;
  maintenanceRequired: boolean | null;
  firmware: { version: string | null; latest: string | null; updateStatus: string | null };
  extruders: Extruder[];
  buildPlate: { type: string | null; temperature: number | null } | null;
  faults: Fault[];
}

/** Reads a printer object (wire facts 6.1). */
export function readPrinter(wire: Json): Printer {
  const plate = record(wire.build_plate);
  return {
    printerId: text(wire.uuid),
    name: text(wire.friendly_name) ?? text(wire.unique_name),
    model: text(wire.machine_variant),
    status: text(wire.status),
    enabled: flag(wire.enabled),
    maintenanceRequired: flag(wire.maintenance_required),
    firmware: {
      version: text(wire.firmware_version),
      latest: text(wire.latest_available_firmware),
      updateStatus: text(wire.firmware_update_status),
    },
    extruders: records(wire.configuration).map(readExtruder),
    buildPlate: plate && { type: text(plate.type), temperature: number(plate.temperature) },
    faults: [...(readFaults(wire)?.values() ?? [])],
  };
}

function readExtruder(wire: Json): Extruder {
  return {
    index: number(wire.extruder_index),
    printCore: text(wire.print_core_id),
    temperature: number(wire.temperature),
    material: readMaterial(record(wire.material)),
  };
}

/** Reads a material; an empty bay reports the material `empty` (wire facts, trap 24). */
function readMaterial(wire: Json | null): Material | null {
  if (!wire) return null;
  const material = {
    guid: text(wire.guid),
    brand: text(wire.brand),
    name: text(wire.material),
    color: text(wire.color),
  };
  if (material.guid === null && material.name === 'empty') return null;
  return Object.values(material).some((value) => value !== null) ? material : null;
}

/** The faults and errors of a printer by key (uuid, else code), each once; null if the answer has neither list. */
export function readFaults(wire: Json): Map<string, Fault> | null {
  if (!Array.isArray(wire.faults) && !Array.isArray(wire.errors)) return null;
  const faults = new Map<string, Fault>();
  for (const entry of [...records(wire.faults), ...records(wire.errors)]) {
    const key = text(entry.uuid) ?? text(entry.code);
    if (key === null || faults.has(key)) continue;
    faults.set(key, {
      code: text(entry.code),
      message: text(entry.message),
      severity: text(entry.severity),
      at: time(entry.timestamp),
    });
  }
  return faults;
}
