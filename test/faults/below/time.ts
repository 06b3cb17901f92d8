import type { Clock } from '../../../lib/time/clock';
import type { Activity } from './activity';

interface Timer {
  at: number;
  order: number;
  action: () => void;
  /** Set where the timer belongs to a machine; a stopped machine's timers never fire. */
  of: MachineClock | null;
}

const START = Date.parse('2026-03-01T12:00:00.000Z');

/** The one time of a run: it goes on from timer to timer, and only when nothing is under way. */
export class InjectedTime {
  #elapsed = 0;
  /** What the world lived through while the machine was suspended. */
  #slept = 0;
  #order = 0;
  #timers: Timer[] = [];

  constructor(private readonly activity: Activity) {}

  /** ms since the run began, without suspends. */
  get elapsed(): number {
    return this.#elapsed;
  }

  /** What the service's clocks show. */
  truth = (): number => START + this.#elapsed + this.#slept;

  after(ms: number, action: () => void, of: MachineClock | null = null): () => void {
    const timer = { at: this.#elapsed + Math.max(0, ms), order: this.#order++, action, of };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Timers that a machine still waits for. */
  waiting(of: MachineClock): number {
    return this.#timers.filter((timer) => timer.of === of).length;
  }

  drop(of: MachineClock): void {
    this.#timers = this.#timers.filter((timer) => timer.of !== of);
  }

  /**
   * The machine sleeps for `ms` while the world goes on. Some systems' monotonic clocks stand still meanwhile; on the
   * others (`counted`) everything that waits is overdue at once.
   */
  suspend(ms: number, counted: boolean): void {
    this.#slept += ms;
    if (!counted) return;
    for (const timer of this.#timers) if (timer.of) timer.at = Math.max(this.#elapsed, timer.at - ms);
    for (const clock of new Set(this.#timers.flatMap(({ of }) => of ?? []))) clock.suspended(ms);
  }

  /** Lets `ms` pass, with everything that falls due in them. */
  async pass(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    do await this.activity.quiet();
    while (this.#fire(end));
    this.#elapsed = end;
  }

  /** Lets time pass until `wanted` is settled, at most `ms`; whether it was. */
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

  /** Goes on to the next timer, if it is due by `end`; whether it was. All must be quiet. */
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

/** The clocks of one machine: its wall clock may be wrong, and is set right at times. */
export class MachineClock implements Clock {
  #slept = 0;
  #stopped = false;

  constructor(
    private readonly time: InjectedTime,
    /** Wall clock minus truth, ms. */
    public offset: number,
  ) {}

  now = () => this.time.truth() + this.offset;
  monotonic = () => this.time.elapsed + this.#slept;
  after = (ms: number, action: () => void) => (this.#stopped ? () => undefined : this.time.after(ms, action, this));

  suspended(ms: number): void {
    this.#slept += ms;
  }

  get waiting(): number {
    return this.time.waiting(this);
  }

  /** The machine stands still for ever. */
  stop(): void {
    this.#stopped = true;
    this.time.drop(this);
  }
}
