import { invalidValue } from '../http/refusals';

/**
 * Returns one page of a list with `meta` and `links` (wire facts 1). Without `limit`, it contains all entries. Makes
 * records only for the entries of the page.
 */
export function page<T>(entries: T[], query: URLSearchParams, url: string, record: (entry: T) => unknown): unknown {
  const number = positive(query, 'page', 1);
  const limit = positive(query, 'limit', 999_999);
  const pages = Math.max(1, Math.ceil(entries.length / limit));
  const link = (target: number): string => {
    const address = new URL(url);
    address.searchParams.set('page', String(target));
    address.searchParams.set('limit', String(limit));
    return address.href;
  };
  return {
    data: entries.slice((number - 1) * limit, number * limit).map(record),
    meta: { page: { total_count: entries.length, total_pages: pages }, limit_reached: false },
    links: {
      first: link(1),
      last: link(pages),
      ...(number < pages ? { next: link(number + 1) } : {}),
      ...(number > 1 ? { prev: link(number - 1) } : {}),
    },
  };
}

function positive(query: URLSearchParams, name: string, usual: number): number {
  const text = query.get(name);
  if (text === null) return usual;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw invalidValue('Page', name, 'must be a whole number from 1', text);
  return Number(text);
}
