import { readRules } from '../../lib/queue/model/rules';
import type { Fault } from '../../simulator';
import { seeded } from '../helpers/seeded';
import { Chance } from './chance';
import { Floor } from './floor';
import { diskHazard, oneOfMany, serviceHazard, slowHazard, wireHazard, type Hazard } from './hazards';
import { Life, SECOND } from './life';
import { signIn, WITHOUT_RENEWAL, World } from './machine';
import { People } from './people';
import { Words } from './words';

/** Speed of the printers’ time. */
const FACTOR = 16;
/** Time after which a poll has shown what happened, ms. */
const SHOWN_AFTER = 70 * SECOND;
/** What people ask for, as often as it stands here. */
const ASKS = [
  ...['hold', 'hold', 'hold', 'release', 'release', 'remove', 'retry', 'move', 'copies', 'priority', 'held', 'later'],
  ...['pause', 'pause', 'pause of a printer', 'resume', 'resume of a printer', 'add', 'stop', 'stop', 'list'],
];

/** Runs a print queue whose people ask for changes at all moments, most of all while a print is being sent. */
export async function answersRun(seed: number): Promise<void> {
  const farm = [{ model: 'simulated_maker_one' }, { model: 'simulated_maker_duo', endWords: 'short' as const }];
  const world = await World.make(seed, { farm, accessTokenLifetime: WITHOUT_RENEWAL, timeFactor: FACTOR });
  await world.run(async () => {
    await signIn(world);
    await new AnswersRun(world, new Chance(seeded(seed + 4e6)), new Chance(seeded(seed + 7e6))).go();
  });
}

class AnswersRun {
  readonly #chance: Chance;
  readonly #life: Life;
  readonly #floor: Floor;
  readonly #words: Words;
  readonly #people: People;
  /** Faults of the oracle's own: a request that did not end as promised. */
  readonly #broken: unknown[] = [];

  /**
   * @param failures draws of their own for the prints that fail
   * @param tales the same for what takes several steps, and so rarely comes about by chance
   */
  constructor(
    private readonly world: World,
    private readonly failures: Chance,
    private readonly tales: Chance,
  ) {
    const chance = (this.#chance = new Chance(world.random));
    const gate = chance.pick(['automatic', 'automatic', 'confirm'] as const);
    const rules = {
      ...readRules({ match: 'lenient', material: 'guid', gate }),
      retries: chance.pick([0, 1]),
      startWithin: chance.pick([0, 120, 900]) * SECOND,
    };
    this.#floor = new Floor(world, gate);
    this.#words = new Words(world);
    this.#people = new People(world, chance, { rules, floor: this.#floor, words: this.#words });
    this.#life = new Life(world, chance, {
      open: (client, machine) => this.#people.open(client, machine),
      close: () => this.#people.close(),
    });
  }

  async go(): Promise<void> {
    const { world } = this;
    const chance = this.#chance;
    const life = this.#life;
    const people = this.#people;
    world.wire.latency = chance.pick([0, 5, 150, 1500]);
    const horizon = chance.spread(250_000, 700_000);
    life.start();
    for (let number = chance.whole(2, 3); number > 0; number--) {
      const key = `item-${people.added.length + 1}`;
      const item = { key, copies: chance.pick([1, 2, 3, 4]), seconds: chance.pick([150, 150, 2000]) };
      people.added.push(item);
      const at = chance.is(0.6) ? 0 : chance.whole(0, horizon * 0.6);
      life.at(at, () => void people.add(item));
      // A shop repeats what it got no answer to.
      if (chance.is(0.5)) life.at(at + chance.spread(100, 100_000), () => void people.add(item));
    }
    for (let count = chance.whole(2, 6); count > 0; count--) life.at(chance.whole(0, horizon), () => this.#ask());
    // As data arrives, or at a step of a write.
    for (let count = chance.whole(0, 4); count > 0; count--) life.when(chance.whole(0, horizon), () => this.#ask());
    this.#askAtCalls();
    for (let count = chance.pick([0, 0, 1, 2]); count > 0; count--)
      life.plan(this.#hazard(), chance.whole(0, horizon * 0.8));
    for (let count = chance.pick([0, 0, 1]); count > 0; count--) life.planEnd(chance.whole(0, horizon * 0.9));
    for (let count = chance.whole(0, 2); count > 0; count--) this.#loseAnswer(chance.whole(0, horizon * 0.8));
    for (let count = this.failures.pick([0, 0, 1, 2]); count > 0; count--)
      this.#failPrint(this.failures.whole(0, horizon * 0.8));
    if (this.tales.is(0.3)) this.#addLater(this.tales.whole(0, horizon * 0.8));
    if (this.tales.is(0.3)) this.#retryLater(this.tales.whole(0, horizon * 0.8));
    if (this.tales.is(0.3)) this.#showLate(this.tales.whole(0, horizon * 0.5));
    for (let at = 60_000; at < horizon; at += 60_000) life.at(at, () => void people.clearPlates(0.8, 0.3));
    await world.time.pass(horizon);
    await life.recover();
    await people.finish();
    this.#words.check();
    this.#floor.check();
    life.checkUncaught();
    if (this.#broken.length > 0) throw this.#broken[0];
    await life.leave();
  }

  /** Has people ask while the queue reads a printer, and while a call that prints is under way: before and after its work. */
  #askAtCalls(): void {
    const chance = this.#chance;
    const { world } = this;
    const { faults } = world.simulator;
    const slowly = (share: number, ms: () => number, key?: () => string | undefined) => () =>
      new Promise<void>((resolve) => {
        if (this.#life.over || !chance.is(share)) return resolve();
        const wait = ms();
        world.time.after(chance.whole(0, wait), () => this.#ask(key?.()));
        world.time.after(wait, resolve);
      });
    const short = () => chance.spread(5, 8_000);
    const long = () => chance.spread(20, 20_000);
    let sent: string | undefined;
    world.onCall = (jobId) => {
      sent = world.simulator.world
        .storedJobs()
        .find((job) => job.jobId === jobId)
        ?.jobName.replace(/\.gcode$/, '');
      const key = sent;
      if (chance.is(0.2)) world.time.after(chance.whole(0, 2 * world.wire.latency), () => this.#ask(key));
    };
    const its = () => (chance.is(0.7) ? sent : undefined);
    const asking: Fault[] = [
      { endpoint: 'clusterStatus', when: 'before', times: 'always', until: slowly(0.25, short) },
      { endpoint: 'print', when: chance.pick(['before', 'after']), times: 'always', until: slowly(0.4, long, its) },
    ];
    // A request meets the first fault that fits: these come after all others.
    const add = faults.add.bind(faults);
    let added = asking.map((fault) => add(fault));
    faults.add = (fault) => {
      const other = add(fault);
      if (this.#life.over) return other;
      for (const one of added) one.remove();
      added = asking.map((one) => add(one));
      return other;
    };
  }

  #ask(key?: string, kind = this.#chance.pick(ASKS)): void {
    if (this.#life.over) return;
    this.#request(kind, key ?? this.#chance.pick(this.#people.added).key).catch((thrown: unknown) =>
      this.#broken.push(thrown),
    );
  }

  async #request(kind: string, key: string): Promise<void> {
    const chance = this.#chance;
    const { world } = this;
    const people = this.#people;
    const clusterId = world.clusterId(chance.whole(1, 2));
    // By a clock that is years ahead, it would never come.
    const now = Math.min(people.machine?.clock.now() ?? 0, world.time.truth());
    const soon = now + chance.pick([5, 30, 120]) * SECOND;
    const copies = chance.whole(1, 4);
    const priority = chance.whole(-2, 2);
    const held = chance.is(0.6);
    const until = chance.is(0.5) ? soon : null;
    if (kind === 'hold' || kind === 'release' || kind === 'remove' || kind === 'retry') return people.change(kind, key);
    if (kind === 'move') return people.move(key);
    if (kind === 'copies') return people.update(key, { copies });
    if (kind === 'priority') return people.update(key, { priority });
    if (kind === 'held') return people.update(key, { held });
    if (kind === 'later') return people.update(key, { notBefore: soon });
    if (kind === 'pause') return people.pause(null, until);
    if (kind === 'pause of a printer') return people.pause(clusterId, until);
    if (kind === 'resume') return people.resume(null);
    if (kind === 'resume of a printer') return people.resume(clusterId);
    const item = people.added.find((one) => one.key === key);
    if (kind === 'add' && item) return people.add(item);
    if (kind === 'settle') {
      const outcome = chance.pick(['printed', 'not-printed'] as const);
      for (const one of await people.list()) if (one.copies.unknown > 0) await people.help(one, outcome);
      return;
    }
    if (kind === 'list') return void (await people.list());
    const running = world.printed.findLast(({ uuid }) => people.jobOf(uuid)?.status === 'printing');
    if (running) await people.stop(this.#life.client, running);
  }

  /** Fails the print that runs at this time. Once a poll has shown it, people hold its item or try it again. */
  #failPrint(at: number): void {
    const { world } = this;
    const kinds = this.failures.pick([['hold', 'retry'], ['hold', 'retry'], ['retry', 'hold'], ['retry']] as const);
    const pause = this.failures.spread(1_000, 100_000);
    this.#life.at(at, () => {
      const key = this.#failRunning();
      if (key === null) return;
      for (const [turn, kind] of kinds.entries())
        world.time.after(SHOWN_AFTER + turn * pause, () => this.#ask(key, kind));
    });
  }

  /** Fails the print that runs now. Returns the key of its item; null: none runs. */
  #failRunning(): string | null {
    const { world } = this;
    const running = world.printed.findLast(({ uuid }) => this.#people.jobOf(uuid)?.status === 'printing');
    if (!running) return null;
    const { clusterId, uuid, jobName } = running;
    world.trace.add(`printer: ${jobName} fails`);
    world.simulator.world.fail(clusterId, uuid);
    return jobName.replace(/\.gcode$/, '');
  }

  /** A person adds an item that must not start yet; then the process is killed. */
  #addLater(at: number): void {
    const { tales } = this;
    const people = this.#people;
    const item = { key: `item-${people.added.length + 1}`, copies: 2, seconds: 150 };
    people.added.push(item);
    const wait = tales.whole(200, 400) * SECOND;
    const [after, away] = [tales.spread(100, 60_000), tales.spread(50, 20_000)];
    this.#life.at(at, () => {
      void people.add(item).then(() => this.#putOff(item.key, wait));
      if (tales.is(0.7)) this.#life.at(after, () => this.#life.kill(away));
    });
  }

  /** A print fails; a person puts its item off, and then tries it again. */
  #retryLater(at: number): void {
    const wait = this.tales.whole(200, 400) * SECOND;
    this.#life.at(at, () => {
      const key = this.#failRunning();
      if (key === null) return;
      this.#life.at(SHOWN_AFTER, () => {
        void this.#putOff(key, wait).then(() => (this.#life.over ? undefined : this.#people.change('retry', key)));
      });
    });
  }

  #putOff(key: string, wait: number): Promise<void> {
    const { machine } = this.#people;
    if (this.#life.over || !machine) return Promise.resolve();
    return this.#people.update(key, { notBefore: Math.min(machine.clock.now(), this.world.time.truth()) + wait });
  }

  /**
   * The answer to a print is lost, and its printer can't be read for long. A person says that the print was none, so that
   * its copy goes to the other printer; then the first one shows up.
   */
  #showLate(at: number): void {
    const { tales } = this;
    const { faults } = this.world.simulator;
    const away = tales.whole(330_000, 450_000);
    this.#life.at(at, () => {
      faults.add({ endpoint: 'print', when: 'after', reset: true });
      this.world.onPrint = (clusterId) => {
        this.world.onPrint = () => undefined;
        if (this.#life.over) return;
        this.world.trace.add(`service: printer ${clusterId.slice(0, 6)} can’t be read for ${away / SECOND} s`);
        const path = clusterId.replace(/=+$/, '');
        const hidden = faults.add({ endpoint: 'clusterStatus', path, times: 'always', status: 503 });
        this.world.time.after(away, () => hidden.remove());
        for (let left = 2; left > 0; left--)
          this.world.time.after(tales.whole(190_000, 300_000), () => void this.#deny());
      };
    });
  }

  /** A person says of each copy in doubt that it was not printed. */
  async #deny(): Promise<void> {
    if (this.#life.over) return;
    for (const item of await this.#people.list())
      if (item.copies.unknown > 0) await this.#people.help(item, 'not-printed');
  }

  #hazard(): Hazard {
    const chance = this.#chance;
    const { world } = this;
    const kind = chance.random();
    const machine = () => this.#life.machine;
    const endpoints = ['print', 'print', 'clusterStatus', 'jobAction', 'printJob'] as const;
    if (kind < 0.15) return oneOfMany(world, chance, machine, endpoints);
    if (kind < 0.35) return diskHazard(world, chance, machine);
    if (kind < 0.6) return wireHazard(world, chance, ['api', 'api', 'storage']);
    return kind < 0.85
      ? serviceHazard(world, chance, endpoints)
      : slowHazard(world, chance, ['print', 'clusterStatus']);
  }

  /** Loses the answer to the next print, or the print itself, and hides the printers for a while. */
  #loseAnswer(at: number): void {
    const chance = this.#chance;
    const { faults } = this.world.simulator;
    const answer = chance.pick<Partial<Fault>>([{ reset: true }, { status: 500 }, { status: 504 }]);
    const when = chance.pick(['before', 'after', 'after', 'after'] as const);
    const away = chance.spread(200_000, 500_000);
    this.#life.at(at, () => {
      this.world.trace.add(`service: the answer to the next print will be lost (${when}): ${JSON.stringify(answer)}`);
      faults.add({ endpoint: 'print', when, ...answer });
      this.world.onPrint = () => {
        this.world.onPrint = () => undefined;
        if (this.#life.over) return;
        if (chance.is(0.3)) this.#life.kill(chance.spread(50, 60_000));
        const hidden = faults.add({ endpoint: 'clusterStatus', times: 'always', status: 503 });
        this.world.time.after(away, () => hidden.remove());
        // By then it is in doubt.
        for (let left = 3; left > 0; left--)
          this.world.time.after(chance.whole(180_000, away + 60_000), () => this.#ask(undefined, 'settle'));
        // A copy in doubt is not a failed one: a retry sends nothing.
        this.world.time.after(this.failures.whole(180_000, away), () => {
          for (const { key } of this.#people.added) this.#ask(key, 'retry');
        });
      };
    });
  }
}
