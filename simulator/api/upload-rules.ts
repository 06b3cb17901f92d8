import { invalidValue, requiredField } from '../http/refusals';
import type { LibraryFile, StoredFile, StoredJob } from '../world/state';

type Data = Record<string, unknown>;
type Announced = Pick<StoredFile, 'fileSize' | 'contentType' | 'origin' | 'libraryProjectId'>;

const COMMON_FIELDS = ['file_size', 'content_type', 'origin', 'library_project_id'];
export const JOB_FIELDS = ['job_name', 'source_file_id', ...COMMON_FIELDS];
export const FILE_FIELDS = ['file_name', ...COMMON_FIELDS];

const MODEL = 'UploadRequest';
const MOST_BYTES = 1024 ** 3;
const RESERVED = /^(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\.|$)/i;

/** Content types of toolpaths (interface, Supported file types; the last three: wire facts 4.1). */
const TOOLPATH_TYPES = [
  'text/plain',
  'application/gzip',
  'application/x-ufp',
  'text/x-gcode',
  'application/x-makerbot',
  'application/x-makerbot-sketch',
];
const OFFICE = 'application/vnd.openxmlformats-officedocument';
const PROJECT_TYPES = [
  'application/vnd.ms-package.3dmanufacturing-3dmodel+xml',
  'model/stl',
  'image/jpeg',
  'image/png',
  'application/pdf',
  'application/msword',
  `${OFFICE}.wordprocessingml.document`,
  'application/vnd.ms-excel',
  `${OFFICE}.spreadsheetml.sheet`,
  'application/vnd.ms-powerpoint',
  `${OFFICE}.presentationml.presentation`,
  'text/plain',
];

/**
 * Checks the `data` of call 3 (interface, Upload record; wire facts 4.1). A lenient check accepts a name without
 * extension.
 */
export function checkJobUpload(data: Data, lenient: boolean): Announced & Pick<StoredJob, 'jobName' | 'sourceFileId'> {
  const jobName = fileName(data, 'job_name', lenient);
  return { jobName, ...common(data, TOOLPATH_TYPES), sourceFileId: cloudId(data, 'source_file_id') };
}

/** Checks the `data` of call 5 (wire facts 4.3). A lenient check accepts the project file types of slicers. */
export function checkFileUpload(data: Data, lenient: boolean): Announced & Pick<LibraryFile, 'fileName'> {
  const type = data.content_type;
  const project = lenient && typeof type === 'string' && /^application\/[\w.-]+\+3mf$/.test(type) ? [type] : [];
  return { fileName: fileName(data, 'file_name'), ...common(data, [...PROJECT_TYPES, ...project]) };
}

function fileName(data: Data, field: string, lenient = false): string {
  const name = given(data, field);
  if (typeof name !== 'string') throw invalidValue(MODEL, field, 'must be a string', name);
  const rule = brokenNameRule(name, lenient);
  if (rule !== undefined) throw invalidValue(MODEL, field, rule, name);
  return name;
}

function common(data: Data, types: string[]): Announced {
  const fileSize = given(data, 'file_size');
  const contentType = given(data, 'content_type');
  if (typeof fileSize !== 'number' || !Number.isInteger(fileSize) || fileSize < 1 || fileSize > MOST_BYTES)
    throw invalidValue(MODEL, 'file_size', `must be a whole number from 1 to ${MOST_BYTES}`, fileSize);
  if (typeof contentType !== 'string' || !types.includes(contentType))
    throw invalidValue(MODEL, 'content_type', `must be one of ${types.join(', ')}`, contentType);
  return { fileSize, contentType, origin: webOrigin(data), libraryProjectId: cloudId(data, 'library_project_id') };
}

function given(data: Data, field: string): unknown {
  if (data[field] === undefined || data[field] === null) throw requiredField(MODEL, field);
  return data[field];
}

function brokenNameRule(name: string, lenient: boolean): string | undefined {
  const { length } = [...name];
  if (length < 3 || length > 255) return 'must have 3 to 255 characters';
  if (/^\s|^\.\./.test(name)) return 'must not start with a blank or with two dots';
  if (/[\\/:*?"<>|]/.test(name)) return 'must not contain \\ / : * ? " < > |';
  if (RESERVED.test(name)) return 'must not be a reserved device name';
  if (!lenient && !/.\.[^.\s]+$/.test(name)) return 'must include the extension';
  return undefined;
}

/** Reads an optional id, which is absent rather than empty (wire facts 4.1). */
function cloudId(data: Data, field: string): string | null {
  const id = data[field];
  if (id === undefined) return null;
  if (typeof id !== 'string' || id.length !== 44 || !/^[\w-]{41,44}={0,3}$/.test(id))
    throw invalidValue(MODEL, field, 'must be an id of 44 characters', id);
  return id;
}

function webOrigin({ origin }: Data): string | null {
  if (origin === undefined || origin === null) return null;
  const fits = typeof origin === 'string' && /^https?:/.test(origin) && URL.canParse(origin);
  if (!fits || new URL(origin).origin !== origin)
    throw invalidValue(MODEL, 'origin', 'must be a web origin such as https://example.org', origin);
  return origin;
}
