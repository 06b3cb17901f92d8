import type { Clock } from '../../../lib/time/clock';
import type { Activity } from './activity';

interface Timer {
  at: number;
  order: number;
  action: () => void;
  /** Machine that owns the timer, or null. Timers of a stopped machine never fire. */
  of: MachineClock | null;
}

const START = Date.parse('2026-03-01T12:00:00.000Z');
export const DAY = 24 * 3600_000;

/** The single time of a run. It advances from timer to timer, and only when no work is in flight. */
export class InjectedTime {
  #elapsed = 0;
  /** Total time for which the machine was suspended. */
  #slept = 0;
  #order = 0;
  #timers: Timer[] = [];

  constructor(private readonly activity: Activity) {}

  /** ms since the start of the run, without suspended time. */
  get elapsed(): number {
    return this.#elapsed;
  }

  /** Time on the service's clocks. */
  truth = (): number => START + this.#elapsed + this.#slept;

  after(ms: number, action: () => void, of: MachineClock | null = null): () => void {
    const timer = { at: this.#elapsed + Math.max(0, ms), order: this.#order++, action, of };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Number of a machine's pending timers. */
  waiting(of: MachineClock): number {
    return this.#timers.filter((timer) => timer.of === of).length;
  }

  drop(of: MachineClock): void {
    this.#timers = this.#timers.filter((timer) => timer.of !== of);
  }

  /**
   * Suspends the machine for `ms` while the world continues. On some systems the monotonic clock stops meanwhile; on
   * others (`counted`) it runs, so every pending timer is overdue at once.
   */
  suspend(ms: number, counted: boolean): void {
    this.#slept += ms;
    if (!counted) return;
    for (const timer of this.#timers) if (timer.of) timer.at = Math.max(this.#elapsed, timer.at - ms);
    for (const clock of new Set(this.#timers.flatMap(({ of }) => of ?? []))) clock.suspended(ms);
  }

  /** Advances time by `ms` and fires every timer that falls due. */
  async pass(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    do await this.activity.quiet();
    while (this.#fire(end));
    this.#elapsed = end;
  }

  /** Advances time until `wanted` settles, by at most `ms`. Returns whether it settled. */
  async until(wanted: Promise<unknown>, ms: number): Promise<boolean> {
    let over = false;
    const done = () => {
      over = true;
      this.activity.touch();
    };
    wanted.then(done, done);
    const end = this.#elapsed + ms;
    for (;;) {
      await this.activity.quiet();
      if (over) return true;
      if (!this.#fire(end)) break;
    }
    this.#elapsed = end;
    return over;
  }

  /** Advances to the next timer if it is due by `end`. Returns whether it was. Requires that no work is in flight. */
  #fire(end: number): boolean {
    let next: Timer | undefined;
    for (const timer of this.#timers)
      if (!next || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer;
    if (!next || next.at > end) return false;
    const due = next;
    this.#timers = this.#timers.filter((other) => other !== due);
    this.#elapsed = Math.max(this.#elapsed, due.at);
    if (due.of) this.activity.measure('a timer', due.action);
    else due.action();
    return true;
  }
}

/** Clocks of one machine. Its wall clock may be wrong and may be corrected at any time. */
export class MachineClock implements Clock {
  /** Steps of the wall clock by at least a day. */
  jumps = 0;
  #slept = 0;
  #stopped = false;
  #offset: number;

  constructor(
    private readonly time: InjectedTime,
    offset: number,
  ) {
    this.#offset = offset;
  }

  /** Wall clock minus true time, ms. The clock of a stopped machine keeps its last one. */
  get offset(): number {
    return this.#offset;
  }

  set offset(offset: number) {
    if (this.#stopped) return;
    if (Math.abs(offset - this.#offset) >= DAY) this.jumps++;
    this.#offset = offset;
  }

  now = () => this.time.truth() + this.#offset;
  monotonic = () => this.time.elapsed + this.#slept;
  after = (ms: number, action: () => void) => (this.#stopped ? () => undefined : this.time.after(ms, action, this));

  suspended(ms: number): void {
    this.#slept += ms;
  }

  get waiting(): number {
    return this.time.waiting(this);
  }

  /** Stops the machine for ever. */
  stop(): void {
    this.#stopped = true;
    this.time.drop(this);
  }
}
