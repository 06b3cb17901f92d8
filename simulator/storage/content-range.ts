import { Refusal } from '../http/refusals';

/** Content-Range of a request: a part of the file, or a progress query (wire facts 4.2). */
export type ContentRange = { first: number; last: number; total: number } | { question: true; total: number };

/** Parses the header; `undefined` without one. Throws for an invalid one. */
export function contentRange(header: string | undefined): ContentRange | undefined {
  if (header === undefined) return undefined;
  const [, range = '', first = '', last = '', total = ''] = /^bytes (\*|(\d+)-(\d+))\/(\d+)$/.exec(header) ?? [];
  if (range === '*') return { question: true, total: Number(total) };
  const part = { first: Number(first), last: Number(last), total: Number(total) };
  if (range === '' || part.first > part.last || part.last >= part.total)
    throw new Refusal(400, 'InvalidArgument', 'The Content-Range header is invalid.');
  return part;
}
