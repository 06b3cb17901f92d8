import { type QueueRules, readRules } from '../../lib/queue/model/rules';
import type { NewCluster } from '../../simulator/world/models';
import { NIL_UUID } from '../../simulator/world/ids';
import type { Cluster, Printer } from '../../simulator/world/state';
import type { Fault, PrintJob } from '../../simulator';
import { seeded } from '../helpers/seeded';
import { Chance } from './chance';
import { awaitsCleanup, Floor } from './floor';
import { serviceHazard, wireHazard } from './hazards';
import { Life, SECOND } from './life';
import { signIn, WITHOUT_RENEWAL, World } from './machine';
import { People } from './people';
import { Words } from './words';

/** Speed of the printers’ time: a print lasts less than a minute of the run, and the polls are a minute apart. */
const FACTOR = 16;
/** How long a printer is off, ms: longer than a queue that sees nothing takes a cleared plate for granted. */
const OFF = { least: 150_000, most: 300_000 };
/** The same with polls that show it: the statuses before and after it may be near enough. */
const SEEN_OFF = { least: 70_000, most: 110_000 };
/** The same while the process is down: after a start, nothing is taken for granted. */
const BRIEFLY_OFF = { least: 1_000, most: 60_000 };

const RULES = readRules({ match: 'lenient', material: 'any', gate: 'printer' });

/** Kinds of what happens to the printers, as often as they stand here. */
const KINDS = [
  ...[
    'off while its plate waits',
    'off while its plate waits',
    'off while its plate waits',
    'off while the process is down',
  ],
  ...[
    'off while the process is down',
    'a print by hand',
    'a print by hand',
    'a print by hand while offline',
    'abort',
    'abort',
  ],
  ...['fail', 'vanish', 'offline', 'another cluster id', 'another printer id', 'other electronics', 'another name'],
  ...[
    'a member leaves',
    'a member leaves for a while',
    'a member becomes a printer of its own',
    'a printer joins the group',
  ],
  ...[
    'the answer to the next print is lost',
    'the answer to the next print is lost',
    'cleared at the printer alone',
    'cleared at the printer alone',
  ],
] as const;
type Kind = (typeof KINDS)[number];

/** Time in which calm polls have shown a print twice, ms, and how long such a print lasts, in seconds of the printer’s time. */
const SEEN_WITHIN = 130_000;
const LONG = (FACTOR * 400_000) / SECOND;
/** Time after which somebody settles what a lost answer has left in doubt, once polls show the printers again, ms. */
const SETTLED_AFTER = 30_000;
/** Time within which a sound process writes what a status shows, ms. */
const WRITTEN_WITHIN = 2 * SECOND;
/** Time after which marks of the first gates are written, ms. */
const MARKED_AFTER = 130_000;

/** Two printers, or one and a group, one of which may be of a brand whose printers have no id of their own. */
function farmOf(chance: Chance): NewCluster[] {
  const endWords = () => chance.pick(['long', 'short'] as const);
  const single = { model: chance.pick(['simulated_maker_one', 'simulated_maker_one', 'simulated_reproducer_z']) };
  const group = { model: 'simulated_maker_one', printers: chance.pick([1, 2, 2, 3]) };
  return [
    { ...single, endWords: endWords() },
    { ...group, endWords: endWords() },
  ];
}

/** Runs a print queue on plates that nobody clears for long, while printers are switched off, moved, renamed and regrouped. */
export async function platesRun(seed: number): Promise<void> {
  // The farm has draws of its own: it comes before the world.
  const farm = farmOf(new Chance(seeded(seed + 3e6)));
  const world = await World.make(seed, { farm, accessTokenLifetime: WITHOUT_RENEWAL, timeFactor: FACTOR });
  await world.run(async () => {
    await signIn(world);
    await new PlatesRun(world).go();
  });
}

class PlatesRun {
  readonly #chance: Chance;
  /** Draws of their own for the tales, which keep the rest of a seed the same. */
  readonly #tales: Chance;
  readonly #life: Life;
  readonly #rules: QueueRules;
  readonly #floor: Floor;
  readonly #words: Words;
  readonly #people: People;
  /** Whether each poll shows what there is. */
  #isCalm = false;
  /** Clusters with a printer that is switched off. */
  readonly #off = new Set<Cluster>();
  /** GUIDs of electronics that a list has shown. */
  readonly #listed = new Set<string>();
  /** Ids of printers, and GUIDs of their electronics, under which a queue can know its machines. */
  readonly #shown = new Set<string>();

  constructor(private readonly world: World) {
    const chance = (this.#chance = new Chance(world.random));
    this.#tales = new Chance(seeded(world.seed + 5e6));
    const gate = chance.pick(['printer', 'printer', 'confirm', 'automatic'] as const);
    this.#rules = { ...RULES, gate, startWithin: chance.pick([0, 900]) * SECOND };
    this.#floor = new Floor(world, gate);
    this.#words = new Words(world);
    this.#people = new People(world, chance, { rules: this.#rules, floor: this.#floor, words: this.#words });
    this.#life = new Life(world, chance, {
      open: (client, machine) => this.#people.open(client, machine),
      close: () => this.#people.close(),
    });
    world.wire.onArrival = (_, data) => this.#see(data.toString('latin1'));
  }

  /** Notes the ids that a list or a status shows. A status brings a machine together with its GUID of the list before it. */
  #see(answer: string): void {
    const { machine } = this.#life;
    const isStatus = answer.includes('"print_jobs"');
    const seen: string[] = [];
    for (const { hostGuid, printers } of this.world.simulator.world.listed()) {
      const shown = printers.flatMap(({ uuid }) => (isStatus && answer.includes(uuid) ? [uuid] : []));
      seen.push(...shown, ...(shown.length > 0 && this.#listed.has(hostGuid) ? [hostGuid] : []));
      if (answer.includes(hostGuid)) this.#listed.add(hostGuid);
    }
    if (!machine || !seen.some((id) => !this.#shown.has(id))) return;
    this.world.time.after(WRITTEN_WITHIN, () => {
      if (machine.alive) for (const id of seen) this.#shown.add(id);
    });
  }

  async go(): Promise<void> {
    const { world } = this;
    const chance = this.#chance;
    const life = this.#life;
    const people = this.#people;
    world.wire.latency = chance.pick([0, 5, 150]);
    world.trace.add(`gate ${this.#rules.gate}`);
    // A machine that ejects its parts ends the cleanup state itself.
    const byHand = this.#rules.gate === 'automatic' ? ('automatic' as const) : ('manual' as const);
    for (const { clusterId } of this.#clusters)
      world.simulator.world.setCleaning(
        clusterId,
        chance.pick([byHand, byHand, byHand, 'manual', 'automatic', 'none']),
      );
    const horizon = chance.whole(600_000, 1_500_000);
    // What was printed before the first start is history.
    if (chance.is(0.3)) this.#printByHand();
    life.start();
    for (let number = 1; number <= 2; number++) {
      const item = { key: `item-${number}`, copies: chance.whole(2, 5), seconds: chance.pick([60, 200, 600]) };
      people.added.push(item);
      life.at(number === 1 ? 0 : chance.whole(0, horizon * 0.5), () => void people.add(item));
    }
    for (let count = chance.whole(5, 10); count > 0; count--)
      life.at(chance.whole(20_000, horizon), () => this.#happen(chance.pick(KINDS)));
    if (chance.is(0.5)) life.at(chance.whole(0, horizon * 0.5), () => this.#loseAnswer());
    this.#isCalm = chance.is(0.7);
    if (!this.#isCalm) life.plan(this.#hazard(), chance.whole(0, horizon * 0.8));
    if (chance.is(0.4)) life.planEnd(chance.whole(0, horizon * 0.9));
    this.#planTales(horizon);
    for (let at = 60_000; at < horizon; at += chance.whole(50_000, 120_000)) life.at(at, () => void this.#visit());
    await world.time.pass(horizon + OFF.most);
    // A printer that was switched off late comes on in its time: a shorter absence is no gap that a queue could see.
    while (this.#off.size > 0) await world.time.pass(SECOND);
    await this.#recover();
    await people.finish();
    this.#floor.check();
    this.#words.check();
    life.checkUncaught();
    await life.leave();
  }

  get #clusters(): Cluster[] {
    const { world } = this.world.simulator;
    const [first] = world.listed();
    return world.clusters(first?.organizationId);
  }

  /** Somebody comes by, takes parts off, and tells the queue of it. What is in doubt is settled at times. */
  async #visit(): Promise<void> {
    const chance = this.#chance;
    const people = this.#people;
    await people.clearPlates(0.5, 0.2);
    if (chance.is(0.4)) await this.#settle();
  }

  async #settle(): Promise<void> {
    if (this.#life.over) return;
    const people = this.#people;
    for (const item of await people.list()) if (item.copies.unknown + item.copies.held > 0) await people.help(item);
  }

  async #recover(): Promise<void> {
    const { world } = this.world.simulator;
    for (const { clusterId, printers } of this.#clusters) {
      world.setOnline(clusterId, true);
      world.setCleaning(clusterId, 'automatic');
      for (const printer of printers) printer.trouble = null;
    }
    await this.#life.recover();
  }

  #happen(kind: Kind): void {
    const { trace } = this.world;
    const cluster = this.#chance.pick(this.#clusters);
    trace.add(`${cluster.clusterId.slice(0, 6)}: ${kind}`);
    try {
      this.#do(kind, cluster);
    } catch (thrown) {
      trace.add(`${cluster.clusterId.slice(0, 6)}: not now, ${(thrown as Error).message}`);
    }
  }

  #do(kind: Kind, cluster: Cluster): void {
    const chance = this.#chance;
    const { simulator, time } = this.world;
    const { world } = simulator;
    const { clusterId } = cluster;
    const off = chance.whole(OFF.least, OFF.most);
    const seenOff = chance.whole(SEEN_OFF.least, SEEN_OFF.most);
    switch (kind) {
      case 'off while its plate waits':
        return this.#soon(() => this.#switchOff(this.#isCalm && chance.is(0.7) ? seenOff : off));
      case 'off while the process is down':
        return this.#soon(() => this.#switchOffUnseen(chance.whole(BRIEFLY_OFF.least, BRIEFLY_OFF.most)));
      case 'a print by hand':
        return void this.#printByHand(cluster);
      case 'a print by hand while offline':
        world.setOnline(clusterId, false);
        this.#printByHand(cluster);
        return void time.after(off, () => this.#connect(cluster));
      case 'abort':
        return this.#soon(() => this.#change('abort'));
      case 'fail':
        return this.#soon(() => this.#change('fail'));
      case 'vanish':
        return this.#vanish(cluster);
      case 'offline':
        world.setOnline(clusterId, false);
        return void time.after(chance.spread(5_000, 300_000), () => this.#connect(cluster));
      case 'another cluster id':
        return void world.rebind(clusterId);
      case 'another printer id':
        return this.#rename(cluster);
      case 'other electronics':
        return this.#changeElectronics(cluster);
      case 'another name':
        return world.setName(clusterId, `Printer ${chance.whole(1, 99)}`);
      case 'a member leaves': {
        const { printer, group } = this.#takeOut();
        return void this.#people.gone.push({ clusterId: group.clusterId, printerId: printer.uuid });
      }
      case 'a member leaves for a while': {
        const { printer, group } = this.#takeOut();
        return void time.after(chance.spread(5_000, 200_000), () => void group.printers.push(printer));
      }
      case 'a member becomes a printer of its own':
        return this.#separate();
      case 'a printer joins the group':
        return this.#join();
      case 'the answer to the next print is lost':
        return this.#loseAnswer();
      case 'cleared at the printer alone':
        return this.#soon(() => this.#clearAlone());
    }
  }

  /** Plans what takes several steps, and so rarely comes about by chance. */
  #planTales(horizon: number): void {
    const tales = this.#tales;
    // As long as copies wait for a printer.
    const early = () => tales.whole(0, 100_000);
    if (tales.is(0.4)) this.#life.at(early(), () => this.#vanishByHand(tales.pick(this.#clusters)));
    if (tales.is(0.5)) this.#life.at(early(), () => this.#soon(() => this.#ejectAborted(tales.whole(65_000, 110_000))));
    const away = tales.whole(BRIEFLY_OFF.least, BRIEFLY_OFF.most);
    const lostAt = Math.max(MARKED_AFTER, tales.whole(0, horizon * 0.6));
    if (tales.is(0.4)) this.#life.at(lostAt, () => this.#soon(() => this.#loseRecords(away)));
    const lost = new Chance(seeded(this.world.seed + 8e6));
    if (lost.is(0.4)) this.#life.at(lost.whole(0, 100_000), () => this.#loseInGroup(lost));
  }

  /** A foreign print vanishes that polls have shown: its part lies there. */
  #vanishByHand(cluster: Cluster): void {
    const { simulator, trace, time } = this.world;
    const { world } = simulator;
    const { client } = this.#life;
    if (!client || !this.#isCalm || !cluster.online) return;
    const { uuid } = world.printLocally(cluster.clusterId, { name: 'by hand', seconds: LONG });
    this.#soon(() => {
      const isPrinting = () => cluster.queue.some((job) => job.uuid === uuid && job.status === 'printing');
      if (!isPrinting()) return false;
      time.after(SEEN_WITHIN, () => {
        const job = cluster.queue.find((one) => one.uuid === uuid);
        const isWatched = this.#isCalm && this.#life.client === client && cluster.online;
        if (!job || !isPrinting() || !isWatched || !this.#clusters.includes(cluster) || this.#life.over) return;
        trace.add(`${cluster.clusterId.slice(0, 6)}: the print by hand vanishes`);
        this.#floor.vanish(cluster.clusterId, job, true);
      });
      return true;
    });
  }

  /** A print is aborted, and its printer ends the cleanup state by itself, after polls have shown it. */
  #ejectAborted(after: number): boolean {
    const { world } = this.world.simulator;
    const cluster = this.#clusters.find(({ queue }) => queue.some(({ status }) => status === 'printing'));
    const job = cluster?.queue.find(({ status }) => status === 'printing');
    if (!cluster || !job) return false;
    this.world.trace.add(`${cluster.clusterId.slice(0, 6)}: an abort, and the end of its cleanup`);
    if (cluster.cleaning === 'automatic') world.setCleaning(cluster.clusterId, 'manual');
    world.abort(cluster.clusterId, job.uuid);
    this.#soon(() => {
      if (!awaitsCleanup(job)) return !cluster.queue.includes(job);
      this.world.time.after(after, () => {
        if (this.#clusters.includes(cluster) && cluster.queue.includes(job) && awaitsCleanup(job))
          world.clean(cluster.clusterId, job.uuid);
      });
      return true;
    });
    return true;
  }

  /** A print of a group is lost at an unknown member, at times beside a long print by hand. */
  #loseInGroup(chance: Chance): void {
    const group = this.#clusters.find(({ printers, online }) => online && printers.length > 1);
    if (!group) return;
    this.world.trace.add(`${group.clusterId.slice(0, 6)}: the next print of the group will be lost`);
    if (chance.is(0.7)) this.world.simulator.world.printLocally(group.clusterId, { name: 'by hand', seconds: LONG });
    this.#loseAnswer(chance, group);
  }

  /** The process is killed while a part lies somewhere, and the records of the gates are gone at the next start. */
  #loseRecords(away: number): boolean {
    if (!this.#floor.hasIdlePart || !this.#life.machine) return false;
    this.#life.kill(away);
    this.world.lose('queue-plate');
    return true;
  }

  /** Connects a cluster again, unless its printer has become a member of another one. */
  #connect(cluster: Cluster): void {
    // One that is switched off comes on in its own time.
    if (this.#off.has(cluster) || !this.#clusters.includes(cluster)) return;
    this.world.simulator.world.setOnline(cluster.clusterId, true);
  }

  /** Tries something every two seconds, until it could be done or five minutes have passed. */
  #soon(work: () => boolean, tries = 150): void {
    if (this.#life.over || work() || tries === 0) return;
    this.world.time.after(2 * SECOND, () => this.#soon(work, tries - 1));
  }

  #switchOff(ms: number): boolean {
    const found = this.#clusters
      .map((cluster) => ({ cluster, switchOn: cluster.online ? this.#floor.switchOff(cluster.clusterId) : null }))
      .find(({ switchOn }) => switchOn !== null);
    if (!found?.switchOn) return false;
    const { cluster, switchOn } = found;
    this.#off.add(cluster);
    this.world.trace.add(`a printer is off for ${ms / SECOND} s while its plate waits`);
    this.world.time.after(ms, () => {
      this.#off.delete(cluster);
      switchOn();
    });
    return true;
  }

  /** Switches a printer off and on while the process is down. */
  #switchOffUnseen(ms: number): boolean {
    const isWaiting = this.#clusters.some(({ queue, online }) => online && queue.some(awaitsCleanup));
    if (!isWaiting || !this.#life.machine) return false;
    this.#life.kill(ms + 3 * SECOND);
    return this.#switchOff(ms);
  }

  #printByHand(cluster = this.#chance.pick(this.#clusters)): PrintJob {
    const seconds = this.#chance.spread(20, 600);
    return this.world.simulator.world.printLocally(cluster.clusterId, { name: 'by hand', seconds });
  }

  /** Ends a print under way before its time. */
  #change(how: 'abort' | 'fail'): boolean {
    const { world } = this.world.simulator;
    const found = this.#clusters.find(({ queue }) => queue.some(({ status }) => status === 'printing'));
    const job = found?.queue.find(({ status }) => status === 'printing');
    if (found && job) world[how](found.clusterId, job.uuid);
    return job !== undefined;
  }

  #vanish({ clusterId, queue }: Cluster, uuid?: string): void {
    const isMeant = (job: PrintJob) => uuid === undefined || job.uuid === uuid;
    const job = queue.find((one) => one.sentFrom === 'cloud' && one.printerUuid !== null && isMeant(one));
    // A foreign print that vanishes between two polls leaves a part of which nothing can know.
    if (!job) return;
    this.#people.vanished.set(job.uuid, this.#floor.vanish(clusterId, job));
  }

  /** A technician replaces the electronics of a printer, whose own id then identifies it. */
  #changeElectronics(cluster: Cluster): void {
    if (cluster.printers.every(({ uuid }) => uuid !== NIL_UUID && this.#shown.has(uuid)))
      cluster.hostGuid = newId(this.#chance);
  }

  /**
   * A factory reset gives a printer another id. One that works has no time for it. Nothing could find it if its electronics
   * were not known.
   */
  #rename({ printers, queue, history, hostGuid }: Cluster): void {
    const printer = printers[0];
    if (!this.#shown.has(hostGuid)) return;
    if (!printer || printer.uuid === NIL_UUID || printers.length > 1 || isUsed(queue, printer)) return;
    const before = printer.uuid;
    printer.uuid = newId(this.#chance);
    for (const job of history) if (job.printerUuid === before) job.printerUuid = printer.uuid;
  }

  /** Takes an idle member out of the group, with whatever lies on its plate. Never the host. */
  #takeOut(): { printer: Printer; group: Cluster } {
    const group = this.#clusters.find(({ printers }) => printers.length > 1);
    const printer = group?.printers.slice(1).find((one) => !isUsed(group.queue, one));
    if (!group || !printer) throw new Error('no member is idle');
    group.printers.splice(group.printers.indexOf(printer), 1);
    this.#floor.leave(group);
    this.#people.regrouped.add(group);
    this.world.trace.add(`printer ${printer.uuid.slice(0, 6)} has left its group`);
    return { printer, group };
  }

  #separate(): void {
    const { world } = this.world.simulator;
    const { printer, group } = this.#takeOut();
    const { organizationId, model, cleaning } = group;
    const clusterId = world.addCluster({ organizationId, model });
    const alone = Object.assign(world.cluster(clusterId), { printers: [printer], cleaning });
    // A print of the group that is in doubt may lie on it: its end closes the gate again.
    this.#people.regrouped.add(alone);
  }

  /** A printer of its own becomes a member of another cluster, which is a group then. */
  #join(): void {
    const { world } = this.world.simulator;
    const alone = this.#clusters.find(
      ({ printers, queue, online }) =>
        online && printers.length === 1 && queue.length === 0 && printers[0]?.uuid !== NIL_UUID,
    );
    const [printer] = alone?.printers ?? [];
    const group = this.#clusters.find((other) => other !== alone && other.printers[0]?.uuid !== NIL_UUID);
    if (!alone || !printer || !group || this.#clusters.length < 2) throw new Error('no printer is free for it');
    // In a group, only its own id names it.
    if (!this.#shown.has(printer.uuid)) throw new Error('nobody knows its id yet');
    // Whether a printer shows that it waits for a clear plate does not change with its group.
    if ((alone.cleaning === 'none') !== (group.cleaning === 'none')) throw new Error('they are of another kind');
    world.removeCluster(alone.clusterId);
    group.printers.push(printer);
    this.#people.regrouped.add(group);
  }

  /** Somebody takes a part off and confirms it at the printer, and says nothing to the queue. */
  #clearAlone(): boolean {
    const { world } = this.world.simulator;
    const found = this.#clusters.find(({ queue, online }) => online && queue.some(awaitsCleanup));
    const job = found?.queue.find(awaitsCleanup);
    if (found && job) world.clean(found.clusterId, job.uuid);
    return job !== undefined;
  }

  /** Loses the answer to the next print, and hides the printers for long. `group`: to the next print there, which vanishes. */
  #loseAnswer(chance = this.#chance, group?: Cluster): void {
    const { faults } = this.world.simulator;
    const answer = chance.pick<Partial<Fault>>([{ reset: true }, { status: 500 }]);
    const path = group && { path: group.clusterId.replace(/=+$/, '') };
    faults.add({ endpoint: 'print', when: 'after', ...answer, ...path });
    const away = chance.whole(200_000, 320_000);
    this.#isCalm = false;
    this.world.onPrint = (clusterId) => {
      if (group && clusterId !== group.clusterId) return;
      this.world.onPrint = () => undefined;
      if (this.#life.over) return;
      const hidden = faults.add({ endpoint: 'clusterStatus', times: 'always', status: 503 });
      this.world.time.after(away, () => hidden.remove());
      if (group) {
        const uuid = this.world.printed.at(-1)?.uuid;
        this.world.time.after(chance.whole(8_000, 12_000), () => this.#vanish(group, uuid));
        return this.world.time.after(away + SETTLED_AFTER, () => void this.#settle());
      }
      const cluster = this.#clusters.find((one) => one.clusterId === clusterId);
      // Nothing will ever show it.
      if (cluster && chance.is(0.7)) this.world.time.after(chance.whole(8_000, 20_000), () => this.#vanish(cluster));
    };
  }

  #hazard() {
    const { world } = this;
    const endpoints = ['print', 'clusterStatus', 'clusters'] as const;
    return this.#chance.is(0.5)
      ? wireHazard(world, this.#chance, ['api'])
      : serviceHazard(world, this.#chance, endpoints);
  }
}

/** Whether a job is at a printer, or may come to it. */
const isUsed = (queue: readonly PrintJob[], { uuid }: Printer): boolean =>
  queue.some(({ printerUuid }) => printerUuid === null || printerUuid === uuid);

const newId = (chance: Chance): string =>
  `${chance.whole(1e7, 9e7)}-${chance.whole(1000, 9000)}-4000-8000-${chance.whole(1e11, 9e11)}`;
