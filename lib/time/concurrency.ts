import type { Clock } from './clock';
import { type Deadline, SharedDeadline } from './deadline';
import { guard } from './guard';

/** Limits the work in progress to `count`. Further work waits in the order of asking. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** @param urgent runs before all waiting work */
  async hold<T>(work: () => Promise<T>, urgent = false): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((begin) => (urgent ? this.#waiting.unshift(begin) : this.#waiting.push(begin)));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}

/** Maps `items` with at most `limit` of them in progress at a time. The results are in the order of the items. */
export async function mapConcurrent<T, R>(
  limit: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

/**
 * Runs `work` for one item after the other, each to its own end: a failure does not keep the others from theirs. Then throws
 * the first failure.
 */
export async function eachInTurn<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) await work(item).catch((thrown: unknown) => failures.push(thrown));
  if (failures.length > 0) throw failures[0];
}

/** Waits for all of several pieces of work, each to its own end. Then throws the first failure, in their order. */
export async function allToTheirEnds<T>(works: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(works);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}

/**
 * Waits for `work` during a grace period of `ms`. After that the work continues on its own. Never rejects: the work
 * reports its own failures.
 */
export function settledWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, resolve);
    const settled = () => {
      cancel();
      resolve();
    };
    work.then(settled, settled);
  });
}

type Work<Result, Progress> = (deadline: Deadline, report: (progress: Progress) => void) => Promise<Result>;

interface Caller<Progress> {
  /** Ends only this caller's wait, and throws its reason. */
  deadline: Deadline;
  onProgress?: (progress: Progress) => void;
}

interface Flight<Result, Progress> {
  result: Promise<Result>;
  callers: Set<Caller<Progress>>;
  last: Progress | undefined;
  controller: AbortController;
}

/**
 * Runs work once for all concurrent callers with the same key, in the time of the one that waits longest. Aborts it when
 * the last of them stops waiting.
 */
export class SingleFlight<Result, Progress = never> {
  readonly #flights = new Map<string, Flight<Result, Progress>>();

  /** Joins the work in progress for `key`, or begins it. A late caller first gets the last progress. */
  async join(key: string, work: Work<Result, Progress>, { ...caller }: Caller<Progress>): Promise<Result> {
    const { deadline, onProgress } = caller;
    deadline.signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#begin(key, work, deadline.clock);
    flight.callers.add(caller);
    if (flight.last !== undefined && onProgress) guard(onProgress)(flight.last);
    let leave: (() => void) | undefined;
    try {
      return await new Promise<Result>((resolve, reject) => {
        leave = deadline.whenOver(() => reject(deadline.signal.reason as Error));
        flight.result.then(resolve, reject);
      });
    } finally {
      leave?.();
      flight.callers.delete(caller);
      if (flight.callers.size === 0) {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
        flight.controller.abort(deadline.reason);
      }
    }
  }

  #begin(key: string, work: Work<Result, Progress>, clock: Clock): Flight<Result, Progress> {
    const controller = new AbortController();
    const callers: Flight<Result, Progress>['callers'] = new Set();
    const report = (progress: Progress) => {
      flight.last = progress;
      for (const { onProgress } of callers) if (onProgress) guard(onProgress)(progress);
    };
    const result = Promise.resolve().then(() => {
      const deadline = new SharedDeadline(clock, controller.signal, callers);
      return work(deadline, report).finally(() => deadline.end());
    });
    const flight: Flight<Result, Progress> = { result, callers, last: undefined, controller };
    this.#flights.set(key, flight);
    return flight;
  }
}

/**
 * Runs work that covers everything up to its start, such as a plan or a read: one run at a time, and one more after a run
 * in which another was requested. `work` must not reject.
 */
export class Rerun {
  readonly #work: () => Promise<void>;
  #isRequested = false;
  #running: Promise<void> | null = null;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** Begins a run, or requests another one. Resolves when none is left. Never rejects. */
  request(): Promise<void> {
    this.#isRequested = true;
    return (this.#running ??= this.#run());
  }

  async #run(): Promise<void> {
    while (this.#isRequested) {
      this.#isRequested = false;
      await this.#work();
    }
    this.#running = null;
  }
}

/** Does one read at a time. All who ask during a read share the next one, since that shows what was there when they asked. */
export class SharedRead<Result> {
  readonly #read: () => Promise<Result>;
  #reading: Promise<Result> | null = null;
  #next: Promise<Result> | null = null;

  constructor(read: () => Promise<Result>) {
    this.#read = read;
  }

  read(): Promise<Result> {
    if (!this.#reading) return this.#begin();
    const begin = () => this.#begin();
    return (this.#next ??= this.#reading.then(begin, begin));
  }

  #begin(): Promise<Result> {
    this.#next = null;
    const end = () => void (this.#reading = this.#next);
    this.#reading = this.#read();
    this.#reading.then(end, end);
    return this.#reading;
  }
}

/** Resolves in the next turn of the event loop, after pending timers and sockets. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Longest work on many entries before the event loop turns, ms. */
const STRETCH = 10;

/**
 * Divides work on many entries among turns of the event loop. Entries come from outside, so that neither their number nor
 * the time that one takes is known; await `next` before each.
 */
export class Turns {
  #since: number;
  #last: Promise<void> = Promise.resolve();

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {
    this.#since = clock.monotonic();
  }

  /** Resolves at once while the present turn is short, else in the next one; for several callers in the order of asking. */
  next(): Promise<void> {
    return (this.#last = this.#last.then(() => this.#turnIfLong()));
  }

  #turnIfLong(): Promise<void> | void {
    if (this.clock.monotonic() - this.#since < STRETCH) return;
    return nextTurn().then(() => void (this.#since = this.clock.monotonic()));
  }
}

/**
 * A deep copy of an answer's JSON. It may be a list of half a million values, so the event loop turns between its entries;
 * anything else is copied in a turn of its own, since reading it may have taken as long.
 */
export async function copyInTurns(data: unknown, clock: Pick<Clock, 'monotonic'>): Promise<unknown> {
  await nextTurn();
  if (!Array.isArray(data)) return copyOfJson(data);
  const turns = new Turns(clock);
  const copy: unknown[] = [];
  for (const entry of data as unknown[]) {
    await turns.next();
    copy.push(copyOfJson(entry));
  }
  return copy;
}

/**
 * A deep copy of JSON. `structuredClone` needs time in the square of the number of names for objects with many names that are
 * not in use yet: 170 ms for 45 objects of 1,000 names each.
 */
export const copyOfJson = (json: unknown): unknown =>
  typeof json === 'object' && json !== null ? (JSON.parse(JSON.stringify(json)) as unknown) : json;
