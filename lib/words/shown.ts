import { TEXT } from '../rules/limits';

/**
 * What writes a line of its own, colours a terminal, or turns the order of letters around it: control characters, ends of
 * lines and paragraphs, marks and overrides of direction, halves of characters.
 */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu;

/** A text from elsewhere as people and logs get it: one line, in the order it is read, at most `most` long. */
export function shown(words: string, most: number = TEXT.shown): string {
  const isLong = words.length > most;
  const first = isLong ? words.slice(0, most - 1) : words;
  const line = first.replace(HIDDEN, ' ');
  return isLong ? `${line.trimEnd()}…` : line;
}
