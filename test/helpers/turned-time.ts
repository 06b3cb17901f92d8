import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';
import { createSandbox } from 'sinon';
import { systemClock } from '../../lib/time/clock';
import { ManualClock } from './manual-clock';

/**
 * How long time waits for a request without a sign of life, in naps of at least 1 ms: some requests are made to hang.
 * Client and service share the process, so a starved process takes no naps.
 */
const PATIENCE = 500;
/** Turns of the event loop before a nap, which leaves the processor to threads and to other processes. */
const AWAKE = 20;
/** Longest wait for work in threads, real ms. Such work never hangs, but a busy machine can delay it. */
const THREAD_PATIENCE = 60_000;
/** Turns of the event loop that process the data received so far. */
const TURNS = 50;
const BEGINS = 'undici:request:create';
const ENDS = ['undici:request:trailers', 'undici:request:error'];
const CHUNKS = ['undici:request:bodyChunkSent', 'undici:request:bodyChunkReceived'];
/** Bytes in one chunk that count as a sign of life; a smaller chunk may belong to a trickling answer. */
const ALIVE = 4_096;
/** Work on files, and modules that load on demand. */
const THREADS = /^(FS|Close)Req|^MessagePort$/;

/**
 * Replaces the system's clock by a manual one, while sockets and files stay real: time advances only while no request
 * is in flight and no file is being written. Call `restore` at the end.
 */
export class TurnedTime {
  readonly #clock: ManualClock;
  readonly #sandbox = createSandbox();
  #naps = 0;
  /** Requests in flight, each with the number of naps before its last sign of life. */
  readonly #requests = new Map<unknown, number>();
  #packing = 0;
  readonly #begin = (message: unknown) => this.#requests.set((message as About).request, this.#naps);
  readonly #end = (message: unknown) => this.#requests.delete((message as About).request);
  readonly #chunk = (message: unknown) => {
    const { request, chunk } = message as About & { chunk: { length: number } };
    if (chunk.length >= ALIVE && this.#requests.has(request)) this.#requests.set(request, this.#naps);
  };

  /** `start`: initial wall-clock time, ms since 1970. */
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
    for (const name of CHUNKS) subscribe(name, this.#chunk);
  }

  now = () => this.#clock.now();

  /** Sets the wall clock; no time passes. */
  set(now: number): void {
    this.#clock.set(now);
  }

  /** Number of pending timers. */
  get waiting(): number {
    return this.#clock.waiting;
  }

  /** Advances time until `wanted` settles. */
  async until<T>(wanted: Promise<T>): Promise<T> {
    let settled = false;
    const end = () => (settled = true);
    wanted.then(end, end);
    while (!settled) {
      await this.#breathe(() => settled);
      const { next } = this.#clock;
      if (!settled && next !== undefined) this.#clock.step();
    }
    return wanted;
  }

  /** Advances time by `seconds`, and runs everything that falls due. */
  async pass(seconds: number): Promise<void> {
    const end = this.#clock.monotonic() + seconds * 1000;
    const left = () => end - this.#clock.monotonic();
    await this.#breathe();
    for (let { next } = this.#clock; next !== undefined && next <= left(); { next } = this.#clock) {
      this.#clock.step();
      await this.#breathe();
    }
    await this.#clock.advance(left());
  }

  /** Resolves once no request is in flight and no file is being written. */
  settled(): Promise<void> {
    return this.#breathe();
  }

  restore(): void {
    unsubscribe(BEGINS, this.#begin);
    for (const name of ENDS) unsubscribe(name, this.#end);
    for (const name of CHUNKS) unsubscribe(name, this.#chunk);
    this.#sandbox.restore();
  }

  async #breathe(isEnough = () => false): Promise<void> {
    const began = performance.now();
    for (let turn = 0, busy = 0; !isEnough() && turn < TURNS; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      const patient = performance.now() - began < THREAD_PATIENCE;
      if (!this.#requestAlive() && !(patient && this.#threadsWork())) continue;
      turn = 0;
      if (++busy > AWAKE) await this.#nap();
    }
  }

  async #nap(): Promise<void> {
    await sleep(1);
    this.#naps++;
  }

  /** Whether threads of Node.js are busy. */
  #threadsWork(): boolean {
    if (process.getActiveResourcesInfo().some((name) => THREADS.test(name))) return true;
    return this.#packing > 0;
  }

  #requestAlive(): boolean {
    return [...this.#requests.values()].some((seen) => this.#naps - seen < PATIENCE);
  }
}

interface About {
  request: unknown;
}
