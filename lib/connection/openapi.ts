import { TEXT } from '../rules/limits';
import type { Method, Target } from '../service/paths';
import { list, record, records, text } from '../service/json-readers';

/** A call that a service's own description names. */
export interface DescribedCall {
  method: Method;
  host: Target['host'];
  /** The whole path behind the host, in parts; a parameter as `{name}`. */
  parts: string[];
}

const METHODS = ['get', 'put', 'post', 'delete'] as const;
/** No service has more paths; what comes after them is left out. */
const MOST_PATHS = 5_000;

export const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '');
export const isParameter = (part: string): boolean => /^\{.*\}$/.test(part);

/**
 * The calls in an OpenAPI document (2 or 3) that was read at `base`; null for what is no such document. A part that is not
 * as it should be is overlooked.
 */
export function describedCalls(document: unknown, host: Target['host'], base: string): DescribedCall[] | null {
  const root = record(record(document)?.data) ?? record(document);
  const paths = record(root?.paths);
  if (!root || !paths) return null;
  const prefix = prefixOf(text(root.basePath) ?? text(records(root.servers)[0]?.url), partsOf(base));
  return Object.entries(paths)
    .filter(([path]) => path.length <= TEXT.matched)
    .slice(0, MOST_PATHS)
    .flatMap(([path, item]) => {
      const own = partsOf(path);
      const isWhole = prefix.length > 0 && prefix.every((part, index) => own[index] === part);
      const parts = isWhole ? own : [...prefix, ...own];
      const described = METHODS.filter((method) => list(record(item)?.[method]).length > 0);
      return described.map((method) => ({ method: method.toUpperCase() as Method, host, parts }));
    });
}

/** What a document says its paths are below, where that fits to where it was read: else it is an address behind a proxy. */
function prefixOf(declared: string | null, base: string[]): string[] {
  const path =
    declared === null || declared.length > TEXT.matched ? '' : declared.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '');
  const parts = partsOf(path);
  return parts.length > 0 && parts[0] === base[0] ? parts : base;
}
