import assert from 'node:assert/strict';
import fc from 'fast-check';
import { sleep } from '../../../lib/time/clock';
import { answer, at, job, minute } from '../events/observations';
import { broken, ScriptedAccount, type Witness } from './scripted-account';

/** One life of an account, in seconds. */
interface Life {
  clusters: number;
  interval: number;
  /** Who watches: all, the first few by themselves, or both. */
  watchers: ('all' | 'singles')[];
  latency: number;
  deploys: number[];
  asked: number[];
  /** From when on, and for how long, the service answers with 500. */
  outage: { from: number; length: number } | null;
  /** Prints of this length follow each other on each cluster; 0: none. */
  print: number;
}

const life: fc.Arbitrary<Life> = fc.record({
  clusters: fc.integer({ min: 1, max: 30 }),
  interval: fc.constantFrom(10, 15, 20, 60, 90),
  watchers: fc.constantFrom(['all'], ['singles'], ['all', 'singles']),
  latency: fc.constantFrom(0, 0.15, 1),
  deploys: fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 4 }),
  asked: fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 3 }),
  outage: fc.option(fc.record({ from: fc.integer({ min: 1, max: 300 }), length: fc.integer({ min: 10, max: 120 }) })),
  print: fc.constantFrom(0, 0, 45, 130, 200),
});

const LENGTH = 600;
const DONE = minute(60 * 24 * 365);

/** Plays a life; when each poll of each cluster began and ended (s), and the ids of ends as they were told. */
async function play(wanted: Life) {
  const account = new ScriptedAccount();
  const { clock, service } = account;
  const seconds = () => clock.monotonic() / 1000;
  const polls = new Map<string, { begun: number; ended: number }[]>();
  const delivered: string[] = [];
  const names = Array.from({ length: wanted.clusters }, (_, index) => `C${index}`);
  for (const name of names)
    service.cluster(name, () => {
      if (wanted.print === 0) return answer();
      const [count, into] = [Math.floor(seconds() / wanted.print), seconds() % wanted.print];
      const times = { time_elapsed: Math.floor(into), time_total: wanted.print, created_at: DONE };
      const before = Array.from({ length: Math.min(10, count) }, (_, index) =>
        job(`${name}-${count - 1 - index}`, 'finished', { created_at: DONE }),
      );
      return answer({ print_jobs: [at(`${name}-${count}`, 'printing', 0, times)], recently_completed: before });
    });
  const call = service.call.bind(service);
  service.call = async (endpoint, options) => {
    const poll = { begun: seconds(), ended: Infinity };
    const clusterId = options.ids?.cluster_id;
    if (endpoint === 'clusterStatus' && clusterId) polls.set(clusterId, [...(polls.get(clusterId) ?? []), poll]);
    try {
      if (wanted.latency > 0) await sleep(clock, wanted.latency * 1000, options.deadline.signal);
      const { outage } = wanted;
      if (outage && seconds() >= outage.from && seconds() < outage.from + outage.length) throw broken();
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
  const steps = [
    ...wanted.deploys.map((time) => ({ time, deploy: true })),
    ...wanted.asked.map((time) => ({ time, deploy: false })),
  ].sort((one, other) => one.time - other.time);
  for (const { time, deploy } of steps) {
    await clock.advance(Math.max(0, time * 1000 - clock.monotonic()));
    if (deploy) {
      witnesses.forEach((witness) => witness.close());
      await account.watcher.close();
      account.deploy();
      start();
    } else {
      void witnesses[0]?.poll();
    }
  }
  await clock.advance(LENGTH * 1000 - clock.monotonic());
  await account.watcher.close();
  return { polls, delivered, names };
}

/** Where the service answered and nothing was deployed within the last interval or so. */
function isQuiet({ outage, interval }: Life, from: number, to: number): boolean {
  if (!outage) return true;
  // A backoff that began in the outage may last twice as long.
  return to < outage.from || from > outage.from + 4 * outage.length + 4 * interval;
}

describe('any account, watched for ten minutes', function () {
  const check = (property: (life: Life, played: Awaited<ReturnType<typeof play>>) => void) =>
    fc.assert(
      fc.asyncProperty(life, async (wanted) => property(wanted, await play(wanted))),
      { numRuns: 20 },
    );

  it('polls each cluster within 1.1 intervals, never twice at a time, never closer than 10 s but when asked', async () => {
    await check((wanted, { polls, names }) => {
      const watched = wanted.watchers.includes('all') ? names : names.slice(0, 5);
      for (const name of watched) {
        const all = polls.get(name) ?? [];
        assert(all.length > 0, `${name} is never polled`);
        // While the list can't be read nobody knows of it.
        const begun = wanted.outage ? 0 : (all[0]?.begun ?? 0);
        assert(begun <= 1.1 * wanted.interval + 2 * wanted.latency, `${name} begins late`);
        all.slice(1).forEach(({ begun }, index) => {
          const before = all[index];
          assert(before);
          assert(begun >= before.ended, `${name} overlaps at ${begun}`);
          const gap = begun - before.begun;
          const asked = wanted.asked.some((time) => Math.abs(begun - time) < 5 + 2 * wanted.latency);
          assert(asked || gap >= 10 - 1e-6, `${name}: ${before.begun} and ${begun} are too close`);
          // What is asked for waits for its turn among the others, and the list is read before.
          const most = 1.1 * wanted.interval + 3 * wanted.latency;
          assert(gap <= most || !isQuiet(wanted, before.begun, begun), `${name}: ${gap} s at ${begun}`);
        });
      }
    });
  });

  it('has at most six polls more for a print', async () => {
    await check((wanted, { polls, names }) => {
      const watched = wanted.watchers.includes('all') ? names : names.slice(0, 5);
      const prints = wanted.print === 0 ? 0 : Math.ceil(LENGTH / wanted.print);
      const most = (LENGTH / wanted.interval) * 1.1 + 2 + 6 * prints + wanted.asked.length + wanted.deploys.length;
      for (const name of watched) assert((polls.get(name) ?? []).length <= most, name);
    });
  });

  it('tells every end that was seen to each watch once, and loses none', async () => {
    await check((wanted, { delivered, names }) => {
      assert.equal(new Set(delivered).size, delivered.length, 'delivered twice');
      if (wanted.print === 0 || wanted.outage) return;
      // All but those before the first poll and after the last.
      const first = Math.ceil((1.2 * wanted.interval + 3) / wanted.print);
      const last = Math.floor((LENGTH - 1.3 * wanted.interval - 3) / wanted.print);
      const watched = wanted.watchers.includes('all') ? names : names.slice(0, 5);
      for (const name of watched)
        for (let print = first; print < last; print++) {
          const count = delivered.filter((entry) => entry.endsWith(`/job.finished/${name}-${print}`)).length;
          assert(count >= 1, `${name}-${print} is lost`);
        }
    });
  });
});
