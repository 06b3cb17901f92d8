import { Refusal } from '../http/refusals';

/** The Content-Range of a request: a part of the file, or the question how far it came (wire facts 4.2). */
export type ContentRange = { first: number; last: number; total: number } | { question: true; total: number };

/** `undefined` without the header; throws for one that is none. */
export function contentRange(header: string | undefined): ContentRange | undefined {
  if (header === undefined) return undefined;
  const [, range = '', first = '', last = '', total = ''] = /^bytes (\*|(\d+)-(\d+))\/(\d+)$/.exec(header) ?? [];
  if (range === '*') return { question: true, total: Number(total) };
  const part = { first: Number(first), last: Number(last), total: Number(total) };
  if (range === '' || part.first > part.last || part.last >= part.total)
    throw new Refusal(400, 'InvalidArgument', 'The Content-Range header makes no sense.');
  return part;
}
