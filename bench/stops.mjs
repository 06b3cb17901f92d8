// @ts-nocheck
// The longest stop of the event loop under each hostile input, in processor time, with a heap of 512 MB. Needs Linux.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { resolve } from 'node:path';

import { INPUTS } from './stops-inputs.mjs';
import { grid, median } from './table.mjs';

const PROCESS = resolve(import.meta.dirname, 'stops-process.mjs');
const ROUNDS = Number(process.env.ROUNDS ?? 3);
/** Longest stop, ms. */
const TARGET = 100;

/** Runs each input in a process of its own; returns the exit code. @param {string[]} args parts of names */
export async function benchStops(args = []) {
  let met = true;
  const lines = [['input', 'longest stop, ms', 'resident, MiB', 'end']];
  for (const input of INPUTS.filter(({ name }) => args.length === 0 || args.some((part) => name.includes(part)))) {
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(input));
    const longest = median(rounds.map((one) => one.longest));
    met &&= longest < TARGET;
    const resident = Math.max(...rounds.map((one) => one.rss));
    lines.push([input.name, longest.toFixed(0), resident.toFixed(0), rounds[0].outcome]);
  }
  console.log(grid(lines));
  console.log(met ? `Each stop is shorter than ${TARGET} ms.` : `A stop lasts ${TARGET} ms or longer.`);
  return met ? 0 : 1;
}

/** Serves one input and runs its work. */
async function measure({ name, answer }) {
  let count = 0;
  const answers = new Map();
  const server = createServer((request, response) => {
    const given = answers.get(request.url) ?? answer(request, count++);
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    if (!request.url.includes('/status')) answers.set(request.url, text);
    response.on('error', () => undefined);
    response.setHeader('content-type', typeof given === 'string' && given[0] !== '{' ? 'text/csv' : 'application/json');
    response.end(text);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  try {
    return await run(name, `http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function run(name, apiUrl) {
  return new Promise((ended) => {
    const child = spawn(process.execPath, ['--max-old-space-size=512', PROCESS, name, apiUrl], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [output, errors] = ['', ''];
    child.stdout.on('data', (part) => (output += part));
    child.stderr.on('data', (part) => (errors += part));
    child.on('close', () => {
      try {
        ended(JSON.parse(output));
      } catch {
        const [cause = 'died'] = /heap out of memory|Error: .*/.exec(errors) ?? [];
        ended({ longest: Infinity, rss: NaN, outcome: cause });
      }
    });
  });
}

if (process.argv[1] === import.meta.filename) process.exitCode = await benchStops(process.argv.slice(2));
