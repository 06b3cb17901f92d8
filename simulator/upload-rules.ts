import { invalidValue, requiredField } from './refusals';

export interface UploadRequest {
  jobName: string;
  fileSize: number;
  contentType: string;
  origin: string | null;
}

export const UPLOAD_FIELDS = [
  'job_name',
  'file_size',
  'content_type',
  'origin',
  'library_project_id',
  'source_file_id',
];

const MODEL = 'UploadRequest';
const MOST_BYTES = 1024 ** 3;
const TOOLPATH_TYPES = ['text/plain', 'application/gzip', 'application/x-ufp'];
const RESERVED = /^(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\.|$)/i;

/** The rules for the `data` of call 3 (interface, Upload record and Supported file types; wire facts 4.1). */
export function checkUpload(data: Record<string, unknown>): UploadRequest {
  const given = (field: string): unknown => {
    if (data[field] === undefined || data[field] === null) throw requiredField(MODEL, field);
    return data[field];
  };
  const fail = (field: string, rule: string): never => {
    throw invalidValue(MODEL, field, rule, data[field]);
  };

  const jobName = given('job_name');
  const fileSize = given('file_size');
  const contentType = given('content_type');
  if (typeof jobName !== 'string') return fail('job_name', 'must be a string');
  const nameRule = brokenNameRule(jobName);
  if (nameRule !== undefined) fail('job_name', nameRule);
  if (typeof fileSize !== 'number' || !Number.isInteger(fileSize) || fileSize < 1 || fileSize > MOST_BYTES)
    return fail('file_size', `must be a whole number from 1 to ${MOST_BYTES}`);
  if (typeof contentType !== 'string' || !TOOLPATH_TYPES.includes(contentType))
    return fail('content_type', `must be one of ${TOOLPATH_TYPES.join(', ')}`);
  for (const field of ['library_project_id', 'source_file_id'])
    if (data[field] !== undefined && !isCloudId(data[field])) fail(field, 'must be an id of 44 characters');
  const { origin } = data;
  if (origin === undefined || origin === null) return { jobName, fileSize, contentType, origin: null };
  if (typeof origin !== 'string' || !isWebOrigin(origin))
    return fail('origin', 'must be a web origin such as https://example.org');
  return { jobName, fileSize, contentType, origin };
}

function brokenNameRule(name: string): string | undefined {
  const { length } = [...name];
  if (length < 3 || length > 255) return 'must have 3 to 255 characters';
  if (/^\s|^\.\./.test(name)) return 'must not start with a blank or with two dots';
  if (/[\\/:*?"<>|]/.test(name)) return 'must not contain \\ / : * ? " < > |';
  if (RESERVED.test(name)) return 'must not be a reserved device name';
  if (!/.\.[^.\s]+$/.test(name)) return 'must include the extension';
  return undefined;
}

const isCloudId = (value: unknown): boolean =>
  typeof value === 'string' && /^[\w-]{41,44}={0,3}$/.test(value) && value.length === 44;

function isWebOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;
}
