// @ts-nocheck The built library has no types.
// Values that are saved at once, on files and on PostgreSQL, compared with the plain way, and a listing of 10,000.
import { mkdir, open, rename } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import pg from 'pg';

import { startPostgres } from '../scripts/postgres.mjs';
import { announce, inRoom } from './room.mjs';
import { exitCode, grid } from './table.mjs';

/** Path of the build, in a variable so that the type check does not follow it: the source is checked as TypeScript. */
const built = '../dist/lib/';
const load = createRequire(import.meta.url);
const { Database } = load(`${built}postgres/database.js`);
const { PostgresStore } = load(`${built}postgres/postgres-store.js`);
const { FileStore } = load(`${built}state/file-store.js`);
const { systemClock } = load(`${built}time/clock.js`);
const { mapConcurrent } = load(`${built}time/concurrency.js`);

/** Values a second, and a listing of 10,000 values: time and longest pause of the event loop, ms. */
const TARGET = { files: 200, postgres: 1_000, list: 2_000, pause: 50 };
/** Values that are saved one after the other, and at once. */
const [PLAIN, MANY] = [300, 10_000];
const AT_ONCE = 500;
/** Values on a page. */
const PAGE = 1_000;

/** A value as large as an item of the queue. */
const valueOf = (n) => ({ n, filling: 'x'.repeat(1_500) });
const numbers = (count) => Array.from({ length: count }, (_, n) => n);

/** Saves values in a new store, at once and beside the plain way, and lists them. */
export const benchQueueStore = () =>
  inRoom('queue-store', async ({ folder, ends, signal }) => {
    announce(`${MANY} values of 1.5 kB, ${AT_ONCE} at once; ${PLAIN} the plain way, one after the other`);
    const postgres = await startPostgres({ fsync: 'on' });
    ends.push(postgres.stop);
    const client = new pg.Client(postgres.address);
    await client.connect();
    ends.unshift(() => client.end());
    const log = { warn: (sentence) => console.log(String(sentence)), info: () => undefined };
    const options = { clock: systemClock, sealedKinds: [], secrets: () => [], warn: log.warn };
    const database = new Database({ address: postgres.address, clock: systemClock, log });
    const rows = new PostgresStore({ ...options, database });
    ends.unshift(() => rows.close());
    const files = new FileStore({ ...options, folder: join(folder, 'state') });

    const measured = [];
    for (const [name, store, plain, target] of [
      ['files', files, await plainFiles(join(folder, 'plain')), TARGET.files],
      ['PostgreSQL', rows, await plainRows(client), TARGET.postgres],
    ]) {
      // Connects, and creates the tables.
      await store.put(['first'], 0);
      signal.throwIfAborted();
      const yardstick = await timed(PLAIN, () => eachInTurn(PLAIN, plain));
      const put = await timed(MANY, () => atOnce((n) => store.put(['put', `${n}`], valueOf(n))));
      const update = await timed(MANY, () => atOnce((n) => store.update(['item', `${n}`], () => valueOf(n))));
      signal.throwIfAborted();
      const list = await timed(MANY, () => listed(store));
      measured.push({ name, target, yardstick, put, update, list });
    }
    const head = ['', 'plain/s', 'put/s', 'to plain', 'update/s', 'loop max ms', 'list ms', 'loop max ms'];
    const lines = measured.map(({ name, yardstick, put, update, list }) => [
      name,
      ...[yardstick.rate, put.rate].map((rate) => rate.toFixed(0)),
      (put.rate / yardstick.rate).toFixed(1),
      update.rate.toFixed(0),
      Math.max(put.pause, update.pause).toFixed(1),
      list.ms.toFixed(0),
      list.pause.toFixed(1),
    ]);
    console.log(`\n${grid([head, ...lines])}\n`);
    return exitCode(measured.flatMap(verdicts));
  });

/** Writes, flushes and renames a file, and flushes its folder. */
async function plainFiles(folder) {
  await mkdir(folder);
  const flushed = async (path, work) => {
    const handle = await open(path, work ? 'w' : 'r');
    await work?.(handle);
    await handle.sync();
    await handle.close();
  };
  return async (n) => {
    const path = join(folder, `${n}.json`);
    await flushed(`${path}.new`, (handle) => handle.writeFile(JSON.stringify(valueOf(n))));
    await rename(`${path}.new`, path);
    await flushed(folder);
  };
}

/** Inserts a row. */
async function plainRows(client) {
  await client.query('CREATE TABLE plain (name text PRIMARY KEY, content text NOT NULL)');
  return (n) => client.query('INSERT INTO plain VALUES ($1, $2)', [`${n}`, JSON.stringify(valueOf(n))]);
}

async function eachInTurn(count, work) {
  for (const n of numbers(count)) await work(n);
}

const atOnce = (work) => mapConcurrent(AT_ONCE, numbers(MANY), work);

/** Lists all items, and checks that each is there once. */
async function listed(store) {
  const found = new Set();
  let after;
  do {
    const { entries, next } = await store.list(['item'], { after, limit: PAGE });
    for (const { value } of entries) found.add(value.n);
    after = next ?? undefined;
  } while (after !== undefined);
  if (found.size !== MANY) throw new Error(`${found.size} of ${MANY} values were listed`);
}

async function timed(count, work) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const start = performance.now();
  await work();
  const ms = performance.now() - start;
  delay.disable();
  return { ms, rate: (count / ms) * 1_000, pause: delay.max / 1e6 };
}

function verdicts({ name, target, put, update, list }) {
  const rate = Math.min(put.rate, update.rate);
  return [
    { met: rate >= target, text: `${name}: at least ${target} added values a second: ${rate.toFixed(0)}` },
    { met: list.ms <= TARGET.list, text: `${name}: ${MANY} values listed in ${TARGET.list} ms: ${list.ms.toFixed(0)}` },
    {
      met: list.pause <= TARGET.pause,
      text: `${name}: no pause of more than ${TARGET.pause} ms while listing: ${list.pause.toFixed(1)}`,
    },
  ];
}
