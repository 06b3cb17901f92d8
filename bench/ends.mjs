// @ts-nocheck The built library has no types.
// Delay from a print's true end to `job.finished`, in injected time: for one watched printer and for all printers of
// one watch, compared with a plain poll every interval. Prints of 2 to 6 minutes follow each other. Their estimates are
// exact, or wrong by a random error of up to 5 % of the print's time.
import { createRequire } from 'node:module';

/** Path of the build, in a variable so that the type check does not follow it: the source is checked as TypeScript. */
const built = '../dist/lib/watch/watcher.js';
const { Watcher } = createRequire(import.meta.url)(built);

const INTERVAL = 60;
const CLUSTERS = 20;
const HOURS = 12;

/** Random numbers that are the same in every run. */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class TurnedClock {
  #now = 0;
  #timers = [];
  now = () => this.#now;
  monotonic = () => this.#now;
  after = (ms, action) => {
    const timer = { at: this.#now + Math.max(0, ms), action };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  };
  async advance(to) {
    for (;;) {
      for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
      const due = this.#timers.filter(({ at }) => at <= to).sort((one, other) => one.at - other.at)[0];
      if (!due) break;
      this.#timers = this.#timers.filter((other) => other !== due);
      this.#now = Math.max(this.#now, due.at);
      due.action();
    }
    this.#now = to;
  }
}

/** Successive prints, each with its true length and the length that the service estimates. */
function life(random, wrong) {
  const prints = [];
  for (let begin = 0; begin < HOURS * 3600;) {
    const length = 120 + 240 * random();
    prints.push({ begin, end: begin + length, believed: length * (1 + wrong * (2 * random() - 1)) });
    begin += length;
  }
  return prints;
}

function statusAt(prints, name, seconds) {
  const index = prints.findIndex(({ end }) => end > seconds);
  const print = prints[index];
  const record = (at, status, more = {}) => ({
    uuid: `${name}-${at}`,
    status,
    created_at: '2030-01-01T00:00:00Z',
    ...more,
  });
  const elapsed = print ? Math.floor(seconds - print.begin) : 0;
  const times = print && { time_elapsed: elapsed, time_total: Math.round(print.believed) };
  const past = Array.from({ length: Math.min(10, index) }, (_, back) => record(index - 1 - back, 'finished'));
  return {
    is_online: true,
    printers: [],
    print_jobs: print
      ? [record(index, 'printing', { ...times, time_remaining: Math.max(0, times.time_total - elapsed) })]
      : [],
    recently_completed: past,
  };
}

async function measure({ wrong, all }) {
  const clock = new TurnedClock();
  const random = seeded(7);
  const lives = new Map(Array.from({ length: CLUSTERS }, (_, index) => [`C${index}`, life(random, wrong)]));
  let polls = 0;
  const service = {
    async call(endpoint, { ids }) {
      if (endpoint === 'clusters') return list;
      const prints = lives.get(ids.cluster_id);
      polls++;
      return { status: 200, data: statusAt(prints, ids.cluster_id, clock.monotonic() / 1000) };
    },
  };
  const records = [...lives.keys()].map((cluster_id) => ({ cluster_id, status: 'active' }));
  const list = { status: 200, data: records, body: { data: records } };
  const store = { get: async () => undefined, put: async () => undefined };
  const signIn = { state: 'signed-in', usable: true, onChange: () => () => undefined };
  const scope = async () => ['A', 'api', 'W'];
  const watcher = new Watcher({ service, store, clock, signIn, scope, random });
  const late = [];
  const watch = (clusterId) =>
    watcher.watch({
      clusterId,
      interval: INTERVAL,
      milestones: [],
      onRound: () => undefined,
      onTrouble: () => undefined,
      onEvents: (events) => {
        for (const { type, job, clusterId: name } of events) {
          if (type !== 'job.finished') continue;
          const print = lives.get(name)[Number(job.clusterJobId.split('-')[1])];
          late.push(clock.monotonic() / 1000 - print.end);
        }
      },
    });
  if (all) watch(null);
  else for (const name of lives.keys()) watch(name);
  await clock.advance(HOURS * 3600_000);
  await watcher.close();
  late.sort((one, other) => one - other);
  return {
    ends: late.length,
    mean: late.reduce((sum, one) => sum + one, 0) / late.length,
    p90: late[Math.floor(late.length * 0.9)],
    perMinute: polls / CLUSTERS / (HOURS * 60),
  };
}

const goals = [
  { name: 'estimates exact, one printer each', wrong: 0, all: false, mean: 5, p90: Infinity },
  { name: 'estimates exact, all printers', wrong: 0, all: true, mean: 5, p90: Infinity },
  { name: 'estimates off by up to 5 %, one printer each', wrong: 0.05, all: false, mean: 7.5, p90: 20 },
  { name: 'estimates off by up to 5 %, all printers', wrong: 0.05, all: true, mean: 7.5, p90: 20 },
];
console.log(
  `job.finished after the true end, interval ${INTERVAL} s, prints of 2 to 6 minutes (plain polling: mean 30 s)`,
);
let missed = 0;
for (const goal of goals) {
  const { ends, mean, p90, perMinute } = await measure(goal);
  const met = mean <= goal.mean && p90 <= goal.p90;
  if (!met) missed++;
  const figures = `mean ${mean.toFixed(1)} s, p90 ${p90.toFixed(1)} s, ${perMinute.toFixed(2)} polls a minute, ${ends} ends`;
  console.log(`${met ? 'met   ' : 'missed'}  ${goal.name}: ${figures}`);
}
process.exitCode = missed > 0 ? 1 : 0;
