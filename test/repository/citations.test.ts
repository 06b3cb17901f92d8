import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fromRoot, root, sources, textOf } from '../helpers/sources';

const INTERFACE = textOf('docs/service/interface.md');
const WIRE_FACTS = textOf('docs/service/wire-facts.md');
const REFERENCE = textOf('docs/reference.md');

const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found);
const headings = (page: string) => all(page, /^#+ (.+)$/gm);
/** `4.2` of `### 4.2 Sending the bytes`. */
const numbered = (page: string) => new Set(all(page, /^#+ (\d+(?:\.\d+)?)[. ]/gm));
/** Numbers in the first column of a table. */
const rows = (part: string) => new Set(all(part, /^\| (\d+) +\|/gm));

/** The part of a page under a heading, its subheadings included. */
function under(page: string, heading: string): string {
  const lines = page.split('\n');
  const at = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  const depth = lines[at]?.indexOf(' ') ?? 0;
  const end = lines.findIndex((line, next) => next > at && /^#+ /.test(line) && line.indexOf(' ') <= depth);
  return at < 0 ? '' : lines.slice(at + 1, end < 0 ? undefined : end).join('\n');
}

const LIST = String.raw`\d+(?:\.\d+)?(?:(?:, | and | to |, and )\d+(?:\.\d+)?)*`;

/** Expands `2, 9 to 11` into 2, 9, 10 and 11. */
function numbers(list: string): string[] {
  return list.split(/, and |, | and /).flatMap((part) => {
    const [first = '', last] = part.split(' to ');
    if (last === undefined) return [first];
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, step) => String(Number(first) + step));
  });
}

/** The text of a source with its comments on one line each. */
const flat = (text: string) => text.replace(/\n\s*(?:\*(?!\/)|\/\/|#)?\s*/g, ' ');

const referenceSections = numbered(REFERENCE);
const factSections = numbered(WIRE_FACTS);
const traps = rows(under(WIRE_FACTS, '15. Traps'));
const endpoints = rows(under(INTERFACE, 'Endpoints'));
const interfaceHeadings = headings(INTERFACE).sort((one, other) => other.length - one.length);

/** Whether the interface has `Authentication 1 to 6`, `endpoint 11` or `Upload record`. `cited` may be longer. */
function inInterface(cited: string): boolean {
  const [, list] = new RegExp(`^endpoints? (${LIST})`).exec(cited) ?? [];
  if (list) return numbers(list).every((number) => endpoints.has(number));
  const heading = interfaceHeadings.find((known) => cited.startsWith(known));
  if (!heading) return false;
  const [, points] = new RegExp(`^ (${LIST})`).exec(cited.slice(heading.length)) ?? [];
  const items = new Set(all(under(INTERFACE, heading), /^(\d+)\. /gm));
  return !points || numbers(points).every((point) => items.has(point));
}

/** Citations of a source that don't exist. */
function unresolved(text: string): string[] {
  const source = flat(text);
  const lost: string[] = [];
  const check = (pattern: string, flags: string, known: (number: string) => boolean) => {
    for (const [cited, list = ''] of source.matchAll(new RegExp(pattern, flags)))
      if (!numbers(list).every(known)) lost.push(cited);
  };
  check(String.raw`\breference (${LIST})`, 'gi', (number) => referenceSections.has(number));
  check(String.raw`\bwire facts,? (${LIST})`, 'gi', (number) => {
    const [section = '', row = ''] = number.split('.');
    return section === '15' && row ? traps.has(row) : factSections.has(number);
  });
  check(String.raw`\btraps? (${LIST})`, 'g', (number) => traps.has(number));
  check(String.raw`\bADR (${LIST})`, 'g', isOneDecision);
  for (const [, cited = ''] of source.matchAll(/(?:\(|\/\*\* )[Ii]nterface, ([^)]+)/g))
    if (!inInterface(cited)) lost.push(`interface, ${cited}`);
  return lost;
}

const adrs = sources(/\.md$/, 'docs/adr').map((path) => Number(/(\d+)-/.exec(path)?.[1]));
const isOneDecision = (number: string) => adrs.filter((adr) => adr === Number(number)).length === 1;
const CODE = /\.(ts|mts|cts|js|mjs|cjs|html|css)$/;
const cited = sources(CODE).filter((path) => path !== fromRoot(__filename));

describe('the documentation of the repository', () => {
  it('resolves existing citations and rejects missing ones', () => {
    assert.deepEqual(
      unresolved('/** Goes out (interface, Upload record; wire facts 4.1, 4.3, traps 31 to 34). */'),
      [],
    );
    assert.deepEqual(unresolved('// see (reference 3.4) and (ADR 4)\n  // and (interface,\n  // endpoint 11)'), []);
    const wrong = '(reference 9.9) (wire facts 4.9) (trap 48) (ADR 99) (interface, endpoint 17) (interface, Nothing)';
    assert.equal(unresolved(wrong).length, 6);
    assert.equal(unresolved('(interface, Authentication 12)').length, 1);
  });

  it('cites only existing sections, rows and decisions', () => {
    assert.ok(cited.length > 300);
    const lost = cited.flatMap((path) => unresolved(textOf(path)).map((citation) => `${path}: ${citation}`));
    assert.deepEqual(lost, []);
  });

  it('names only pages in the repository', () => {
    const pages = sources(/\.md$/);
    const lost = [...cited, ...pages, ...sources(/^(run|package\.json|.*\.ya?ml)$/)].flatMap((path) =>
      all(textOf(path), /(?<![\w./-])((?:[\w.-]+\/)*[\w-]+\.md)\b/g)
        .filter((name) => !pages.some((page) => `/${page}`.endsWith(`/${name.replace(/^(\.\.?\/)+/, '')}`)))
        .map((name) => `${path}: ${name}`),
    );
    assert.deepEqual(lost, []);
  });

  it('has no broken links', () => {
    const lost = sources(/\.md$/).flatMap((path) =>
      all(textOf(path), /\]\(([^)\s]+)\)/g)
        .filter((link) => !/^[a-z]+:/.test(link))
        .filter((link) => {
          const [file = '', anchor] = link.split('#');
          const target = file === '' ? path : fromRoot(resolve(root, dirname(path), file));
          if (target.startsWith('..') || !existsSync(join(root, target))) return true;
          return anchor !== undefined && !headings(textOf(target)).map(anchorOf).includes(anchor);
        })
        .map((link) => `${path}: ${link}`),
    );
    assert.deepEqual(lost, []);
  });

  it('refers to no files outside the repository, except sample files for uploads in tests', () => {
    const lost = [...cited, ...sources(/\.(md|json|ya?ml|sh)$/), '.ci/run', '.mocharc.json'].flatMap((path) =>
      all(textOf(path), /((?:\.\.\/)+shared[\w./-]*)/g)
        .filter((found) => {
          const inside = resolve(root, dirname(path), found);
          return !fromRoot(inside).startsWith('..') && !['', '.ts'].some((end) => existsSync(inside + end));
        })
        .filter((found) => !(path.startsWith('test/') && found === '../shared/samples'))
        .map((found) => `${path}: ${found}`),
    );
    assert.deepEqual(lost, []);
  });
});

/** Returns the anchor of a heading as Git forges build it. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
