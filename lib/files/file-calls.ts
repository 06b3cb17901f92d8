import { dirname } from 'node:path';
import type { Clock } from '../time/clock';
import { underDeadline, type Deadline } from '../time/deadline';

/** Most concurrent calls. Node-RED and all its nodes share libuv's four threads, so one thread always stays free. */
const MOST = 3;

/** Most of them for files of users, and for the state: a share that hangs leaves a thread to the state, and vice versa. */
const OF_A_KIND = 2;

/** Most calls that wait for a folder that hangs, or for any folder while all threads for files hang. Each may hold a chunk. */
const WAITING = 100;

/** Longest wait for the cleanup, ms. */
const MOMENT = 1_000;

/** What a call waits for: the calls in its folder, or no other call but those that occupy the threads. */
type Place = string | symbol;

/** A call that runs in a thread or waits for one. */
interface Turn {
  folder: Place;
  begin: () => void;
  /** Its deadline has expired before it returned. */
  abandoned: boolean;
}

const running = new Map<Place, Turn>();
const waiting: Turn[] = [];
const tidying = new Set<Promise<unknown>>();

/**
 * File-system calls on one path under a deadline: a hanging share blocks neither the work nor the thread pool. Calls in
 * one folder run one after the other, so a hanging folder occupies one thread. While an abandoned call hasn't returned,
 * further calls in its folder wait until their own deadlines, and those beyond `WAITING` fail at once.
 */
export class FileCalls {
  readonly #folder: string;

  constructor(
    path: string,
    private readonly deadline: Deadline,
  ) {
    this.#folder = dirname(path);
  }

  /**
   * Runs a call. `undo` gets the late result of an abandoned call, such as a handle to close. Throws the call's error,
   * the deadline's reason, or ETIMEDOUT if the file system hangs and too many calls wait for it.
   */
  run<T>(call: () => Promise<T>, undo?: (late: T) => Promise<unknown>): Promise<T> {
    return this.#run(call, WAITING, undo);
  }

  /**
   * The same for a call that its work can do without: throws ETIMEDOUT at once if the file system hangs, to leave the
   * deadline's time to the work.
   */
  runUnlessStalled<T>(call: () => Promise<T>, undo?: (late: T) => Promise<unknown>): Promise<T> {
    return this.#run(call, 0, undo);
  }

  /** `most`: calls that may wait while the file system hangs. */
  async #run<T>(call: () => Promise<T>, most: number, undo?: (late: T) => Promise<unknown>): Promise<T> {
    this.deadline.throwIfOver();
    if (isCrowded(this.#folder, most)) throw hangs();
    const { turn, result } = enter(this.#folder, call);
    try {
      return await this.deadline.wait(result);
    } catch (thrown) {
      this.#abandon(turn, result, undo);
      throw thrown;
    }
  }

  /** Runs a cleanup call, even after the deadline, which limits only the wait for it. Never throws. */
  async release(call: () => Promise<unknown>): Promise<void> {
    const done = track(enter(this.#folder, call).result);
    await this.deadline.wait(done).catch(nothing);
  }

  #abandon<T>(turn: Turn, result: Promise<T>, undo: ((late: T) => Promise<unknown>) | undefined): void {
    const at = waiting.indexOf(turn);
    // One that has not begun never does.
    if (at >= 0) return void waiting.splice(at, 1);
    turn.abandoned = true;
    // It may have returned already, at the moment in which the deadline ended.
    if (undo) void track(result.then((late) => enter(this.#folder, () => undo(late)).result));
  }
}

/**
 * Runs a call of the state store as soon as a thread may be occupied, so that a state folder that hangs leaves one free
 * for Node-RED. The call has no deadline, because the store must know how it ended, and must not wait for another one.
 */
export const inTurn = <T>(call: () => Promise<T>): Promise<T> => enter(Symbol('state'), call).result;

/** Waits briefly until the leftovers of abandoned work are removed. Never throws. */
export async function tidied(clock: Clock): Promise<void> {
  if (tidying.size === 0) return;
  await underDeadline(clock, { ms: MOMENT }, (limit) => limit.wait(Promise.all(tidying))).catch(nothing);
}

function track(work: Promise<unknown>): Promise<unknown> {
  const tracked = work.catch(nothing).finally(() => tidying.delete(tracked));
  tidying.add(tracked);
  return tracked;
}

const nothing = (): void => undefined;

function enter<T>(folder: Place, call: () => Promise<T>): { turn: Turn; result: Promise<T> } {
  const turn: Turn = { folder, begin: nothing, abandoned: false };
  // Waiting calls need an occupied folder or an occupied thread, so none goes before this one. Behind a second promise, each
  // chunk of a large upload would outlive a garbage collection.
  if (hasThread(folder)) return { turn, result: occupy(turn, call) };
  const begun = new Promise<void>((resolve) => (turn.begin = resolve));
  waiting.push(turn);
  return { turn, result: begun.then(() => occupy(turn, call)) };
}

/** Runs a call in its turn. */
async function occupy<T>(turn: Turn, call: () => Promise<T>): Promise<T> {
  running.set(turn.folder, turn);
  try {
    return await call();
  } finally {
    running.delete(turn.folder);
    beginNext();
  }
}

function beginNext(): void {
  for (let at = 0; at < waiting.length && running.size < MOST;) {
    const turn = waiting[at] as Turn;
    if (!hasThread(turn.folder)) at++;
    else {
      waiting.splice(at, 1);
      running.set(turn.folder, turn);
      turn.begin();
    }
  }
}

const hasThread = (place: Place): boolean =>
  running.size < MOST && !running.has(place) && ofKind(place).length < OF_A_KIND;

/** The running calls for files of users, or for the state. */
const ofKind = (place: Place): Turn[] => [...running.values()].filter(({ folder }) => typeof folder === typeof place);

/** The cause that stalls a call in the folder: the folder itself, all threads for files of users, or none. */
function stallOf(folder: string): 'folder' | 'threads' | null {
  if (running.get(folder)?.abandoned) return 'folder';
  const files = ofKind(folder);
  return files.length >= OF_A_KIND && files.every(({ abandoned }) => abandoned) ? 'threads' : null;
}

/** Whether a call in the folder is stalled, and at least `most` calls wait for the same. */
function isCrowded(folder: string, most: number): boolean {
  const stall = stallOf(folder);
  if (stall === null) return false;
  const isSame = (turn: Turn) => (stall === 'folder' ? turn.folder === folder : typeof turn.folder === 'string');
  return waiting.filter(isSame).length >= most;
}

const hangs = (): Error => Object.assign(new Error('The file system does not answer.'), { code: 'ETIMEDOUT' });
