import { isDeepStrictEqual } from 'node:util';
import type { AnswerSize } from '../http/whole-text';
import { PAGE, QUESTION } from '../rules/limits';
import { PrintingError } from '../service/errors';
import type { EndpointName } from '../service/paths';
import { list, number, record, records, text, type Json } from '../service/json-readers';
import type { CallOptions, ApiClient } from './api-client';
import { nextTurn } from '../time/concurrency';
import { phrase } from '../words/sentence';

/** Account of what one question may read, over all its lists and their pages. */
export class QuestionAccount {
  readonly #left = { ...QUESTION };

  /** Books a page. Returns false if the question exceeds QUESTION. */
  book(entries: number, { bytes, elements }: AnswerSize = { bytes: 0, elements: 0 }): boolean {
    const left = this.#left as Record<keyof typeof QUESTION, number>;
    left.pages--;
    left.bytes -= bytes;
    left.elements -= elements;
    left.entries -= entries;
    return Math.min(...Object.values(left)) >= 0;
  }
}

/**
 * Reads the entries of all pages of a list (wire facts 1, traps 27 and 28). Uses only the page numbers of links, as the
 * bearer must not follow an answer's links. A question of several lists passes the same account to each. Throws
 * SERVICE_ERROR for an answer that is not a list and for a question beyond QUESTION, and the errors of the service's
 * calls.
 */
export async function readPages(...list: Parameters<typeof pagesOf>): Promise<Json[]> {
  const entries: Json[] = [];
  for await (const page of pagesOf(...list)) for (const entry of page) entries.push(entry);
  return entries;
}

/** Reads a list in parts of at most PAGE entries, for lists that may be too long to hold in memory. */
export async function* pagesOf(
  service: ApiClient,
  endpoint: EndpointName,
  options: CallOptions,
  account = new QuestionAccount(),
): AsyncGenerator<Json[], void> {
  let first: Json | undefined;
  let guessed = false;
  for (let page: number | null = 1; page !== null;) {
    const query = { ...options.query, ...(page > 1 && { page: String(page) }) };
    const { data, body, size } = await service.call(endpoint, {
      ...options,
      ...(Object.keys(query).length > 0 && { query }),
    });
    if (!account.book(list(data).length, size))
      throw new PrintingError(
        'SERVICE_ERROR',
        phrase`The service has more of ${options.what} than can be read: ask for less, or try again later.`,
        { outcome: 'unknown' },
      );
    // An empty object is no list of one: it would become an entry that nobody knows.
    if (!Array.isArray(data) && Object.keys(record(data) ?? {}).length === 0)
      throw new PrintingError(
        'SERVICE_ERROR',
        phrase`The service answered ${options.what} with something unexpected: try again later.`,
      );
    const entries = records(data);
    const before = first;
    first = entries[0];
    // A service without pages repeats the same page.
    if (guessed && isDeepStrictEqual(first, before)) return;
    yield entries.slice(0, PAGE);
    // Processing a long single page must not block the event loop either.
    for (let at = PAGE; at < entries.length; at += PAGE) {
      await nextTurn();
      yield entries.slice(at, at + PAGE);
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
