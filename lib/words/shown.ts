import { TEXT } from '../rules/limits';

/**
 * Characters that end a line, colour a terminal or reverse the order of letters: control characters, line and paragraph
 * separators, direction marks and overrides, unpaired surrogates.
 */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu;

/** Renders foreign text for people and logs: one line, in reading order, at most `most` characters. */
export function shown(words: string, most: number = TEXT.shown): string {
  const isLong = words.length > most;
  const first = isLong ? words.slice(0, most - 1) : words;
  const line = first.replace(HIDDEN, ' ');
  return isLong ? `${line.trimEnd()}…` : line;
}
