// @ts-nocheck The built library has no types.
// Time of plans and of a forecast on the event loop's thread, compared with a plain pairwise comparison of the same
// items and printers. Needs Linux, for the processor time of the thread.
import { createRequire } from 'node:module';

import { queueAtWork } from './queue-at-work.mjs';
import { inRoom } from './room.mjs';
import { exitCode, grid, median } from './table.mjs';
import { threadTime, timed } from './thread-time.mjs';

/** Path of the build, in a variable so that the type check does not follow it: the source is checked as TypeScript. */
const built = '../dist/lib/';
const load = createRequire(import.meta.url);
const { Planner } = load(`${built}queue/plan/plan.js`);
const { readRules } = load(`${built}queue/model/rules.js`);
const { runForecast } = load(`${built}queue/view.js`);
const { systemClock } = load(`${built}time/clock.js`);
const { phrase } = load(`${built}words/sentence.js`);

const ITEMS = 10_000;
const PRINTERS = 1_000;
const NOW = Date.parse('2030-01-01T12:00:00Z');

const MODELS = ['X3', 'X5', 'X7'];
const CORES = ['AA 0.25', 'AA 0.4', 'AA 0.8'];
const COLORS = Array.from({ length: 12 }, (_, nth) => ({
  guid: `guid-${nth}`,
  name: nth % 3 ? 'PLA' : 'PETG',
  color: `color ${nth}`,
}));
const needOf = ({ guid, name, color }) => ({ guid, type: name, color });
const UNKNOWN = Object.fromEntries(
  ['models', 'printCores', 'materials', 'buildPlate', 'tags', 'printers', 'volumes', 'size'].map((name) => [
    name,
    'file',
  ]),
);
const BUSY = { code: 'BUSY', sentence: phrase`It is printing.` };

/** A number from 0 to 2^32 that an item's or a printer's number and a name make, always the same. */
function mixed(nth, name) {
  let state = Math.imul(nth + 1, 0x9e3779b1) ^ Math.imul(name.length, 0x85ebca6b) ^ name.charCodeAt(0);
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
  state = Math.imul(state ^ (state >>> 12), 0x297a2d39);
  return (state ^ (state >>> 15)) >>> 0;
}
const pick = (choices, nth, name) => choices[mixed(nth, name) % choices.length];

/** What is in an extruder, or in a slot that feeds it. */
const sourceOf = (nth, slot) => ({
  slot,
  printCore: pick(CORES, nth, 'core'),
  material: {
    ...pick(COLORS, nth, slot === null ? 'color' : `color in slot ${slot}`),
    brand: 'Generic',
    diameter: 2.85,
    density: 1.24,
  },
  volumeLeft: 20_000 + (mixed(nth, 'volume') % 300_000),
});

/** A printer of one of 108 configurations, one of fifty with a station of three slots; one of ten is free. */
const printerOf = (nth, isFree = nth % 10 === 0) => ({
  clusterId: `bench-cluster-${nth}`,
  printerId: `printer-${nth}`,
  clusterName: `Printer ${nth}`,
  model: pick(MODELS, nth, 'model'),
  extruders: [
    {
      printCore: pick(CORES, nth, 'core'),
      sources: [sourceOf(nth, null), ...(nth % 50 === 0 ? [0, 1, 2].map((slot) => sourceOf(nth, slot)) : [])],
    },
  ],
  buildPlate: 'glass',
  tags: nth % 4 === 0 ? ['food-safe'] : [],
  obstacle: isFree ? null : BUSY,
  lastUsedLived: mixed(nth, 'used') % 86_400_000,
  usedFor: nth,
  barredUntil: 0,
  isRefused: false,
  isOutOfSight: false,
  isMissing: false,
  freeAt: isFree ? null : NOW + (mixed(nth, 'end') % 7200) * 1000,
});

/** An item with a file of its own, of one of 216 requirements. */
const itemOf = (nth) => ({
  itemId: `item-${nth}`,
  priority: nth % 50 === 0 ? 10 : 0,
  rank: `d${nth.toString(36).padStart(6, '0')}`,
  added: `d${nth.toString(36).padStart(6, '0')}`,
  deadline: nth % 3 === 0 ? NOW + (mixed(nth, 'deadline') % 864_000) * 1000 : null,
  notBefore: null,
  files: [
    {
      requirement: {
        models: [pick(MODELS, nth, 'need model')],
        printCores: [pick(CORES, nth, 'need print core')],
        materials: [needOf(pick(COLORS, nth, 'needed color'))],
        buildPlate: null,
        tags: nth % 16 === 0 ? ['food-safe'] : [],
        printers: null,
        volumes: [1_000 + (mixed(nth, 'volume') % 20_000)],
        nozzles: [],
        size: null,
        sources: UNKNOWN,
      },
      seconds: 1200 + (mixed(nth, 'seconds') % 14_400),
      isStored: true,
      perPrint: 1,
      weights: [],
    },
  ],
  waiting: [1],
  parts: null,
  front: 0,
  avoid: new Map(),
  refused: new Set(),
  obstacle: null,
});

const inputOf = (rules) => ({
  items: Array.from({ length: ITEMS }, (_, nth) => itemOf(nth)),
  printers: Array.from({ length: PRINTERS }, (_, nth) => printerOf(nth)),
  rules,
  now: NOW,
  printing: 0,
  nextStartAt: 0,
  obstacle: null,
  refusals: new Map(),
});

/** The yardstick: each item is compared with each printer, model, print core, material, rest and tags, and nothing else. */
function comparePairs({ items, printers }) {
  let suitable = 0;
  for (const { files } of items) {
    const [{ requirement }] = files;
    for (const printer of printers) if (isFit(requirement, printer)) suitable++;
  }
  return suitable;
}

function isFit({ models, printCores, materials, volumes, tags }, printer) {
  if (!models.includes(printer.model)) return false;
  for (let at = 0; at < materials.length; at++) {
    const extruder = printer.extruders[at];
    if (extruder.printCore !== printCores[at]) return false;
    const isFed = ({ material, volumeLeft }) => material.guid === materials[at].guid && volumeLeft >= volumes[at];
    if (!extruder.sources.some(isFed)) return false;
  }
  return tags.every((tag) => printer.tags.includes(tag));
}

/** One changed printer or item in an input of which all else stays the same object. */
function changed(input, round) {
  const printers = [...input.printers];
  const items = [...input.items];
  if (round % 2 === 0) {
    const nth = (round * 37) % PRINTERS;
    printers[nth] = { ...printerOf(nth, printers[nth].obstacle !== null) };
  } else {
    const nth = (round * 577) % ITEMS;
    items[nth] = { ...items[nth], priority: round % 5 };
  }
  return { ...input, items, printers, now: input.now + 1000 };
}

/** Measures plans, a forecast and a queue at work; figures of plans are medians of the rounds, and the worst round of an incremental plan. */
export const benchQueue = (args) => inRoom('queue', (room) => measured(room, args));

async function measured(room, args) {
  const rounds = Number(args[0] ?? 25);
  const rows = [];
  const verdicts = [];
  for (const sort of ['priority', 'shortest', 'deadline', 'staffed']) {
    const rules = readRules({ sort, staffed: 'Mon-Fri 08:00-17:00' });
    const taken = { pairs: [], full: [], incremental: [] };
    for (let round = 0; round < rounds; round++) {
      let input = inputOf(rules);
      taken.pairs.push(timed(() => comparePairs(input)));
      const planner = new Planner();
      taken.full.push(timed(() => planner.plan(input)));
      for (let change = 0; change < 10; change++) {
        input = changed(input, round * 10 + change);
        taken.incremental.push(timed(() => planner.plan(input)));
      }
    }
    const [pairs, full, incremental] = [taken.pairs, taken.full, taken.incremental].map(median);
    const worst = taken.incremental.toSorted((one, other) => one - other)[Math.floor(taken.incremental.length * 0.95)];
    rows.push([sort, ...[pairs, full, incremental, worst].map((ms) => ms.toFixed(1)), (full / pairs).toFixed(2)]);
    verdicts.push(
      { met: full <= 50, text: `a full plan takes at most 50 ms (sort ${sort}): ${full.toFixed(1)} ms` },
      {
        met: incremental <= 5,
        text: `an incremental plan takes at most 5 ms (sort ${sort}): ${incremental.toFixed(1)} ms`,
      },
    );
  }
  console.log(
    grid([['sort', 'pairwise, ms', 'full plan, ms', 'incremental, ms', 'its p95, ms', 'full to pairwise'], ...rows]),
  );
  verdicts.push(...(await forecastVerdicts()));
  verdicts.push(...(await queueAtWork(room, { items: ITEMS, printers: PRINTERS })));
  return exitCode(verdicts);
}

/** Measures a forecast of all items: its cost, and for how long it occupies the event loop at a stretch. */
async function forecastVerdicts() {
  const input = { ...inputOf(readRules({})), orders: new Map(), active: [] };
  const stretches = [];
  let isOver = false;
  let before = threadTime();
  const turn = () => {
    const now = threadTime();
    stretches.push(now - before);
    before = now;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const start = threadTime();
  const { items, idleAt } = await runForecast(input, systemClock);
  const taken = threadTime() - start;
  isOver = true;
  stretches.sort((one, other) => one - other);
  const known = [...items.values()].filter(({ endAt }) => endAt !== null).length;
  const p99 = stretches[Math.floor(stretches.length * 0.99)];
  console.log(
    `\nforecast: ${taken.toFixed(0)} ms for the ends of ${known} items, idle after ` +
      `${((idleAt - NOW) / 3_600_000).toFixed(1)} h; the longest stretch took ${stretches.at(-1).toFixed(1)} ms\n`,
  );
  return [
    {
      met: p99 <= 10,
      text: `a forecast occupies the event loop for at most 10 ms at a time (p99): ${p99.toFixed(1)} ms`,
    },
  ];
}
