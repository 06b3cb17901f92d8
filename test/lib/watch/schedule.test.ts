import assert from 'node:assert/strict';
import fc from 'fast-check';
import { sleep } from '../../../lib/time/clock';
import { answer, at, job, minute } from '../events/observations';
import { broken, limited, notFound, ScriptedAccount, type Witness } from './scripted-account';

interface Span {
  from: number;
  length: number;
}

/** Random scenario of one account; times in seconds. */
interface Scenario {
  clusters: number;
  interval: number;
  /** Watches: of all clusters, of the first few individually, or both. */
  watchers: ('all' | 'singles')[];
  latency: number;
  /** Slow answers: every nth answer has this latency, s. */
  slow: { every: number; latency: number } | null;
  deploys: number[];
  /** Restarts, which only stored state survives. */
  restarts: number[];
  asked: number[];
  /** Period in which the service answers with 500. */
  outage: Span | null;
  /** Period in which the first cluster fails with 500 or 404, or all requests with 429. */
  fault: (Span & { how: 'broken' | 'missing' | 'limited' }) | null;
  /** Time when a new cluster appears, s. */
  joins: number | null;
  /** Length of the prints that follow each other on each cluster; 0: no prints. */
  print: number;
}

const span = { from: fc.integer({ min: 1, max: 300 }), length: fc.integer({ min: 10, max: 120 }) };

const scenario: fc.Arbitrary<Scenario> = fc.record({
  clusters: fc.integer({ min: 1, max: 30 }),
  interval: fc.constantFrom(10, 15, 20, 60, 90),
  watchers: fc.constantFrom(['all'], ['singles'], ['all', 'singles']),
  latency: fc.constantFrom(0, 0.15, 1),
  slow: fc.option(fc.record({ every: fc.integer({ min: 2, max: 9 }), latency: fc.constantFrom(0.5, 2, 3) })),
  deploys: fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 4 }),
  restarts: fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 2 }),
  asked: fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 3 }),
  outage: fc.option(fc.record(span)),
  fault: fc.option(fc.record({ ...span, how: fc.constantFrom('broken', 'missing', 'limited') })),
  joins: fc.option(fc.integer({ min: 1, max: 300 })),
  print: fc.constantFrom(0, 0, 45, 130, 200),
});

/** Regressions: here a deploy once delayed a late poll, or the first one. */
const KNOWN: Scenario[] = [
  {
    ...{ clusters: 25, interval: 10, watchers: ['all'], latency: 0, slow: { every: 6, latency: 2 }, deploys: [113] },
    ...{ restarts: [], asked: [81], outage: null, fault: null, joins: 1, print: 0 },
  },
  {
    ...{ clusters: 14, interval: 90, watchers: ['all'], latency: 0, slow: { every: 2, latency: 2 }, deploys: [90] },
    ...{ restarts: [51], asked: [1], outage: null, fault: null, joins: 1, print: 45 },
  },
  // Two turns of one cluster that a restart in an outage put ten seconds apart.
  {
    ...{
      clusters: 1,
      interval: 60,
      watchers: ['all', 'singles'],
      latency: 0,
      slow: null,
      deploys: [],
      restarts: [130],
    },
    ...{ asked: [], outage: { from: 49, length: 82 }, fault: null, joins: null, print: 0 },
  },
];

const LENGTH = 600;
/** Retry-After of a 429, s. */
const LIMITED = 20;
const NEWCOMER = 'new';
const DONE = minute(60 * 24 * 365);

/** Runs a scenario. Returns start and end of each poll per cluster (s), and the ids of delivered ends. */
async function play(wanted: Scenario) {
  const account = new ScriptedAccount();
  const { clock, service } = account;
  const seconds = () => clock.monotonic() / 1000;
  const polls = new Map<string, { begun: number; ended: number }[]>();
  const delivered: string[] = [];
  const names = Array.from({ length: wanted.clusters }, (_, index) => `C${index}`);
  const appear = (name: string) =>
    service.cluster(name, () => {
      if (wanted.print === 0) return answer();
      const [count, into] = [Math.floor(seconds() / wanted.print), seconds() % wanted.print];
      const times = { time_elapsed: Math.floor(into), time_total: wanted.print, created_at: DONE };
      const before = Array.from({ length: Math.min(10, count) }, (_, index) =>
        job(`${name}-${count - 1 - index}`, 'finished', { created_at: DONE }),
      );
      return answer({ print_jobs: [at(`${name}-${count}`, 'printing', 0, times)], recently_completed: before });
    });
  names.forEach(appear);
  let answers = 0;
  const within = (when: Span | null) => when !== null && seconds() >= when.from && seconds() < when.from + when.length;
  const call = service.call.bind(service);
  service.call = async (endpoint, { lock, ...options }) => {
    // A request leaves before its answer takes its time.
    (await lock?.secure(0))?.();
    const poll = { begun: seconds(), ended: Infinity };
    const clusterId = options.ids?.cluster_id;
    if (endpoint === 'clusterStatus' && clusterId) polls.set(clusterId, [...(polls.get(clusterId) ?? []), poll]);
    try {
      const { slow, fault } = wanted;
      const latency = slow && ++answers % slow.every === 0 ? slow.latency : wanted.latency;
      if (latency > 0) await sleep(clock, latency * 1000, options.deadline.signal);
      if (within(wanted.outage)) throw broken();
      if (within(fault) && fault?.how === 'limited') throw limited(LIMITED * 1000);
      if (within(fault) && clusterId === 'C0') throw fault?.how === 'missing' ? notFound() : broken();
      return await call(endpoint, options);
    } finally {
      poll.ended = seconds();
    }
  };

  let witnesses: Witness[] = [];
  const start = () => {
    const singles = wanted.watchers.includes('singles') ? names.slice(0, 5) : [];
    const targets = [...(wanted.watchers.includes('all') ? [null] : []), ...singles];
    witnesses = targets.map((clusterId, index) =>
      account.watch(clusterId, {
        key: `node ${index}`,
        interval: wanted.interval,
        milestones: [],
        onEvents: (events) => {
          for (const { id, type } of events) if (type === 'job.finished') delivered.push(`${index} ${id}`);
        },
      }),
    );
  };
  start();
  const again = async (how: () => unknown) => {
    witnesses.forEach((witness) => witness.close());
    await account.watcher.close();
    how();
    start();
  };
  const steps: { time: number; act: () => unknown }[] = [
    ...wanted.deploys.map((time) => ({ time, act: () => again(() => account.deploy()) })),
    ...wanted.restarts.map((time) => ({ time, act: () => again(() => account.start()) })),
    ...wanted.asked.map((time) => ({ time, act: () => void witnesses[0]?.poll() })),
    ...(wanted.joins === null ? [] : [{ time: wanted.joins, act: () => appear(NEWCOMER) }]),
  ].sort((one, other) => one.time - other.time);
  for (const { time, act } of steps) {
    await clock.advance(Math.max(0, time * 1000 - clock.monotonic()));
    await act();
  }
  await clock.advance(LENGTH * 1000 - clock.monotonic());
  await account.watcher.close();
  return { polls, delivered, names };
}

/** Whether the service answered this cluster throughout, without a restart. */
function isQuiet({ outage, fault, interval, restarts }: Scenario, name: string, from: number, to: number): boolean {
  if (restarts.some((time) => time >= from && time <= to)) return false;
  const own = fault && (name === 'C0' || fault.how === 'limited') ? fault : null;
  // A backoff that began in the outage may end much later.
  return [outage, own].every((span) => !span || to < span.from || from > span.from + 4 * span.length + 4 * interval);
}

/** Longest latency, s. */
const slowest = ({ latency, slow }: Scenario): number => Math.max(latency, slow?.latency ?? 0);

type Played = Awaited<ReturnType<typeof play>>;

/** Polls come at least every 1.1 intervals, without overlaps, and 10 s apart unless requested. */
function checkTurns(wanted: Scenario, { polls, names }: Played): void {
  const most = 1.1 * wanted.interval + 3 * slowest(wanted);
  const isWhole = wanted.watchers.includes('all');
  for (const name of isWhole ? names : names.slice(0, 5)) {
    const all = polls.get(name) ?? [];
    assert(all.length > 0, `${name} is never polled`);
    for (const start of [0, ...wanted.restarts]) {
      const first = all.find(({ begun }) => begun >= start)?.begun ?? Infinity;
      // A cluster stays unknown while the list can't be read.
      assert(first <= start + most || !isQuiet(wanted, name, start + 1e-6, start + most), `${name} begins late`);
    }
    all.slice(1).forEach(({ begun }, index) => {
      const before = all[index];
      assert(before);
      assert(begun >= before.ended, `${name} overlaps at ${begun}`);
      const gap = begun - before.begun;
      // A requested poll follows a read of the list, and queues behind other polls.
      const asked = wanted.asked.some((time) => Math.abs(begun - time) < 5 + 3 * slowest(wanted));
      const restarted = wanted.restarts.some((time) => time >= before.begun && time <= begun);
      assert(asked || restarted || gap >= 10 - 1e-6, `${name}: ${before.begun} and ${begun} are too close`);
      assert(gap <= most || !isQuiet(wanted, name, before.begun, begun), `${name}: ${gap} s at ${begun}`);
    });
  }
  // The list is read once per interval, but at most once per minute.
  const known = wanted.joins !== null && isWhole && !wanted.outage && wanted.fault?.how !== 'limited';
  const seen = (polls.get(NEWCOMER)?.[0]?.begun ?? Infinity) - (wanted.joins ?? 0);
  assert(
    !known || seen <= Math.max(60, wanted.interval) + wanted.interval + most,
    `the new one begins after ${seen} s`,
  );
}

/** There are at most six extra polls per print. */
function checkExtraPolls(wanted: Scenario, { polls, names }: Played): void {
  const watched = wanted.watchers.includes('all') ? names : names.slice(0, 5);
  const prints = wanted.print === 0 ? 0 : Math.ceil(LENGTH / wanted.print);
  const most =
    (LENGTH / wanted.interval) * 1.1 +
    2 +
    6 * prints +
    wanted.asked.length +
    wanted.deploys.length +
    2 * wanted.restarts.length;
  for (const name of watched) assert((polls.get(name) ?? []).length <= most, name);
}

/** Every end reaches each watch once. */
function checkEnds(wanted: Scenario, { delivered, names }: Played): void {
  assert.equal(new Set(delivered).size, delivered.length, 'delivered twice');
  if (wanted.print === 0 || wanted.outage || wanted.fault) return;
  // Excludes prints before the first poll and after the last.
  const first = Math.ceil((1.2 * wanted.interval + 3) / wanted.print);
  const last = Math.floor((LENGTH - 1.3 * wanted.interval - 3) / wanted.print);
  const watched = wanted.watchers.includes('all') ? names : names.slice(0, 5);
  for (const name of watched)
    for (let print = first; print < last; print++) {
      const count = delivered.filter((entry) => entry.endsWith(`/job.finished/${name}-${print}`)).length;
      assert(count >= 1, `${name}-${print} is lost`);
    }
}

describe('a random account, watched for ten minutes,', function () {
  it('polls each cluster in its turn, makes at most six extra polls per print, and delivers every end once', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (wanted) => {
        const played = await play(wanted);
        for (const check of [checkTurns, checkExtraPolls, checkEnds]) check(wanted, played);
      }),
      { numRuns: 20, examples: KNOWN.map((wanted) => [wanted]) },
    );
  });
});

describe('a farm whose list takes long to read', () => {
  it('polls each cluster within an interval of the deploy, evenly spread', async () => {
    const account = new ScriptedAccount();
    const { clock, service } = account;
    for (let n = 0; n < 200; n++) service.cluster(`C${n}`);
    const begun = new Map<string, number>();
    const call = service.call.bind(service);
    service.call = async (endpoint, options) => {
      if (endpoint === 'clusters') await sleep(clock, 6_000, options.deadline.signal);
      const { cluster_id: clusterId } = options.ids ?? {};
      if (clusterId && !begun.has(clusterId)) begun.set(clusterId, clock.monotonic());
      return call(endpoint, options);
    };
    account.watch(null, { interval: 60, milestones: [] });
    await clock.advance(60_000);
    await account.watcher.close();
    assert.equal(begun.size, 200);
    for (let from = 10_000; from < 60_000; from += 10_000) {
      const count = [...begun.values()].filter((time) => time >= from && time < from + 10_000).length;
      assert(count >= 30 && count <= 45, `${count} begin in the ten seconds from ${from}`);
    }
  });
});
