import { BREAKS, hits, isCutOff, KILLS, repeats, RETRIED, sentences, type Rule } from './deliveries';
import { INTERVAL } from './flow';
import { QUEUE_RULES } from './queue-rules';
import { PRINTERS, QUIET, REPLICAS, TOKEN_LIFETIME } from './size';
import type { Evidence, Followed, HazardKind, Poll, Printing, Stretch, ReplicaDiaryLine } from './evidence';

/** Duration of a lease after its last heartbeat, which another replica sees up to 5 s later, ms. */
const LEASE = 17_000 + 5_000;
/** Uninterrupted database connection that a replica needs before it treats a lease as expired, ms. */
const STEADY = 10_000;
/** Additional time for statements and requests, ms. */
const BUSY = 3_000;
/** Minimum time between two polls of a printer, ms: closer polls show two uncoordinated pollers. */
const TOGETHER = 4_000;
/** Time until a sign-in lost to a kill is replaced, ms. */
const SIGN_IN = 30_000;
/** Longest time until a replica follows a sign-in or a sign-out elsewhere, even without notifications, ms. */
const FOLLOWED = 15_000;
/**
 * Time after which the others poll for a replica that doesn't reach the service, ms: the repeats of a poll (16 s), the
 * probes after it (25 s), and the repeats of a poll in flight that it waits for. A lease is part of the rule already.
 */
const UNREACHED = 16_000 + 25_000 + 16_000 - LEASE;
/** Hazards whose sign-ins and sign-outs the replicas have to follow. */
const TO_FOLLOW: readonly HazardKind[] = ['deaf', 'secret', 'sign-out'];
const ENDS = ['job.finished', 'job.failed', 'job.aborted', 'job.ended'];

/** Whether a poll can have shown a print: one that a queue recalls at once comes and goes between two polls. */
const wasShown = ({ polls }: Evidence, { clusterId, createdAt, listedAt }: Printing): boolean =>
  polls.get(clusterId)?.some(({ at }) => at >= createdAt && at <= listedAt) ?? false;

/** End of every print that a node watches, by node and print. */
function ends(seen: Evidence): { what: string; printing: string; told: ReplicaDiaryLine[] }[] {
  const { told, printings, polls } = seen;
  const [first] = [...polls.keys()];
  const shown = printings.filter((printing) => wasShown(seen, printing));
  return shown.flatMap(({ uuid, name, clusterId }) =>
    (clusterId === first ? ['all', 'one'] : ['all']).map((node) => ({
      what: `the end of ${name} at ${node}`,
      printing: uuid,
      told: told.filter((line) => line.node === node && line.job === uuid && ENDS.includes(line.type ?? '')),
    })),
  );
}

/** Ends of the prints that a node waits for. */
function waits({ told, printings, asked }: Evidence) {
  return printings
    .filter(({ name }) => asked.some(({ key, kind }) => kind === 'wait' && key === name))
    .map(({ uuid, name, createdAt }) => ({
      what: `the end of the wait for ${name}`,
      printing: uuid,
      createdAt,
      replica: asked.find(({ key }) => key === name)?.replica ?? 0,
      told: told.filter(({ kind, job }) => (kind === 'end' || kind === 'error') && job === uuid),
    }));
}

/** Length of the part of `of` that any of `stretches` covers, ms. */
function covered(of: Stretch, stretches: readonly Stretch[]): number {
  let sum = 0;
  let end = of.from;
  for (const { from, to } of [...stretches].sort((one, other) => one.from - other.from)) {
    sum += Math.max(0, Math.min(to, of.to) - Math.max(from, end));
    end = Math.max(end, Math.min(to, of.to));
  }
  return sum;
}

/** Gaps between the polls of each printer, and the part of each gap that is unavoidable. */
export function gaps({ polls, since, now, hazards, stuck, lost, signedOut, late }: Evidence) {
  const unhelped: Stretch[] = [
    ...hazards.flatMap(({ kind, replica, from, to }): Stretch[] => {
      if (BREAKS.includes(kind) && replica === 0) return [{ from, to: to + STEADY }];
      // No token can be renewed.
      if (kind === 'full') return [{ from, to: to + RETRIED }];
      if (kind === 'unreached') return [{ from, to: Math.min(to, from + UNREACHED) }];
      return [];
    }),
    ...stuck,
    ...late,
    ...lost.map(({ from, to }) => ({ from, to: Math.max(to, from + SIGN_IN) })),
    ...signedOut.map(({ from, to }) => ({ from, to: to + FOLLOWED })),
  ];
  return [...polls].flatMap(([clusterId, times], cluster) => {
    const marks = [since, ...times.map(({ at }) => at).filter((time) => time > since), now];
    return marks.slice(1).map((to, at) => {
      const from = marks[at] as number;
      const by = [...new Set(times.flatMap((poll) => (poll.at === from || poll.at === to ? [poll.by] : [])))];
      return { printer: cluster + 1, clusterId, by, from, ms: to - from, excused: covered({ from, to }, unhelped) };
    });
  });
}

/** Sign-ins and sign-outs that no other hazard prevented the replica from following. */
const unhindered = ({ followed, hazards }: Evidence): Followed[] =>
  followed.filter(
    ({ replica, at, ms }) =>
      !hazards.some(
        (hazard) =>
          !TO_FOLLOW.includes(hazard.kind) && hits(hazard, replica) && hazard.from < at + ms && hazard.to + STEADY > at,
      ),
  );

/** Longest time until a replica followed a sign-in or a sign-out elsewhere, ms. */
export const slowest = (seen: Evidence): number => Math.max(0, ...unhindered(seen).map(({ ms }) => ms));

export const RULES: Rule[] = [
  {
    name: 'refreshes once for each expiry, in total',
    broken({ refreshes, signIns, expired }) {
      // A token is valid for its lifetime or up to a second less, and is renewed when a tenth of that is left.
      const least = Math.min(0.9 * TOKEN_LIFETIME, TOKEN_LIFETIME - 1) * 1000 - 500;
      const forced: Stretch[] = [...signIns, ...expired.map((time) => ({ from: time, to: time }))];
      return refreshes.slice(1).flatMap((at, index) => {
        const before = refreshes[index] as number;
        if (at - before >= least || forced.some(({ from, to }) => to > before && from <= at)) return [];
        return [`a refresh ${((at - before) / 1000).toFixed(1)} s after the one before (${at})`];
      });
    },
  },
  {
    name: 'loses no sign-in',
    open: ({ states }) =>
      states.flatMap((state, at) => (state === 'signed-in' ? [] : [`replica ${at + 1} is ${state ?? 'silent'}`])),
    broken({ reuseDetections, lost, hazards }) {
      const unexplained = lost.filter(
        ({ from: at }) => !hazards.some(({ kind, from }) => KILLS.includes(kind) && from <= at && at - from < 60_000),
      );
      return [
        ...unexplained.map(({ from }) => `the sign-in was lost without a kill (${from})`),
        ...(reuseDetections > lost.length ? [`${reuseDetections} spent refresh tokens came again`] : []),
      ];
    },
    excused: ({ lost }) => lost.map(({ from }) => `a kill cost the sign-in (${from})`),
  },
  { name: 'completes each sign-in', broken: ({ failedSignIns }) => [...failedSignIns] },
  {
    name: 'extends a sign-in and a sign-out at one replica to all within 15 s',
    broken: (seen) =>
      unhindered(seen)
        .filter(({ ms }) => ms > FOLLOWED + BUSY)
        .map(({ replica, state, at, ms }) => `${replica} was ${state} only after ${(ms / 1000).toFixed(1)} s (${at})`),
  },
  {
    name: 'reports each end exactly once, in total',
    open: (seen) => ends(seen).flatMap(({ what, told }) => (told.length > 0 ? [] : [`${what} was never told`])),
    broken: (seen) => sentences(repeats(seen, ends(seen)), false),
    excused: (seen) => sentences(repeats(seen, ends(seen)), true),
  },
  {
    name: 'ends each wait for an end exactly once, in total',
    open: (seen) =>
      waits(seen).flatMap(({ what, told, replica, createdAt }) =>
        told.length > 0 || isCutOff(seen, replica, createdAt) ? [] : [`${what} never came`],
      ),
    broken: (seen) => sentences(repeats(seen, waits(seen)), false),
    excused: (seen) => sentences(repeats(seen, waits(seen)), true),
  },
  {
    name: 'prints once for each key',
    open: ({ asked }) =>
      keysOf(asked, 'print')
        .filter((key) => !asked.some((one) => one.key === key && one.job !== null))
        .map((key) => `${key} was not printed`),
    broken: ({ asked, printings }) => [
      ...keysOf(asked).flatMap((key) => {
        const jobs = printings.filter(({ name }) => name === key);
        return jobs.length > 1 ? [`${key} was printed ${jobs.length} times`] : [];
      }),
      ...asked.flatMap(({ key, job, replica }) => {
        const isThere = job === null || printings.some(({ uuid, name }) => uuid === job && name === key);
        return isThere ? [] : [`${replica} answered ${key} with another print`];
      }),
    ],
  },
  {
    name: 'leaves no printer unpolled for longer than its interval plus a lease',
    broken: (seen) =>
      gaps(seen)
        .filter(({ ms, excused }) => ms - excused > INTERVAL * 1000 + LEASE + BUSY)
        .map(
          ({ printer, by, ms, excused, from }) =>
            `printer ${printer} of ${by.join(' and ')} was not polled for ${(ms / 1000).toFixed(1)} s, of which ` +
            `${(excused / 1000).toFixed(1)} s were unavoidable (${from})`,
        ),
  },
  {
    name: 'polls a printer from one replica at a time',
    broken: ({ polls, hazards, signedOut, signIns }) =>
      [...polls].slice(-QUIET).flatMap(([clusterId, times]) =>
        times.slice(1).flatMap(({ at, by }, index) => {
          const before = times[index] as Poll;
          const apart = ((at - before.at) / 1000).toFixed(1);
          // A replica polls at once after each change of the sign-in. Those that notice it earlier poll for the others.
          const isAnew = [...signedOut, ...signIns].some(
            ({ from, to }) => from < at && to + FOLLOWED + BUSY > before.at,
          );
          // A broken lease leaves no time of the last poll, so the next owner of the printer does not know it.
          const isUnknown = hazards.some(
            ({ kind, from, to }) => BREAKS.includes(kind) && from < at && to > before.at && by !== before.by,
          );
          if (isUnknown || isAnew || at - before.at >= TOGETHER) return [];
          return [`${clusterId} was polled by ${before.by}, and again after ${apart} s by ${by} (${at})`];
        }),
      ),
  },
  {
    name: 'polls about as many printers in each replica',
    open: ({ shares }) =>
      shares === null || (shares && isEven(shares.members)) ? [] : [`the shares are ${shares?.members.join(', ')}`],
    broken: ({ shares }) => (shares === null ? ['the replicas do not know of each other'] : []),
  },
  ...QUEUE_RULES,
];

const keysOf = (asked: Evidence['asked'], kind?: 'print' | 'wait'): string[] => [
  ...new Set(asked.filter((one) => kind === undefined || one.kind === kind).map(({ key }) => key)),
];

/** Items to share: the printers and the list of printers. */
const ITEMS = PRINTERS + 1;

const isEven = (members: number[]): boolean =>
  members.length === REPLICAS &&
  members.reduce((sum, one) => sum + one, 0) === ITEMS &&
  Math.max(...members) <= Math.ceil(ITEMS / REPLICAS);
