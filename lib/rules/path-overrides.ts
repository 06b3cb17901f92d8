import type { Sentence } from '../words/say';
import { unsafePart } from './path';

/** The calls that a user can put another method and path in place of (reference 7). */
export const OVERRIDABLE = [
  'currentUser',
  'printerAction',
  'actionStatus',
  'jobAction',
  'createReport',
  'getReport',
  'deleteJob',
  'deleteFile',
  'printJobs',
  'maintenance',
] as const;
export type Overridable = (typeof OVERRIDABLE)[number];

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

/** Overrides as a user writes them: name of the call to `"METHOD /path/{parameter}"`. */
export type PathOverrides = Partial<Record<Overridable, string>>;

/** Why overrides can't be used. `name` and `words` come from what was written: not for places that show HTML. */
export type PathFault =
  | { kind: 'json' | 'object' }
  | { kind: 'name'; name: string }
  | { kind: 'call'; name: Overridable }
  | { kind: 'parameter'; name: Overridable; words: string }
  | { kind: 'unsafe'; name: Overridable; words: Sentence };

const CALL = /^(GET|PUT|POST|DELETE) (\{auth_url\}|\{storage\})?(\/[^\s?#]*)$/;

/** Reads an account's `paths`: an object, or JSON text; blank is none. */
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

const isOverridable = (name: string): name is Overridable => (OVERRIDABLE as readonly string[]).includes(name);

function faultOf(name: string, call: unknown): PathFault | null {
  if (!isOverridable(name)) return { kind: 'name', name };
  if (typeof call !== 'string' || !CALL.test(call)) return { kind: 'call', name };
  const path = call.replace(/^\w+ (\{auth_url\})?/, '');
  for (const [, parameter = ''] of path.matchAll(/\{([^}]*)\}/g))
    if (!['storage', ...PATH_PARAMETERS].includes(parameter)) return { kind: 'parameter', name, words: parameter };
  const unsafe = unsafePart(path.replace(/\{[^}]*\}/g, '-'));
  return unsafe ? { kind: 'unsafe', name, words: unsafe } : null;
}
