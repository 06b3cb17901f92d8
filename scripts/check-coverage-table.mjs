// Holds docs/coverage.md to the tests: each row says who feels it and names a test, and each test that is named passed.
// Usage: node scripts/check-coverage-table.mjs TITLES   TITLES: what test/reporter.cjs wrote to REPORT_TITLES.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const INTERFACE = 'The interface';
const SEVERAL = 'Several Node-REDs on one database';
const FAULTS = 'Faults that were found';
/** The interface numbers its endpoints, here #1 to #16: none may be missing from the table. */
const ENDPOINTS = 16;

const root = resolve(import.meta.dirname, '..');
const [titles] = process.argv.slice(2);
if (!titles) {
  console.error('Usage: node scripts/check-coverage-table.mjs TITLES');
  process.exit(1);
}

/** @type {Set<string>} `file › title` */
const passed = new Set();
for (const line of readFileSync(titles, 'utf8').split('\n')) {
  if (line === '') continue;
  const { file, title } = JSON.parse(line);
  passed.add(`${file} › ${title}`);
}

const page = readFileSync(join(root, 'docs/coverage.md'), 'utf8');

/** The rows of the table under a heading, without its head and the titles of its parts. @param {string} heading */
function rowsOf(heading) {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [table = ''] = section.split(/\n## /);
  return table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('\\|', '|')),
    )
    .slice(2)
    .filter(([item = '']) => !/^\*\*.*\*\*$/.test(item));
}

const problems = [];
let checked = 0;
const interfaceRows = rowsOf(INTERFACE);
const rows = [...interfaceRows, ...rowsOf(SEVERAL), ...rowsOf(FAULTS)];
for (const [item = '', node = '', tests = ''] of rows) {
  // A title may hold backticks of its own: the code span then has two around it.
  const named = [...tests.matchAll(/(`+) ?(.+?) ?\1(?!`)/g)].map(([, , test = '']) => test);
  if (node === '') problems.push(`${item}: no node`);
  if (named.length === 0) problems.push(`${item}: no test`);
  for (const test of named) {
    checked += 1;
    if (!passed.has(test)) problems.push(`${item}: did not run or did not pass: ${test}`);
  }
}
for (let number = 1; number <= ENDPOINTS; number += 1) {
  if (!interfaceRows.some(([item = '']) => item.startsWith(`#${number} `)))
    problems.push(`endpoint #${number} has no row`);
}

for (const problem of problems) console.log(problem);
console.log(`${rows.length} rows, ${checked} tests named`);
if (problems.length > 0) process.exitCode = 1;
