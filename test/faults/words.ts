import type { QueueExplanation, QueueItem } from '../../lib/queue/model/types';
import { asPrintingError } from '../../lib/service/errors';
import type { Machine, Printed, World } from './machine';
import { Broken } from './trace';

/** A request of a person to a queue. `key`: of the item that it names. */
export type Request =
  | { kind: 'add'; key: string; copies: number }
  | { kind: 'hold' | 'release' | 'remove' | 'retry' | 'move'; key: string }
  | { kind: 'update'; key: string; changes: Partial<Record<Field, number | boolean>> & { notBefore?: number } }
  | { kind: 'settle'; key: string; copy: number; outcome: 'printed' | 'not-printed' }
  | { kind: 'pause'; clusterId: string | null; until: number | null }
  | { kind: 'resume'; clusterId: string | null }
  | { kind: 'plate'; clusterId: string; printerId: string | null; good: boolean };

type Plate = Extract<Request, { kind: 'plate' }>;

/** What people alone decide of an item. */
type Field = 'held' | 'copies' | 'priority';

/** Values that a field may have, as far as the answers say. */
interface Known {
  possible: Set<unknown>;
  /** Requests that may change it at this moment. */
  open: number;
  /** Number of requests so far. */
  asked: number;
}

/** A promise that nothing is sent. Places in the order of `World.next`. */
interface Quiet {
  what: string;
  /** Which requests end it. */
  kind: 'hold' | 'start' | 'remove' | 'stop' | 'pause';
  /** Null: no item at all. */
  key: string | null;
  /** Null: nowhere. */
  clusterId: string | null;
  from: number;
  /** `elapsed`. */
  madeAt: number;
  /** The request that ends it. */
  to: number;
  /** Time of the machine's clock that ends it; null: none does. */
  until: number | null;
  /** Prints that may still appear, though their calls left before: the answer says that they are in doubt. */
  late: number;
}

type NewQuiet = Pick<Quiet, 'kind' | 'what' | 'key'> & Partial<Quiet>;

/** A request whose answer is open, and those that were open at the same time: nobody knows which of them came first. */
interface Open {
  request: Request;
  machine: Machine;
  beside: Request[];
}

/** Refusals after which nothing has changed. */
const UNCHANGED = ['QUEUE_ITEM_BUSY', 'QUEUE_ITEM_NOT_FOUND', 'NOT_ACCEPTED', 'INVALID_INPUT'];
/** States of attempts whose print may still show up. */
const IN_DOUBT = ['unknown', 'recalled'];
/** States of attempts that stand for their copy: only one of them may do so. */
const STANDING = ['assigned', 'dispatched', 'printing', 'unknown', 'finished'];
/** Latencies until a call that leaves has a connection: a pause does not stop it any more. */
const CONNECTING = 3;

/**
 * Oracle of the answers: each one promises something to the person who got it, and what happens after it must keep that
 * (print queue, 3 to 5). It knows the answers, the calls that left the machine, and the prints that the service made.
 */
export class Words {
  readonly #fields = new Map<string, Record<Field, Known>>();
  readonly #quiet: Quiet[] = [];
  readonly #asked = new Set<Open>();
  /** Ids of the items whose `add` was answered, by key. */
  readonly #added = new Map<string, string>();
  /** Attempts that a person has settled as printed, by item: the copy, and its last attempt. */
  readonly #settled = new Map<string, { copy: number; attempt: number }[]>();
  /** Items of which a person may have rejected a part: the request names a plate. */
  readonly #rejected = new Set<string>();
  /** Reasons to print an item once more, which people gave. */
  readonly #more = new Map<string, number>();
  /** Largest number of copies that each item may ever have had. */
  readonly #most = new Map<string, number>();
  /** Number of answers that were held against what followed. */
  checked = 0;
  #broken: Broken | undefined;

  constructor(private readonly world: World) {
    world.onPrinted.push((printed) => this.#printed(printed));
  }

  /** Makes a request. Rejects as it does; a machine that has ended meanwhile has answered nothing. */
  async ask<T>(request: Request, machine: Machine, work: () => Promise<T>): Promise<T> {
    const opened = this.#open(request);
    this.#weaken(request);
    const others = [...this.#asked].filter((one) => one.machine.alive);
    const open: Open = { request, machine, beside: others.map((one) => one.request) };
    for (const { beside } of others) beside.push(request);
    this.#asked.add(open);
    try {
      const answer = await work();
      if (machine.alive) this.#answered(open, answer);
      for (const close of opened) close(!machine.alive ? 'lost' : isMoot(request, answer) ? 'unchanged' : 'done');
      return answer;
    } catch (thrown) {
      const isUnchanged = machine.alive && UNCHANGED.includes(asPrintingError(thrown).code);
      for (const close of opened) close(isUnchanged ? 'unchanged' : 'lost');
      throw thrown;
    } finally {
      this.#asked.delete(open);
    }
  }

  /** Compares an item as the queue shows it now with what it has answered. */
  see(item: QueueItem): void {
    const key = item.queueKey ?? '';
    const known = this.#fields.get(key);
    const shown = { held: item.held, copies: item.copies.total, priority: item.priority };
    for (const field of ['held', 'copies', 'priority'] as const)
      if (known && !known[field].possible.has(shown[field]))
        this.#break(
          `${key}: ${field} is ${shown[field]}, but was answered as ${[...known[field].possible].join(' or ')}`,
        );
    const itemId = this.#added.get(key);
    if (itemId !== undefined && itemId !== item.itemId) this.#break(`${key} is another item than its answer named`);
    for (let copy = 1; copy <= item.copies.total; copy++) {
      const prints = item.prints.filter((print) => print.copy === copy);
      const standing = prints.filter(({ state }) => STANDING.includes(state));
      if (standing.length > 1) this.#break(`${key}/${copy} has ${standing.length} attempts that stand for it`);
      const all = this.#settled.get(key) ?? [];
      const settled = all.findLast((one) => one.copy === copy);
      if (!settled) continue;
      const print = prints.find(({ attempt }) => attempt === settled.attempt);
      // Later prints may displace it in the item.
      if (print && this.#isRejected(key, print))
        this.#settled.set(
          key,
          all.filter((one) => one !== settled),
        );
      else if (prints.some(({ attempt }) => attempt > settled.attempt))
        this.#break(`${key}/${copy} is sent again, though it was settled as printed`);
    }
  }

  /** A person has stopped the only print of an item, and the answer said that it was done: nothing is sent for it. */
  stopped(key: string): void {
    const open = [...this.#asked].filter(({ machine }) => machine.alive).map(({ request }) => request);
    if ([...(this.#fields.get(key)?.copies.possible ?? [])].every((copies) => copies === 1))
      this.#promise({ kind: 'stop', what: `the stop of ${key}`, key }, open);
  }

  check(): void {
    if (this.#broken) throw this.#broken;
  }

  /** Notes the values that a request may give to an item's fields. The returned functions end that. */
  #open(request: Request): ((how: 'done' | 'unchanged' | 'lost') => void)[] {
    if (request.kind === 'add' && !this.#fields.has(request.key)) {
      const known = (value: unknown): Known => ({ possible: new Set([value]), open: 0, asked: 0 });
      this.#fields.set(request.key, { held: known(false), copies: known(request.copies), priority: known(0) });
      this.#most.set(request.key, request.copies);
    }
    return Object.entries(wantedBy(request)).map(([field, value]) => {
      const known = this.#fields.get((request as { key: string }).key)?.[field as Field];
      if (!known) return () => undefined;
      const before = new Set(known.possible);
      const asked = ++known.asked;
      const wasAlone = known.open++ === 0;
      known.possible.add(value);
      return (how) => {
        known.open--;
        // Of several at a time, nobody knows which came last.
        if (!wasAlone || known.asked !== asked) return;
        if (how === 'unchanged') known.possible = before;
        if (how === 'done') known.possible = new Set([value]);
      };
    });
  }

  /** Ends the promises that a request takes back: it may have its effect before its answer. */
  #weaken(request: Request): void {
    const to = this.world.next();
    for (const quiet of this.#quiet) if (quiet.to === Infinity && takesBack(request, quiet)) quiet.to = to;
    const more = (key: string, count = 1) => this.#more.set(key, (this.#more.get(key) ?? 0) + count);
    if (request.kind === 'plate' && !request.good) {
      // Whose part it was, the person does not say. It may be that of a print in doubt, which somebody settles later.
      for (const key of this.#fields.keys()) {
        this.#rejected.add(key);
        more(key);
      }
    }
    if (request.kind === 'settle' && request.outcome === 'not-printed') more(request.key);
    if (request.kind === 'update') {
      const { copies } = request.changes;
      if (typeof copies === 'number')
        this.#most.set(request.key, Math.max(copies, this.#most.get(request.key) ?? copies));
    }
  }

  #answered({ request, machine, beside }: Open, answer: unknown): void {
    this.checked++;
    const promise = (quiet: NewQuiet) => this.#promise(quiet, beside);
    if (request.kind === 'pause') {
      const { clusterId, until } = request;
      const what = `the pause of ${clusterId ?? 'the queue'}`;
      promise({ kind: 'pause', what, key: null, clusterId, until, late: Infinity });
    }
    if (request.kind === 'add') return this.#known(request.key, answer as { item: QueueItem; duplicate: boolean });
    if (!('key' in request)) return;
    const [item] = answer as QueueItem[];
    if (!item) return this.#break(`${request.kind} of ${request.key} was answered with nothing`);
    const { kind, key } = request;
    const late = item.prints.filter(({ state }) => IN_DOUBT.includes(state)).length;
    const hasEnded = item.endedAt !== null;
    if (kind === 'hold' && !item.held && !hasEnded) this.#break(`${key} is not held after the answer to hold`);
    if (kind === 'release' && (item.held || item.copies.held > 0))
      this.#break(`${key} is held after the answer to release`);
    if (kind === 'retry' && item.copies.failed > 0) this.#break(`${key} has failed copies after the answer to retry`);
    if (kind === 'remove' && item.copies.waiting + item.copies.held > 0)
      this.#break(`${key} has copies that wait after the answer to remove`);
    // An item that has ended needs no hold: a later reopening begins without one.
    if (kind === 'remove' || (kind === 'hold' && item.held)) promise({ kind, what: `${kind} of ${key}`, key, late });
    if (kind === 'update' && request.changes.held === true)
      promise({ kind: 'hold', what: `hold of ${key}`, key, late });
    const { notBefore } = kind === 'update' ? request.changes : {};
    if (notBefore !== undefined && notBefore > machine.clock.now())
      promise({ kind: 'start', what: `the start of ${key}`, key, late, until: notBefore });
    if (kind === 'settle') this.#settles(request, item);
  }

  #settles({ key, copy, outcome }: Extract<Request, { kind: 'settle' }>, item: QueueItem): void {
    const prints = item.prints.filter((print) => print.copy === copy);
    const last = prints.at(-1);
    if (!last || prints.some(({ state }) => state === 'unknown'))
      return this.#break(`${key}/${copy} is in doubt after it was settled`);
    if (outcome === 'not-printed' && last.state === 'finished')
      this.#break(`${key}/${copy} is finished, though it was settled as not printed`);
    if (outcome === 'not-printed') return;
    if (last.state !== 'finished' && !this.#isRejected(key, last))
      this.#break(`${key}/${copy} is ${last.state}, though it was settled as printed`);
    this.#settled.set(key, [...(this.#settled.get(key) ?? []), { copy, attempt: last.attempt }]);
  }

  /** Whether a print is rejected, and a person may have said so. */
  #isRejected(key: string, { state }: Pick<QueueItem['prints'][number], 'state'>): boolean {
    return state === 'rejected' && this.#rejected.has(key);
  }

  /** Holds a later view of the printers against a confirmed plate, on which nothing has been printed since. */
  seeClear({ clusterId, printerId }: Pick<Plate, 'clusterId' | 'printerId'>, { printers }: QueueExplanation): void {
    const found = printers.find((one) => one.clusterId === clusterId && one.printerId === printerId);
    if (found?.plate === 'awaiting') this.#break(`the plate of ${found.clusterName} waits after it was confirmed`);
  }

  #known(key: string, { item, duplicate }: { item: QueueItem; duplicate: boolean }): void {
    const itemId = this.#added.get(key);
    if (itemId !== undefined && !duplicate) this.#break(`${key} was added twice`);
    this.#added.set(key, itemId ?? item.itemId);
    this.see(item);
  }

  /** @param beside requests that were open at the same time */
  #promise(quiet: NewQuiet, beside: readonly Request[]): void {
    const made = { from: this.world.next(), madeAt: this.world.time.elapsed, to: Infinity };
    const promised: Quiet = { clusterId: null, until: null, late: 0, ...made, ...quiet };
    if (!beside.some((request) => takesBack(request, promised))) this.#quiet.push(promised);
  }

  /** Holds a print of the service against everything that was promised before. */
  #printed(printed: Printed): void {
    const { jobName, clusterId, left, order } = printed;
    const key = jobName.replace(/\.gcode$/, '');
    for (const quiet of this.#quiet) {
      const concerns = (quiet.key ?? key) === key && (quiet.clusterId ?? clusterId) === clusterId;
      if (!concerns || order < quiet.from || left.order > quiet.to || this.#isOver(quiet)) continue;
      const isAfter = left.order > quiet.from;
      const isLeaving = quiet.key === null && left.at <= quiet.madeAt + CONNECTING * this.world.wire.latency;
      if (isAfter && !isLeaving) this.#break(`${jobName} was sent after the answer to ${quiet.what}`);
      else if (!isAfter && --quiet.late < 0) this.#break(`${jobName} was on its way at the answer to ${quiet.what}`);
    }
    this.#count(key);
  }

  /** No item is printed more often than its copies and what has become of their prints explain. */
  #count(key: string): void {
    const most = this.#most.get(key);
    if (most === undefined) return;
    const all = this.world.printed.filter(({ jobName }) => jobName === `${key}.gcode`);
    const jobs = new Map(
      this.world.simulator.world
        .listed()
        .flatMap(({ queue, history }) => [...queue, ...history].map((job) => [job.uuid, job])),
    );
    const lost = all.filter(({ uuid }) => {
      const job = jobs.get(uuid);
      // What is gone from all lists has no end.
      return job?.deletedAt !== null || /^(abort|fail|error)/.test(job.status) || isPartial(job);
    });
    const owed = most + lost.length + (this.#more.get(key) ?? 0);
    if (all.length > owed) this.#break(`${key}: ${all.length} prints, but only ${owed} were owed`);
  }

  /** Whether the clock of the machine has ended a promise, or was wrong since. */
  #isOver({ until }: Quiet): boolean {
    if (until === null) return false;
    return this.world.machines.some(({ clock }) => clock.offset !== 0 || clock.jumps > 0 || clock.now() >= until);
  }

  #break(sentence: string): void {
    this.world.trace.add(`broken: ${sentence}`);
    this.#broken ??= new Broken(7, sentence);
  }
}

/** Values that a request gives to the fields of its item. */
function wantedBy(request: Request): Partial<Record<Field, number | boolean>> {
  switch (request.kind) {
    case 'hold':
      return { held: true };
    case 'release':
      return { held: false };
    case 'update': {
      const { notBefore: _, ...fields } = request.changes;
      return fields;
    }
    default:
      return {};
  }
}

/** Whether a request takes back a promise. */
function takesBack(request: Request, { kind, key, clusterId }: Quiet): boolean {
  if (request.kind === 'resume') return key === null && (clusterId === request.clusterId || request.clusterId === null);
  if (request.kind === 'pause') return key === null && clusterId === request.clusterId;
  // Whose part it was, the person does not say.
  if (request.kind === 'plate') return kind === 'remove' && !request.good;
  if (request.key !== key) return false;
  const changes = request.kind === 'update' ? request.changes : {};
  if (kind === 'start') return changes.notBefore !== undefined;
  if (kind === 'hold') return request.kind === 'release' || changes.held === false;
  return ['release', 'retry', 'update'].includes(request.kind);
}

/** Whether an answer says that its item has ended, so that there is nothing to hold. */
const isMoot = ({ kind }: Request, answer: unknown): boolean =>
  kind === 'hold' && (answer as QueueItem[])[0]?.endedAt !== null;

/** Whether a print has ended, or waits for a clear plate, before its time was over. */
const isPartial = ({ status, printed, timeTotal }: { status: string; printed: number; timeTotal: number }): boolean =>
  status.endsWith('wait_cleanup') && printed < timeTotal;
