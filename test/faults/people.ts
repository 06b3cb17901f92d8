import type { Client } from '../../lib/client';
import type { ItemChanges, QueueItem } from '../../lib/queue/model/types';
import type { PrintQueue } from '../../lib/queue/print-queue';
import type { QueueRules } from '../../lib/queue/model/rules';
import { asPrintingError } from '../../lib/service/errors';
import { Deadline } from '../../lib/time/deadline';
import type { Cluster } from '../../simulator/world/state';
import type { LoggedRequest, PrintJob } from '../../simulator';
import type { Chance } from './chance';
import type { Floor } from './floor';
import { SECOND } from './life';
import type { Machine, World } from './machine';
import { Broken } from './trace';
import type { Request, Words } from './words';

/** Rounds of the operator after the faults, and the time between them. */
const ROUNDS = 60;
const ROUND = 120 * SECOND;
/** Rounds after which a person decides what polls have left in doubt, such as two prints of one file without a name. */
const PATIENCE = 5;

/** Time after which a confirmed plate is clear in every view, ms: two polls have shown the printer. */
const LATER = 130 * SECOND;

/** Item that was added, or may have been. */
export interface Added {
  key: string;
  copies: number;
  /** Of the printer's time. */
  seconds: number;
}

/** The people of a queue: they add items and change them, clear plates, and settle what is in doubt. */
export class People {
  readonly added: Added[] = [];
  /** Keys of items that people removed, or tried to. */
  readonly removed = new Set<string>();
  /** Prints that left all lists, and whether they have left a part. */
  readonly vanished = new Map<string, boolean>();
  /** Printers that left their group for good, which no board shows any more. */
  readonly gone: { clusterId: string; printerId: string }[] = [];
  /** Clusters with another number of printers than before: one that is left alone counts all prints of its group as its own. */
  readonly regrouped = new Set<Cluster>();
  /** Prints that a person has settled, and the attempt that they were settled for: the queue never names them. */
  readonly #settled = new Map<string, string>();
  /** Dates of the events, by id, and ids that named two plates. */
  readonly #toldAt = new Map<string, string>();
  readonly #reused = new Set<string>();
  #round = 0;
  /** Prints that people tried to stop. */
  readonly #stopped = new Set<string>();
  queue: PrintQueue | undefined;
  machine: Machine | undefined;

  constructor(
    private readonly world: World,
    private readonly chance: Chance,
    private readonly oracles: { rules: QueueRules; floor: Floor; words: Words },
  ) {}

  open(client: Client, machine: Machine): void {
    this.queue = client.queue({ queueId: 'queue', name: 'Queue', rules: this.oracles.rules });
    this.queue.subscribe((events) => {
      for (const { id, item, type, at } of events) {
        if (!machine.alive) return;
        this.world.trace.add(`event ${id}`);
        // An event that comes again is about the same plate.
        if (type === 'plate.awaiting' && (this.#toldAt.get(id) ?? at) !== at) this.#reused.add(id);
        this.#toldAt.set(id, at);
        if (item) this.oracles.words.see(item);
      }
    });
    this.machine = machine;
  }

  close(): void {
    this.queue = undefined;
  }

  async add(item: Added): Promise<void> {
    const { key, copies, seconds } = item;
    const bytes = Buffer.from(`;TIME:${seconds}\n${`;${key}\n`.repeat(40)}G28\n`);
    const source = () => Promise.resolve({ kind: 'bytes' as const, bytes, name: `${key}.gcode` });
    const request = {
      source,
      jobId: null,
      jobName: `${key}.gcode`,
      queueKey: key,
      copies,
      onProgress: () => undefined,
    };
    await this.ask({ kind: 'add', key, copies }, (queue, deadline) => queue.add({ ...request, deadline }));
  }

  update(key: string, given: Extract<Request, { kind: 'update' }>['changes']): Promise<void> {
    const changes = given as ItemChanges;
    return this.ask({ kind: 'update', key, changes: given }, (queue, deadline) =>
      queue.update({ queueKey: key }, changes, deadline),
    );
  }

  change(kind: 'hold' | 'release' | 'remove' | 'retry', key: string): Promise<void> {
    if (kind === 'remove') this.removed.add(key);
    return this.ask({ kind, key }, (queue, deadline) => queue[kind]({ queueKey: key }, deadline));
  }

  move(key: string): Promise<void> {
    return this.ask({ kind: 'move', key }, (queue, deadline) =>
      queue.move({ queueKey: key }, { position: 1 }, deadline),
    );
  }

  /** @param uuids prints that have left the part, of which the answer makes certain */
  settle(key: string, copy: number, outcome: 'printed' | 'not-printed', uuids: readonly string[] = []): Promise<void> {
    return this.ask({ kind: 'settle', key, copy, outcome }, async (queue, deadline) => {
      const settled = await queue.settle({ queueKey: key }, { outcome, copy }, deadline);
      this.oracles.floor.settle(uuids);
      return settled;
    });
  }

  pause(clusterId: string | null, until: number | null): Promise<void> {
    const printer = clusterId === null ? null : { clusterId, printerId: null };
    return this.ask({ kind: 'pause', clusterId, until }, (queue, deadline) =>
      queue.pause({ printer, until, reason: null }, deadline),
    );
  }

  resume(clusterId: string | null): Promise<void> {
    const printer = clusterId === null ? null : { clusterId, printerId: null };
    return this.ask({ kind: 'resume', clusterId }, (queue, deadline) => queue.resume(printer, deadline));
  }

  async plate(clusterId: string, printerId: string | null, good: boolean): Promise<void> {
    const { queue, machine } = this;
    let isConfirmed = false;
    await this.ask({ kind: 'plate', clusterId, printerId, good }, async (now, deadline) => {
      await now.plateCleared({ clusterId, printerId }, good, deadline);
      isConfirmed = true;
    });
    const before = this.#lastPrints(clusterId);
    const settled = this.#settled.size;
    if (isConfirmed)
      this.world.time.after(LATER, () => {
        const isSame = this.queue === queue && machine?.alive && machine.mount.faults.size === 0;
        // A print that was settled meanwhile closes the gates of all that could have taken it.
        const isSettled = this.#settled.size > settled;
        if (!isSame || isSettled || before === null || this.#lastPrints(clusterId) !== before) return;
        void queue?.explainQueue().then(
          (board) => machine?.alive && this.oracles.words.seeClear({ clusterId, printerId }, board),
          () => undefined,
        );
      });
  }

  /** Tells the last print of a cluster from later ones; null while one is there, and while the queue may not have seen its end. */
  #lastPrints(clusterId: string): string | null {
    const { world } = this.world.simulator;
    const cluster = world.listed().find((one) => one.clusterId === clusterId);
    if (!cluster || this.regrouped.has(cluster)) return null;
    const { queue, log, online, onlineSince } = cluster;
    const last = log.at(-1);
    const { at, now } = world.moment();
    const onlineAt = onlineSince === undefined ? 0 : now - (at - onlineSince) / world.timeFactor;
    const seenFrom = Math.max(last?.endedAt ?? 0, onlineAt, this.world.lostAt);
    if (!online || queue.length > 0 || this.world.time.truth() - seenFrom < LATER) return null;
    const path = clusterId.replace(/=+$/, '');
    const isRead = ({ path: of, status, at: readAt }: LoggedRequest) =>
      of.includes(path) && status === 200 && readAt > seenFrom;
    if (!this.world.simulator.requests.list('clusterStatus').some(isRead)) return null;
    // One that has vanished is in no list.
    const sent = this.world.printed.filter((print) => print.clusterId === clusterId).length;
    return `${sent} ${last?.uuid ?? ''}`;
  }

  /** Stops a print of the queue at its printer, as job control does. */
  async stop(client: Client | undefined, { clusterId, jobName, uuid }: World['printed'][number]): Promise<void> {
    const { machine } = this;
    if (!client || !machine?.alive || this.#stopped.has(uuid)) return;
    this.#stopped.add(uuid);
    const what = `stop of ${jobName}`;
    const deadline = new Deadline(machine.clock, { ms: 60 * SECOND });
    const request = { action: 'abort', data: {}, onStage: () => undefined, clusterId, clusterJobId: uuid, deadline };
    this.world.trace.add(`person: ${what}`);
    await client.jobControl.run(request).then(
      () => {
        if (!machine.alive) return;
        this.world.trace.add(`person: ${what} done`);
        const job = this.jobOf(uuid);
        if (job && !job.status.startsWith('abort') && job.printed >= job.timeTotal)
          throw new Broken(7, `${jobName} has finished (${job.status}), though its stop was answered as done`);
        if (job && /^(pre_print|printing|paus|resum)/.test(job.status))
          throw new Broken(7, `${jobName} goes on (${job.status}), though its stop was answered as done`);
        this.oracles.words.stopped(jobName.replace(/\.gcode$/, ''));
      },
      (thrown: unknown) => {
        const { code, message } = asPrintingError(thrown);
        if (machine.alive) this.world.trace.add(`person: ${what} refused: ${message}`);
        const job = this.jobOf(uuid);
        if (machine.alive && code === 'NOT_ACCEPTED' && job?.status === 'aborting')
          throw new Broken(7, `${jobName} is aborting, though its stop was not accepted`);
      },
    );
    deadline.end();
  }

  /** Makes a request; its refusal is one more fact of life. */
  async ask(request: Request, work: (queue: PrintQueue, deadline: Deadline) => Promise<unknown>): Promise<void> {
    const { trace } = this.world;
    const { queue, machine } = this;
    if (!queue || !machine?.alive) return;
    const what = JSON.stringify(request);
    const deadline = new Deadline(machine.clock, { ms: 600 * SECOND });
    trace.add(`person: ${what}`);
    const begun = this.oracles.words
      .ask(request, machine, () => work(queue, deadline))
      .then(
        () => machine.alive && trace.add(`person: ${what} done`),
        (thrown: unknown) => machine.alive && trace.add(`person: ${what} refused: ${asPrintingError(thrown).message}`),
      );
    await Promise.race([begun, this.#limit(601 * SECOND)]);
    deadline.end();
  }

  #limit = (ms: number): Promise<void> => new Promise((resolve) => this.world.time.after(ms, resolve));

  /** Takes the parts off that the board shows, with this probability each, and tells the queue of it. */
  async clearPlates(share: number, bad = 0): Promise<void> {
    const board = await this.queue?.explainQueue().catch(() => null);
    for (const { clusterId, printerId, plate } of board?.printers ?? []) {
      if (plate !== 'awaiting' || !this.chance.is(share)) continue;
      const isHere = this.world.simulator.world.listed().some((cluster) => cluster.clusterId === clusterId);
      // A printer that prints can't be cleared.
      if (!isHere || !this.oracles.floor.clear(clusterId, printerId)) continue;
      await this.plate(clusterId, printerId, !this.chance.is(bad));
    }
  }

  async list(): Promise<QueueItem[]> {
    const asked = this.queue?.list({ from: 0, limit: 100 }) ?? Promise.resolve([]);
    const items = await Promise.race([asked, this.#limit(100 * SECOND).then(() => [])]);
    for (const item of items) this.oracles.words.see(item);
    return items;
  }

  /** Looks after everything until nothing is left to do. */
  async finish(): Promise<void> {
    const { time, trace } = this.world;
    await time.until(this.resume(null), 700 * SECOND);
    for (const { clusterId } of this.world.simulator.world.listed())
      await time.until(this.resume(clusterId), 700 * SECOND);
    for (const item of this.added) await time.until(this.add(item), 700 * SECOND);
    for (let round = 0; round < ROUNDS; round++) {
      this.#round = round;
      await time.until(this.clearPlates(1), 700 * SECOND);
      const items = await this.#listed();
      if (items.length !== this.added.length) throw new Broken(1, `${items.length} items of ${this.added.length}`);
      if (this.#reused.size > 0) throw new Broken(3, `told about two plates: ${[...this.#reused].join(', ')}`);
      if (items.every((item) => this.#isOver(item))) return;
      for (const item of items) await time.until(this.help(item), 700 * SECOND);
      for (const { clusterId, printerId } of this.gone)
        await time.until(this.plate(clusterId, printerId, true), 700 * SECOND);
      await time.until(this.#judgeLeft(), 700 * SECOND);
      await time.pass(ROUND);
    }
    trace.add(JSON.stringify(await this.queue?.explainQueue()));
    const left = (await this.#listed()).filter((item) => !this.#isOver(item));
    throw new Broken(
      4,
      `not finished: ${left.map(({ queueKey, state, copies, prints }) => `${queueKey} ${state} ${JSON.stringify({ copies, prints })}`).join('; ')}`,
    );
  }

  /** Judges the parts on printers that have left the account, which the board shows. */
  async #judgeLeft(): Promise<void> {
    const board = await this.queue?.board().catch(() => null);
    const listed = new Set(board?.printers.map(({ clusterId }) => clusterId));
    for (const { kind, clusterId, printerId } of board?.todo ?? [])
      if (kind === 'plate' && clusterId !== null && !listed.has(clusterId))
        await this.plate(clusterId, printerId, true);
  }

  async #listed(): Promise<QueueItem[]> {
    let items: QueueItem[] = [];
    await this.world.time.until(
      this.list().then((all) => (items = all)),
      200 * SECOND,
    );
    return items;
  }

  #isOver({ state, queueKey }: QueueItem): boolean {
    return state === 'finished' || (this.removed.has(queueKey ?? '') && (state === 'cancelled' || state === 'failed'));
  }

  /** Does for an item what only a person can do. `word`: what the person says of a print, if not the truth. */
  async help(
    { queueKey, state, held, copies, prints, waitingFor }: QueueItem,
    word?: 'printed' | 'not-printed',
  ): Promise<void> {
    const key = queueKey ?? '';
    if (waitingFor.some(({ code }) => code === 'UPLOAD')) return this.change('remove', key);
    if (held || copies.held > 0) await this.change('release', key);
    if (copies.failed > 0 || state === 'blocked') await this.change('retry', key);
    const named = prints.flatMap((print) => print.clusterJobId ?? []);
    for (const { copy, attempt, state: print, clusterJobId, clusterId } of prints) {
      if (print !== 'unknown' || !this.queue || !this.machine?.alive) continue;
      const name = `${key}/${copy}/${attempt}`;
      const made = this.world.printed.filter((one) => {
        // The process may have been killed before it learned that this attempt was settled.
        const isOpen = (this.#settled.get(one.uuid) ?? name) === name;
        const isFree = one.clusterId === clusterId && !named.includes(one.uuid) && isOpen;
        return one.jobName === `${key}.gcode` && (one.uuid === clusterJobId || isFree);
      });
      const shown = made.flatMap((one) => this.jobOf(one.uuid) ?? []);
      // Whatever a poll can show, it shows, unless the printer has come back under another id.
      const isThere = this.world.simulator.world.listed().some((cluster) => cluster.clusterId === clusterId);
      if (shown.length > 0 && isThere && !word && this.#round < PATIENCE) continue;
      const uuids = made.map(({ uuid }) => uuid);
      // A printer that has joined another cluster has taken the part along.
      const isLeft = !isThere && this.oracles.floor.holds(uuids);
      const hasPrinted =
        isLeft || uuids.some((uuid) => this.vanished.get(uuid)) || shown.some(({ printed }) => printed > 0);
      const hasPart = word ? word === 'printed' : hasPrinted;
      // Something may lie on the plate, if not the part; a part closes the gate.
      if (!hasPart && this.world.simulator.world.listed().some((cluster) => cluster.clusterId === clusterId))
        this.oracles.floor.clear(clusterId);
      for (const uuid of uuids) this.#settled.set(uuid, name);
      await this.settle(key, copy, hasPart ? 'printed' : 'not-printed', hasPart ? uuids : []);
    }
  }

  /** A print that the service still shows. */
  jobOf(uuid: string): PrintJob | undefined {
    return this.world.simulator.world
      .clusters()
      .flatMap(({ queue, history }) => [...queue, ...history])
      .find((job) => job.uuid === uuid && job.deletedAt === null);
  }
}
