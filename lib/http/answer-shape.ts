import { ANSWER } from '../rules/limits';

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
/** Words of four equal bytes. */
const QUOTES = QUOTE * 0x01010101;
const BACKSLASHES = BACKSLASH * 0x01010101;
/** Whether a byte is whitespace or belongs to a byte order mark, and so may precede the first value. */
const isBeforeValue = (byte: number): boolean => byte <= 0x20 || byte >= 0xbb;

/** Position of a long list in an answer, in bytes. */
export interface LongList {
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
  /** The current list, long or not; null outside lists that can be split. */
  #open: { depth: number; from: number } | null = null;
  /** Number of values, and position, at the last cut. */
  #cut = { elements: 0, at: 0 };

  /** Counts another part. Returns false if the answer exceeds a limit and must not be parsed. */
  add(part: Uint8Array): boolean {
    const start = this.bytes;
    this.bytes += part.length;
    if (this.bytes > ANSWER.bytes) return false;
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
          if (depth <= 2) this.#atComma(start + at, depth, elements);
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
    if (!this.list && isList && (depth === 1) === this.#isList) this.#open = { depth, from: at + 1 };
  }

  #atComma(at: number, depth: number, elements: number): void {
    if (depth === 1) this.#member = at + 1;
    const open = this.#open;
    if (depth !== open?.depth) return;
    const list = this.list ?? { member: this.#isList ? null : this.#member, from: open.from, cuts: [], to: null };
    const isFew = elements - this.#cut.elements < ANSWER.batch;
    if (isFew && at - Math.max(this.#cut.at, list.from) < ANSWER.batchBytes) return;
    this.list = list;
    list.cuts.push(at);
    this.#cut = { elements, at };
  }

  #atClosing(at: number): void {
    this.#open = null;
    if (this.list) this.list.to = at;
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
