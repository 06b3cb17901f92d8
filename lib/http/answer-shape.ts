import { ANSWER } from '../rules/limits';

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
/** `{` and `[`, `}` and `]` differ in one bit. */
const BRACKET_BIT = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** Blanks, and the bytes of a byte order mark, may stand before the first value. */
const isBeforeValue = (byte: number): boolean => byte <= 0x20 || byte >= 0xbb;

/**
 * Counts the depth and the values of JSON while its bytes arrive, in one pass: what `JSON.parse` makes of a text costs a
 * hundred times its bytes, so that the bytes alone say nothing. Text that begins as no object or array isn't counted.
 */
export class AnswerShape {
  bytes = 0;
  elements = 0;
  #depth = 0;
  #isJson: boolean | null = null;
  #inString = false;
  #escaped = false;

  /** Counts another part. False: the answer exceeds a limit, and must not be parsed. */
  add(part: Uint8Array): boolean {
    this.bytes += part.length;
    if (this.bytes > ANSWER.bytes) return false;
    let at = 0;
    if (this.#isJson === null) {
      while (at < part.length && isBeforeValue(part[at] as number)) at++;
      if (at < part.length) this.#isJson = ((part[at] as number) | BRACKET_BIT) === OPEN;
    }
    return this.#isJson === true ? this.#scan(part, at) : true;
  }

  #scan(part: Uint8Array, from: number): boolean {
    const { length } = part;
    let [elements, depth, inString, escaped] = [this.elements, this.#depth, this.#inString, this.#escaped];
    for (let at = from; at < length; at++) {
      let byte = part[at] as number;
      if (inString) {
        if (escaped) {
          escaped = false;
          continue;
        }
        while (byte !== QUOTE && byte !== BACKSLASH && ++at < length) byte = part[at] as number;
        if (at === length) break;
        if (byte === QUOTE) inString = false;
        else escaped = true;
      } else if (byte === QUOTE) inString = true;
      else if (byte === COMMA) elements++;
      else if ((byte | BRACKET_BIT) === OPEN) {
        elements++;
        if (++depth > ANSWER.depth) return false;
      } else if ((byte | BRACKET_BIT) === CLOSE) depth--;
      if (elements > ANSWER.elements) return false;
    }
    [this.elements, this.#depth, this.#inString, this.#escaped] = [elements, depth, inString, escaped];
    return true;
  }
}
