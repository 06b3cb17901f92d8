import type { Sentence } from '../words/sentence';
import { TEXT } from './limits';
import { unsafePart } from './path';

/**
 * Source of a call that the interface does not show (wire facts 2, 9 to 13): `documented` in public pages of the
 * service, `sample` in public sample code, `inferred` from related facts.
 */
export type Sureness = 'documented' | 'sample' | 'inferred';

/** The calls whose method and path a user can override (reference 7). */
export const OVERRIDABLE_CALLS = {
  currentUser: { call: 'GET {auth_url}/users/current', sure: 'inferred' },
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
