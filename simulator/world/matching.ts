import { materialName, materialOf } from './materials';
import { modelOf } from './models';
import { SPOOL } from './spools';
import { offered, stock } from './station';
import type { Cluster, Extruder, Impediment, MaterialNeed, Printer, PrintJob, RequiredChange } from './state';

/** Types of files for printers of the second brand (wire facts 4.1). */
const SECOND_BRAND = new Set(['application/x-makerbot', 'application/x-makerbot-sketch']);
/** Types of files that its simulated model reads. The others are for small printers. */
const SECOND_BRAND_READS = new Set(['application/x-makerbot']);
const UNFIXABLE = '3';

/** Whether the cluster compares files with its printers, as the real service does. */
const compares = ({ mismatch = 'ignored' }: Cluster): boolean => mismatch !== 'ignored';

/**
 * Returns why no change of the printer makes it print the file: the printer can't read it, whatever the switch says, or
 * it is for another model. `undefined` without such an obstacle.
 */
export function misfit(cluster: Cluster, { target, contentType = null }: PrintJob): Impediment | undefined {
  const { display, secondBrand } = modelOf(cluster);
  const reads = (type: string): boolean => (secondBrand ? SECOND_BRAND_READS.has(type) : !SECOND_BRAND.has(type));
  if (contentType !== null && !reads(contentType)) return { translation_key: 'file_type', severity: UNFIXABLE };
  const machine = target?.machine ?? null;
  if (!compares(cluster) || machine === null || same(machine, display)) return undefined;
  return { translation_key: 'machine_variant', severity: UNFIXABLE };
}

export const plateOf = ({ buildPlate = 'glass' }: Printer): string => buildPlate;

/** Returns the changes that a printer needs for a file (wire facts 12.5); what the file doesn't say, fits. */
export function changesFor(cluster: Cluster, printer: Printer, job: PrintJob): RequiredChange[] {
  if (!compares(cluster)) return [];
  const plate = job.target?.buildPlate ?? null;
  return [
    ...(job.needs ?? []).flatMap((need) => [...coreChange(printer, need), ...materialChange(printer, need)]),
    ...(plate === null || same(plate, plateOf(printer))
      ? []
      : [change('buildplate_change', 0, named(plateOf(printer)), named(plate), false)]),
  ];
}

const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

interface Named {
  id: string;
  name: string;
}
const named = (id: string): Named => ({ id, name: id });

function coreChange(printer: Printer, { extruder, printCore }: MaterialNeed): RequiredChange[] {
  const loaded = printer.extruders[extruder]?.printCore ?? '';
  if (printCore === null || same(printCore, loaded)) return [];
  return [change('print_core_change', extruder, named(loaded), named(printCore), loaded !== '')];
}

function materialChange(printer: Printer, { extruder, guid }: MaterialNeed): RequiredChange[] {
  const materials = offered(printer, extruder);
  if (guid === null || materials.some((material) => same(guid, material.guid))) return [];
  const wanted = { id: guid, name: materialName(materialOf(guid)) };
  const [loaded] = materials;
  // An empty extruder can't be overridden, another material can.
  if (loaded === undefined) return [change('material_insert', extruder, named(''), wanted, false)];
  return [change('material_change', extruder, { id: loaded.guid, name: materialName(loaded) }, wanted, true)];
}

const change = (type: string, index: number, origin: Named, target: Named, overridable: boolean): RequiredChange => ({
  type_of_change: type,
  index,
  origin_id: origin.id,
  origin_name: origin.name,
  target_id: target.id,
  target_name: target.name,
  is_overridable: overridable,
});

/** Describes the printer that a job needs; what its file doesn't say is as on this printer. */
export function wantedPrinter(
  cluster: Cluster,
  printer: Printer,
  job: PrintJob,
): { machine: string; buildPlate: string; extruders: Extruder[] } {
  const { display } = modelOf(cluster);
  const present = printer.extruders.map(({ printCore, material }, index) => ({
    printCore,
    material: material ?? offered(printer, index)[0] ?? null,
  }));
  if (!compares(cluster)) return { machine: display, buildPlate: plateOf(printer), extruders: present };
  return {
    machine: job.target?.machine ?? display,
    buildPlate: job.target?.buildPlate ?? plateOf(printer),
    extruders: present.map((loaded, index) => {
      const { printCore = null, guid = null } = job.needs?.find(({ extruder }) => extruder === index) ?? {};
      const suiting = offered(printer, index).find((material) => guid === null || same(guid, material.guid));
      const material = guid === null ? loaded.material : (suiting ?? materialOf(guid));
      return { printCore: printCore ?? loaded.printCore, material };
    }),
  };
}

/** Makes the changes on a printer, as a person at its display does. */
export function makeChanges(printer: Printer, changes: RequiredChange[]): void {
  for (const { type_of_change: type, index, target_id: id } of changes) {
    if (type === 'buildplate_change') printer.buildPlate = id;
    const extruder = printer.extruders[index];
    if (!extruder) continue;
    if (type === 'print_core_change') extruder.printCore = id;
    if (type !== 'material_change' && type !== 'material_insert') continue;
    if (printer.slots) stock(printer, index, materialOf(id), SPOOL);
    else Object.assign(extruder, { material: materialOf(id), volumeLeft: SPOOL });
  }
}
