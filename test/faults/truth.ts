import type { PrintEvent } from '../../lib/events/print-event';
import type { PrintJob } from '../../simulator';
import { seeded } from '../helpers/seeded';
import { Chance } from './chance';
import { THRESHOLDS } from './farm-changes';
import type { Life } from './life';
import type { World } from './machine';
import { awaitsCleanup } from './floor';
import { Broken } from './trace';

const MINUTE = 60_000;
/** Distance between two looks at the printers, ms. */
const LOOK_EVERY = 5_000;
/** Polls of a printer within which whatever it shows is reported, one of which may lie. */
const POLLS = 4;
/** The same for a standstill, of which each lie hides two. */
const STALL_POLLS = 8;
/** Length of the calm part of a run, in polls. */
const CALM = 13;
/** Distance between two lies, polls. */
const LIE_EVERY = 3;
/** Nominal share of its time from which a print that was stopped may count as finished (reference 3.3). */
const NEARLY_FINISHED = 0.93;

const ENDS = ['job.finished', 'job.failed', 'job.aborted', 'job.ended'];
/** Events that concern a job, and occur at most once for it. */
const ONCE = ['job.queued', 'job.started', ...ENDS, 'plate.awaiting'];
/** Nothing in these runs takes a printer offline, or changes its firmware or its identity. */
const NEVER = ['printer.online', 'printer.offline', 'cluster.added', 'cluster.removed', 'cluster.rebound'];

/** What a print has been through, as an onlooker at its printer saw it. Times: `elapsed` of the run, and real ones. */
interface Print {
  uuid: string;
  clusterId: string;
  /** Words that it has shown. */
  words: Set<string>;
  /** Share of its time, at the last look. */
  share: number;
  /** When its end showed. */
  endedAt?: number;
  vanished?: true;
  /** When its plate began to wait, and stopped; real time. */
  plateFrom?: number;
  plateTo?: number;
  /** How often it was paused and resumed, as far as it was looked at. */
  pauses: number;
  /** Whether nothing but single lies disturbed its watching. */
  isCalm: boolean;
  calmPauseAt?: number;
  /** Its standstills, oldest first. */
  stalls: Stall[];
}

/** A time in which a print made no progress, until it made some. */
interface Stall {
  /** How long it was seen to print and stand still, real ms. */
  stood: number;
  /** Last look at which it stood still, in real time and `elapsed` of the run. */
  seen: number;
  lookedAt: number;
  /** `elapsed` of the run at which it had stood still for the nodes' time; absent before. */
  dueAt?: number;
  isOver: boolean;
  isCalm: boolean;
}

interface Told {
  node: string;
  event: PrintEvent;
  at: number;
  /** Real time. */
  real: number;
}

interface Nodes {
  /** Watched cluster of each node, by the node's name; null for all. */
  watched: ReadonlyMap<string, string | null>;
  /** Polling interval, ms. */
  interval: number;
  /** Whether events may be repeated, with the same id. */
  mayRepeat: boolean;
  /** Whether the service invented answers. */
  hostile: boolean;
}

/**
 * Oracle of events: what happened at the printers, as an onlooker sees it, and whether the events tell just that (contract
 * 3.3): none false, none before its cause, none twice, none otherwise, and in calm none lost and none late.
 */
export class Truth {
  readonly #prints = new Map<string, Print>();
  readonly #told: Told[] = [];
  readonly #chance: Chance;
  #isCalm = false;
  #isLooking = true;

  constructor(private readonly world: World) {
    // Draws of its own keep the rest of a seed the same.
    this.#chance = new Chance(seeded(world.seed + 2e6));
    this.#lookOn();
  }

  record(node: string, events: readonly PrintEvent[]): void {
    const { elapsed, truth } = this.world.time;
    for (const event of events) this.#told.push({ node, event, at: elapsed, real: truth() });
  }

  /** Whether answers of this run are dated by a clock that is wrong, or not at all, as long as no other fault does that. */
  dateAnswers(): void {
    const { world } = this;
    const ahead = this.#chance.pick([null, null, null, undefined, 2, -2, 50, -50]);
    if (ahead === null) return;
    world.trace.add(`service: answers are dated ${ahead === undefined ? 'not at all' : `${ahead} h ahead`}`);
    const transform = dated(ahead);
    world.simulator.faults.add({ endpoint: 'clusterStatus', times: 'always', transform });
  }

  /** Plans prints that make no progress for a while, before `horizon`, ms. */
  planStalls(life: Life, clusters: readonly number[], horizon: number): void {
    const chance = this.#chance;
    for (let count = chance.whole(0, 3); count > 0; count--) {
      const cluster = chance.pick(clusters);
      const lasts = chance.spread(5_000, 600_000);
      life.at(chance.whole(0, horizon), () => {
        const uuid = this.#stall(cluster);
        if (uuid !== undefined) this.world.time.after(lasts, () => this.#unstall(cluster, uuid));
      });
    }
  }

  /** Lets every print make progress again. */
  endStalls(clusters: readonly number[]): void {
    for (const cluster of clusters)
      for (const { uuid, stalled } of this.world.simulator.world.cluster(cluster).queue)
        if (stalled) this.#unstall(cluster, uuid);
  }

  /** Stops the progress of the print on a printer; returns its id, undefined where none prints. */
  #stall(cluster: number, job?: string): string | undefined {
    const { simulator, trace } = this.world;
    const printing = simulator.world
      .cluster(cluster)
      .queue.find(({ uuid, status, stalled }) => status === 'printing' && !stalled && uuid === (job ?? uuid));
    if (!printing) return undefined;
    simulator.world.stall(cluster, printing.uuid);
    trace.add(`printer ${cluster}: ${printing.uuid.slice(0, 8)} stalls`);
    return printing.uuid;
  }

  #unstall(cluster: number, uuid: string): void {
    const { simulator, trace } = this.world;
    this.look();
    try {
      simulator.world.unstall(cluster, uuid);
    } catch {
      // It has ended meanwhile.
      return;
    }
    const stall = this.#prints.get(uuid)?.stalls.at(-1);
    if (stall) stall.isOver = true;
    trace.add(`printer ${cluster}: ${uuid.slice(0, 8)} goes on`);
  }

  /** Has prints made while nothing fails but single answers, which lie. No fault has an effect any more. */
  async calm(clusters: readonly number[], interval: number): Promise<void> {
    const { time, simulator, trace } = this.world;
    const chance = this.#chance;
    trace.add('calm from here on');
    this.#isCalm = true;
    const poll = interval;
    if (chance.is(0.3)) this.dateAnswers();
    for (const cluster of clusters) {
      const isManual = chance.is(0.6);
      simulator.world.setCleaning(cluster, isManual ? 'manual' : 'automatic');
      const fate = chance.pick(['finish', 'finish', 'abort', 'abort', 'fail', 'vanish', 'stall', 'stall']);
      // A short one may be over before the next poll.
      const seconds = fate === 'finish' ? chance.pick([20, 600]) : 4_000;
      time.after(chance.whole(0, poll), () => {
        const job = simulator.world.printLocally(cluster, { name: `calm ${fate}`, seconds });
        trace.add(`printer ${cluster}: calm print ${job.uuid.slice(0, 8)}, to ${fate}`);
        const act = (polls: number, action: () => void) =>
          time.after(polls * poll, () => {
            try {
              this.look();
              action();
              this.look();
            } catch {
              // The print's state does not allow that.
            }
          });
        if (fate === 'stall') {
          act(3, () => this.#stall(cluster, job.uuid));
          act(CALM - 1, () => this.#unstall(cluster, job.uuid));
        } else if (seconds === 4_000 && chance.is(0.5)) {
          act(1.5, () => simulator.world.pause(cluster, job.uuid));
          act(3.7, () => simulator.world.resume(cluster, job.uuid));
        }
        if (fate === 'abort') act(5, () => simulator.world.abort(cluster, job.uuid));
        if (fate === 'fail') act(5, () => simulator.world.fail(cluster, job.uuid));
        if (fate === 'vanish')
          act(5, () => {
            simulator.world.vanish(cluster, job.uuid);
            const print = this.#prints.get(job.uuid);
            if (print) print.vanished = true;
          });
      });
    }
    // Two lies in a row would be no lie: they are what the contract takes for the truth.
    for (let polls = 1; polls < CALM; polls += LIE_EVERY)
      if (chance.is(0.6)) time.after((polls + chance.random()) * poll, () => this.#lie());
    await time.pass(CALM * poll);
    this.#isCalm = false;
    simulator.faults.clear();
    for (const cluster of clusters) simulator.world.setCleaning(cluster, 'automatic');
  }

  stop(): void {
    this.#isLooking = false;
  }

  /** Has the next answer about a printer lie. */
  #lie(): void {
    const [name, transform] = this.#chance.pick(LIES);
    this.world.trace.add(`service: the next status ${name}`);
    this.world.simulator.faults.add({ endpoint: 'clusterStatus', times: 1, transform });
  }

  #lookOn(): void {
    this.world.time.after(LOOK_EVERY, () => {
      if (!this.#isLooking) return;
      this.look();
      this.#lookOn();
    });
  }

  /** Notes what each print is at this moment: called regularly, and before anything but time changes a print. */
  look(): void {
    const { simulator, time } = this.world;
    const seen = new Set<string>();
    for (const { clusterId, queue, history } of simulator.world.clusters()) {
      for (const job of [...queue, ...history]) {
        const { uuid, status } = job;
        seen.add(uuid);
        let print = this.#prints.get(uuid);
        if (!print) {
          print = { uuid, clusterId, words: new Set(), share: 0, pauses: 0, isCalm: this.#isCalm, stalls: [] };
          this.#prints.set(uuid, print);
        }
        const isListed = queue.includes(job);
        if (status === 'paused' && !print.words.has('paused')) {
          print.pauses++;
          if (this.#isCalm) print.calmPauseAt = time.elapsed;
        }
        if (status === 'printing' && job.stalled) this.#followStall(print);
        print.words.add(status);
        print.share = job.printed / job.timeTotal;
        if (awaitsCleanup({ status }) && isListed) print.plateFrom ??= time.truth();
        else if (print.plateFrom !== undefined) print.plateTo ??= time.truth();
        if (!isListed || hasEnded(status)) print.endedAt ??= time.elapsed;
      }
    }
    for (const print of this.#prints.values())
      if (!seen.has(print.uuid)) {
        print.vanished = true;
        print.endedAt ??= time.elapsed;
        if (print.plateFrom !== undefined) print.plateTo ??= time.truth();
      }
  }

  #followStall({ stalls }: Print): void {
    const { time } = this.world;
    let stall = stalls.at(-1);
    const now = time.truth();
    if (!stall || stall.isOver) {
      stall = { stood: 0, seen: now, lookedAt: time.elapsed, isOver: false, isCalm: this.#isCalm };
      stalls.push(stall);
    }
    // Longer between two looks: it was paused. While the machine sleeps, nobody looks, and real time goes on.
    if (time.elapsed - stall.lookedAt <= LOOK_EVERY) stall.stood += now - stall.seen;
    stall.seen = now;
    stall.lookedAt = time.elapsed;
    if (stall.stood >= THRESHOLDS.stalled * MINUTE) stall.dueAt ??= time.elapsed;
  }

  check(nodes: Nodes): void {
    this.stop();
    this.#checkIds(nodes);
    if (!nodes.hostile) for (const told of this.#told) this.#checkCause(told);
    for (const print of this.#prints.values()) this.#checkPrint(print, nodes);
  }

  /** Two events never share an id. */
  #checkIds({ hostile }: Nodes): void {
    const subjects = new Map<string, string>();
    for (const { event } of this.#told) {
      const { id, type, clusterId, job, previous, value } = event;
      const subject = JSON.stringify([
        type,
        clusterId,
        job?.clusterJobId,
        type.startsWith('job.') || [previous, value],
      ]);
      if ((subjects.get(id) ?? subject) !== subject && !hostile && !type.startsWith('material.low'))
        throw new Broken(3, `the id ${id.slice(-40)} stands for two events: ${subjects.get(id)} and ${subject}`);
      subjects.set(id, subject);
    }
  }

  #checkCause({ node, event, at, real }: Told): void {
    const { type, job } = event;
    if (NEVER.includes(type)) throw new Broken(3, `${type} was told to ${node}, though nothing of the kind happened`);
    const print = this.#prints.get(job?.clusterJobId ?? '');
    if (!print) {
      if (type.startsWith('job.') || type === 'plate.awaiting')
        throw new Broken(3, `${type} of a print that never was, told to ${node}`);
      return;
    }
    const what = `${type} of ${print.uuid.slice(0, 8)}`;
    if (
      type === 'job.stalled' &&
      !print.stalls.some(({ dueAt }) => dueAt !== undefined && at >= dueAt - 2 * LOOK_EVERY)
    )
      throw new Broken(3, `${what} was told to ${node}, though it did not stand still for that long`);
    const has = (...words: string[]) => words.some((word) => print.words.has(word));
    if (type === 'job.paused' && !has('pausing', 'paused', 'resuming')) throw new Broken(3, `${what}: it never paused`);
    if (ENDS.includes(type)) {
      if (print.endedAt === undefined || at < print.endedAt - LOOK_EVERY)
        throw new Broken(3, `${what} was told to ${node} before its end`);
      const right = endsOf(print);
      if (!right.includes(type)) throw new Broken(3, `${what} was told to ${node}; right is ${right.join(' or ')}`);
    }
    if (type === 'plate.awaiting') {
      const wait = (print.plateTo ?? real) - (print.plateFrom ?? Infinity);
      const until = Math.min(wait, real - (print.plateFrom ?? Infinity));
      if (until < THRESHOLDS.plateWait * MINUTE - 2 * LOOK_EVERY)
        throw new Broken(3, `${what} was told to ${node} after ${Math.round(until / 1000)} s of waiting`);
    }
  }

  #checkPrint(print: Print, { watched, interval, mayRepeat, hostile }: Nodes): void {
    const short = print.uuid.slice(0, 8);
    const latest = POLLS * interval + 2 * LOOK_EVERY;
    for (const [node, clusterId] of watched) {
      const told = this.#told.filter(({ node: to, event }) => to === node && event.job?.clusterJobId === print.uuid);
      const of = (type: string) => told.filter(({ event }) => event.type === type);
      for (const type of ONCE)
        if (of(type).length > 1 && !mayRepeat) throw new Broken(3, `${type} of ${short} was told twice to ${node}`);
      for (const type of ONCE)
        if (new Set(of(type).map(({ event }) => event.id)).size > 1)
          throw new Broken(3, `${type} of ${short} was told to ${node} under two ids`);
      const stalls = of('job.stalled');
      if (new Set(stalls.map(({ event }) => event.id)).size > print.stalls.length && !hostile)
        throw new Broken(3, `job.stalled of ${short} was told to ${node} under more ids than it stood still`);
      if (stalls.length > print.stalls.length && !mayRepeat && !hostile)
        throw new Broken(3, `job.stalled of ${short} was told to ${node} more often than it stood still`);
      const isIts = clusterId === null || clusterId === print.clusterId;
      if (!print.isCalm || !isIts || hostile) continue;
      const end = told.find(({ event }) => ENDS.includes(event.type));
      const inTime = (what: string, cause: number, first: Told | undefined) => {
        if (this.world.time.elapsed < cause + latest) return;
        if (!first) throw new Broken(3, `${what} of ${short} was never told to ${node}`);
        if (first.at > cause + latest)
          throw new Broken(
            3,
            `${what} of ${short} was told to ${node} ${Math.round((first.at - cause) / 1000)} s late`,
          );
      };
      if (print.endedAt !== undefined && (!print.vanished || told.length > 0)) inTime('the end', print.endedAt, end);
      if (print.calmPauseAt !== undefined && print.pauses > 0)
        inTime('the pause', print.calmPauseAt, of('job.paused')[0]);
      const [stall] = print.stalls;
      const due = THRESHOLDS.stalled * MINUTE + STALL_POLLS * interval;
      if (stall?.isCalm && stall.stood > due && stalls.length === 0)
        throw new Broken(3, `the standstill of ${short} was never told to ${node}`);
      const waited = (print.plateTo ?? this.world.time.truth()) - (print.plateFrom ?? Infinity);
      const clearBy = THRESHOLDS.plateWait * MINUTE + latest;
      if (waited > clearBy) {
        const [first] = of('plate.awaiting');
        if (!first) throw new Broken(3, `the plate of ${short} was never told to ${node}`);
        if (first.real - (print.plateFrom ?? 0) > clearBy)
          throw new Broken(3, `the plate of ${short} was told late to ${node}`);
      }
    }
  }
}

/** Whether a word says that the print is over, however it ended (wire facts 12.2). */
const hasEnded = (status: PrintJob['status']): boolean =>
  /^(aborted|failed)(_|$)/.test(status) || status === 'finished' || status === 'error' || awaitsCleanup({ status });

/** The events that tell the end of a print rightly. */
function endsOf({ words, share, vanished }: Print): string[] {
  const named = [...words].flatMap((word) => /^(finished|failed|aborted|error)/.exec(word)?.[0] ?? []);
  const right = named.map((word) => (word === 'error' ? 'job.failed' : `job.${word}`));
  if (words.has('wait_cleanup')) right.push(share >= NEARLY_FINISHED ? 'job.finished' : 'job.aborted');
  // How it would have ended, its last word may have told.
  if (vanished) right.push('job.ended', ...(words.has('aborting') ? ['job.aborted'] : []));
  return right;
}

type Data = Record<string, unknown> & { print_jobs: unknown[] };
const dataOf = (body: unknown): Data => (body as { data: Data }).data;
const changed = (change: (data: Data) => object) => (body: unknown) => {
  const data = structuredClone(dataOf(body));
  return { ...(body as object), data: { ...data, ...change(data) } };
};
const dated = (hours: number | undefined) =>
  changed(({ generated_time }) => ({
    generated_time:
      hours === undefined
        ? undefined
        : new Date(Date.parse(generated_time as string) + hours * 60 * MINUTE).toISOString(),
  }));

/** Single answers that prove nothing (wire facts, traps 15 and 17). */
const LIES: readonly (readonly [string, (body: unknown) => unknown])[] = [
  ['is dated two days ahead', dated(48)],
  ['is dated three hours behind', dated(-3)],
  ['has no date', dated(undefined)],
  ['has no jobs', changed(() => ({ print_jobs: [] }))],
  ['lacks the lists', changed(() => ({ print_jobs: undefined, recently_completed: undefined }))],
  ['lists each job twice', changed(({ print_jobs }) => ({ print_jobs: [...print_jobs, ...print_jobs] }))],
  ['says offline', changed(() => ({ is_online: false, print_jobs: [], recently_completed: [] }))],
  ['lacks the printers', changed(() => ({ printers: [] }))],
];
