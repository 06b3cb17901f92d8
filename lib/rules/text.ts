/** A setting without surrounding blanks; blank if it is not text. */
export const trimmed = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

/**
 * Name of the environment variable that a setting consists of, `${NAME}` or `$(NAME)`; null for any other value. Node-RED
 * replaces such a setting when it creates the node, but only if the variable is set.
 */
export function variableOf(value: unknown): string | null {
  const [, name, other] = /^(?:\$\{([^{}\s]+)\}|\$\(([^()\s]+)\))$/.exec(trimmed(value)) ?? [];
  return name ?? other ?? null;
}

/** Whether the expression of a property is rather the path of a file: no name that is not quoted has these characters. */
export const isFilePath = (expression: string): boolean => /[/\\~]/.test(expression.replace(/"[^"]*"|'[^']*'/g, ''));

/** Characters that a URL parser would silently strip or repair. */
const MENDED = /[\s\p{Cc}\\]/u;

/** Parses an `http:` or `https:` URL that no parser would repair; null for anything else. */
export function webAddress(given: string): URL | null {
  if (!/^https?:\/\/[^/]/i.test(given) || MENDED.test(given)) return null;
  try {
    return new URL(given);
  } catch {
    return null;
  }
}

/** Removes trailing slashes in linear time; a pattern would backtrack at each slash. */
export function withoutSlashes(words: string): string {
  let end = words.length;
  while (words[end - 1] === '/') end--;
  return words.slice(0, end);
}

/** Reads a finite number, or its text from an input field of the editor; null for anything else. */
export function readNumber(value: unknown): number | null {
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof given === 'number' && Number.isFinite(given) ? given : null;
}

/** Reads a number above 0, or its text; null for anything else. `least` 0 allows 0, too. */
export function readAmount(value: unknown, least?: number): number | null {
  const given = readNumber(value);
  if (given === null) return null;
  return given > 0 || (given === 0 && least === 0) ? given : null;
}

/** Shortest interval between two polls of a cluster status node, seconds (reference 2.2). */
export const SHORTEST_INTERVAL = 10;
