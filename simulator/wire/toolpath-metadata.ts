import { densityOf, DIAMETER } from '../world/spools';
import type { MaterialNeed, StoredJob } from '../world/state';

type Wire = Record<string, unknown>;

/** The `metadata` of a parsed file (wire facts 4.1); undefined if its comments say nothing. */
export function toolpathMetadata({ header, needs, parsed, printSeconds }: StoredJob): Wire | undefined {
  if (!parsed && !header) return undefined;
  const fields = header ?? {};
  return {
    ...taken(fields, { FLAVOR: 'flavor', HEADER_VERSION: 'header_version', 'TARGET_MACHINE.NAME': 'machine_variant' }),
    ...group(fields, 'generator', {
      'GENERATOR.NAME': 'name',
      'GENERATOR.VERSION': 'version',
      'GENERATOR.BUILD_DATE': 'build_date',
    }),
    ...group(fields, 'build_plate', { 'BUILD_PLATE.TYPE': 'type' }),
    extruders: needs?.map((need) => extruder(fields, need)) ?? [],
    print: {
      ...(parsed ? { estimated_time: printSeconds } : {}),
      ...corner(fields, 'MIN', 'min_size'),
      ...corner(fields, 'MAX', 'max_size'),
    },
  };
}

function extruder(fields: Record<string, string>, { extruder, volume, guid, printCore }: MaterialNeed): Wire {
  const diameter = fields[`EXTRUDER_TRAIN.${extruder}.NOZZLE.DIAMETER`];
  const density = densityOf('');
  return {
    extruder_index: extruder,
    ...(printCore === null ? {} : { print_core_id: printCore }),
    ...(diameter === undefined ? {} : { nozzle_diameter: Number(diameter) }),
    estimated_material_volume: volume,
    // The comments don't name the material.
    material: { ...(guid === null ? {} : { guid }), diameter: DIAMETER, density, weight: (volume * density) / 1000 },
  };
}

/** The given fields, under their names on the wire. */
const taken = (fields: Record<string, string>, names: Record<string, string>): Wire =>
  Object.fromEntries(
    Object.entries(names).flatMap(([field, name]) => {
      const value = fields[field];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );

function group(fields: Record<string, string>, name: string, names: Record<string, string>): Wire {
  const found = taken(fields, names);
  return Object.keys(found).length > 0 ? { [name]: found } : {};
}

function corner(fields: Record<string, string>, end: 'MIN' | 'MAX', name: string): Wire {
  const [x, y, z] = ['X', 'Y', 'Z'].map((axis) => Number(fields[`PRINT.SIZE.${end}.${axis}`] ?? NaN));
  return [x, y, z].some((value) => Number.isNaN(value)) ? {} : { [name]: { x, y, z } };
}
