import { isDeepStrictEqual } from 'node:util';
import type { AnswerSize } from '../http/whole-text';
import { PAGE, QUESTION } from '../rules/limits';
import { PrintingError, unexpectedAnswer } from '../service/errors';
import type { EndpointName } from '../service/paths';
import { amount, list, number, record, text, type Json } from '../service/json-readers';
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
 * SERVICE_ERROR for an answer that is not a list of records, for a list with fewer entries than the service counts and no
 * number of pages that agrees, and for a question beyond QUESTION: what is missing from an incomplete list would look
 * removed. Throws the errors of the service's calls.
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
  let read = 0;
  let count: number | null = null;
  let guessed = false;
  let isStated = false;
  for (let page: number | null = 1; page !== null;) {
    const query = { ...options.query, ...(page > 1 && { page: String(page) }) };
    const { data, body, size } = await service.call(endpoint, {
      ...options,
      ...(Object.keys(query).length > 0 && { query }),
    });
    const entries = list(data);
    if (!account.book(entries.length, size))
      throw new PrintingError(
        'SERVICE_ERROR',
        phrase`The service has more of ${options.what} than can be read: ask for less, or try again later.`,
        { outcome: 'unknown' },
      );
    if (!isList(data) || !areRecords(entries)) throw unexpectedAnswer(options.what);
    const paging = readPaging(body);
    count = paging.count ?? count;
    const before = first;
    first = entries[0];
    // A service without pages repeats the same page.
    if (guessed && (first === undefined || isDeepStrictEqual(first, before))) {
      // Where the number of pages agrees, the count includes what the account can't see.
      if (count !== null && read < count && !isStated) throw unexpectedAnswer(options.what);
      return;
    }
    read += entries.length;
    yield entries.slice(0, PAGE);
    // Processing a long single page must not block the event loop either.
    for (let at = PAGE; at < entries.length; at += PAGE) {
      await nextTurn();
      yield entries.slice(at, at + PAGE);
    }
    const next = nextPage(paging, page);
    isStated = paging.pages !== null && paging.pages >= page;
    // A full page may not be the last, even if its answer names no other.
    const isFull = entries.length === Number(options.query?.limit);
    guessed = next === null && (count === null ? isFull && !isLast(paging, page) : read < count);
    page = guessed ? page + 1 : next;
  }
}

/** Whether a value is a list, or a single object in its place. An empty object would become an entry that nobody knows. */
const isList = (data: unknown): boolean => Array.isArray(data) || Object.keys(record(data) ?? {}).length > 0;

const areRecords = (entries: unknown[]): entries is Json[] => entries.every((entry) => record(entry) !== null);

/** The paging data of an answer; each field is null if the answer lacks it. */
interface Paging {
  pages: number | null;
  /** Entries of all pages. */
  count: number | null;
  links: Json | null;
}

function readPaging(body: unknown): Paging {
  const meta = record(record(body)?.meta);
  const page = record(meta?.page);
  return {
    pages: number(page?.total_pages),
    // The licence may cut a list; then its pages have fewer entries than it counts (trap 27).
    count: meta?.limit_reached === true ? null : amount(page?.total_count),
    links: record(record(body)?.links),
  };
}

function nextPage({ pages, links }: Paging, page: number): number | null {
  if (pages !== null && pages >= page) return page < pages ? page + 1 : null;
  const link = text(links?.next);
  const next = link === null ? null : number(/[?&]page=(\d+)/.exec(link)?.[1]);
  return next !== null && next > page ? next : null;
}

/** Whether an answer without a next page says that this one is the last. */
const isLast = ({ pages, links }: Paging, page: number): boolean =>
  (pages !== null && pages >= page) || (links !== null && text(links.next) === null);
