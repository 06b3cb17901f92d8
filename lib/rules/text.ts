/** A setting as a user typed it, without the blanks around it; blank where it is no text. */
export const trimmed = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

/** What an address parser would strip or mend without a word: what is sent would not be what was typed. */
const MENDED = /[\s\p{Cc}\\]/u;

/** An `http:` or `https:` address that stands as it was typed; null for anything else. */
export function webAddress(given: string): URL | null {
  if (!/^https?:\/\/[^/]/i.test(given) || MENDED.test(given)) return null;
  try {
    return new URL(given);
  } catch {
    return null;
  }
}

/** A text without the slashes at its end. A pattern for them would try again at each slash. */
export function withoutSlashes(words: string): string {
  let end = words.length;
  while (words[end - 1] === '/') end--;
  return words.slice(0, end);
}
