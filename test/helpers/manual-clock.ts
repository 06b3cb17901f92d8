import type { Clock } from '../../lib/time/clock';

/** A clock under the test's control: `advance` runs due timers in order and lets promises settle in between. */
export class ManualClock implements Clock {
  #now: number;
  #elapsed = 0;
  /** Pending timers in their order. */
  readonly #timers: { at: number; action: () => void }[] = [];

  constructor(start = Date.parse('2026-01-01T00:00:00.000Z')) {
    this.#now = start;
  }

  now = () => this.#now;
  monotonic = () => this.#elapsed;

  after = (ms: number, action: () => void) => {
    const timer = { at: this.#elapsed + Math.max(0, ms), action };
    this.#timers.splice(this.#timers.findLastIndex(({ at }) => at <= timer.at) + 1, 0, timer);
    return () => {
      const at = this.#timers.indexOf(timer);
      if (at >= 0) this.#timers.splice(at, 1);
    };
  };

  /** Sets the wall clock; no time passes. */
  set(now: number): void {
    this.#now = now;
  }

  /** Number of pending timers; 0 after a complete clean-up. */
  get waiting(): number {
    return this.#timers.length;
  }

  /** Delay until the next timer, ms; undefined without a timer. */
  get next(): number | undefined {
    return this.#timers[0] && this.#timers[0].at - this.#elapsed;
  }

  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    await settle();
    for (let [due] = this.#timers; due && due.at <= end; [due] = this.#timers) {
      this.step();
      await settle();
    }
    this.#turn(end);
  }

  /** Advances by `ms` during the work and returns its outcome. */
  async during<T>(ms: number, work: Promise<T>): Promise<T> {
    work.catch(() => undefined);
    await this.advance(ms);
    return work;
  }

  /** Advances to the next timer and runs it; waits for nothing. */
  step(): void {
    const due = this.#timers.shift();
    if (!due) return;
    this.#turn(due.at);
    due.action();
  }

  /** Stops the process for `ms`: every timer that falls due meanwhile runs late. */
  async stall(ms: number): Promise<void> {
    this.#turn(this.#elapsed + ms);
    await this.advance(0);
  }

  #turn(elapsed: number): void {
    const step = Math.max(0, elapsed - this.#elapsed);
    this.#elapsed += step;
    this.#now += step;
  }
}

/** Resources that bring no work: child processes, pipes to them, and real timers, which injected time replaces. */
const IDLE = new Set(['PipeWrap', 'TTYWrap', 'ProcessWrap', 'Timeout']);

/** Runs everything that is ready to run; fewer turns of the event loop suffice if nothing else can get ready. */
export async function settle(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (process.getActiveResourcesInfo().every((name) => IDLE.has(name))) return;
  }
}
