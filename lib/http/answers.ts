import { once } from 'node:events';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { ANSWER } from '../rules/limits';
import { nextTurn } from '../time/concurrency';

const BOM = /^\uFEFF/;
/** JSON whitespace. */
const BLANK = /^[ \t\n\r]*$/;
const END_OF_OBJECT = /^[ \t\n\r]*\}[ \t\n\r]*$/;
const NEXT_MEMBER = /^[ \t\n\r]*,/;
const CLOSE_LIST = 0x5d;

export const decodeText = (bytes: Buffer): string => bytes.toString('utf8').replace(BOM, '');

let last: Promise<unknown> = Promise.resolve();

/**
 * Parses the bytes like `JSON.parse`; undefined if they are no JSON. An answer that is not short gets a turn of the event loop
 * of its own, and a long list one for each of its parts. Only one such answer is parsed at a time, so that several large ones
 * aren't in memory together. `beforePart` is called before each part; an error that it throws ends the parsing.
 */
export function parseAnswer(
  bytes: Buffer,
  { list }: Pick<AnswerShape, 'list'>,
  beforePart: () => void = () => undefined,
) {
  if (!list && bytes.length <= ANSWER.short) return asJson(decodeText(bytes));
  const mine = last.then(() => (list ? inParts(bytes, list, beforePart) : atOnce(bytes, beforePart)));
  last = mine.catch(() => undefined);
  return mine;
}

async function atOnce(bytes: Buffer, beforePart: () => void): Promise<unknown> {
  await nextTurn();
  beforePart();
  const text = decodeText(bytes);
  // The decoding of a long text takes as much time as its parsing.
  if (bytes.length > ANSWER.batchBytes) await nextTurn();
  return asJson(text);
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
  const name = nameOf(bytes, member, open);
  const rest = END_OF_OBJECT.test(after) ? {} : object(after.replace(NEXT_MEMBER, '{'));
  const isEmpty = rest !== null && Object.keys(rest).length === 0 && !END_OF_OBJECT.test(after);
  if (!start || name === undefined || !rest || isEmpty) return null;
  // Like JSON.parse, a repeated name keeps the place of its first value and has its last value.
  return (list: unknown[]): unknown => ({ ...start, [name]: list, ...rest });
}

/** Name of the member that begins at `member` and contains the list that opens at `open`. */
const nameOf = (bytes: Buffer, member: number, open: number): string | undefined =>
  Object.keys(object(`{${bytes.toString('utf8', member, open)}[]}`) ?? {})[0];

/**
 * Whether an answer has more than ANSWER.piece values, and its long list is neither the whole answer nor its `data`. Only those
 * two are read and copied in parts.
 */
export const isLongElsewhere = (bytes: Buffer, { list, elements }: Pick<AnswerShape, 'list' | 'elements'>): boolean =>
  elements > ANSWER.piece &&
  list !== null &&
  list.member !== null &&
  nameOf(bytes, list.member, list.from - 1) !== 'data';

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

/**
 * Number of values of a parsed short answer, as `AnswerShape` counts them; null if it exceeds a limit. Counting the values
 * of a poll's answer costs a third of scanning its bytes.
 */
export function elementsOf(body: unknown, depth = 0): number | null {
  if (typeof body !== 'object' || body === null) return 0;
  if (depth === ANSWER.depth) return null;
  let entries = 0;
  let inside = 0;
  // A loop over the names of a list costs three times as much.
  if (Array.isArray(body)) {
    if (body.length > ANSWER.entries && depth < 2) return null;
    for (const value of body as unknown[]) {
      const elements = elementsOf(value, depth + 1);
      if (elements === null) return null;
      entries++;
      inside += elements;
    }
  } else
    for (const name in body) {
      const elements = elementsOf((body as Record<string, unknown>)[name], depth + 1);
      if (elements === null) return null;
      entries++;
      inside += elements;
    }
  return inside + Math.max(1, entries);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const OPEN_LIST = 0x5b;
/** Words of four equal bytes. */
const QUOTES = QUOTE * 0x01010101;
const BACKSLASHES = BACKSLASH * 0x01010101;
/** Whether a byte is whitespace or belongs to a byte order mark, and so may precede the first value. */
const isBeforeValue = (byte: number): boolean => byte <= 0x20 || byte >= 0xbb;

/** Position of a long list in an answer, in bytes. */
interface LongList {
  /** Start of the object's member that contains the list; null if the list is the whole answer. */
  member: number | null;
  /** First byte after the opening bracket. */
  from: number;
  /** Commas between entries, one for about every ANSWER.batch values. */
  cuts: number[];
  /** Position of the closing bracket; null until it arrives. */
  to: number | null;
}

/**
 * Counts the depth and the values of JSON in one pass while its bytes arrive. The number of bytes alone says little,
 * because `JSON.parse` can turn a text into a hundred times its size. Text that doesn't begin as an object or array
 * isn't counted. The first long list, the whole answer or a member of it, is marked so that it can be parsed in parts
 * (`parseAnswer`).
 */
export class AnswerShape {
  bytes = 0;
  elements = 0;
  /** Null while no list is long enough to be split. */
  list: LongList | null = null;
  #depth = 0;
  #isJson: boolean | null = null;
  /** Whether the last part ended in a string, and how many bytes of the next part an escape at its end covers. */
  #inString = false;
  #skipped = 0;
  /** Whether the whole answer is a list. */
  #isList = false;
  #member = 0;
  /** The current list, long or not, and its entries so far; null outside lists. */
  #open: { depth: number; from: number; entries: number } | null = null;
  /** Number of values, and position, at the last cut. */
  #cut = { elements: 0, at: 0 };

  /** Counts another part. Returns false if the answer exceeds a limit and must not be parsed. */
  add(part: Uint8Array): boolean {
    const start = this.bytes;
    this.bytes += part.length;
    let at = 0;
    if (this.#isJson === null) {
      while (at < part.length && isBeforeValue(part[at] as number)) at++;
      if (at < part.length) {
        this.#isList = part[at] === OPEN_LIST;
        this.#isJson = this.#isList || part[at] === OPEN;
      }
    }
    return this.#isJson === true ? this.#scan(part, at, start) : true;
  }

  #scan(part: Uint8Array, from: number, start: number): boolean {
    const { length } = part;
    const words = new DataView(part.buffer, part.byteOffset, length);
    let [elements, depth, at] = [this.elements, this.#depth, from];
    // Continues a string of the previous part.
    if (this.#inString) at = endOfString(part, words, at + this.#skipped) + 1;
    for (; at < length; at++) {
      const byte = part[at] as number;
      // A switch, because it costs a seventh less than comparisons in turn.
      switch (byte) {
        case QUOTE:
          at = endOfString(part, words, at + 1);
          break;
        case COMMA:
          elements++;
          if (depth <= 2 && !this.#atComma(start + at, depth, elements)) return false;
          if (this.#isTooMuch(elements)) return false;
          break;
        case OPEN:
        case OPEN_LIST:
          elements++;
          if (++depth > ANSWER.depth) return false;
          if (depth <= 2) this.#atOpening(start + at, depth, byte === OPEN_LIST);
          if (this.#isTooMuch(elements)) return false;
          break;
        case CLOSE:
        case CLOSE_LIST:
          if (depth === this.#open?.depth) this.#atClosing(start + at);
          depth--;
      }
    }
    [this.elements, this.#depth] = [elements, depth];
    // A string that the part ends in was passed over as if its quote followed.
    this.#inString = at > length;
    this.#skipped = Math.max(0, at - length - 1);
    return true;
  }

  #isTooMuch(elements: number): boolean {
    return elements > ANSWER.elements || elements - this.#cut.elements > ANSWER.piece;
  }

  #atOpening(at: number, depth: number, isList: boolean): void {
    if (depth === 1) this.#member = at + 1;
    if (isList && (depth === 1) === this.#isList) this.#open = { depth, from: at + 1, entries: 1 };
  }

  /** Returns false if the list has too many entries. */
  #atComma(at: number, depth: number, elements: number): boolean {
    if (depth === 1) this.#member = at + 1;
    const open = this.#open;
    if (depth !== open?.depth) return true;
    if (++open.entries > ANSWER.entries) return false;
    // Only the first long list is split.
    if (this.list && this.list.to !== null) return true;
    const list = this.list ?? { member: this.#isList ? null : this.#member, from: open.from, cuts: [], to: null };
    const isFew = elements - this.#cut.elements < ANSWER.batch;
    if (isFew && at - Math.max(this.#cut.at, list.from) < ANSWER.batchBytes) return true;
    this.list = list;
    list.cuts.push(at);
    this.#cut = { elements, at };
    return true;
  }

  #atClosing(at: number): void {
    this.#open = null;
    if (this.list) this.list.to ??= at;
  }
}

/** Position of the quote that ends the string at `from`; from `part.length` on if the string ends in a later part. */
function endOfString(part: Uint8Array, words: DataView, from: number): number {
  const { length } = part;
  // Continues behind each escaped byte.
  for (let at = from; ; at += 2) {
    // Most bytes of an answer are in strings: four at a time cost half as much.
    while (at + 4 <= length && !holdsEnd(words.getInt32(at))) at += 4;
    while (at < length && part[at] !== QUOTE && part[at] !== BACKSLASH) at++;
    if (at >= length || part[at] === QUOTE) return at;
  }
}

/** Whether any byte of a word is a quote or a backslash. */
const holdsEnd = (word: number): boolean => ((zeroIn(word ^ QUOTES) | zeroIn(word ^ BACKSLASHES)) & 0x80808080) !== 0;

/** Sets the highest bit of a byte if any byte of the word is zero. */
const zeroIn = (word: number): number => (word - 0x01010101) & ~word;

const MAKERS = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);
/** Most nested encodings; no real answer has more. */
const MOST = 3;

/** Decoders for a `content-encoding` header, outermost first; null if an encoding is unknown. */
export function decodersOf(header?: string): Transform[] | null {
  if (header === undefined) return [];
  const names = header.split(',', MOST + 1).map((name) => name.trim().toLowerCase());
  const encodings = names.filter((name) => name !== '' && name !== 'identity').reverse();
  const known = encodings.flatMap((name) => MAKERS.get(name) ?? []);
  return known.length === encodings.length && known.length <= MOST ? known.map((make) => make()) : null;
}

/**
 * Calls `onTooMuch` as soon as what one decoder hands to the next has more than twice `most` bytes: bytes that decode to
 * nothing in the end can be a million times as many on the way.
 */
export function limitBetween(decoders: readonly Transform[], most: number, onTooMuch: () => void): void {
  for (const decoder of decoders.slice(0, -1)) {
    let size = 0;
    decoder.on('data', (part: Buffer) => {
      size += part.length;
      if (size > 2 * most) onTooMuch();
    });
  }
}

/** Decodes an answer while it arrives. */
export class Decoding {
  readonly #first: Transform;
  readonly #last: Transform;
  #isEmpty = true;

  /**
   * @param decoders at least one, outermost first
   * @param onError called for bytes that don't match the encoding
   */
  constructor(
    private readonly decoders: Transform[],
    onPart: (part: Buffer) => void,
    onError: (error: Error) => void,
  ) {
    this.#first = decoders[0] as Transform;
    this.#last = decoders.at(-1) as Transform;
    for (const decoder of decoders) decoder.on('error', onError);
    decoders.reduce((from, to) => from.pipe(to));
    this.#last.on('data', onPart);
  }

  write(part: Buffer): void {
    this.#isEmpty = false;
    this.#first.write(part);
  }

  /** Resolves when all parts have been decoded. */
  async end(): Promise<void> {
    // An answer without a body, such as a 204, isn't encoded, whatever its header says.
    if (this.#isEmpty) return this.destroy();
    // A destroyed chain ends this too; its error has already been reported.
    const ended = Promise.race([once(this.#last, 'end'), once(this.#last, 'close')]);
    this.#first.end();
    await ended;
  }

  destroy(): void {
    for (const decoder of this.decoders) decoder.destroy();
  }
}
