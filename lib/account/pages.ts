import { isDeepStrictEqual } from 'node:util';
import { PAGES } from '../rules/limits';
import { PrintingError } from '../service/errors';
import type { EndpointName } from '../service/paths';
import { list, number, record, records, text, type Json } from '../service/json-readers';
import type { CallOptions, ApiClient } from './api-client';
import { nextTurn } from '../time/concurrency';
import { phrase } from '../words/sentence';

/**
 * Reads the entries of all pages of a list (wire facts 1, traps 27 and 28). Uses only the page numbers of links, as the
 * bearer must not follow an answer's links. Throws SERVICE_ERROR for an answer that is not a list and for a list beyond
 * PAGES, and the errors of the service's calls.
 */
export async function readPages(service: ApiClient, endpoint: EndpointName, options: CallOptions): Promise<Json[]> {
  const entries: Json[] = [];
  for await (const page of pagesOf(service, endpoint, options)) for (const entry of page) entries.push(entry);
  return entries;
}

/** Reads a list in parts of at most PAGES.entries, for lists that may be too long to hold in memory. */
export async function* pagesOf(
  service: ApiClient,
  endpoint: EndpointName,
  options: CallOptions,
): AsyncGenerator<Json[], void> {
  let first: Json | undefined;
  let guessed = false;
  const left = { pages: PAGES.count, bytes: PAGES.bytes, elements: PAGES.elements };
  for (let page: number | null = 1; page !== null;) {
    const query = { ...options.query, ...(page > 1 && { page: String(page) }) };
    const { data, body, size } = await service.call(endpoint, {
      ...options,
      ...(Object.keys(query).length > 0 && { query }),
    });
    left.pages--;
    left.bytes -= size?.bytes ?? 0;
    left.elements -= size?.elements ?? 0;
    if (Math.min(left.pages, left.bytes, left.elements) < 0)
      throw new PrintingError(
        'SERVICE_ERROR',
        phrase`The service has more of ${options.what} than can be read: ask for less, or try again later.`,
        { outcome: 'unknown' },
      );
    if (!Array.isArray(data) && !record(data))
      throw new PrintingError(
        'SERVICE_ERROR',
        phrase`The service answered ${options.what} with something unexpected: try again later.`,
      );
    const entries = records(data);
    const before = first;
    first = entries[0];
    // A service without pages repeats the same page.
    if (guessed && isDeepStrictEqual(first, before)) return;
    yield entries.slice(0, PAGES.entries);
    // Processing a long single page must not block the event loop either.
    for (let at = PAGES.entries; at < entries.length; at += PAGES.entries) {
      await nextTurn();
      yield entries.slice(at, at + PAGES.entries);
    }
    // A full page may not be the last, even if its answer names no other.
    guessed = list(data).length === Number(options.query?.limit) && !namesPages(body);
    page = guessed ? page + 1 : nextPage(body, page);
  }
}

const namesPages = (body: unknown): boolean =>
  record(record(record(body)?.meta)?.page) !== null || record(record(body)?.links) !== null;

function nextPage(body: unknown, page: number): number | null {
  const total = number(record(record(record(body)?.meta)?.page)?.total_pages);
  if (total !== null) return page < total ? page + 1 : null;
  const link = text(record(record(body)?.links)?.next);
  const next = link === null ? null : number(/[?&]page=(\d+)/.exec(link)?.[1]);
  return next !== null && next > page ? next : null;
}
