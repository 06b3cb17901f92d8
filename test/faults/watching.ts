import type { Client } from '../../lib/client';
import type { PrintEvent } from '../../lib/events/print-event';
import { asPrintingError } from '../../lib/service/errors';
import type { Watch } from '../../lib/watch/views/watch';
import { Chance } from './chance';
import { FarmChanges, THRESHOLDS } from './farm-changes';
import {
  clockHazard,
  diskHazard,
  oneOfMany,
  serviceHazard,
  slowHazard,
  startOffset,
  wireHazard,
  type Hazard,
} from './hazards';
import { hostileHazard } from './hostile';
import { Life, SECOND } from './life';
import { signIn, WITHOUT_RENEWAL, World, type Machine } from './machine';
import { Broken } from './trace';
import { Truth } from './truth';

const ENDS = ['job.finished', 'job.failed', 'job.aborted', 'job.ended'];
/** Polling intervals, s. */
const INTERVALS = [60, 200];
/** Time without faults, until every watch has seen its clusters. */
const BASELINE = 250 * SECOND;
/** Speed of the printers' time. Prints last minutes of it, so a few polls. */
const FACTOR = 4;

/** End of a print that was reported to a node. */
interface ReportedEnd {
  id: string;
  type: string;
  job: string;
  node: string;
}

/** Runs watching nodes while prints end and everything below them fails at times. */
export async function watchingRun(seed: number): Promise<void> {
  const world = await World.make(seed, {
    farm: [{}, { endWords: 'short', station: true }],
    accessTokenLifetime: WITHOUT_RENEWAL,
    timeFactor: FACTOR,
  });
  await world.run(async () => {
    await signIn(world);
    await new WatchingRun(world).go();
  });
}

class WatchingRun {
  readonly #chance: Chance;
  readonly #life: Life;
  readonly #interval: number;
  readonly #told: ReportedEnd[] = [];
  readonly #farm: FarmChanges;
  readonly #truth: Truth;
  readonly #prints: string[] = [];
  /** Prints that a node has seen. */
  readonly #seen = new Set<string>();
  /** Watched cluster of each node, by the node's name. */
  readonly #nodes = new Map<string, string | null>();
  readonly #watches = new Map<string, Watch>();
  /** Whether a single node was deployed: other nodes received events while it was closed. */
  #single = false;
  /** Number of notices of a lost sign-in, by node. */
  readonly #notices = new Map<string, number>();
  #isSignInLost = false;
  #isHostile = false;

  constructor(private readonly world: World) {
    this.#chance = new Chance(world.random);
    this.#interval = this.#chance.pick(INTERVALS);
    this.#farm = new FarmChanges(world);
    this.#truth = new Truth(world);
    this.#life = new Life(world, this.#chance, {
      open: (client, machine) => {
        for (const name of this.#nodes.keys()) this.#open(name, client, machine);
      },
      close: () => {
        for (const name of [...this.#watches.keys()]) this.#close(name);
      },
    });
  }

  async go(): Promise<void> {
    const { world } = this;
    const chance = this.#chance;
    const life = this.#life;
    world.wire.latency = chance.pick([0, 5, 150, 1500]);
    const all = chance.is(0.4);
    if (all) this.#nodes.set('all', null);
    if (!all || chance.is(0.4)) this.#nodes.set('one', world.clusterId(1));
    if (chance.is(0.3)) this.#nodes.set('same', world.clusterId(1));
    this.#truth.dateAnswers();
    life.start(startOffset(world, chance));
    await world.time.pass(BASELINE);

    const horizon = chance.spread(100_000, 900_000);
    for (let count = chance.whole(1, 5); count > 0; count--) {
      const seconds = chance.spread(20, 900);
      const cluster = all && chance.is(0.4) ? 2 : 1;
      const fate = chance.pick(['finish', 'finish', 'abort', 'fail', 'vanish'] as const);
      const at = chance.whole(0, horizon * 0.7);
      const turn = chance.whole(5, 400) * SECOND;
      life.at(at, () => this.#print(cluster, seconds, fate, turn));
    }
    this.#farm.plan(life, all ? [1, 2] : [1], horizon * 0.7);
    this.#truth.planStalls(life, all ? [1, 2] : [1], horizon * 0.7);
    for (let count = chance.whole(0, 3); count > 0; count--) life.plan(this.#hazard(), chance.whole(0, horizon * 0.8));
    for (let count = chance.pick([0, 1, 1, 2]); count > 0; count--) this.#planEnd(chance.whole(100, horizon * 0.9));
    if (chance.is(0.1)) this.#planLoss(chance.whole(0, horizon * 0.7));
    await world.time.pass(horizon);
    await life.recover();
    if (this.#isSignInLost) {
      await this.#checkLoss();
      this.#truth.stop();
      return life.leave();
    }
    this.#farm.clearPlates();
    this.#truth.endStalls(all ? [1, 2] : [1]);
    for (let minutes = 0; minutes < 20 && this.#prints.some((uuid) => this.#isPrinting(uuid)); minutes++)
      await world.time.pass(60 * SECOND);
    await this.#truth.calm(all ? [1, 2] : [1], this.#interval * SECOND);
    await world.time.pass(4 * this.#interval * SECOND);
    this.#check();
    this.#truth.check({
      watched: this.#nodes,
      interval: this.#interval * SECOND,
      mayRepeat: this.#mayRepeat(),
      hostile: this.#isHostile,
    });
    this.#farm.check({
      watched: this.#nodes,
      single: this.#single,
      mayRepeat: this.#mayRepeat(),
      hostile: this.#isHostile,
    });
    await life.leave();
  }

  #hazard(): Hazard {
    const chance = this.#chance;
    const { world } = this;
    const machine = () => this.#life.machine;
    const kind = chance.random();
    const endpoints = ['clusterStatus', 'clusterStatus', 'clusters', 'printJob', '*'] as const;
    if (kind < 0.15) return oneOfMany(world, chance, machine, endpoints);
    if (kind < 0.35) return diskHazard(world, chance, machine);
    if (kind < 0.6) return wireHazard(world, chance, ['api']);
    if (kind < 0.82) return serviceHazard(world, chance, endpoints);
    if (kind < 0.88) return slowHazard(world, chance, endpoints);
    if (kind < 0.95) {
      this.#isHostile = true;
      return hostileHazard(world, chance, endpoints);
    }
    return clockHazard(world, chance, machine);
  }

  /** Plans the end of a process, or a deploy of a single node. */
  #planEnd(at: number): void {
    if (this.#chance.is(0.5)) return this.#life.planEnd(at);
    const name = this.#chance.pick([...this.#nodes.keys()]);
    const away = this.#chance.spread(1, 15_000);
    this.#life.when(at, (machine) => {
      const { client } = this.#life;
      if (!client || !this.#watches.has(name)) return;
      this.world.trace.add(`the node ${name} is deployed`);
      this.#single = true;
      this.#close(name);
      this.world.time.after(away, () => {
        if (this.#life.client === client && machine.alive && !this.#watches.has(name))
          this.#open(name, client, machine);
      });
    });
  }

  /** Plans an outage of the service in which it also ends the sign-in. */
  #planLoss(at: number): void {
    const { wire, simulator, trace } = this.world;
    const lasts = this.#chance.spread(5_000, 400_000);
    const begin = () => {
      this.#isSignInLost = true;
      trace.add('the service is away, and ends the sign-in meanwhile');
      for (const host of ['api', 'auth'] as const) wire.outages.set(host, 'ECONNREFUSED');
      wire.cut();
      simulator.tokens.revokeGrants();
      simulator.tokens.expireAccessTokens();
      return () => {
        for (const host of ['api', 'auth'] as const) wire.outages.delete(host);
        trace.add('the service is back');
      };
    };
    this.#life.plan({ begin, lasts }, at);
  }

  /** Checks that each node gets the notice once over deploys and restarts, and that only a person can sign in again. */
  async #checkLoss(): Promise<void> {
    const { client } = this.#life;
    const state = client?.credentials.state;
    if (state !== 'sign-in-needed') throw new Broken(2, `the sign-in has ended, but the account is ${state}`);
    let code: string | undefined;
    const call = client?.choices.clusters().catch((thrown: unknown) => {
      code = asPrintingError(thrown).code;
    });
    await this.world.time.until(call ?? Promise.resolve(), 60 * SECOND);
    if (code !== 'NOT_SIGNED_IN') throw new Broken(2, `the sign-in has ended, but a call ends in ${code}`);
    for (const name of this.#nodes.keys()) {
      const count = this.#notices.get(name) ?? 0;
      if (count === 0) throw new Broken(3, `${name} was not told that the sign-in has ended`);
      // A delivered notice counts for a day.
      if (count > 1 + this.#life.clockJumps && !this.#mayRepeat())
        throw new Broken(3, `${name} was told ${count} times that the sign-in has ended`);
    }
  }

  #print(cluster: number, seconds: number, fate: string, turn: number): void {
    const { simulator, trace, time } = this.world;
    const { uuid } = simulator.world.printLocally(cluster, { name: `part-${this.#prints.length + 1}`, seconds });
    this.#prints.push(uuid);
    trace.add(`printer ${cluster}: print ${uuid.slice(0, 8)} of ${seconds / FACTOR} s, to ${fate}`);
    if (fate === 'finish') return;
    time.after(turn, () => {
      this.#truth.look();
      try {
        if (fate === 'abort') simulator.world.abort(cluster, uuid);
        else if (fate === 'fail') simulator.world.fail(cluster, uuid);
        else simulator.world.vanish(cluster, uuid);
        trace.add(`printer ${cluster}: ${fate} of ${uuid.slice(0, 8)}`);
      } catch {
        // The print's state does not allow that, so it ends by itself.
      }
    });
  }

  #open(name: string, client: Client, machine: Machine): void {
    const clusterId = this.#nodes.get(name) ?? null;
    const told = (events: PrintEvent[]) => {
      if (!machine.alive) return;
      this.#farm.record(name, events);
      this.#truth.record(name, events);
      for (const { id, type, job, late } of events) {
        if (!ENDS.includes(type)) continue;
        this.world.trace.add(
          `${name}: ${type} of ${job?.clusterJobId?.slice(0, 8)}${late ? ' (late)' : ''} as ${id.slice(-12)}`,
        );
        this.#told.push({ id, type, job: job?.clusterJobId ?? '', node: name });
      }
    };
    const watch = client.watcher.watch({
      ...{ key: name, clusterId, interval: this.#interval, milestones: [50], ...THRESHOLDS },
      onRound: ({ results }) => {
        if (!machine.alive) return;
        for (const { status, error } of results)
          if (!error) for (const { clusterJobId } of status?.jobs ?? []) if (clusterJobId) this.#seen.add(clusterJobId);
      },
      onEvents: told,
      audience: name,
      onTrouble: ({ code, message }) => {
        if (!machine.alive) return;
        this.world.trace.add(`${name}: ${message}`);
        if (code === 'NOT_SIGNED_IN') this.#notices.set(name, (this.#notices.get(name) ?? 0) + 1);
      },
    });
    this.#watches.set(name, watch);
  }

  #close(name: string): void {
    this.#watches.get(name)?.close();
    this.#watches.delete(name);
  }

  #check(): void {
    const { simulator } = this.world;
    for (const uuid of this.#prints) {
      const told = this.#told.filter(({ job }) => job === uuid);
      const short = uuid.slice(0, 8);
      if (this.#isPrinting(uuid)) {
        if (told.length > 0) throw new Broken(3, `the end of ${short} was told, though it prints`);
        continue;
      }
      if (told.length === 0 && !this.#mayBeMissed(uuid)) throw new Broken(3, `the end of ${short} was never told`);
      if (!this.#mayDiffer(uuid)) {
        if (new Set(told.map(({ id }) => id)).size > 1)
          throw new Broken(3, `the end of ${short} was told under several ids`);
        if (new Set(told.map(({ type }) => type)).size > 1)
          throw new Broken(3, `the end of ${short} was told otherwise`);
      }
      for (const [name, clusterId] of this.#nodes) {
        const times = told.filter(({ node }) => node === name).length;
        if (times > 1 && !this.#mayRepeat())
          throw new Broken(3, `the end of ${short} was told ${times} times to ${name}`);
        const its = clusterId === null || simulator.world.cluster(clusterId).history.some((job) => job.uuid === uuid);
        if (times === 0 && told.length > 0 && its && !this.#single)
          throw new Broken(3, `the end of ${short} was not told to ${name}`);
      }
    }
  }

  #isPrinting = (uuid: string): boolean =>
    this.world.simulator.world.clusters().some(({ queue }) => queue.some((job) => job.uuid === uuid));

  /** Whether a print may be missed: it left no history, and no node saw it or a crash lost that. */
  #mayBeMissed(uuid: string): boolean {
    return (!this.#seen.has(uuid) || this.#life.crashes > 0) && !this.#hasHistory(uuid);
  }

  /** Whether a repeated end may differ: a crash lost the first one, and the print left no history. */
  #mayDiffer = (uuid: string): boolean => this.#life.crashes > 0 && !this.#hasHistory(uuid);

  #hasHistory = (uuid: string): boolean =>
    this.world.simulator.world.clusters().some(({ history }) => history.some((job) => job.uuid === uuid));

  /** Whether an event may be repeated with the same id: after a crash, or after a disk fault prevented its save. */
  #mayRepeat(): boolean {
    return this.#life.crashes > 0 || this.#life.diskFailedUntil > -Infinity;
  }
}
