// @ts-nocheck The built library has no types.
// One hostile input in a process of its own: prints the longest stop of the event loop and how the work ended.
import { createRequire } from 'node:module';

import { INPUTS } from './stops-inputs.mjs';
import { threadTime } from './thread-time.mjs';

const [name, apiUrl] = process.argv.slice(2);
const load = createRequire(import.meta.url);
const built = '../dist/lib/';
const { Client } = load(`${built}client.js`);
const { readSettings } = load(`${built}account/settings.js`);
const { MemoryStore } = load(`${built}state/memory-store.js`);
const { systemClock: clock } = load(`${built}time/clock.js`);
const { Deadline } = load(`${built}time/deadline.js`);
const { readPrinterFilter } = load(`${built}service/printer-filter.js`);

const settings = readSettings({ authUrl: apiUrl, apiUrl, signIn: 'token', apiToken: 'token' });
const log = { warn: () => undefined, info: () => undefined };
const client = new Client({ accountId: 'a', settings, store: new MemoryStore(), clock, log });
client.readPrinterFilter = readPrinterFilter;
const { receive } = load(`${built}report/reports.js`);
const { asRows, textOutput } = load(`${built}report/outputs.js`);
const { Http } = load(`${built}http/http.js`);
/** Downloads a report and returns its payload. */
client.receiveReport = async (format, { signal }) => {
  const output = format === 'rows' ? asRows(null) : textOutput();
  const http = new Http(undefined, { isLocal: true });
  await receive(http, `${apiUrl}/report`, output, { signal, onRows: () => undefined });
  const { payload } = await output.end();
  if (payload.length === 0) throw new Error('an empty report');
  return payload;
};
const { Board } = load(`${built}board/board.js`);
const { readRules } = load(`${built}queue/model/rules.js`);
/** Opens a queue of all printers. */
client.openQueue = () => client.queue({ queueId: 'q', name: null, rules: readRules({}) });
/** Opens a page of a board, by default without a queue. */
client.openBoard = (queue = null) => {
  const { service, watcher, credentials: signIn } = client;
  const board = new Board({
    ...{ boardId: 'b', clock, store: new MemoryStore(), service, watcher, signIn, queue, facts: {} },
    ...{ takePicture: () => Promise.reject(new Error('no camera')), act: () => undefined, translate: () => String },
  });
  const page = { language: 'en-US', isBehind: false, written: 0, end: () => undefined };
  page.write = (text) => (page.written += text.length);
  board.streams.open(page);
  return { page, close: () => board.close() };
};
const { Bridge } = load(`${built}home-assistant/bridge.js`);
const { Topics } = load(`${built}home-assistant/identity.js`);
/** Publishes all printers to Home Assistant; returns the number of messages. */
client.publish = async (ms) => {
  const { watcher } = client;
  let published = 0;
  const bridge = new Bridge({
    ...{ nodeId: 'h', topics: new Topics('homeassistant', 'p'), only: null, controls: true, picture: 0, interval: 60 },
    ...{ clock, store: new MemoryStore(), watcher, bridges: new Set(), translate: String },
    ...{ takePicture: () => Promise.reject(new Error('no camera')), act: () => undefined },
    publish: () => published++,
  });
  const watched = client.watcher.watch({
    ...{ clusterId: null, audience: 'a', interval: 60, milestones: [], onTrouble: () => undefined },
    onRound: (round) => bridge.see(round, () => bridge.count),
    onEvents: (events) => bridge.tell(events),
  });
  await new Promise((resolve) => setTimeout(resolve, ms));
  bridge.announce();
  await new Promise((done) => bridge.see({ results: [], group: null, error: null }, done));
  watched.close();
  await bridge.close();
  return published;
};
const { work } = INPUTS.find((input) => input.name === name);

let longest = 0;
let isOver = false;
let before = threadTime();
const turn = () => {
  const now = threadTime();
  longest = Math.max(longest, now - before);
  before = threadTime();
  if (!isOver) setImmediate(turn);
};
await client.credentials.ready();
// The modules of the client load at its start, not under the input.
for (const part of ['requests', 'queries', 'choices', 'reports', 'uploads']) void client[part];
await new Promise((resolve) => setTimeout(resolve, 100));
before = threadTime();
setImmediate(turn);
const deadline = new Deadline(clock, { ms: 60_000 });
const outcome = await Promise.resolve(work(client, deadline)).then(
  () => 'done',
  (error) => error.code ?? String(error),
);
isOver = true;
turn();
const { heapUsed } = process.memoryUsage();
console.log(JSON.stringify({ longest, outcome, heap: heapUsed, rss: process.resourceUsage().maxRSS / 1024 }));
process.exit();
