import { TOOLPATH } from '../rules/limits';
import { phrase, type Sentence } from '../words/sentence';
import { PrintingError } from './errors';
import { amount, type Extent, extentBetween, type Json, number, record, records, text } from './json-readers';
import { readMaterialWords } from './material';
import type { StoredKind } from './stored-file';

/** A row of the interface's "Supported file types". */
interface FileType {
  /** Lower case, with its dot. */
  extension: string;
  /** Content type in the upload request and of the bytes. */
  contentType: string;
  type: 'Toolpath' | 'Mesh' | 'Image' | 'Document';
}

const row = (extension: string, contentType: string, type: FileType['type']): FileType => ({
  extension,
  contentType,
  type,
});

/** Printable types, for the jobs upload endpoint. */
export const TOOLPATHS: readonly FileType[] = [
  row('.gcode', 'text/plain', 'Toolpath'),
  row('.gcode.gz', 'application/gzip', 'Toolpath'),
  row('.ufp', 'application/x-ufp', 'Toolpath'),
];

/** Types that can only be stored, for the files upload endpoint. */
export const PROJECT_FILES: readonly FileType[] = [
  row('.3mf', 'application/vnd.ms-package.3dmanufacturing-3dmodel+xml', 'Mesh'),
  row('.stl', 'model/stl', 'Mesh'),
  row('.jpg', 'image/jpeg', 'Image'),
  row('.jpeg', 'image/jpeg', 'Image'),
  row('.png', 'image/png', 'Image'),
  row('.pdf', 'application/pdf', 'Document'),
  row('.doc', 'application/msword', 'Document'),
  row('.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'Document'),
  row('.xls', 'application/vnd.ms-excel', 'Document'),
  row('.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'Document'),
  row('.ppt', 'application/vnd.ms-powerpoint', 'Document'),
  row('.pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation', 'Document'),
  row('.txt', 'text/plain', 'Document'),
];

/** Models that users mistake for printable files; the service does not slice (interface, What the service does 8). */
const UNSLICED = ['.stl', '.3mf', '.obj', '.step', '.stp'];

/** The toolpath type of a file name, in any case. Undefined for anything else. */
export const findToolpath = (name: string): FileType | undefined => find(TOOLPATHS, name);

/** The toolpath type of a file name. Throws UNSUPPORTED_FILE_TYPE. */
export function toolpath(name: string): FileType {
  const found = findToolpath(name);
  if (found) return found;
  const allowed = inWords(TOOLPATHS);
  const sentence = UNSLICED.some((extension) => endsIn(name, extension))
    ? phrase`"${name}" is a model: slice it to G-code first (only ${allowed} files can be printed).`
    : phrase`"${name}" can't be printed: only ${allowed} files can.`;
  throw new PrintingError('UNSUPPORTED_FILE_TYPE', sentence);
}

const BY_KIND: Record<StoredKind, { types: readonly FileType[]; words: Sentence }> = {
  job: { types: TOOLPATHS, words: phrase`print job` },
  file: { types: PROJECT_FILES, words: phrase`project file` },
};

/** The type of a file to store as `kind`. Throws UNSUPPORTED_FILE_TYPE with the kind that accepts it. */
export function storedType(kind: StoredKind, name: string): FileType {
  const own = BY_KIND[kind];
  const other = BY_KIND[kind === 'job' ? 'file' : 'job'];
  const found = find(own.types, name);
  if (found) return found;
  const takes = ({ types, words }: typeof own) => phrase`the kind "${words}" accepts ${inWords(types)} files`;
  const cure = find(other.types, name)
    ? phrase`choose the kind "${other.words}"; ${takes(own)}`
    : phrase`${takes(own)}, ${takes(other)}`;
  throw new PrintingError('UNSUPPORTED_FILE_TYPE', phrase`"${name}" can't be stored as a ${own.words}: ${cure}.`);
}

const find = (types: readonly FileType[], name: string) => types.find(({ extension }) => endsIn(name, extension));

/** Whether a name ends in an extension and has more than that: `.gcode` alone has no extension. */
const endsIn = (name: string, extension: string): boolean =>
  name.length > extension.length && name.slice(-extension.length).toLowerCase() === extension;

function inWords(types: readonly FileType[]): Sentence {
  const extensions = types.map(({ extension }) => extension);
  return phrase`${extensions.slice(0, -1).join(', ')} and ${extensions.at(-1) ?? ''}`;
}

/** Facts that the service has found in a stored job's file (reference 3.5). Null: unknown. */
interface StoredMetadata {
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

interface StoredMaterial {
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
  const { guid, brand, name: type, color } = readMaterialWords(wire);
  const material = {
    ...{ guid, brand, type, color },
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
