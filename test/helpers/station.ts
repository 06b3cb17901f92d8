import type { Json } from '../../lib/service/json-readers';

/** Volume of a full spool of the printers here, mm³. */
export const FULL = 300_000;

/** A material as the service writes it. */
export const spool = (color: string, material = 'PLA'): Json & { guid: string } => ({
  ...{ guid: `guid-${material}-${color}`.toLowerCase(), brand: 'Generic' },
  ...{ material, color },
});

/** The two forms of an empty bay (wire facts 6.2). */
export const EMPTY_BAYS: Json[] = [
  { material: 'empty' },
  { guid: '00000000-0000-0000-0000-000000000000', brand: 'empty', material: 'empty', color: 'empty' },
];
const [EMPTY] = EMPTY_BAYS as [Json, Json];

/** A slot that feeds an extruder; `more` replaces members. */
export const slot = (index: number, extruder: number, material: Json | null, more: Json = {}): Json => ({
  ...{ slot_index: index, extruder_index: extruder, compatible: true, material_empty: material === null },
  ...{ material: material ?? EMPTY, material_remaining: material === null ? -1 : 0.5, print_core_id: 'AA 0.4' },
  ...more,
});

/** A slot that feeds no extruder. */
export const freeSlot = (index: number): Json => ({
  ...{ slot_index: index, extruder_index: -1, compatible: false, material_empty: false },
  ...{ material: null, material_remaining: -1, print_core_id: null },
});

/** An extruder; one of an idle printer with a station is empty. */
export const extruder = (index: number, material: Json | null = null, more: Json = {}): Json => ({
  ...{ extruder_index: index, print_core_id: 'AA 0.4', material: material ?? EMPTY },
  original_material_volume: FULL,
  ...more,
});

/** A printer with a material station: idle, both extruders are empty while its slots are full. */
export const stationPrinter = (slots: Json[], more: Json = {}): Json => ({
  ...{ uuid: 'P', friendly_name: 'Station', status: 'idle', enabled: true, machine_variant: 'Maker' },
  configuration: [extruder(0), extruder(1)],
  material_station: { supported: true, status: 'available', material_slots: slots },
  ...more,
});
