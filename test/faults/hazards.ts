import { readdirSync } from 'node:fs';
import { EXTEND } from '../../lib/postgres/leases';
import { ENTER, RELEASE_ITEMS, CLAIM_ITEMS } from '../../lib/postgres/roster';
import { REMOVE, TAKE, WRITE } from '../../lib/postgres/entries';
import { parseRecord } from '../../lib/state/records';
import type { Fault } from '../../simulator';
import type { DatabaseFault, FaultyDatabase } from './below/database';
import type { DiskFault } from './below/disk';
import type { ByteFault, Host, Outage } from './below/wire';
import type { Chance } from './chance';
import type { Machine, World } from './machine';

/** Fault that begins at some time and lasts for a while. */
export interface Hazard {
  /** Starts the fault. The returned function ends it. */
  begin: () => () => void;
  lasts: number;
  disk?: boolean;
}

const READS = ['open', 'readFile', 'read', 'readdir', 'stat', 'lstat'];
const WRITES = ['write', 'fsync', 'mkdir', 'mkdtemp'];
const CHANGES = ['rename', 'unlink', 'rm', ...WRITES];

const DISK_FAULTS: DiskFault[] = [
  { code: 'EMFILE', names: ['open', 'readFile', 'readdir', 'mkdtemp'] },
  { code: 'ENFILE', names: ['open', 'readFile', 'readdir'] },
  { code: 'EIO' },
  { code: 'EIO', names: READS },
  { code: 'EIO', names: CHANGES },
  { code: 'EIO', names: ['fsync'] },
  { code: 'EIO', names: ['rename'] },
  { code: 'EACCES', names: ['open', 'readFile'] },
  { code: 'EACCES', names: ['rename', 'unlink', 'mkdir'] },
  { code: 'ENOSPC', names: WRITES },
  { code: 'EROFS', names: CHANGES },
];

/** Fault of a disk that hangs, or is late before or after a step, for reads, changes or both. */
function lateDisk(chance: Chance): { fault: DiskFault; hangs: boolean } {
  const names = chance.pick([undefined, READS, CHANGES]);
  const fault: DiskFault = names ? { names } : {};
  const kind = chance.random();
  if (kind < 0.4) return { fault: { ...fault, slow: chance.spread(20, 20_000) }, hangs: false };
  if (kind < 0.7) return { fault: { ...fault, late: chance.spread(20, 200_000) }, hangs: false };
  return { fault, hangs: true };
}

/** Disk fault that affects everything, one kind of values, or single steps. */
export function diskHazard(
  world: World,
  chance: Chance,
  machine: () => Pick<Machine, 'mount' | 'clock'> | undefined,
): Hazard {
  const { fault, hangs } = chance.is(0.3) ? lateDisk(chance) : { fault: { ...chance.pick(DISK_FAULTS) }, hangs: false };
  const once = chance.is(0.3);
  const narrow = chance.random();
  return {
    disk: true,
    lasts: chance.spread(500, 90_000),
    begin: () => {
      const mount = machine()?.mount;
      const kinds = readdirSync(world.folder);
      const kind = narrow < 0.4 && kinds.length > 0 ? kinds[Math.floor((narrow / 0.4) * kinds.length)] : undefined;
      if (kind !== undefined) fault.paths = (path) => path === kind || path.startsWith(`${kind}/`);
      let back: () => void = () => undefined;
      if (hangs) fault.hang = new Promise<void>((resolve) => (back = resolve));
      const what = hangs
        ? 'it hangs'
        : (fault.code ?? (fault.slow ? `slow by ${fault.slow} ms` : `late by ${fault.late} ms`));
      world.trace.add(
        `disk begins to fail: ${what}, ${kind ?? 'all'}, ${(fault.names ?? ['every step']).join(' ')}${once ? ', once' : ''}`,
      );
      if (once) {
        let struck = false;
        const inner = fault.paths;
        fault.paths = (path) => {
          if (struck || !(inner?.(path) ?? true)) return false;
          struck = true;
          return true;
        };
      }
      mount?.faults.add(fault);
      return () => {
        back();
        if (mount?.faults.delete(fault)) world.trace.add(`disk is well again: ${what}`);
      };
    },
  };
}

/** Time for which one of many keeps failing, and longest wait for it, ms. */
const TEN_SECONDS = 10_000;
const LONGEST = 120_000;

/**
 * Fails one of many: a single write, read or answer among those under way, or a single record, once or for ten seconds. All
 * others succeed.
 */
export function oneOfMany(
  world: World,
  chance: Chance,
  machine: () => Pick<Machine, 'mount' | 'clock'> | undefined,
  endpoints: readonly Fault['endpoint'][],
): Hazard {
  const what = chance.pick(['write', 'write', 'read', 'record', 'answer'] as const);
  const isOnce = chance.is(0.5);
  let left = chance.spread(1, 40) - 1;
  if (what === 'answer') {
    const effect = chance.pick([{ status: 500 }, { status: 503 }, { reset: true }] as const);
    const fault: Fault = {
      endpoint: chance.pick(endpoints),
      when: chance.pick(['before', 'after']),
      ...effect,
      times: 1,
    };
    return {
      lasts: LONGEST,
      begin: () => {
        world.trace.add(`one of many: the answer ${left + 1} of ${fault.endpoint} will fail`);
        const added = world.simulator.faults.add({ ...fault, after: left });
        return () => added.remove();
      },
    };
  }
  // A close ends, whatever it returns.
  const names = what === 'write' ? CHANGES : what === 'read' ? READS : [...READS, ...CHANGES];
  const code = chance.pick(['EIO', 'EACCES']);
  return {
    disk: true,
    lasts: LONGEST,
    begin: () => {
      const mount = machine()?.mount;
      let picked: string | undefined;
      let until = Infinity;
      const paths = (path: string) => {
        // A record is written under another name first.
        const record = /^[^/]+\/.*?\.json/.exec(path)?.[0];
        if (record === undefined || world.time.elapsed >= until) return false;
        if (picked === undefined && left-- > 0) return false;
        if (picked === undefined) {
          picked = record;
          world.trace.add(`one of many: ${record} begins to fail`);
          until = world.time.elapsed + TEN_SECONDS;
        }
        if (record !== picked) return false;
        if (isOnce) until = -Infinity;
        return true;
      };
      const fault: DiskFault = { code, paths, names };
      mount?.faults.add(fault);
      return () => void mount?.faults.delete(fault);
    },
  };
}

const OUTAGES: Outage[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'silent'];

/** Network fault: a host is unreachable, or a connection breaks, stalls or trickles at some byte. */
export function wireHazard(world: World, chance: Chance, hosts: readonly Host[]): Hazard {
  const host = chance.pick(hosts);
  const lasts = chance.spread(500, 120_000);
  if (chance.is(0.3)) {
    const outage = chance.pick(OUTAGES);
    return {
      lasts,
      begin: () => {
        world.trace.add(`wire: ${host} can't be reached from here on: ${outage}`);
        world.wire.outages.set(host, outage);
        world.wire.cut();
        return () => {
          if (world.wire.outages.delete(host)) world.trace.add(`wire: ${host} can be reached again`);
        };
      },
    };
  }
  const fault: ByteFault = {
    host,
    way: chance.pick(['up', 'down']),
    at: chance.is(0.2) ? 0 : chance.spread(1, 4000),
    kind: chance.pick(['reset', 'reset', 'stall', 'trickle']),
  };
  return { lasts, begin: () => world.wire.add(fault) };
}

const PASSING: Omit<Fault, 'endpoint'>[] = [
  { status: 500 },
  { when: 'after', status: 500 },
  { when: 'after', status: 502, html: true },
  { status: 503, html: true },
  { status: 504 },
  { when: 'after', status: 504 },
  { reset: true },
  { when: 'after', reset: true },
  { cut: 'body' },
  { cut: 'connection' },
  { status: 429, retryAfter: 1 },
  { status: 429, retryAfter: 20 },
  { status: 429, retryAfter: 0 },
  { status: 429, retryAfter: 86_400 },
];

/** Wrong answers of the service for a while. */
export function serviceHazard(world: World, chance: Chance, endpoints: readonly Fault['endpoint'][]): Hazard {
  const fault: Fault = {
    endpoint: chance.pick(endpoints),
    ...chance.pick(PASSING),
    times: chance.pick<number | 'always'>([1, 1, 1, 2, 5, 'always']),
  };
  return {
    lasts: chance.spread(1000, 120_000),
    begin: () => {
      const { endpoint, ...effect } = fault;
      world.trace.add(`service: ${endpoint} will answer ${JSON.stringify(effect)}`);
      const added = world.simulator.faults.add(fault);
      return () => added.remove();
    },
  };
}

/** Statuses for a while without the history, or with printings whose job they do not name (wire facts 6 and 8). */
export function partialStatusHazard(world: World, chance: Chance): Hazard {
  const effect: Partial<Fault> = chance.pick([
    { remove: ['data.recently_completed'] },
    { set: { 'data.recently_completed': null } },
    { remove: ['data.print_jobs.*.cloud_job_id', 'data.recently_completed.*.cloud_job_id'] },
  ]);
  const times = chance.pick<number | 'always'>([1, 2, 5, 'always', 'always']);
  return {
    lasts: chance.spread(1000, 300_000),
    begin: () => {
      world.trace.add(`service: statuses will lack ${JSON.stringify(effect)}, ${times} times`);
      const added = world.simulator.faults.add({ endpoint: 'clusterStatus', times, ...effect });
      return () => added.remove();
    },
  };
}

/** Slow service: it acts and answers after every limit, or begins to act only then. */
export function slowHazard(world: World, chance: Chance, endpoints: readonly Fault['endpoint'][]): Hazard {
  const endpoint = chance.pick(endpoints);
  const when = chance.is(0.7) ? 'after' : 'before';
  const ms = chance.spread(15_000, 900_000);
  const times = chance.pick<number | 'always'>([1, 1, 2, 5, 'always']);
  return {
    lasts: chance.spread(1000, 300_000),
    begin: () => {
      world.trace.add(`service: ${endpoint} will answer after ${ms / 1000} s (${when} the work), ${times} times`);
      const until = () => new Promise<void>((resolve) => world.time.after(ms, resolve));
      const added = world.simulator.faults.add({ endpoint, when, times, until });
      return () => added.remove();
    },
  };
}

const writes =
  (kind: string): DatabaseFault['strikes'] =>
  (text, values) =>
    text === WRITE && values.flat().some((value) => typeof value === 'string' && parseRecord(value)?.key[0] === kind);
const is =
  (statement: string): DatabaseFault['strikes'] =>
  (text) =>
    text === statement;

/** Affected statements (all, one kind, or writes of one kind of values), and the most that may pass before. */
const STATEMENTS: readonly (readonly [string, DatabaseFault['strikes'], number])[] = [
  ['each statement', () => true, 40],
  ['each statement', () => true, 40],
  ['each WRITE', is(WRITE), 8],
  ['each WRITE of a sign-in', writes('grant'), 1],
  ['each WRITE of a sign-in', writes('grant'), 1],
  ['each WRITE of a print key', writes('print-key'), 2],
  ['each REMOVE', is(REMOVE), 4],
  ['each TAKE', is(TAKE), 8],
  ['each EXTEND', is(EXTEND), 4],
  ['each ENTER', is(ENTER), 1],
  ['each CLAIM_ITEMS', is(CLAIM_ITEMS), 1],
  ['each RELEASE_ITEMS', is(RELEASE_ITEMS), 1],
];

/** Late or lost statements or answers of one or all runtimes, often later than the pack's timeout. */
export function lateDatabase(world: World, chance: Chance, database: FaultyDatabase): Hazard {
  const way = chance.pick(['there', 'back'] as const);
  const of = chance.is(0.7) ? chance.pick([...database.runtimes]) : undefined;
  const ms = chance.is(0.4) ? Infinity : chance.spread(200, 90_000);
  const [name, strikes, most] = chance.pick(STATEMENTS);
  const fault: DatabaseFault = { way, ms, of, strikes, skip: chance.spread(1, most) - 1 };
  return {
    lasts: chance.spread(5_000, 90_000),
    begin: () => {
      const whose = of ? `runtime ${[...database.runtimes].indexOf(of) + 1}` : 'all';
      const what = way === 'there' ? name : `the answer to ${name}`;
      world.trace.add(`database: ${what} of ${whose} will be late by ${ms} ms, after ${fault.skip} more`);
      database.faults.add(fault);
      return () => {
        if (database.faults.delete(fault)) world.trace.add('database: in time again');
      };
    },
  };
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const STEPS = [-1000, 1000, -60_000, 60_000, -HOUR, HOUR, -DAY, DAY, 200 * DAY, -200 * DAY, 400 * DAY, -400 * DAY];

/** Clock fault: the wall clock is set, or the machine sleeps for an hour. */
export function clockHazard(
  world: World,
  chance: Chance,
  machine: () => Pick<Machine, 'mount' | 'clock'> | undefined,
): Hazard {
  if (chance.is(0.3)) {
    const counted = chance.is(0.5);
    return {
      lasts: 0,
      begin: () => {
        world.trace.add(`the machine sleeps for an hour${counted ? ', and its clocks go on' : ''}`);
        world.time.suspend(HOUR, counted);
        world.wire.cut();
        return () => undefined;
      },
    };
  }
  const step = chance.pick(STEPS);
  return {
    lasts: chance.spread(1000, 300_000),
    begin: () => {
      const clock = machine()?.clock;
      // No system sets its clock to a time before 1970.
      if (clock) clock.offset = Math.max(clock.offset + step, -world.time.truth());
      world.trace.add(`the wall clock is set by ${step / 1000} s`);
      return () => {
        if (!clock || clock.offset === 0) return;
        clock.offset = 0;
        world.trace.add('the wall clock is set right');
      };
    },
  };
}

/** Offset of the wall clock at a start: none, in the past or in the future. */
export const startOffset = (world: World, chance: Chance): number =>
  chance.is(0.8) ? 0 : chance.pick([-world.time.truth() + 5000, 5 * 365 * DAY, -DAY, 200 * DAY, -200 * DAY]);
