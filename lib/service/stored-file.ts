import type { Ids } from './errors';
import type { EndpointName, PathParameter } from './paths';
import { number, text, time, type Json } from './json-readers';
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
  uploadedAt: string | null;
}

/** Reads an upload record (interface, Upload record; wire facts 4.1, 4.3). */
export function readStoredFile({ kind, id }: StoredRef, wire: Json): StoredFile {
  return {
    ...(kind === 'job' ? { jobId: id } : { fileId: id }),
    name: text(wire[STORAGE[kind].nameField]) ?? text(wire.file_name) ?? text(wire.job_name),
    fileSize: number(wire.file_size),
    contentType: text(wire.content_type),
    status: text(wire.status),
    uploadedAt: time(wire.uploaded_at),
  };
}
