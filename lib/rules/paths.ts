import { phrase, type Sentence } from '../words/sentence';
import { TEXT } from './limits';
import { trimmed } from './text';

/**
 * Returns the reason not to send a user's path, in words that follow "it contains", or null. A path that passes means
 * the same to every URL parser: nothing in it is stripped, folded or decoded into another host or out of the host's own
 * path.
 */
export function unsafePart(pathAndQuery: string): Sentence | null {
  if (/[^\x21-\x7e]/.test(pathAndQuery)) return phrase`a space, a control character or a letter that must be encoded`;
  if (pathAndQuery.includes('\\')) return phrase`a backslash`;
  if (pathAndQuery.includes('#')) return phrase`a # part`;
  if (/[{}]/.test(pathAndQuery)) return phrase`a { or }`;
  if (/%(?![\da-f]{2})/i.test(pathAndQuery)) return phrase`a % that encodes nothing`;
  const [path = '', ...query] = pathAndQuery.split('?');
  if (path.includes('//')) return phrase`an empty part (//)`;
  if (/%(25)*(2f|5c)/i.test(path)) return phrase`an encoded slash`;
  if (/%([01][\da-f]|7f)/i.test(path)) return phrase`an encoded control character`;
  // Some servers decode twice, or cut parameters (;) off before they evaluate the dots.
  if (path.split('/').some((part) => /^(\.|%(25)*2e){1,2}(;|$)/i.test(part))) return phrase`a . or .. part`;
  if (!/^[\w\-.~!$&'()*+,;=:@%/]*$/.test(path)) return phrase`a character that must be encoded`;
  if (!/^[\w\-.~!$&'()*+,;=:@%/?[\]|]*$/.test(query.join('?'))) return phrase`a character that must be encoded`;
  return null;
}

/**
 * Source of a call that the interface does not show (wire facts 2, 9 to 13): `documented` in public pages of the
 * service, `sample` in public sample code, `inferred` from related facts.
 */
export type Sureness = 'documented' | 'sample' | 'inferred';

/** The calls whose method and path a user can override (reference 7). */
export const OVERRIDABLE_CALLS = {
  currentUser: { call: 'GET {auth_url}/users/current', sure: 'inferred' },
  storedJobs: { call: 'GET {storage}/jobs', sure: 'documented' },
  printerAction: {
    call: 'POST /connect/v1/clusters/{cluster_id}/printers/{printer_id}/action/{action}',
    sure: 'documented',
  },
  actionStatus: { call: 'GET /connect/v1/clusters/{cluster_id}/action_status/{action_id}', sure: 'documented' },
  jobAction: {
    call: 'POST /connect/v1/clusters/{cluster_id}/print_jobs/{cluster_job_id}/action/{action}',
    sure: 'documented',
  },
  createReport: { call: 'PUT /report/v1/reports', sure: 'sample' },
  getReport: { call: 'GET /report/v1/reports/{report_id}', sure: 'sample' },
  deleteJob: { call: 'DELETE {storage}/jobs/{job_id}', sure: 'inferred' },
  deleteFile: { call: 'DELETE {storage}/files/{file_id}', sure: 'inferred' },
  printJobs: { call: 'GET /connect/v1/print_jobs', sure: 'documented' },
  maintenance: { call: 'GET /connect/v1/clusters/{cluster_id}/maintenance/pending', sure: 'documented' },
} as const satisfies Record<string, { call: string; sure: Sureness }>;

export type Overridable = keyof typeof OVERRIDABLE_CALLS;
export const OVERRIDABLE = Object.keys(OVERRIDABLE_CALLS) as Overridable[];

export const PATH_PARAMETERS = [
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

/** A user's overrides: from the name of a call to `"METHOD /path/{parameter}"`. */
export type PathOverrides = Partial<Record<Overridable, string>>;

/** Fault of an override. `name` and `words` are the user's text: never show them as HTML. */
export type PathFault =
  | { kind: 'json' | 'object' }
  | { kind: 'name'; name: string }
  | { kind: 'call'; name: Overridable }
  | { kind: 'parameter'; name: Overridable; words: string }
  | { kind: 'unsafe'; name: Overridable; words: Sentence };

const CALL = /^(GET|PUT|POST|DELETE) (\{auth_url\}|\{storage\})?(\/[^\s?#]*)$/;

/** Reads an account's `paths`: an object or JSON text. Blank means no overrides. */
export function readPathOverrides(paths: unknown): { overrides: PathOverrides } | { fault: PathFault } {
  let parsed: unknown = paths ?? '';
  if (typeof parsed === 'string') {
    try {
      parsed = JSON.parse(parsed.trim() || '{}');
    } catch {
      return { fault: { kind: 'json' } };
    }
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return { fault: { kind: 'object' } };
  for (const [name, call] of Object.entries(parsed)) {
    const fault = faultOf(name, call);
    if (fault) return { fault };
  }
  return { overrides: parsed };
}

const isOverridable = (name: string): name is Overridable => Object.hasOwn(OVERRIDABLE_CALLS, name);

function faultOf(name: string, call: unknown): PathFault | null {
  if (!isOverridable(name)) return { kind: 'name', name };
  // The length is checked first, as some patterns below backtrack at each bracket.
  if (typeof call !== 'string' || call.length > TEXT.matched || !CALL.test(call)) return { kind: 'call', name };
  const path = call.replace(/^\w+ (\{auth_url\})?/, '');
  for (const [, parameter = ''] of path.matchAll(/\{([^}]*)\}/g))
    if (!['storage', ...PATH_PARAMETERS].includes(parameter)) return { kind: 'parameter', name, words: parameter };
  const unsafe = unsafePart(path.replace(/\{[^}]*\}/g, '-'));
  return unsafe ? { kind: 'unsafe', name, words: unsafe } : null;
}

export const DEFAULT_STORAGE_PATH = '/slicer/v1';

/** Reads the prefix of the storage API, without a trailing slash; blank is the default, null an invalid one. */
export function readStoragePath(value: unknown): string | null {
  const prefix = trimmed(value) || DEFAULT_STORAGE_PATH;
  const good = /^(\/[\w.~-]+)+\/?$/.test(prefix) && !prefix.includes('..') && !/\/\.(\/|$)/.test(prefix);
  return good ? prefix.replace(/\/$/, '') : null;
}
