import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createSandbox } from 'sinon';
import { systemClock } from '../../lib/time/clock';
import { ManualClock } from './manual-clock';

/** Real ms that a request may take before time goes on without it: some are made to hang. */
const PATIENCE = 3_000;
/** The same for files, which never hang; but a busy machine can be slow with them. */
const FILE_PATIENCE = 60_000;
/** Turns of the event loop in which what has arrived is worked off. */
const TURNS = 30;
const BEGINS = 'undici:request:create';
const ENDS = ['undici:request:trailers', 'undici:request:error'];

/**
 * Puts a clock that is turned by hand in place of the system's, for nodes that are handed that one, while sockets and
 * files stay real: time goes on only when no request is under way and no file is being written. `restore` it at the end.
 */
export class TurnedTime {
  readonly #clock = new ManualClock(Date.now());
  readonly #sandbox = createSandbox();
  readonly #requests = new Set<unknown>();
  readonly #begin = (message: unknown) => this.#requests.add((message as { request: unknown }).request);
  readonly #end = (message: unknown) => this.#requests.delete((message as { request: unknown }).request);

  constructor() {
    for (const name of ['now', 'monotonic', 'after'] as const)
      this.#sandbox.replace(systemClock, name, this.#clock[name]);
    subscribe(BEGINS, this.#begin);
    for (const name of ENDS) subscribe(name, this.#end);
  }

  now = () => this.#clock.now();

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
    this.#sandbox.restore();
  }

  /** Real ms to wait for what is under way; 0 where nothing is. */
  #patience(): number {
    if (process.getActiveResourcesInfo().some((name) => /^(FS|Close)Req/.test(name))) return FILE_PATIENCE;
    return this.#requests.size > 0 ? PATIENCE : 0;
  }

  async #breathe(over = () => false): Promise<void> {
    const began = performance.now();
    for (let turn = 0; !over() && turn < TURNS; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (performance.now() - began < this.#patience()) turn = 0;
    }
  }
}
