import assert from 'node:assert/strict';
import fc from 'fast-check';
import { answer, at, job, minute } from '../events/observations';
import { Replicas, type Replica } from './replicas';

/** What happens to a runtime, s from the begin. */
interface Event {
  time: number;
  what: 'join' | 'leave' | 'kill' | 'deploy' | 'cut off' | 'pause' | 'message' | 'the database goes';
  /** Whom of those that live it happens to. */
  whom: number;
  /** For what ends by itself, s. */
  length: number;
}

interface Life {
  runtimes: number;
  clusters: number;
  interval: number;
  watched: 'all' | 'singles' | 'both';
  latency: number;
  /** Prints of this length follow each other on each cluster, s. */
  print: number;
  events: Event[];
  /** When a cluster is new, s. */
  arrives: number | null;
  /** When the first cluster goes on under a new id, s. */
  moves: number | null;
  /** When somebody begins to wait for the end of a print, and who, s. */
  waits: { time: number; whom: number }[];
}

const event = fc.record({
  time: fc.integer({ min: 30, max: 600 }),
  what: fc.constantFrom<Event['what'][]>(
    ...(['join', 'leave', 'kill', 'deploy', 'cut off', 'pause', 'message', 'the database goes'] as const),
  ),
  whom: fc.nat(20),
  length: fc.integer({ min: 1, max: 90 }),
});

const life: fc.Arbitrary<Life> = fc.record({
  runtimes: fc.integer({ min: 1, max: 4 }),
  clusters: fc.integer({ min: 1, max: 7 }),
  interval: fc.constantFrom(10, 20, 60),
  watched: fc.constantFrom('all', 'singles', 'both'),
  latency: fc.constantFrom(0, 0.15, 3),
  print: fc.constantFrom(45, 130, 200),
  events: fc.array(event, { maxLength: 6 }),
  arrives: fc.option(fc.integer({ min: 200, max: 600 })),
  moves: fc.option(fc.integer({ min: 200, max: 600 })),
  waits: fc.array(fc.record({ time: fc.integer({ min: 100, max: 500 }), whom: fc.nat(20) }), { maxLength: 3 }),
});

const NEWCOMER = 'new';
const MOVED = 'moved';
const LENGTH = 900;
/** What it costs that somebody is gone without a word: until the lease has run out and is found to have, ms. */
const LEASE = 30_000;
const DONE = minute(60 * 24 * 365);

async function play(wanted: Life) {
  const replicas = new Replicas();
  const { clock, service, shared } = replicas;
  replicas.latency = wanted.latency * 1000;
  const seconds = () => clock.monotonic() / 1000;
  const names = Array.from({ length: wanted.clusters }, (_, n) => `C${n}`);
  const appear = (name: string, id = name) => service.cluster(id, status(name), { host_guid: `G-${name}` });
  const status = (name: string) => () => {
    const [count, into] = [Math.floor(seconds() / wanted.print), seconds() % wanted.print];
    const times = { time_elapsed: Math.floor(into), time_total: wanted.print, created_at: DONE };
    const before = Array.from({ length: Math.min(10, count) }, (_, n) =>
      job(`${name}-${count - 1 - n}`, 'finished', { created_at: DONE }),
    );
    return answer({ print_jobs: [at(`${name}-${count}`, 'printing', 0, times)], recently_completed: before });
  };
  for (const name of names) appear(name);
  const watch = (replica: Replica) => {
    if (wanted.watched !== 'singles') replica.watch(null, wanted.interval);
    if (wanted.watched !== 'all') for (const name of names) replica.watch(name, wanted.interval);
  };
  /** When a runtime could not poll, s; null: none could. */
  const outs: { who: Replica | null; from: number; to: number }[] = [];
  const out = (who: Replica | null, length = Infinity) => outs.push({ who, from: seconds(), to: seconds() + length });
  const born = new Map<Replica, number>();
  const join = () => {
    const replica = replicas.start();
    born.set(replica, seconds());
    watch(replica);
  };
  for (let n = 0; n < wanted.runtimes; n++) join();
  const steps: { time: number; act: () => unknown }[] = [];
  for (const { time, what, whom, length } of wanted.events) {
    const chosen = () => replicas.living[whom % replicas.living.length];
    const act = () => {
      const replica = chosen();
      if (what === 'join' || !replica) return join();
      if (what === 'leave' || what === 'kill') {
        out(replica);
        if (what === 'kill') replica.kill();
        else void replica.leave();
        if (replicas.living.length < 2) join();
      } else if (what === 'deploy') void replica.deploy().then(() => watch(replica));
      else if (what === 'message') void replica.watches[0]?.ask(() => undefined);
      else if (what === 'cut off') {
        replica.runtime.cutOff(length % 2 === 0 ? 'at once' : 'after asking');
        out(replica, length);
        steps.push({ time: time + length, act: () => replica.runtime.reconnect() });
      } else if (what === 'pause') {
        replica.runtime.pause();
        out(replica, length);
        steps.push({ time: time + length, act: () => replica.runtime.resume() });
      } else {
        shared.halt();
        out(null, length);
        steps.push({ time: time + length, act: () => shared.start() });
      }
    };
    steps.push({ time, act });
  }
  const { arrives, moves, waits } = wanted;
  if (arrives !== null) steps.push({ time: arrives, act: () => appear(NEWCOMER) });
  const move = () => {
    service.remove('C0');
    appear('C0', MOVED);
  };
  if (moves !== null) steps.push({ time: moves, act: move });
  /** How the waits ended. */
  const ends: (() => string)[] = [];
  const wait = (whom: number) => {
    const replica = replicas.living[whom % replicas.living.length];
    const clusterId = names.at(-1) ?? '';
    let outcome = 'none';
    replica?.account.watcher.follow(clusterId, `${clusterId}-${Math.floor(seconds() / wanted.print)}`).then(
      (followed) => (outcome = followed.outcome),
      () => (outcome = 'broken off'),
    );
    ends.push(() => (replica?.isAlive ? outcome : 'broken off'));
  };
  for (const { time, whom } of waits) steps.push({ time, act: () => wait(whom) });
  while (steps.length > 0) {
    steps.sort((one, other) => one.time - other.time);
    const step = steps.shift();
    if (!step) break;
    await clock.advance(Math.max(0, step.time * 1000 - clock.monotonic()));
    step.act();
  }
  await clock.advance(LENGTH * 1000 - clock.monotonic());
  const outcomes = ends.map((end) => end());
  await replicas.close();
  const isAble = (time: number) =>
    [...born].some(
      ([replica, from]) =>
        time >= from &&
        !outs.some((span) => (span.who === null || span.who === replica) && time >= span.from && time < span.to),
    );
  /** How long a cluster may not be polled between two times, ms. */
  const allowed = (from: number, to: number) => {
    let unable = 0;
    for (let time = from / 1000; time < to / 1000; time++) if (!isAble(time)) unable++;
    const disturbed = wanted.events.filter(({ what, time, length }) => {
      const lasts = ['join', 'leave', 'deploy', 'message'].includes(what) ? null : time + length;
      return lasts !== null && time * 1000 <= to && lasts * 1000 >= from - LEASE;
    });
    return 1000 * (1.1 * wanted.interval + 3 * wanted.latency + unable) + LEASE * disturbed.length;
  };
  return { replicas, names, allowed, outcomes };
}

describe('any runtimes that share an account, for a quarter of an hour', function () {
  const check = (property: (life: Life, played: Awaited<ReturnType<typeof play>>) => void) =>
    fc.assert(
      fc.asyncProperty(life, async (wanted) => property(wanted, await play(wanted))),
      { numRuns: 60 },
    );

  it('tell every end once in sum, give each status once, and leave no cluster unpolled for longer than a lease', async () => {
    await check((wanted, { replicas, names, allowed, outcomes }) => {
      const nodes = wanted.watched === 'both' ? 2 : 1;
      const told = replicas.told.filter(({ type }) => type === 'job.finished').map(({ id }) => id);
      const first = Math.ceil((1.5 * wanted.interval + 10) / wanted.print);
      const last = Math.floor((LENGTH - 2 * wanted.interval - 60) / wanted.print);
      const count = (type: string) => replicas.told.filter((event) => event.type === type).length;
      assert.equal(count('cluster.added'), wanted.arrives === null || wanted.watched === 'singles' ? 0 : 1);
      assert.equal(count('cluster.removed'), 0);
      assert.equal(count('cluster.rebound'), wanted.moves === null ? 0 : nodes);
      for (const outcome of outcomes) assert.ok(['finished', 'broken off'].includes(outcome), outcome);
      for (const name of names) {
        for (let print = first; print < last; print++) {
          const times = told.filter((id) => id.endsWith(`/job.finished/${name}-${print}`)).length;
          // Who watches an old id by itself hears of the new one from the first poll of the old one on.
          const isOld = name === 'C0' && wanted.moves !== null && nodes === 2;
          assert.ok(isOld ? times === 1 || times === 2 : times === nodes, `${name}-${print}: ${times}`);
        }
        if (name === 'C0' && wanted.moves !== null) continue;
        const polls = replicas.polls.filter(({ clusterId }) => clusterId === name).map(({ at }) => at);
        [...polls, LENGTH * 1000].forEach((time, n) => {
          const before = polls[n - 1] ?? 0;
          assert.ok(time - before <= allowed(before, time), `${name}: ${time - before} ms at ${time}`);
        });
        const rounds = replicas.rounds.filter(({ clusterId }) => clusterId === name).length;
        const most = nodes * (LENGTH / (0.9 * wanted.interval) + 2 * wanted.events.length + 2);
        assert.ok(rounds <= most, `${name}: ${rounds} statuses`);
      }
    });
  });
});
