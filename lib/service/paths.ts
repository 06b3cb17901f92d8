import { PrintingError } from './errors';
import {
  OVERRIDABLE_CALLS,
  readPathOverrides,
  type PathFault,
  type PathOverrides,
  type PathParameter,
  type Sureness,
} from '../rules/paths';
import { TEXT } from '../rules/limits';
import { withoutSlashes } from '../rules/text';
import { phrase, type Sentence } from '../words/sentence';

export type { PathOverrides, PathParameter };

/**
 * Table of the service's calls. `sure` is the source: `interface` is in the interface; the others fill gaps that it
 * marks "not shown", and most of them can be overridden.
 */
interface Endpoint {
  call: string;
  sure: 'interface' | Sureness;
}

export const ENDPOINTS = {
  registerUpload: { call: 'PUT {storage}/jobs/upload', sure: 'interface' },
  storedJob: { call: 'GET {storage}/jobs/{job_id}', sure: 'interface' },
  registerFile: { call: 'PUT {storage}/files/upload', sure: 'interface' },
  libraryFile: { call: 'GET {storage}/files/{file_id}', sure: 'interface' },
  clusters: { call: 'GET /connect/v1/clusters', sure: 'interface' },
  clusterStatus: { call: 'GET /connect/v1/clusters/{cluster_id}/status', sure: 'interface' },
  print: { call: 'POST /connect/v1/clusters/{cluster_id}/print/{job_id}', sure: 'interface' },
  printJob: { call: 'GET /connect/v1/clusters/{cluster_id}/print_jobs/{cluster_job_id}', sure: 'interface' },
  currentUserOnApi: { call: 'GET /connect/v1/users/current', sure: 'inferred' },
  ...OVERRIDABLE_CALLS,
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof ENDPOINTS;

const STORED_FILE = ['job_id', 'file_id'];
const PRINTING = ['uuid', 'job_instance_uuid', 'cluster_job_id'];
const USER = ['user_id', 'organization_memberships'];

/** Fields by which the record of a call is recognised in an answer without the `data` envelope; any one is enough. */
const OWN_FIELDS: Partial<Record<EndpointName, string[]>> = {
  registerUpload: STORED_FILE,
  storedJob: STORED_FILE,
  storedJobs: STORED_FILE,
  registerFile: STORED_FILE,
  libraryFile: STORED_FILE,
  clusters: ['cluster_id'],
  clusterStatus: ['printers', 'print_jobs', 'generated_time'],
  print: ['job_id', ...PRINTING],
  printJob: PRINTING,
  printJobs: PRINTING,
  currentUser: USER,
  currentUserOnApi: USER,
  printerAction: ['action_id'],
  actionStatus: ['action_id'],
  jobAction: ['action_id'],
  createReport: ['report_id'],
  getReport: ['report_id'],
};

/** Whether a body without the `data` envelope is the record of a call. Any other is no answer to it. */
export const isRecordOf = (name: EndpointName, body: object): boolean =>
  (OWN_FIELDS[name] ?? []).some((field) => Object.hasOwn(body, field));
export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

/** Destination of a call: `host` is the one of the account's two hosts that `path` is under. */
export interface Target {
  method: Method;
  host: 'api' | 'auth';
  path: string;
}

/** Reads the overrides in an account's `paths` (an object or JSON text). Throws NOT_CONFIGURED with the fault. */
export function readOverrides(paths: unknown): PathOverrides {
  const read = readPathOverrides(paths);
  if ('overrides' in read) return read.overrides;
  throw new PrintingError('NOT_CONFIGURED', phrase`The account's paths are not valid: ${reason(read.fault)}.`);
}

function reason(fault: PathFault): Sentence {
  switch (fault.kind) {
    case 'json':
      return phrase`they are not JSON`;
    case 'object':
      return phrase`they must be a JSON object`;
    case 'name':
      return phrase`"${fault.name}" is not a name that can be overridden`;
    case 'call':
      return phrase`"${fault.name}" must look like "GET /path/{cluster_id}"`;
    case 'parameter':
      return phrase`"${fault.name}" has the unknown path parameter {${fault.words}}`;
    case 'unsafe':
      return phrase`"${fault.name}" contains ${fault.words}`;
  }
}

export interface PathSettings {
  /** Prefix of the storage API (`storagePath` of the account), such as `/slicer/v1`. */
  storagePath: string;
  overrides: PathOverrides;
}

/**
 * Fills the path parameters of an endpoint. Throws INVALID_INPUT for a missing id or one that would change the path's
 * shape.
 */
export function target(
  name: EndpointName,
  ids: Partial<Record<PathParameter, string>>,
  settings: PathSettings,
): Target {
  const [method = '', pattern = ''] = (
    (settings.overrides as Partial<Record<EndpointName, string>>)[name] ?? ENDPOINTS[name].call
  ).split(' ');
  const host = pattern.startsWith('{auth_url}') ? 'auth' : 'api';
  const path = pattern
    .replace('{auth_url}', '')
    .replaceAll('{storage}', withoutSlashes(settings.storagePath))
    .replace(/\{([a-z_]+)\}/g, (_, parameter: PathParameter) => segment(parameter, ids[parameter]));
  return { method: method as Method, host, path };
}

/** Names of the parameters in sentences. */
const PARAMETERS: Record<PathParameter, Sentence> = {
  cluster_id: phrase`printer ID`,
  printer_id: phrase`printer ID`,
  action: phrase`action`,
  action_id: phrase`action ID`,
  cluster_job_id: phrase`print job ID`,
  report_id: phrase`report ID`,
  job_id: phrase`job ID`,
  file_id: phrase`file ID`,
};

/**
 * Encodes an id as one path segment: only characters that are illegal in a path, so `=` stays (wire facts, trap 44).
 */
function segment(parameter: PathParameter, id: string | undefined): string {
  // Fast path for nearly all ids.
  if (id !== undefined && id.length <= TEXT.matched && /^[\w-]+$/.test(id)) return id;
  const name = PARAMETERS[parameter];
  if (typeof id !== 'string' || id === '') throw new PrintingError('INVALID_INPUT', phrase`The ${name} is missing.`);
  if (id.length > TEXT.matched)
    throw new PrintingError('INVALID_INPUT', phrase`The ${name} has more than ${TEXT.matched} characters.`);
  if (/[/\\]|\.\./.test(id) || id === '.')
    throw new PrintingError('INVALID_INPUT', phrase`The ${name} must not contain a slash or "..".`);
  try {
    return encodeURIComponent(id).replaceAll('%3D', '=');
  } catch (cause) {
    throw new PrintingError('INVALID_INPUT', phrase`The ${name} contains characters that an address cannot contain.`, {
      cause,
    });
  }
}
