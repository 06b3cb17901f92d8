import type { Client } from '../../lib/client';
import { Http } from '../../lib/http/http';
import type { PrintResult } from '../../lib/print/print-request';
import { asPrintingError } from '../../lib/service/errors';
import { closed, Deadline } from '../../lib/time/deadline';
import type { Watch } from '../../lib/watch/views/watch';
import type { SharedRuntime } from '../helpers/shared-memory';
import { signedInClient } from '../helpers/simulated-client';
import { FaultyDatabase } from './below/database';
import { MachineClock } from './below/time';
import { Chance } from './chance';
import { lateDatabase, type Hazard } from './hazards';
import { noticeHazard } from './hostile';
import { SAVING, SECOND } from './life';
import { World } from './machine';
import { Broken } from './trace';

const ENDS = ['job.finished', 'job.failed', 'job.aborted', 'job.ended'];
/** Speed of the printers' time. Prints last minutes of it, so a few polls. */
const FACTOR = 4;
const INTERVAL = 60;
/** Time without faults, until every runtime has its share of the work. */
const BASELINE = 100 * SECOND;
/** Time after which every lock and pause has ended. */
const RECOVERY = 6 * 60 * SECOND;
/** Longest time from a message's limit to its end, ms. */
const GRACE = SECOND;
/** Number of late spells. Together they are shorter than a sign-in survives a disconnected runtime (ADR 12). */
const LATE_SPELLS = 2;

/** One Node-RED of several with the same flows. */
interface Runtime {
  name: string;
  runtime: SharedRuntime;
  client: Client;
  watch: Watch;
  node: AbortController;
}

interface Message {
  key: string;
  clusterId: string;
  /** Timeout, ms. */
  limit: number;
  begunAt: number;
  ends: number[];
  result?: PrintResult;
  code?: string;
  ended: Promise<void>;
}

/** Runs several runtimes on one database that answers late and has foreign texts on its channel. */
export async function sharedRun(seed: number): Promise<void> {
  const accessTokenLifetime = 40 + (seed % 5) * 40;
  const world = await World.make(seed, { printers: 2, accessTokenLifetime, timeFactor: FACTOR });
  const run = new SharedRun(world);
  await world.run(async () => {
    try {
      await run.go();
    } finally {
      run.end();
    }
  });
}

class SharedRun {
  readonly #chance: Chance;
  readonly #clock: MachineClock;
  readonly #database: FaultyDatabase;
  readonly #runtimes: Runtime[] = [];
  readonly #messages: Message[] = [];
  readonly #prints: string[] = [];
  readonly #told: { id: string; type: string; job: string; name: string }[] = [];
  readonly #hazardEnds: (() => void)[] = [];
  #wasLate = false;
  #isOver = false;

  constructor(private readonly world: World) {
    this.#chance = new Chance(world.random);
    this.#clock = new MachineClock(world.time, 0);
    this.#database = new FaultyDatabase(this.#clock, world.time, world.activity);
  }

  async go(): Promise<void> {
    const { world } = this;
    const chance = this.#chance;
    world.wire.latency = chance.pick([0, 5, 150]);
    for (let number = chance.whole(2, 3); number > 0; number--) await this.#start();
    await world.time.pass(BASELINE);

    const horizon = chance.spread(60_000, 400_000);
    const at = (ms: number, action: () => void) => world.time.after(ms, () => this.#isOver || action());
    const begins = (most: number) => chance.whole(0, horizon * most);
    for (let count = chance.whole(1, 3); count > 0; count--) at(begins(0.7), () => this.#printLocally());
    for (let count = chance.whole(1, 3); count > 0; count--) this.#planMessages(at, begins(0.8));
    for (let count = chance.whole(0, LATE_SPELLS); count > 0; count--) {
      const hazard = lateDatabase(world, chance, this.#database);
      const begun = begins(0.8);
      at(begun, () => {
        this.#wasLate = true;
        this.#begin(hazard);
      });
      if (chance.is(0.5)) at(begun + chance.whole(0, 5_000), () => this.#expireTokens());
      if (chance.is(0.7)) this.#planMessages(at, Math.max(0, begun + chance.whole(-500, 5_000)));
    }
    for (let count = chance.whole(0, 2); count > 0; count--) {
      const hazard = noticeHazard(world, chance, this.#database);
      at(begins(0.8), () => this.#begin(hazard));
    }
    if (chance.is(0.3)) at(begins(0.5), () => this.#loseAnswer());
    await world.time.pass(horizon);

    this.#isOver = true;
    for (const end of this.#hazardEnds) end();
    world.simulator.faults.clear();
    world.trace.add('all is well again');
    await world.time.pass(RECOVERY);
    for (const message of this.#messages) this.#checkMessage(message);
    this.#checkCount();
    await this.#repeat();
    await this.#checkSignIns();
    this.#checkStalls();
    this.#checkEnds();
    await this.#leave();
  }

  /** Ends all runtimes: none of their work may continue in later runs. */
  end(): void {
    for (const { runtime } of this.#runtimes) runtime.kill();
    this.#clock.stop();
  }

  /** Plans messages with one key at some of the runtimes. */
  #planMessages(at: (ms: number, action: () => void) => void, begun: number): void {
    const chance = this.#chance;
    const key = chance.pick(['key-1', 'key-2', 'key-3']);
    const clusterId = this.world.clusterId(chance.whole(1, 2));
    for (const runtime of this.#runtimes.filter(() => chance.is(0.6))) {
      const limit = chance.pick([10, 40, 120, 300]) * SECOND;
      at(begun + chance.spread(1, 30_000), () => this.#send(runtime, key, clusterId, limit));
    }
  }

  /** Expires the access tokens, so that the next call of each runtime renews the sign-in. */
  #expireTokens(): void {
    this.world.trace.add('service: the access token is good no more');
    this.world.simulator.tokens.expireAccessTokens();
    for (const { client } of this.#runtimes) client.choices.clusters().catch(() => undefined);
  }

  #loseAnswer(): void {
    this.world.trace.add('service: the answer to the next print will be lost');
    this.world.simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
  }

  #begin({ begin, lasts }: Hazard): void {
    const end = begin();
    this.#hazardEnds.push(end);
    this.world.time.after(lasts, () => this.#isOver || end());
  }

  async #start(): Promise<void> {
    const { simulator, trace, time } = this.world;
    const runtime = this.#database.runtime();
    const name = `runtime ${this.#runtimes.length + 1}`;
    const http = new Http(undefined, { isLocal: true });
    const opening = signedInClient(simulator, { store: runtime.store, clock: runtime.clock, http });
    if (!(await time.until(opening, 60 * SECOND))) throw new Error('a runtime does not start');
    const client = await opening;
    const watch = client.watcher.watch({
      ...{ key: 'node', clusterId: null, interval: INTERVAL, milestones: [], stalled: 1, audience: 'node' },
      onRound: () => undefined,
      onEvents: (events) => {
        for (const { id, type, job } of events) {
          if (!ENDS.includes(type) && type !== 'job.stalled') continue;
          trace.add(`${name}: ${type} of ${job?.clusterJobId?.slice(0, 8)}`);
          this.#told.push({ id, type, job: job?.clusterJobId ?? '', name });
        }
      },
      onTrouble: ({ message }) => trace.add(`${name}: ${message}`),
    });
    this.#runtimes.push({ name, runtime, client, watch, node: new AbortController() });
  }

  #printLocally(): void {
    const { simulator, trace } = this.world;
    const seconds = this.#chance.spread(40, 900);
    const { uuid } = simulator.world.printLocally(1, { name: `part-${this.#prints.length + 1}`, seconds });
    this.#prints.push(uuid);
    trace.add(`printer: print ${uuid.slice(0, 8)} of ${seconds / FACTOR} s`);
  }

  #send({ name, client, runtime, node }: Runtime, key: string, clusterId: string, limit: number): Message {
    const { time, trace } = this.world;
    const number = this.#messages.length + 1;
    trace.add(`message ${number} at ${name}: ${key} on ${clusterId.slice(0, 6)}, ${limit / SECOND} s`);
    const message: Message = { key, clusterId, limit, begunAt: time.elapsed, ends: [], ended: Promise.resolve() };
    const deadline = new Deadline(runtime.clock, { ms: limit, parent: node.signal });
    const bytes = Buffer.from(`;TIME:600\n;${key}\nG28\n`);
    const end = (thrown?: unknown) => {
      message.ends.push(time.elapsed);
      if (thrown) message.code = asPrintingError(thrown).code;
      const { printed, duplicate } = message.result ?? {};
      trace.add(`message ${number} ends: ${message.code ?? (printed ? (duplicate ? 'a duplicate' : 'printed') : '')}`);
    };
    message.ended = client.prints
      .run({
        ...{ clusterIds: [clusterId], jobName: `${key}.gcode`, printKey: key, print: true, startNow: true, deadline },
        ...{ compress: false, reuseUpload: true, dryRun: false, waitFor: 'dispatched', signal: node.signal },
        source: () => Promise.resolve({ kind: 'bytes', bytes, name: `${key}.gcode` }),
        onProgress: () => undefined,
        onResult: (result) => (message.result = result),
      })
      .then(() => end(), end)
      .finally(() => deadline.end());
    this.#messages.push(message);
    return message;
  }

  #printsOf(key: string, clusterId: string): number {
    return this.world.printed.filter((print) => print.jobName === `${key}.gcode` && print.clusterId === clusterId)
      .length;
  }

  #checkMessage({ key, clusterId, limit, begunAt, ends, result, code }: Message): void {
    if (ends.length !== 1) throw new Broken(4, `a message of ${key} ended ${ends.length} times`);
    const took = (ends[0] ?? 0) - begunAt;
    // The call has left, so its outcome is saved even after the deadline.
    const wasSent = code === 'PRINT_OUTCOME_UNKNOWN' || (result?.printed === true && !result.duplicate);
    if (took > limit + GRACE + (wasSent ? SAVING : 0))
      throw new Broken(4, `a message of ${key} ended after ${took / SECOND} s of ${limit / SECOND} s`);
    if (result?.printed && this.#printsOf(key, clusterId) !== 1)
      throw new Broken(1, `a message of ${key} is told as printed, ${this.#printsOf(key, clusterId)} prints`);
  }

  /** No print of these runs stalls, whatever becomes of the runtimes that watch it. */
  #checkStalls(): void {
    const stalled = this.#told.find(({ type }) => type === 'job.stalled');
    if (stalled) throw new Broken(3, `${stalled.job.slice(0, 8)} was told as stalled, though it made progress`);
  }

  #checkCount(): void {
    for (const { key, clusterId } of this.#messages) {
      const count = this.#printsOf(key, clusterId);
      if (count > 1) throw new Broken(1, `${count} prints of ${key}`);
    }
    const [first] = this.world.uncaught;
    if (first !== undefined)
      throw new Broken(5, `uncaught: ${first instanceof Error ? (first.stack ?? '') : String(first)}`);
  }

  /** Sends a message with each key again, at any runtime. */
  async #repeat(): Promise<void> {
    const used = new Map(this.#messages.map(({ key, clusterId }) => [`${key} ${clusterId}`, { key, clusterId }]));
    for (const { key, clusterId } of used.values()) {
      const before = this.#printsOf(key, clusterId);
      const message = this.#send(this.#chance.pick(this.#runtimes), key, clusterId, 600 * SECOND);
      await this.world.time.until(message.ended, 601 * SECOND);
      this.#checkMessage(message);
      const { result, code } = message;
      const isUnknown = [code, result?.error?.code].includes('PRINT_OUTCOME_UNKNOWN');
      if (!isUnknown && !result?.printed)
        throw new Broken(1, `all is well, but the repeat of ${key} ends in ${code ?? result?.error?.code}`);
      if (result?.printed && result.duplicate !== (before === 1))
        throw new Broken(
          1,
          `the repeat of ${key} is ${result.duplicate ? 'a' : 'no'} duplicate, ${before} prints before`,
        );
    }
    this.#checkCount();
  }

  async #checkSignIns(): Promise<void> {
    for (const { name, client } of this.#runtimes) {
      let code: string | undefined;
      const call = client.choices.clusters().catch((thrown: unknown) => (code = asPrintingError(thrown).code));
      if (!(await this.world.time.until(call, 300 * SECOND))) throw new Broken(2, `a call at ${name} does not end`);
      if (code) throw new Broken(2, `all is well, but a call at ${name} ends in ${code}`);
      const { state } = client.credentials;
      if (state !== 'signed-in') throw new Broken(2, `all is well, but the account is ${state} at ${name}`);
    }
  }

  #checkEnds(): void {
    const ended = this.world.simulator.world.cluster(1).history.map(({ uuid }) => uuid);
    for (const uuid of this.#prints.filter((print) => ended.includes(print))) {
      const told = this.#told.filter(({ job }) => job === uuid);
      const short = uuid.slice(0, 8);
      if (told.length === 0) throw new Broken(3, `the end of ${short} was never told`);
      if (new Set(told.map(({ id }) => id)).size > 1) throw new Broken(3, `the end of ${short} was told with two ids`);
      // If a checkpoint was written too late, the next owner reports the end again, with the same id.
      if (told.length > 1 && !this.#wasLate)
        throw new Broken(3, `the end of ${short} was told by ${told.map(({ name }) => name).join(' and ')}`);
    }
  }

  async #leave(): Promise<void> {
    const { time, wire } = this.world;
    const leaving = this.#runtimes.map(async ({ watch, client, runtime, node }) => {
      node.abort(closed());
      watch.close();
      await client.close();
      await runtime.close();
    });
    if (!(await time.until(Promise.all(leaving), 60 * SECOND))) throw new Broken(5, 'closing does not end');
    await time.pass(15 * SECOND);
    if (this.#clock.waiting > 0) throw new Broken(5, `${this.#clock.waiting} timers are left`);
    if (wire.open > 0) throw new Broken(5, `${wire.open} connections are left`);
    this.#checkCount();
  }
}
