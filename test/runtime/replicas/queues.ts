import { setTimeout as pause } from 'node:timers/promises';

import type { PrinterTarget, QueueExplanation, QueueItem } from '../../../lib/queue/model/types';
import type { Replica } from '../../../scripts/replica.mjs';
import type { Cluster, Simulator } from '../../../simulator/index';
import type { Chance } from '../../faults/chance';
import { ADD_TIMEOUT } from './flow';
import { QUEUES, TIME_FACTOR, type Queue } from './size';
import type { Added, Clearing, Dispatch, QueuePrinting, QueuesSeen } from './evidence';

/** Interval between two looks of the operator, ms. */
const LOOK = 1_000;
/** Timeout of a request of the operator, ms. */
const PATIENCE = 5_000;
/** Time for which the outcome of a copy is unknown before the operator settles it, ms: two polls show what is there. */
const DOUBT = 25_000;
/** Longest wait for a print to interrupt, ms. */
const AIM = 30_000;
/** Share of a print after which it may count as finished when it is interrupted. */
const EARLY = 0.5;

/**
 * Time after which the record of a print shows that it has begun, ms: a print that is aborted in its first second leaves
 * nothing on its plate, and looks like one that was removed before it began.
 */
const VISIBLE = 50;

/** States in which the part of a print is ready: those that wait for a clear plate, and all that name its end. */
const DONE = /wait_cleanup$|^(?:finished|failed|aborted)/;

interface World {
  simulator: Simulator;
  /** Printers of the queues. */
  clusters: () => Cluster[];
  /** Replicas that run, and those among them that no hazard hits. */
  running: () => readonly Replica[];
  healthy: () => readonly Replica[];
}

/** The items and prints of the replicas' queues, and their operator. */
export class Queues {
  readonly #world: World;
  readonly #added: Added[] = [];
  readonly #clearings: Clearing[] = [];
  readonly #dispatches: Dispatch[] = [];
  readonly #printings = new Map<string, QueuePrinting>();
  /** Items of each queue, as each replica lists them. */
  #lists: QueuesSeen['lists'] = [];
  readonly #settled = new Set<string>();
  readonly #inDoubt = new Map<string, number>();
  #turn = 0;
  #isOver = false;
  #work: Promise<void> = Promise.resolve();

  constructor(world: World) {
    this.#world = world;
  }

  start(): void {
    this.#work = this.#operate();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  /** Adds an item at all these replicas at once; `wait`: one message when it has ended. The answers become evidence. */
  add(item: Pick<Added, 'queue' | 'key' | 'copies' | 'seconds'>, replicas: readonly Replica[], isWait = false): void {
    for (const replica of replicas) {
      const added: Added = { ...item, replica: replica.number, at: Date.now(), isWait, itemId: null, failed: null };
      this.#added.push(added);
      void this.#send(added, replica);
    }
  }

  /** Repeats the message for each item that no replica has added, as the sender of an order would. */
  addAgain(): void {
    for (const key of new Set(this.#added.map((one) => one.key))) {
      const all = this.#added.filter((one) => one.key === key && !one.isWait);
      const [first] = all;
      const [replica] = this.#world.running();
      if (!first || !replica || all.some(({ itemId, failed }) => itemId !== null || failed === null)) continue;
      this.add(first, [replica]);
    }
  }

  /** Fails or aborts a queue's print that has just begun. Returns a description. */
  async interrupt(chance: Chance): Promise<string> {
    const kind = chance.pick(['fail', 'abort'] as const);
    for (const end = Date.now() + AIM; Date.now() < end && !this.#isOver; await pause(200))
      for (const { clusterId, queue } of this.#world.clusters())
        for (const { uuid, status, createdAt, timeTotal } of queue) {
          const elapsed = (TIME_FACTOR * (Date.now() - createdAt)) / 1000;
          if (status !== 'printing' || elapsed > EARLY * timeTotal) continue;
          await pause(VISIBLE);
          this.#world.simulator.world[kind](clusterId, uuid);
          return `a print ${kind}s`;
        }
    return `no print ${kind}s`;
  }

  /** Clusters of all queues. */
  get printers(): string[] {
    return this.#world.clusters().map(({ clusterId }) => clusterId);
  }

  /** Records a print that the service has accepted. */
  dispatched(dispatch: Dispatch): void {
    if (this.printers.includes(dispatch.clusterId)) this.#dispatches.push(dispatch);
  }

  look(): void {
    for (const { clusterId, queue, history, log } of this.#world.clusters()) {
      for (const { uuid, name, createdAt, status, printerUuid } of [...queue, ...history]) {
        const before = this.#printings.get(uuid);
        const key = name.replace(/\.gcode$/, '');
        const fresh = { uuid, key, clusterId, createdAt, startedAt: null, endedAt: null, outcome: null };
        const printerId = printerUuid ?? before?.printerId ?? null;
        const doneAt = before?.doneAt ?? (DONE.test(status) ? Date.now() : null);
        this.#printings.set(uuid, { ...fresh, ...before, printerId, doneAt });
      }
      for (const { uuid, status, startedAt, endedAt } of log) {
        const printing = this.#printings.get(uuid);
        if (printing) Object.assign(printing, { outcome: status, startedAt, endedAt });
      }
    }
  }

  get seen(): QueuesSeen {
    return {
      added: this.#added,
      clearings: this.#clearings,
      dispatches: this.#dispatches,
      printings: [...this.#printings.values()],
      printers: this.printers,
      members: new Map(this.#world.clusters().map(({ clusterId, printers }) => [clusterId, printers.length])),
      lists: this.#lists,
      settled: this.#settled,
    };
  }

  async #send(added: Added, replica: Replica): Promise<void> {
    const { queue, key, copies, seconds, isWait } = added;
    try {
      const body = { queueKey: key, orderId: key.replace(/-\d+$/, ''), copies, seconds };
      const answer = (await request(replica, `${isWait ? 'await' : 'add'}/${queue}`, body, ADD_TIMEOUT * 1_500)) as {
        itemId?: string;
        code?: string;
      };
      added.itemId = answer.itemId ?? null;
      added.failed = isWait ? null : (answer.code ?? null);
    } catch (error) {
      added.failed = String(error);
    }
  }

  /** Looks after the queues until the farm stops. */
  async #operate(): Promise<void> {
    for (; !this.#isOver; await pause(LOOK)) {
      const healthy = this.#world.healthy();
      const replica = healthy[this.#turn++ % healthy.length];
      await Promise.all(QUEUES.map((queue) => this.#tend(queue, replica).catch(() => undefined)));
      await this.#list();
    }
  }

  async #list(): Promise<void> {
    const at = Date.now();
    const lists = this.#world.running().flatMap((replica) =>
      QUEUES.map(async ({ id }) => {
        const items = await request(replica, `ask/${id}`, { action: 'list' }).catch(() => null);
        return { queue: id, replica: replica.number, at, items: Array.isArray(items) ? (items as QueueItem[]) : null };
      }),
    );
    this.#lists = await Promise.all(lists);
  }

  async #tend({ id }: Queue, replica: Replica | undefined): Promise<void> {
    if (!replica) return;
    const ask = (action: string, fields: object = {}) => request(replica, `ask/${id}`, { action, ...fields });
    const board = (await ask('explain')) as QueueExplanation;
    for (const { clusterId, printerId, plate } of board.printers)
      if (plate === 'awaiting') await this.#clear(id, { clusterId, printerId }, ask);
    for (const item of (await ask('list')) as QueueItem[]) {
      if (item.copies.held > 0) await ask('release', { itemId: item.itemId });
      if (item.copies.failed > 0) await ask('retry', { itemId: item.itemId });
      for (const print of item.prints) await this.#settle(item, print, ask);
    }
  }

  async #clear(queue: string, printer: PrinterTarget, ask: Ask): Promise<void> {
    const clearing: Clearing = { queue, ...printer, from: Date.now(), to: Infinity };
    this.#clearings.push(clearing);
    await ask('plate-cleared', printer);
    clearing.to = Date.now();
  }

  /** Says that a copy was not printed, once polls would have shown its print. */
  async #settle(item: QueueItem, { copy, attempt, state }: QueueItem['prints'][number], ask: Ask): Promise<void> {
    const name = `${item.itemId}/${copy}/${attempt}`;
    if (state !== 'unknown') return void this.#inDoubt.delete(name);
    const since = this.#inDoubt.get(name) ?? Date.now();
    this.#inDoubt.set(name, since);
    this.look();
    const known = item.prints.map(({ clusterJobId }) => clusterJobId);
    const isThere = [...this.#printings.values()].some(
      ({ uuid, key }) => key === item.queueKey && !known.includes(uuid),
    );
    // A poll has to show it.
    if (isThere || Date.now() - since < DOUBT) return;
    this.#settled.add(name);
    await ask('settle', { itemId: item.itemId, copy, outcome: 'not-printed' });
  }
}

type Ask = (action: string, fields?: object) => Promise<unknown>;

async function request(replica: Replica, path: string, body: object, ms = PATIENCE): Promise<unknown> {
  const response = await fetch(`${replica.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ms),
  });
  return response.json();
}
