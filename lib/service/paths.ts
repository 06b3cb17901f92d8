import { PrintingError } from './errors';
import { unsafePart } from './path-rules';
import { record } from './wire';

/**
 * The one table of the service's calls. `sure` says how well each is known:
 * `interface` stands in the interface, the others fill what it marks "not shown" (wire facts 2, 9 to 13):
 * `documented` in public pages of the service, `sample` in public sample code, `inferred` from neighbouring facts.
 * Where `override` is set, a user can put another method and path in its place (reference 7).
 */
interface Endpoint {
  call: string;
  sure: 'interface' | 'documented' | 'sample' | 'inferred';
  override?: true;
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
  currentUser: { call: 'GET {auth_url}/users/current', sure: 'inferred', override: true },
  currentUserOnApi: { call: 'GET /connect/v1/users/current', sure: 'inferred' },
  printerAction: {
    call: 'POST /connect/v1/clusters/{cluster_id}/printers/{printer_id}/action/{action}',
    sure: 'documented',
    override: true,
  },
  actionStatus: {
    call: 'GET /connect/v1/clusters/{cluster_id}/action_status/{action_id}',
    sure: 'documented',
    override: true,
  },
  jobAction: {
    call: 'POST /connect/v1/clusters/{cluster_id}/print_jobs/{cluster_job_id}/action/{action}',
    sure: 'documented',
    override: true,
  },
  createReport: { call: 'PUT /report/v1/reports', sure: 'sample', override: true },
  getReport: { call: 'GET /report/v1/reports/{report_id}', sure: 'sample', override: true },
  deleteJob: { call: 'DELETE {storage}/jobs/{job_id}', sure: 'inferred', override: true },
  deleteFile: { call: 'DELETE {storage}/files/{file_id}', sure: 'inferred', override: true },
  printJobs: { call: 'GET /connect/v1/print_jobs', sure: 'documented', override: true },
  maintenance: {
    call: 'GET /connect/v1/clusters/{cluster_id}/maintenance/pending',
    sure: 'documented',
    override: true,
  },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof ENDPOINTS;
export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

const PATH_PARAMETERS = [
  'cluster_id',
  'printer_id',
  'action',
  'action_id',
  'cluster_job_id',
  'report_id',
  'job_id',
  'file_id',
] as const;
export type PathParameter = (typeof PATH_PARAMETERS)[number];

/** A call ready to send: `host` says which of the account's two hosts `path` is under. */
export interface Target {
  method: Method;
  host: 'api' | 'auth';
  path: string;
}

/** Overrides as a user writes them: endpoint name to `"METHOD /path/{parameter}"`. */
export type PathOverrides = Partial<Record<EndpointName, string>>;

const CALL = /^(GET|PUT|POST|DELETE) (\{auth_url\}|\{storage\})?(\/[^\s?#]*)$/;

/** Checks overrides from an account's `paths` (an object, or JSON text). Throws NOT_CONFIGURED that names what is wrong. */
export function readOverrides(paths: unknown): PathOverrides {
  if (paths === undefined || paths === null || paths === '') return {};
  const refuse = (reason: string): never => {
    throw new PrintingError('NOT_CONFIGURED', `The account's paths are not usable: ${reason}.`);
  };
  let parsed: unknown = paths;
  if (typeof paths === 'string') {
    try {
      parsed = JSON.parse(paths);
    } catch {
      refuse('they are not JSON');
    }
  }
  const given = record(parsed) ?? refuse('they must be a JSON object');
  for (const [name, call] of Object.entries(given)) {
    const endpoint: Endpoint | undefined = Object.hasOwn(ENDPOINTS, name) ? ENDPOINTS[name as EndpointName] : undefined;
    if (!endpoint?.override) refuse(`"${name}" is not a name that can be overridden`);
    if (typeof call !== 'string' || !CALL.test(call)) refuse(`"${name}" must be like "GET /path/{cluster_id}"`);
    for (const [, parameter] of (call as string).matchAll(/\{([^}]*)\}/g))
      if (!['auth_url', 'storage', ...PATH_PARAMETERS].includes(parameter as string))
        refuse(`"${name}" has the unknown path parameter {${parameter}}`);
    const unsafe = unsafePart((call as string).replace(/^\w+ (\{auth_url\})?/, '').replace(/\{[^}]*\}/g, '-'));
    if (unsafe) refuse(`"${name}" holds ${unsafe}`);
  }
  return given;
}

export interface PathSettings {
  /** Prefix of the storage API (`storagePath` of the account), such as `/slicer/v1`. */
  storagePath: string;
  overrides: PathOverrides;
}

/** Fills the path parameters of an endpoint. Throws INVALID_INPUT for an id that is missing or would change the path's shape. */
export function target(
  name: EndpointName,
  ids: Partial<Record<PathParameter, string>>,
  settings: PathSettings,
): Target {
  const [method = '', pattern = ''] = (settings.overrides[name] ?? ENDPOINTS[name].call).split(' ');
  const host = pattern.startsWith('{auth_url}') ? 'auth' : 'api';
  const path = pattern
    .replace('{auth_url}', '')
    .replace('{storage}', settings.storagePath.replace(/\/+$/, ''))
    .replace(/\{([a-z_]+)\}/g, (_, parameter: PathParameter) => segment(parameter, ids[parameter]));
  return { method: method as Method, host, path };
}

/** One path segment from an id: only what is illegal in a path is encoded, `=` stays (wire facts, trap 44). */
function segment(parameter: PathParameter, id: string | undefined): string {
  const name = parameter.replaceAll('_', ' ');
  if (typeof id !== 'string' || id === '') throw new PrintingError('INVALID_INPUT', `The ${name} is missing.`);
  if (/[/\\]|\.\./.test(id) || id === '.')
    throw new PrintingError('INVALID_INPUT', `The ${name} must not hold a slash or "..".`);
  try {
    return encodeURIComponent(id).replaceAll('%3D', '=');
  } catch (cause) {
    throw new PrintingError('INVALID_INPUT', `The ${name} holds characters that no address can carry.`, { cause });
  }
}
