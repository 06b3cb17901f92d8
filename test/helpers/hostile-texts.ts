import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES, PrintingError } from '../../lib/service/errors';
import { nominalTime } from './nominal-time';

export const SIZE = 1_000_000;
export const to = (unit: string, size: number, end = '') =>
  unit.repeat(Math.ceil(size / unit.length)).slice(0, size) + end;
/** Texts that are known to cost parsers much, in any length. */
export const HOSTILE: Record<string, (size: number) => string> = {
  'one letter': (size) => to('a', size),
  'letters and dots': (size) => to('a.', size),
  schemes: (size) => to('a:/', size),
  addresses: (size) => to('a://', size),
  'an address': (size) => `https://${to('a.', size)}/`,
  'slashes before a letter': (size) => to('/', size, 'x'),
  'dots before a letter': (size) => to('.', size, '!'),
  'blanks before a letter': (size) => to(' ', size, 'x'),
  'ends of lines': (size) => to('\r\n', size, 'x'),
  commas: (size) => to('a,', size, '\n'),
  quotes: (size) => to('"', size, 'x'),
  'separators of all kinds': (size) => to(',;\t', size, '\n'),
  'opening brackets': (size) => to('[{', size),
  brackets: (size) => to('{}[],', size),
  percents: (size) => to('%25', size, '%'),
  digits: (size) => to('1', size, '-'),
  dates: (size) => to('2026-01-01T00:00:00', size, 'x'),
  'halves of characters': (size) => to('\ud800', size),
  'characters of two halves': (size) => to('😀', size),
  'control characters': (size) => to('\u0000\u001b[\u202e\u2028', size),
  'capitals in words': (size) => to('aB', size),
};

/** Made once, since all readers get the same. */
export const TEXTS = Object.entries(HOSTILE).map(([what, make]) => [what, make(SIZE)] as const);

/** Longest nominal time for which one text may occupy the event loop, ms. */
export const MOST = 50;

/** Checks that `read` costs less than MOST for each text. A refusal with a code of the reference counts as a result. */
export async function checkCosts(read: (words: string) => unknown): Promise<void> {
  for (const [what, words] of TEXTS) {
    const ms = await nominalTime(async () => {
      try {
        await read(words);
      } catch (error) {
        // Own faults have no code.
        assert.ok(error instanceof PrintingError, String(error));
        assert.ok(ERROR_CODES.includes(error.code));
        assert.ok(error.message.length < 2_000, `a sentence of ${error.message.length} characters`);
      }
    }, MOST);
    assert.ok(ms < MOST, `${what}: ${ms} ms`);
  }
}

/** Keeps the last input of a reader, so that a repeated measurement does not include its preparation. */
export function prepared<Input>(prepare: (words: string) => Input): (words: string) => Input {
  let [last, input]: [string | undefined, Input | undefined] = [undefined, undefined];
  return (words) => {
    if (words !== last) [last, input] = [words, prepare(words)];
    return input as Input;
  };
}

/** Names of all functions and classes that the sources below a folder export, such as `words/shown.shown`. */
export function exportsIn(root: string, folders: readonly string[] = ['']): string[] {
  const found: string[] = [];
  for (const folder of folders)
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      const source = readFileSync(join(root, folder, file), 'utf8');
      const exports = source.matchAll(
        /^export (?:async |abstract )?(?:function\*? |class |const (?=\w+ =\s+(?:async )?[(<]))(\w+)/gm,
      );
      for (const [, name] of exports) found.push(`${join(folder, file).replace('.ts', '')}.${name}`);
    }
  return found;
}
