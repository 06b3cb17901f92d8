import type { Client } from '../../lib/client';
import type { PrintQueue } from '../../lib/queue/print-queue';
import type { Need, QueueEvent, QueueItem } from '../../lib/queue/model/types';
import { type QueueRules, readRules } from '../../lib/queue/model/rules';
import { asPrintingError } from '../../lib/service/errors';
import { Deadline } from '../../lib/time/deadline';
import type { NewCluster } from '../../simulator/world/models';
import type { Cluster, EndedPrint } from '../../simulator/world/state';
import type { Fault, PrintJob } from '../../simulator';
import { Chance } from './chance';
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
import { Life, SECOND } from './life';
import { signIn, WITHOUT_RENEWAL, World, type Machine, type Printed } from './machine';
import { Floor } from './floor';
import { type NamedPrint, type Parts, PartsOracle } from './parts';
import { Share } from './share';
import { Broken } from './trace';
import { type Request, Words } from './words';

/** Speed of the printers’ time. Prints last about a minute of it: some begin and end between two polls. */
const FACTOR = 16;
/** Rounds of the operator after the faults, and the time between them. */
const ROUNDS = 80;
const ROUND = 120 * SECOND;

const RULES = readRules({ match: 'lenient', material: 'guid', gate: 'automatic' });

/** Material that only the station of the second printer holds. */
const OF_STATION = { guid: '5a7e0000-0000-4000-8000-000000000001', material: 'PETG', color: 'Black' };

/** A printer that names the end of a print, one with a material station that does not, and at times a group. */
const farmOf = (seed: number): NewCluster[] => [
  { model: 'simulated_maker_one' },
  { model: 'simulated_maker_duo', endWords: 'short', station: true, materials: [OF_STATION, null] },
  ...(seed % 3 === 0
    ? [{ model: 'simulated_maker_one', printers: 2, endWords: seed % 2 === 0 ? ('long' as const) : ('short' as const) }]
    : []),
];

/** Runs a print queue while its printers, its store, its service and its people do everything that may go wrong. */
export const queueRun = (seed: number): Promise<void> => run(seed, false);

/** The same with items of parts. */
export const partsRun = (seed: number): Promise<void> => run(seed, true);

async function run(seed: number, hasParts: boolean): Promise<void> {
  const world = await World.make(seed, {
    farm: farmOf(seed),
    accessTokenLifetime: WITHOUT_RENEWAL,
    timeFactor: FACTOR,
  });
  await world.run(async () => {
    await signIn(world);
    await new QueueRun(world, hasParts).go();
  });
}

/** Kinds of disturbances at a printer. */
const KINDS = [
  ...['offline', 'a print by hand', 'abort', 'fail', 'vanish', 'changes required'],
  ...['offline after the next print was sent', 'a print by hand just after the next one was sent', 'odd actions'],
  'a stored file deleted',
  ...['off while its plate waits', 'a member leaves its group', 'a member leaves its group for a while'],
];

/** How long a printer is off, ms: longer than a queue that sees nothing takes a cleared plate for granted. */
const OFF = { least: 150_000, most: 400_000 };

/** Changes that the service may ask for before a job begins. */
const CHANGES = [
  ['material_change', true],
  ['print_core_change', true],
  ['material_insert', false],
  ['buildplate_change', false],
] as const;
const requiredChange = ([type_of_change, is_overridable]: (typeof CHANGES)[number]) => ({
  ...{ type_of_change, is_overridable, index: 0 },
  ...{ origin_id: 'there', origin_name: 'what is there', target_id: 'wanted', target_name: 'what is wanted' },
});

/** Head of a file that needs the material of the station on the first extruder. */
const stationHead = (seconds: number): string =>
  [
    ...[';START_OF_HEADER', ';HEADER_VERSION:0.1', ';FLAVOR:Griffin', `;PRINT.TIME:${seconds}`],
    ...[`;EXTRUDER_TRAIN.0.MATERIAL.GUID:${OF_STATION.guid}`, ';EXTRUDER_TRAIN.0.MATERIAL.VOLUME_USED:50'],
    ';END_OF_HEADER\n',
  ].join('\n');

/** Longest time after which a press of a button is repeated without a look, ms. */
const AGAIN = 1_000;

/** Item that was added, or may have been. */
interface Added {
  key: string;
  /** Whether it needs the material of the station. */
  needsStation: boolean;
  copies: number;
  /** Null: it wants copies. */
  parts: Parts | null;
}

/** Numbers of parts of an item; at times an alternative makes another number. */
const partsBy = (chance: Chance): Parts => ({
  wanted: chance.whole(1, 9),
  perPrint: chance.whole(1, 4),
  other: chance.is(0.4) ? chance.whole(1, 4) : null,
});

/**
 * How a print ended; `either`: it was aborted so near its end that it may count as finished, at a printer that does not name
 * the end (reference 3.3).
 */
const endOf = ({ status, timeElapsed, timeTotal }: EndedPrint, { endWords }: Pick<Cluster, 'endWords'>): string =>
  status === 'aborted' && endWords === 'short' && timeElapsed >= 0.95 * timeTotal ? 'either' : status;

class QueueRun {
  readonly #chance: Chance;
  readonly #life: Life;
  /** Files of people, which a killed process leaves open. */
  readonly #share: Share;
  /** Numbers of the clusters. */
  readonly #numbers: readonly number[];
  readonly #rules: QueueRules;
  readonly #floor: Floor;
  readonly #words: Words;
  readonly #parts: PartsOracle;
  readonly #added: Added[] = [];
  readonly #events: QueueEvent[] = [];
  readonly #vanished = new Set<string>();
  /** Vanished prints that had finished. */
  readonly #unlisted = new Set<string>();
  /** Ends that the words of vanished prints named. */
  readonly #named = new Map<string, string>();
  /** Attempts about which the operator has said that they did not print. */
  readonly #settled = new Set<string>();
  /** Keys of items that people removed, or tried to. */
  readonly #removed = new Set<string>();
  /** Numbers of the clusters of which a printer is off. */
  readonly #off = new Set<number>();
  /** Printers whose connection is back, but which are off. */
  readonly #connected = new Set<number>();
  #queue: PrintQueue | undefined;
  #machine: Machine | undefined;

  constructor(
    private readonly world: World,
    private readonly hasParts: boolean,
  ) {
    const chance = (this.#chance = new Chance(world.random));
    this.#numbers = world.simulator.world.clusters().map((_, at) => at + 1);
    const gate = chance.pick(['automatic', 'automatic', 'confirm', 'printer'] as const);
    const retries = chance.pick([0, 0, 1]);
    const startWithin = chance.pick([0, 120, 900]) * SECOND;
    const stagger = chance.pick([0, 0, 60]) * SECOND;
    const printers = chance.is(0.5) ? this.#numbers.map((number) => world.clusterId(number)) : [];
    this.#rules = { ...RULES, gate, retries, startWithin, stagger, printers, maxPrinting: chance.pick([0, 0, 1]) };
    this.#floor = new Floor(world, gate);
    this.#words = new Words(world);
    this.#parts = new PartsOracle(world, ({ itemId, copy, attempt }) =>
      this.#events.some(
        ({ type, item, print }) =>
          type === 'print.recalled' && item?.itemId === itemId && print?.copy === copy && print.attempt === attempt,
      ),
    );
    if (hasParts) world.onPrinted.push((printed) => void this.#checkOwed(printed));
    this.#share = new Share(world);
    this.#life = new Life(world, chance, {
      open: (client, machine) => this.#open(client, machine),
      close: () => (this.#queue = undefined),
    });
  }

  async go(): Promise<void> {
    const { world } = this;
    const chance = this.#chance;
    const life = this.#life;
    world.wire.latency = chance.pick([0, 5, 150, 1500]);
    world.trace.add(`gate ${this.#rules.gate}, start within ${this.#rules.startWithin / SECOND} s`);
    for (const cluster of this.#numbers)
      this.#setCleaning(cluster, this.#rules.gate === 'printer' && chance.is(0.5) ? 'manual' : 'automatic');
    life.start(startOffset(world, chance));
    const horizon = chance.spread(200_000, 900_000);
    for (let number = chance.whole(1, 4); number > 0; number--)
      this.#planItem(chance.is(0.5) ? 0 : chance.whole(0, horizon * 0.6));
    for (let count = chance.whole(0, 5); count > 0; count--) life.at(chance.whole(0, horizon), () => this.#disturb());
    for (let count = chance.whole(0, 3); count > 0; count--) life.at(chance.whole(0, horizon), () => void this.#ask());
    for (let count = chance.whole(0, 3); count > 0; count--) life.plan(this.#hazard(), chance.whole(0, horizon * 0.8));
    for (let count = chance.pick([0, 1, 1, 2]); count > 0; count--) life.planEnd(chance.whole(0, horizon * 0.9));
    if (chance.is(0.5)) this.#loseAnswer(chance.whole(0, horizon * 0.5));
    if (chance.is(0.25)) this.#killAtPrint(chance.whole(0, horizon * 0.5));
    for (let at = 120_000; at < horizon; at += 120_000) life.at(at, () => void this.#clearPlates(0.5));
    await world.time.pass(horizon);
    await this.#recover();
    await this.#finish();
    await this.#check();
    await life.leave();
    if (life.crashes === 0) this.#share.checkLeft(() => false);
    this.#share.unmount();
  }

  /**
   * A group whose plates people confirm cleans none by itself: the service may choose the member for a print in the moment
   * when its cleanup ends.
   */
  #setCleaning(number: number, cleaning: 'manual' | 'automatic'): void {
    const { world } = this.world.simulator;
    const isGroup = world.cluster(number).printers.length > 1;
    world.setCleaning(number, isGroup && this.#rules.gate === 'confirm' ? 'manual' : cleaning);
  }

  async #recover(): Promise<void> {
    const { simulator } = this.world;
    for (const cluster of this.#numbers) {
      this.#connect(cluster);
      simulator.world.setRequiredChanges(cluster, []);
      simulator.world.setActions(cluster, {});
      this.#setCleaning(cluster, 'automatic');
    }
    await this.#life.recover();
  }

  #open(client: Client, machine: Machine): void {
    const queue = client.queue({ queueId: 'queue', name: 'Queue', rules: this.#rules });
    this.#queue = queue;
    this.#machine = machine;
    const told = (events: readonly QueueEvent[]) => {
      if (!machine.alive) return;
      for (const event of events) {
        this.world.trace.add(`event ${event.id}${event.late ? ' (late)' : ''}`);
        this.#events.push(event);
      }
    };
    // Sometimes the flow's node comes later than the queue.
    this.world.time.after(this.#chance.pick([0, 0, 0, 30]) * SECOND, () => {
      if (machine.alive && this.#queue === queue) queue.subscribe(told);
    });
  }

  #planItem(at: number): void {
    const chance = this.#chance;
    const item: Added = {
      key: `item-${this.#added.length + 1}`,
      needsStation: chance.is(0.3),
      copies: chance.pick([1, 1, 2, 3]),
      parts: this.hasParts && chance.is(0.75) ? partsBy(chance) : null,
    };
    this.#added.push(item);
    this.#life.at(at, () => void this.#add(item));
    // A shop repeats what it got no answer to.
    if (chance.is(0.5)) this.#life.at(at + chance.spread(100, 100_000), () => void this.#add(item));
  }

  async #add(item: Added): Promise<void> {
    const { key, copies, needsStation, parts } = item;
    const seconds = 600 + 60 * this.#added.indexOf(item);
    const head = needsStation ? stationHead(seconds) : `;TIME:${seconds}\n`;
    const bytes = Buffer.from(`${head}${`;${key}\n`.repeat(40)}G28\n`);
    const source = () => Promise.resolve({ kind: 'bytes' as const, bytes, name: `${key}.gcode` });
    const request = {
      source,
      jobId: null,
      jobName: `${key}.gcode`,
      queueKey: key,
      ...(parts ? { wanted: parts.wanted, perPrint: parts.perPrint } : { copies }),
      ...(parts?.other && { alternatives: [{ filename: this.#alternative(key), perPrint: parts.other }] }),
      onProgress: () => undefined,
    };
    if (parts) this.#parts.add(key, parts);
    await this.#do({ kind: 'add', key, copies }, (queue, deadline) => queue.add({ ...request, deadline }));
  }

  #isOfParts(key: string): boolean {
    return this.#added.some((item) => item.key === key && item.parts !== null);
  }

  /** The same part in a file that needs nothing of the station. */
  #alternative(key: string): string {
    const bytes = Buffer.from(`;TIME:500\n${`;other ${key}\n`.repeat(40)}G28\n`);
    return this.#share.place(`other-${key}`, `${key}.gcode`, bytes);
  }

  /** Makes a request of a person, whose refusal is one more fact of life. */
  async #do(request: Request, work: (queue: PrintQueue, deadline: Deadline) => Promise<unknown>): Promise<void> {
    const { trace, time } = this.world;
    const [queue, machine] = [this.#queue, this.#machine];
    if (!queue || !machine?.alive) return;
    const deadline = new Deadline(machine.clock, { ms: 600 * SECOND });
    const what = JSON.stringify(request);
    trace.add(`person: ${what}`);
    // The words of the oracle are about copies.
    const isOfParts = 'key' in request && this.#isOfParts(request.key);
    const made = () => work(queue, deadline);
    const begun = (isOfParts ? made() : this.#words.ask(request, machine, made)).then(
      () => machine.alive && trace.add(`person: ${what} done`),
      (thrown: unknown) => machine.alive && trace.add(`person: ${what} refused: ${asPrintingError(thrown).message}`),
    );
    await Promise.race([begun, new Promise<void>((resolve) => time.after(601 * SECOND, resolve))]);
    deadline.end();
  }

  /** Requests of people about items, at any time. */
  async #ask(): Promise<void> {
    const chance = this.#chance;
    const { key } = chance.pick(this.#added);
    const target = { queueKey: key };
    const kind = chance.whole(0, 7);
    const wanted = { priority: chance.whole(-2, 2) };
    const copies = chance.whole(1, 4);
    const limit = chance.pick([1, 30]) * SECOND;
    const until = (this.#machine?.clock.now() ?? 0) + limit;
    if (kind === 0) await this.#do({ kind: 'hold', key }, (queue, deadline) => queue.hold(target, deadline));
    if (kind === 1) await this.#do({ kind: 'release', key }, (queue, deadline) => queue.release(target, deadline));
    if (kind === 2) await this.#update(key, wanted);
    if (kind === 3)
      await this.#do({ kind: 'move', key }, (queue, deadline) => queue.move(target, { position: 1 }, deadline));
    if (kind === 4)
      await this.#do({ kind: 'pause', clusterId: null, until }, (queue, deadline) =>
        queue.pause({ printer: null, until, reason: null }, deadline),
      );
    if (kind === 5) await this.#queue?.list({ from: 0, limit: 10 }).catch(() => undefined);
    if (kind === 6 && this.#isOfParts(key)) await this.#want(key, chance.whole(1, 12));
    else if (kind === 6) await this.#update(key, { copies });
    if (kind === 7) await this.#remove(key);
  }

  #update(key: string, changes: { priority: number } | { copies: number }): Promise<void> {
    return this.#do({ kind: 'update', key, changes }, (queue, deadline) =>
      queue.update({ queueKey: key }, changes, deadline),
    );
  }

  /** Wants another number of parts, or has a print make another number. */
  async #want(key: string, wanted: number): Promise<void> {
    const [machine] = [this.#machine];
    const perPrint = this.#chance.is(0.3) ? this.#chance.whole(1, 4) : undefined;
    await this.#do({ kind: 'update', key, changes: {} }, (queue, deadline) => {
      const work = () => queue.update({ queueKey: key }, { wanted, perPrint }, deadline);
      return machine ? this.#parts.want(key, wanted, machine, work) : work();
    });
  }

  async #remove(key: string): Promise<void> {
    this.#removed.add(key);
    await this.#do({ kind: 'remove', key }, (queue, deadline) => queue.remove({ queueKey: key }, deadline));
  }

  /** Events at the printers and in the service. */
  #disturb(): void {
    const { simulator, trace, time } = this.world;
    const chance = this.#chance;
    const number = chance.pick(this.#numbers);
    const { world } = simulator;
    const back = chance.spread(5_000, 200_000);
    const kind = chance.whole(0, KINDS.length - 1);
    const off = chance.whole(OFF.least, OFF.most);
    const what = KINDS[kind];
    trace.add(`printer ${number}: ${what}`);
    try {
      if (kind === 0) {
        world.setOnline(number, false);
        time.after(back, () => this.#connect(number));
      } else if (kind === 1) world.printLocally(number, { name: 'by hand', seconds: chance.spread(60, 2000) });
      else if (kind === 2) world.abort(number);
      else if (kind === 3) world.fail(number);
      else if (kind === 4) this.#vanish(number);
      else if (kind === 5) {
        world.setRequiredChanges(number, [requiredChange(chance.pick(CHANGES))]);
        time.after(back, () => world.setRequiredChanges(number, []));
        // A printer that can't carry out actions either keeps the job.
        if (chance.is(0.5)) world.setActions(number, { outcome: 'failed' });
      } else if (kind === 6) this.#loseConnection(back);
      else if (kind === 7) this.#overtake(chance.spread(60, 2000));
      else if (kind === 9) world.removeStoredJob(chance.pick(world.storedJobs()).jobId);
      else if (kind === 10) this.#switchOff(number, off);
      else if (kind >= 11) this.#shrink(back, { isForGood: kind === 11 });
      else {
        world.setActions(number, { outcome: chance.pick(['failed', 'unknown', 'stuck'] as const) });
        time.after(back, () => world.setActions(number, {}));
      }
    } catch {
      trace.add(`printer ${number}: not now`);
    }
  }

  /** Takes the printer offline to which the next print is sent, before it begins. */
  #loseConnection(back: number): void {
    const { simulator, time } = this.world;
    this.world.onPrint = (clusterId) => {
      this.world.onPrint = () => undefined;
      if (this.#life.over) return;
      simulator.world.setOnline(clusterId, false);
      const number = this.#numbers.find((one) => this.world.clusterId(one) === clusterId);
      time.after(back, () => number !== undefined && this.#connect(number));
    };
  }

  /** Starts a print by hand where the queue has just sent one: it begins first. */
  #overtake(seconds: number): void {
    this.world.onPrint = (clusterId) => {
      this.world.onPrint = () => undefined;
      if (!this.#life.over) this.world.simulator.world.printLocally(clusterId, { name: 'by hand', seconds });
    };
  }

  #switchOff(number: number, off: number): void {
    this.#soon(() => {
      const switchOn = this.#floor.switchOff(this.world.clusterId(number));
      if (!switchOn) return false;
      this.#off.add(number);
      this.world.time.after(off, () => {
        this.#off.delete(number);
        switchOn();
        if (this.#connected.delete(number)) this.#connect(number);
      });
      return true;
    });
  }

  /**
   * Connects a printer again, unless it is off while its plate waits: it comes on in its time. An absence that no poll has
   * shown opens the gate, and rightly so (print queue, rule 3).
   */
  #connect(number: number): void {
    if (this.#off.has(number)) this.#connected.add(number);
    else this.world.simulator.world.setOnline(number, true);
  }

  /** Tries something every two seconds, until it could be done or ten minutes have passed. */
  #soon(work: () => boolean, tries = 300): void {
    if (this.#life.over || work() || tries === 0) return;
    this.world.time.after(2 * SECOND, () => this.#soon(work, tries - 1));
  }

  /** Takes an idle printer out of the group, with whatever lies on its plate. */
  #shrink(back: number, { isForGood }: { isForGood: boolean }): void {
    const group = this.world.simulator.world.clusters().find(({ printers }) => printers.length > 1);
    const isUsed = ({ printerUuid }: PrintJob, uuid: string) => printerUuid === null || printerUuid === uuid;
    const leaving = group?.printers.find(({ uuid }) => !group.queue.some((job) => isUsed(job, uuid)));
    if (!group || !leaving) throw new Error('no member is idle');
    group.printers.splice(group.printers.indexOf(leaving), 1);
    this.#floor.leave(group);
    this.world.trace.add(`printer ${leaving.uuid.slice(0, 6)} has left its group`);
    if (!isForGood) this.world.time.after(back, () => void group.printers.push(leaving));
  }

  #vanish(number: number): void {
    const { world } = this.world.simulator;
    const job = world.cluster(number).queue[0];
    // A foreign print that vanishes between two polls leaves a part of which nothing can know.
    if (job?.sentFrom !== 'cloud') return;
    this.#vanished.add(job.uuid);
    const named = /^(aborted|failed)/.exec(job.status)?.[0];
    if (named) this.#named.set(job.uuid, named);
    else if (job.printed >= 0.95 * job.timeTotal) this.#unlisted.add(job.uuid);
    this.#floor.vanish(this.world.clusterId(number), job);
  }

  #hazard(): Hazard {
    const chance = this.#chance;
    const { world } = this;
    const machine = () => this.#life.machine;
    const kind = chance.random();
    const endpoints = ['print', 'print', 'clusterStatus', 'jobAction', 'actionStatus', 'printJob', 'clusters'] as const;
    if (kind < 0.15) return oneOfMany(world, chance, machine, endpoints);
    if (kind < 0.35) return diskHazard(world, chance, machine);
    if (kind < 0.6) return wireHazard(world, chance, ['api', 'api', 'storage']);
    if (kind < 0.82) return serviceHazard(world, chance, endpoints);
    if (kind < 0.9) return slowHazard(world, chance, endpoints);
    return clockHazard(world, chance, machine);
  }

  /** Loses the answer to the next print, and hides the printers for a while. */
  #loseAnswer(at: number): void {
    const chance = this.#chance;
    const { simulator, trace } = this.world;
    const answer = chance.pick<Partial<Fault>>([{ reset: true }, { status: 500 }, { status: 504 }, { cut: 'body' }]);
    const when = chance.pick(['before', 'after', 'after'] as const);
    const hides = chance.is(0.5);
    const away = chance.spread(500, 120_000);
    this.#life.at(at, () => {
      trace.add(`service: the answer to the next print will be lost (${when}): ${JSON.stringify(answer)}`);
      simulator.faults.add({ endpoint: 'print', when, ...answer });
      if (!hides) return;
      const hidden = simulator.faults.add({
        endpoint: 'clusterStatus',
        after: chance.whole(1, 4),
        times: 'always',
        status: 503,
      });
      this.#life.at(away, () => hidden.remove());
    });
  }

  /** Kills the process while a print is being sent; for a while, nobody can see whether the service has it. */
  #killAtPrint(at: number): void {
    const chance = this.#chance;
    const { simulator, trace } = this.world;
    const [away, hidden] = [chance.spread(50, 60_000), chance.spread(10_000, 500_000)];
    this.#life.at(at, () => {
      this.world.onPrint = () => {
        this.world.onPrint = () => undefined;
        if (this.#life.over) return;
        this.#life.kill(away);
        trace.add('service: printers can’t be looked at');
        const fault = simulator.faults.add({ endpoint: 'clusterStatus', times: 'always', status: 503 });
        this.#life.at(hidden, () => fault.remove());
      };
    });
  }

  /** Goes to the printers, and clears the plates that the board asks for; a part is bad at times. */
  async #clearPlates(share: number): Promise<void> {
    const queue = this.#queue;
    const board = await queue?.explainQueue().catch(() => null);
    for (const { clusterId, printerId, plate, current, judges } of board?.printers ?? []) {
      if (plate !== 'awaiting' || !this.#chance.is(share)) continue;
      // A printer that prints can't be cleared.
      if (!this.#floor.clear(clusterId, printerId)) continue;
      const good = !this.#life.over && this.#chance.is(0.15) ? false : true;
      const counted = this.hasParts ? await this.#countParts(current) : null;
      const [machine] = [this.#machine];
      const isNamed = counted !== null && this.#chance.is(0.5);
      const named = isNamed ? (this.#chance.is(0.5) ? { print: counted.print } : { judges: judges ?? '' }) : {};
      const press = () =>
        this.#do({ kind: 'plate', clusterId, printerId, good: counted ? counted.good > 0 : good }, (now, deadline) => {
          if (!counted || !machine) return now.plateCleared({ clusterId, printerId }, good, deadline);
          const about = { goodParts: counted.good, ...named };
          const work = () => now.plateCleared({ clusterId, printerId }, true, deadline, about);
          return this.#parts.judge(counted.print, counted.good, isNamed, machine, work);
        });
      const pressedAt = this.world.time.elapsed;
      await press();
      const isQuick = this.world.time.elapsed - pressedAt < AGAIN;
      if (isQuick && this.#chance.is(0.2)) await press();
    }
  }

  /** Judges the parts on printers that have left their group, as the board asks for it. */
  async #judgeLeft(): Promise<void> {
    const board = await this.#queue?.board().catch(() => null);
    const isShown = (need: Need) =>
      board?.printers.some((one) => one.clusterId === need.clusterId && one.printerId === need.printerId);
    for (const need of board?.todo ?? []) {
      const { kind, clusterId, printerId, answers } = need;
      const print = printOf(answers[0]?.properties ?? {});
      if (kind !== 'plate' || clusterId === null || isShown(need) || !print) continue;
      const counted = this.hasParts ? await this.#countParts(print) : null;
      const [machine] = [this.#machine];
      const good = counted === null || counted.good > 0;
      await this.#do({ kind: 'plate', clusterId, printerId, good }, (now, deadline) => {
        const about = { print, ...(counted && { goodParts: counted.good }) };
        const work = () => now.plateCleared({ clusterId, printerId }, true, deadline, about);
        return counted && machine ? this.#parts.judge(print, counted.good, true, machine, work) : work();
      });
    }
  }

  /** Counts the good parts on a plate; null: its print is not one of an item of parts. */
  async #countParts(current: NamedPrint | null): Promise<{ print: NamedPrint; good: number } | null> {
    if (!current) return null;
    const { itemId, copy, attempt } = current;
    const [item] = (await this.#queue?.explain({ itemId }).catch(() => [])) ?? [];
    const print = item?.prints.find((one) => one.copy === copy && one.attempt === attempt);
    if (!item?.parts || !print) return null;
    const isWhole = this.#chance.is(this.#life.over ? 0.85 : 0.5);
    return { print: { itemId, copy, attempt }, good: isWhole ? print.perPrint : this.#chance.whole(0, print.perPrint) };
  }

  /** Holds a print of an item of parts against what the queue shows of it at that moment. */
  async #checkOwed(printed: Printed): Promise<void> {
    const key = printed.jobName.replace(/\.gcode$/, '');
    const machine = this.#machine;
    if (!this.#parts.has(key) || !machine?.alive) return;
    const [item] = (await this.#queue?.explain({ queueKey: key }).catch(() => [])) ?? [];
    if (item && machine.alive) this.#parts.sent(printed, { ...item, waitingFor: [] });
  }

  /** An operator who looks after everything until nothing is left to do. */
  async #finish(): Promise<void> {
    const { time, trace } = this.world;
    for (const item of this.#added) await time.until(this.#add(item), 700 * SECOND);
    await this.#do({ kind: 'resume', clusterId: null }, (queue, deadline) => queue.resume(null, deadline));
    for (let round = 0; round < ROUNDS; round++) {
      await time.until(this.#clearPlates(1), 700 * SECOND);
      await time.until(this.#judgeLeft(), 700 * SECOND);
      // A verdict has its effect soon after its answer.
      if (this.hasParts) await time.pass(5 * SECOND);
      const items = await this.#list();
      if (items.every((item) => this.#isOver(item))) return time.pass(ROUND);
      for (const item of items) await time.until(this.#help(item), 700 * SECOND);
      await time.pass(ROUND);
    }
    trace.add(JSON.stringify(await this.#queue?.explainQueue()));
    const left = (await this.#list()).filter((item) => !this.#isOver(item));
    throw new Broken(
      4,
      `not finished: ${left.map((item) => `${item.queueKey} ${item.state} ${JSON.stringify(item.copies)} ${JSON.stringify(item.prints)}`).join('; ')}`,
    );
  }

  #isOver({ state, queueKey }: QueueItem): boolean {
    return state === 'finished' || (this.#removed.has(queueKey ?? '') && (state === 'cancelled' || state === 'failed'));
  }

  async #list(): Promise<QueueItem[]> {
    const items = (await this.#queue?.list({ from: 0, limit: 100 })) ?? [];
    for (const item of items) if (!item.parts) this.#words.see(item);
    if (items.length !== this.#added.length) throw new Broken(1, `${items.length} items of ${this.#added.length}`);
    return items;
  }

  async #help({ itemId, queueKey, state, held, copies, prints, waitingFor }: QueueItem): Promise<void> {
    const target = { itemId };
    const key = queueKey ?? '';
    const has = (reason: string) => waitingFor.some(({ code }) => code === reason);
    if (has('UPLOAD')) return this.#remove(queueKey ?? '');
    if (held || copies.held > 0)
      await this.#do({ kind: 'release', key }, (queue, deadline) => queue.release(target, deadline));
    if (copies.failed > 0 || state === 'blocked')
      await this.#do({ kind: 'retry', key }, (queue, deadline) => queue.retry(target, deadline));
    for (const { copy, attempt, state: print, clusterJobId, clusterId } of prints) {
      if (print !== 'unknown') continue;
      // Whatever a poll can show, it shows: the operator settles the rest.
      const known = prints.flatMap((other) => other.clusterJobId ?? []);
      const made = this.world.printed.filter(
        (one) => one.jobName === `${queueKey}.gcode` && one.clusterId === clusterId,
      );
      const unseen = made.filter(({ uuid }) => !known.includes(uuid) && !this.#vanished.has(uuid));
      if (unseen.some(({ uuid }) => this.#jobOf(uuid)))
        throw new Broken(4, `a poll does not end the doubt of ${queueKey}`);
      if (clusterJobId !== null && this.#jobOf(clusterJobId) && !this.#vanished.has(clusterJobId))
        throw new Broken(4, `a poll does not end the doubt of the named print of ${queueKey}`);
      const outcome = clusterJobId !== null && this.#unlisted.has(clusterJobId) ? 'printed' : 'not-printed';
      // Something may lie on the plate, if not the part. A part closes the gate: then the board asks for a clear plate.
      if (outcome === 'not-printed') this.#floor.clear(clusterId);
      this.#settled.add(`${itemId}/${copy}/${attempt}`);
      this.#parts.settle();
      await this.#do({ kind: 'settle', key, copy, outcome }, (queue, deadline) =>
        queue.settle(target, { outcome, copy }, deadline),
      );
    }
  }

  /** A print that the service still shows. */
  #jobOf(uuid: string): PrintJob | undefined {
    return this.world.simulator.world
      .clusters()
      .flatMap(({ queue, history }) => [...queue, ...history])
      .find((job) => job.uuid === uuid && job.deletedAt === null);
  }

  async #check(): Promise<void> {
    const { printed } = this.world;
    this.#life.checkUncaught();
    this.#floor.check();
    this.#words.check();
    this.#parts.check();
    const clusters = this.world.simulator.world.clusters();
    const left = clusters
      .flatMap(({ queue }) => queue)
      .find(({ sentFrom, status }) => sentFrom === 'cloud' && status === 'queued');
    if (left) throw new Broken(1, `${left.name} is left in a printer, where it may start at any time`);
    const ends = new Map(
      clusters.flatMap((cluster) => cluster.log.map((job) => [job.uuid, endOf(job, cluster)] as const)),
    );
    for (const uuid of this.#unlisted) ends.set(uuid, 'finished');
    for (const [uuid, end] of this.#named) ends.set(uuid, end);
    for (const item of await this.#list()) {
      const named = new Set(item.prints.map(({ clusterJobId }) => clusterJobId));
      // A print whose answer got lost, and which vanished before anybody looked, has no name.
      const own = printed.filter(
        ({ jobName, uuid }) => jobName === `${item.queueKey}.gcode` && (named.has(uuid) || !this.#vanished.has(uuid)),
      );
      const ended = (as: string) => own.filter(({ uuid }) => ends.get(uuid) === as).length;
      const [good, either] = [ended('finished'), ended('either')];
      const extra = this.#checkExtras(item);
      const { copies } = item;
      const sent = item.prints.filter(({ clusterJobId }) => clusterJobId !== null).length;
      if (own.length !== sent) throw new Broken(1, `${item.queueKey}: ${own.length} prints for ${sent} attempts`);
      if (item.parts) {
        this.#parts.finish(item, this.#removed.has(item.queueKey ?? ''));
        continue;
      }
      if (copies.good !== copies.total && !this.#removed.has(item.queueKey ?? ''))
        throw new Broken(1, `${item.queueKey}: ${copies.good} of ${copies.total} are good`);
      const wanted = copies.good + copies.rejected;
      if (good + either < wanted || good > wanted + extra)
        throw new Broken(1, `${item.queueKey}: ${good} to ${good + either} good prints for ${wanted} copies`);
      const isAstray = ({ clusterId }: Printed) => clusterId !== this.world.clusterId(2);
      if (this.#added.some(({ key, needsStation }) => key === item.queueKey && needsStation) && own.some(isAstray))
        throw new Broken(1, `${item.queueKey} was printed without the material of the station`);
    }
    this.#parts.check();
    this.#checkEvents(await this.#list(), ends);
  }

  /** Returns the number of extra prints of an item: only what a person took for not printed can be one. */
  #checkExtras({ itemId, queueKey }: QueueItem): number {
    const extras = new Set<string>();
    for (const { type, item, print } of this.#events) {
      if (type !== 'print.extra' || item?.itemId !== itemId) continue;
      const name = `${itemId}/${print?.copy}/${print?.attempt}`;
      if (!this.#settled.has(name)) throw new Broken(1, `${queueKey}: an extra print, though nobody settled it`);
      extras.add(name);
    }
    return extras.size;
  }

  /** Every event once, and none false. */
  #checkEvents(items: QueueItem[], ends: ReadonlyMap<string, string>): void {
    const mayRepeat = this.#life.crashes > 0 || this.#life.diskFailedUntil > -Infinity;
    const counts = new Map<string, number>();
    for (const { id } of this.#events) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const [id, count] of counts) if (count > 1 && !mayRepeat) throw new Broken(3, `${id} came ${count} times`);
    const idOf = (type: string, itemId: string, ...rest: number[]) => ['queue', type, itemId, ...rest].join('/');
    const has = (id: string) => {
      if (!counts.has(id)) throw new Broken(3, `${id} never came`);
    };
    for (const { itemId, prints } of items) {
      has(idOf('item.queued', itemId));
      const ended = ['item.finished', 'item.cancelled', 'item.failed'];
      if (!this.#events.some(({ type, item }) => ended.includes(type) && item?.itemId === itemId))
        throw new Broken(3, `no end of ${itemId} came`);
      for (const { copy, attempt, state, clusterJobId } of prints) {
        if (state === 'rejected') has(idOf('print.finished', itemId, copy, attempt));
        has(idOf(`print.${state}`, itemId, copy, attempt));
        const end = clusterJobId === null ? undefined : ends.get(clusterJobId);
        if ((state === 'finished' || state === 'rejected') && end !== 'finished' && end !== 'either')
          throw new Broken(3, `${itemId}/${copy}/${attempt} is ${state}, but it was ${end}`);
        if (state === 'failed' && end !== 'failed')
          throw new Broken(3, `${itemId}/${copy}/${attempt} failed, but it was ${end}`);
        if (state === 'recalled' && end === 'finished' && !counts.has(idOf('print.extra', itemId, copy, attempt)))
          throw new Broken(3, `${itemId}/${copy}/${attempt} was recalled, but it printed`);
      }
    }
    this.#checkPlates();
    if (!this.#events.some(({ type }) => type === 'queue.idle'))
      throw new Broken(3, 'the queue never told that it is idle');
  }

  /** Closings and openings of each gate alternate. */
  #checkPlates(): void {
    const seen = new Set<string>();
    const open = new Map<string, boolean>();
    for (const { id, type } of this.#events) {
      if (!type.startsWith('plate.') || seen.has(id)) continue;
      seen.add(id);
      // Its id names the machine, before the number of the closing.
      const gate = id.split('/').at(-2) ?? '';
      const isOpen = open.get(gate) ?? true;
      if (isOpen === (type === 'plate.cleared')) throw new Broken(3, `${id} came twice in a row`);
      open.set(gate, type === 'plate.cleared');
    }
  }
}

/** The print that an answer of the board names; null: none. */
function printOf({ itemId, copy, attempt }: Partial<NamedPrint>): NamedPrint | null {
  return itemId === undefined || copy === undefined || attempt === undefined ? null : { itemId, copy, attempt };
}
