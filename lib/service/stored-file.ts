import { type Ids, withoutAddresses } from './errors';
import type { EndpointName, PathParameter } from './paths';
import { TOOLPATH } from '../rules/limits';
import {
  amount,
  estimate,
  type Extent,
  extentBetween,
  type Json,
  line,
  number,
  record,
  records,
  text,
  time,
} from './json-readers';
import { type MaterialNeed, readMaterialWords, usedOf } from './material';
import { phrase, type Sentence } from '../words/sentence';

/** Kinds of stored files: `job` is a printable toolpath, `file` any other file (interface, What the service does 2). */
export type StoredKind = 'job' | 'file';

/** The storage API's names for both kinds (interface, endpoints 3 to 7; wire facts 4.1, 4.3, 4.4). */
export const STORAGE: Record<StoredKind, StorageWords> = {
  job: {
    register: 'registerUpload',
    read: 'storedJob',
    remove: 'deleteJob',
    idParameter: 'job_id',
    nameField: 'job_name',
    inWords: phrase`the stored job`,
  },
  file: {
    register: 'registerFile',
    read: 'libraryFile',
    remove: 'deleteFile',
    idParameter: 'file_id',
    nameField: 'file_name',
    inWords: phrase`the library file`,
  },
};

interface StorageWords {
  register: EndpointName;
  read: EndpointName;
  remove: EndpointName;
  idParameter: PathParameter;
  nameField: 'job_name' | 'file_name';
  inWords: Sentence;
}

export interface StoredRef {
  kind: StoredKind;
  id: string;
}

export const storedIds = ({ kind, id }: StoredRef): Ids => (kind === 'job' ? { jobId: id } : { fileId: id });

/** The id in a record: under the field of its kind, else of the other kind (wire facts 4.3). */
export const storedId = (kind: StoredKind, wire: Json | null): string | null =>
  text(wire?.[STORAGE[kind].idParameter]) ?? text(wire?.file_id) ?? text(wire?.job_id);

/** A stored file (reference 3.5) with `jobId` or `fileId`, depending on its kind. */
export interface StoredFile {
  jobId?: string;
  fileId?: string;
  name: string | null;
  /** Bytes. */
  fileSize: number | null;
  contentType: string | null;
  /** The service's status: `uploading`, `uploaded`, … */
  status: string | null;
  /** Why the file can't be used, in the service's words. */
  statusDescription: string | null;
  uploadedAt: string | null;
  projectId: string | null;
  /** Name of the user; null also for a deleted one. */
  uploadedBy: string | null;
}

/** What only a stored job has (wire facts 4.1). */
export interface StoredJob extends StoredFile {
  /** The service's status of its analysis of the file. */
  parsingStatus: string | null;
  metadata: StoredMetadata | null;
}

/** Reads an upload record (interface, Upload record; wire facts 4.1, 4.3). */
export function readStoredFile({ kind, id }: StoredRef, wire: Json): StoredFile | StoredJob {
  return {
    ...(kind === 'job' ? { jobId: id } : { fileId: id }),
    name: text(wire[STORAGE[kind].nameField]) ?? text(wire.file_name) ?? text(wire.job_name),
    fileSize: number(wire.file_size),
    contentType: text(wire.content_type),
    status: text(wire.status),
    statusDescription: descriptionOf(wire),
    uploadedAt: time(wire.uploaded_at),
    projectId: text(wire.library_project_id),
    uploadedBy: text(wire.username),
    ...(kind === 'job' && {
      parsingStatus: text(wire.parsing_status),
      metadata: readMetadata(wire.metadata),
    }),
  };
}

function descriptionOf(wire: Json): string | null {
  const words = line(wire.status_description);
  return words === null ? null : withoutAddresses(words);
}

/** Facts that the service has found in a stored job's file (reference 3.5). Null: unknown. */
interface StoredMetadata {
  model: string | null;
  generator: { name: string | null; version: string | null } | null;
  /** By extruder, from 0; null: unused or unknown. */
  printCores: (string | null)[];
  /** Diameters, mm. */
  nozzles: (number | null)[];
  materials: (MaterialNeed | null)[];
  buildPlate: string | null;
  /** Estimated duration, s. */
  seconds: number | null;
  /** Extent of the print, mm. */
  size: Extent | null;
}

/** Reads the metadata of a stored job (wire facts 4.1); null before the service has parsed the file. */
export function readMetadata(wire: unknown): StoredMetadata | null {
  const metadata = record(wire);
  if (!metadata) return null;
  const generator = record(metadata.generator);
  const extruders = usedExtruders(metadata.extruders);
  return {
    model: text(metadata.machine_variant),
    generator: generator && { name: text(generator.name), version: text(generator.version) },
    printCores: extruders.map((extruder) => extruder?.printCore ?? null),
    nozzles: extruders.map((extruder) => extruder?.nozzle ?? null),
    materials: extruders.map((extruder) => extruder && materialOf(extruder)),
    buildPlate: text(record(metadata.build_plate)?.type),
    seconds: estimate(record(metadata.print)?.estimated_time),
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

/** Needs of a print at one extruder. */
interface ExtruderNeed extends MaterialNeed {
  printCore: string | null;
  nozzle: number | null;
}

/** The extruders as far as the last one that a print uses, null for an unused one. */
function usedExtruders(wire: unknown): (ExtruderNeed | null)[] {
  const used = usedOf(readExtruders(wire).map(readExtruder));
  while (used.at(-1) === null) used.pop();
  return used;
}

function readExtruder(wire: Json | null): ExtruderNeed {
  const material = record(wire?.material);
  const { guid, brand, name: type, color } = readMaterialWords(material);
  return {
    printCore: text(wire?.print_core_id),
    nozzle: amount(wire?.nozzle_diameter),
    ...{ guid, brand, type, color },
    volume: amount(wire?.estimated_material_volume),
    weight: amount(material?.weight),
  };
}

function materialOf({ guid, brand, type, color, volume, weight }: ExtruderNeed): MaterialNeed | null {
  const material = { guid, brand, type, color, volume, weight };
  return Object.values(material).some((value) => value !== null) ? material : null;
}

function readSize(print: Json | null): Extent | null {
  const [least, most] = [record(print?.min_size), record(print?.max_size)];
  return extentBetween(
    (axis) => least?.[axis],
    (axis) => most?.[axis],
  );
}
