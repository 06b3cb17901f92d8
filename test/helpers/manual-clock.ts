import type { Clock } from '../../lib/time/clock';

/** A clock under the test's control: `advance` runs due timers in order and lets promises settle in between. */
export class ManualClock implements Clock {
  #now: number;
  #elapsed = 0;
  #timers: { at: number; action: () => void }[] = [];

  constructor(start = Date.parse('2026-01-01T00:00:00.000Z')) {
    this.#now = start;
  }

  now = () => this.#now;
  monotonic = () => this.#elapsed;

  after = (ms: number, action: () => void) => {
    const timer = { at: this.#elapsed + Math.max(0, ms), action };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
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
    return this.#timers.length ? Math.min(...this.#timers.map(({ at }) => at)) - this.#elapsed : undefined;
  }

  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    await settle();
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.#timers = this.#timers.filter((other) => other !== due);
      this.#turn(due.at);
      due.action();
      await settle();
    }
    this.#turn(end);
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

/** Runs everything that is ready to run. */
export async function settle(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
