import { nextTurn } from '../time/concurrency';
import type { AnswerShape, LongList } from './answer-shape';

const BOM = /^\uFEFF/;
/** JSON whitespace. */
const BLANK = /^[ \t\n\r]*$/;
const END_OF_OBJECT = /^[ \t\n\r]*\}[ \t\n\r]*$/;
const NEXT_MEMBER = /^[ \t\n\r]*,/;
const CLOSE_LIST = 0x5d;

export const decodeText = (bytes: Buffer): string => bytes.toString('utf8').replace(BOM, '');

let last: Promise<unknown> = Promise.resolve();

/**
 * Parses the bytes like `JSON.parse`; undefined if they are no JSON. A long list is parsed in parts, with a turn of the
 * event loop between them. Only one such answer is parsed at a time, so that several large ones aren't in memory
 * together. `beforePart` is called before each part; an error that it throws ends the parsing.
 */
export function parseAnswer(
  bytes: Buffer,
  { list }: Pick<AnswerShape, 'list'>,
  beforePart: () => void = () => undefined,
) {
  if (!list) return asJson(decodeText(bytes));
  const mine = last.then(() => inParts(bytes, list, beforePart));
  last = mine.catch(() => undefined);
  return mine;
}

async function inParts(bytes: Buffer, list: LongList, beforePart: () => void): Promise<unknown> {
  const { member, from, cuts, to } = list;
  if (to === null || bytes[to] !== CLOSE_LIST) return undefined;
  const frame = frameOf(bytes, member, from - 1, to);
  if (!frame) return undefined;
  const entries: unknown[] = [];
  let start = from;
  for (const end of [...cuts, to]) {
    await nextTurn();
    beforePart();
    const part = asJson(`[${bytes.toString('utf8', start, end)}]`);
    // An empty part means a stray comma.
    if (!Array.isArray(part) || part.length === 0) return undefined;
    for (const entry of part) entries.push(entry);
    start = end + 1;
  }
  return frame(entries);
}

/**
 * Builds a function that inserts the parsed list into the rest of the answer; null if the rest is no JSON. `open` and
 * `to` are the list's brackets.
 */
function frameOf(bytes: Buffer, member: number | null, open: number, to: number) {
  const after = bytes.toString('utf8', to + 1);
  if (member === null) {
    const isWhole = BLANK.test(decodeText(bytes.subarray(0, open))) && BLANK.test(after);
    return isWhole ? (list: unknown[]): unknown => list : null;
  }
  const start = object(`${decodeText(bytes.subarray(0, open))}[]}`);
  const [name] = Object.keys(object(`{${bytes.toString('utf8', member, open)}[]}`) ?? {});
  const rest = END_OF_OBJECT.test(after) ? {} : object(after.replace(NEXT_MEMBER, '{'));
  const isEmpty = rest !== null && Object.keys(rest).length === 0 && !END_OF_OBJECT.test(after);
  if (!start || name === undefined || !rest || isEmpty) return null;
  // Like JSON.parse, a repeated name keeps the place of its first value and has its last value.
  return (list: unknown[]): unknown => ({ ...start, [name]: list, ...rest });
}

const object = (text: string): object | null => {
  const value = asJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
};

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
