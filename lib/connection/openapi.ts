import { TEXT } from '../rules/limits';
import type { Method, Target } from '../service/paths';
import { list, record, records, text } from '../service/json-readers';

/** A call in a service's own description. */
export interface DescribedCall {
  method: Method;
  host: Target['host'];
  /** The parts of the whole path; a parameter as `{name}`. */
  parts: string[];
}

const METHODS = ['get', 'put', 'post', 'delete'] as const;
/** Most paths read from a description; no service has more. */
const MOST_PATHS = 5_000;

export const segmentsOf = (path: string): string[] => path.split('/').filter((part) => part !== '');
export const isParameter = (part: string): boolean => /^\{.*\}$/.test(part);

/**
 * The calls in an OpenAPI document (2 or 3) that was read at `base`; null for any other document. Ignores malformed
 * parts.
 */
export function describedCalls(document: unknown, host: Target['host'], base: string): DescribedCall[] | null {
  const root = record(record(document)?.data) ?? record(document);
  const paths = record(root?.paths);
  if (!root || !paths) return null;
  const prefix = prefixOf(text(root.basePath) ?? text(records(root.servers)[0]?.url), segmentsOf(base));
  return Object.entries(paths)
    .filter(([path]) => path.length <= TEXT.matched)
    .slice(0, MOST_PATHS)
    .flatMap(([path, item]) => {
      const own = segmentsOf(path);
      const isWhole = prefix.length > 0 && prefix.every((part, index) => own[index] === part);
      const parts = isWhole ? own : [...prefix, ...own];
      const described = METHODS.filter((method) => list(record(item)?.[method]).length > 0);
      return described.map((method) => ({ method: method.toUpperCase() as Method, host, parts }));
    });
}

/**
 * The document's declared base path if it fits the place of the document; otherwise that place, as the declared one
 * belongs to a proxy.
 */
function prefixOf(declared: string | null, base: string[]): string[] {
  const path =
    declared === null || declared.length > TEXT.matched ? '' : declared.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '');
  const parts = segmentsOf(path);
  return parts.length > 0 && parts[0] === base[0] ? parts : base;
}
