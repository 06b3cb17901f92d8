import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import { createSandbox } from 'sinon';
import { systemClock } from '../../lib/time/clock';
import { ManualClock } from './manual-clock';

/**
 * ms of this process's own work for which time waits for a request without a sign of life; some are made to hang. Client
 * and service share the process, so a machine that leaves it no time takes none of this either.
 */
const PATIENCE = 1_000;
/** Real ms for work in threads, which never hangs; but a busy machine can be slow with it. */
const THREAD_PATIENCE = 60_000;
/** Turns of the event loop in which what has arrived is worked off. */
const TURNS = 30;
const BEGINS = 'undici:request:create';
const ENDS = ['undici:request:trailers', 'undici:request:error'];
const GOES_ON = ['undici:request:bodyChunkSent', 'undici:request:bodyChunkReceived'];
/** Bytes at once that are a sign of life; less may be an answer that trickles. */
const ALIVE = 4_096;
/** Files, and modules that are loaded when they are needed. */
const THREADS = /^(FS|Close)Req|^MessagePort$/;

/**
 * Puts a clock that is turned by hand in place of the system's, for nodes that are handed that one, while sockets and
 * files stay real: time goes on only when no request is under way and no file is being written. `restore` it at the end.
 */
export class TurnedTime {
  readonly #clock: ManualClock;
  readonly #sandbox = createSandbox();
  /** Requests under way, each with the work of this process (ms) at its last sign of life. */
  readonly #requests = new Map<unknown, number>();
  #packing = 0;
  readonly #begin = (message: unknown) => this.#requests.set((message as About).request, ownWork());
  readonly #end = (message: unknown) => this.#requests.delete((message as About).request);
  readonly #goOn = (message: unknown) => {
    const { request, chunk } = message as About & { chunk: { length: number } };
    if (chunk.length >= ALIVE && this.#requests.has(request)) this.#requests.set(request, ownWork());
  };

  /** `start`: what the clock on the wall shows, ms since 1970. */
  constructor(start = Date.now()) {
    this.#clock = new ManualClock(start);
    for (const name of ['now', 'monotonic', 'after'] as const)
      this.#sandbox.replace(systemClock, name, this.#clock[name]);
    const { prototype } = (zlib as unknown as { Gzip: { prototype: Transform } }).Gzip;
    const pack = prototype._transform;
    const begin = () => this.#packing++;
    const end = () => this.#packing--;
    this.#sandbox.replace(prototype, '_transform', function (this: Transform, chunk, encoding, over) {
      begin();
      pack.call(this, chunk, encoding, (...result) => {
        end();
        over(...result);
      });
    });
    subscribe(BEGINS, this.#begin);
    for (const name of ENDS) subscribe(name, this.#end);
    for (const name of GOES_ON) subscribe(name, this.#goOn);
  }

  now = () => this.#clock.now();

  /** Sets what the clock on the wall shows; no time passes. */
  set(now: number): void {
    this.#clock.set(now);
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.#clock.waiting;
  }

  /** Turns on until `wanted` is there. */
  async until<T>(wanted: Promise<T>): Promise<T> {
    let over = false;
    const end = () => (over = true);
    wanted.then(end, end);
    while (!over) {
      await this.#breathe(() => over);
      const { next } = this.#clock;
      if (!over && next !== undefined) await this.#clock.advance(next);
    }
    return wanted;
  }

  /** Lets `seconds` pass, with everything that falls due in them. */
  async pass(seconds: number): Promise<void> {
    const end = this.#clock.monotonic() + seconds * 1000;
    const left = () => end - this.#clock.monotonic();
    await this.#breathe();
    for (let { next } = this.#clock; next !== undefined && next <= left(); { next } = this.#clock) {
      await this.#clock.advance(next);
      await this.#breathe();
    }
    await this.#clock.advance(left());
  }

  /** Until no request is under way and no file is being written. */
  settled(): Promise<void> {
    return this.#breathe();
  }

  restore(): void {
    unsubscribe(BEGINS, this.#begin);
    for (const name of ENDS) unsubscribe(name, this.#end);
    for (const name of GOES_ON) unsubscribe(name, this.#goOn);
    this.#sandbox.restore();
  }

  async #breathe(over = () => false): Promise<void> {
    const began = performance.now();
    for (let turn = 0; !over() && turn < TURNS; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      const patient = performance.now() - began < THREAD_PATIENCE;
      if (this.#requestAlive() || (patient && this.#threadsWork())) turn = 0;
    }
  }

  /** Node does some of its work in threads of its own. */
  #threadsWork(): boolean {
    if (process.getActiveResourcesInfo().some((name) => THREADS.test(name))) return true;
    return this.#packing > 0;
  }

  #requestAlive(): boolean {
    if (this.#requests.size === 0) return false;
    const now = ownWork();
    return [...this.#requests.values()].some((seen) => now - seen < PATIENCE);
  }
}

interface About {
  request: unknown;
}

/** ms for which this process has had a processor so far. */
function ownWork(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
