import type { Clock } from '../../time/clock';

/** Longest step, ms: a longer gap is not lived, as the process stood still, or nothing was watched. */
const LONGEST_STEP = 120_000;
/** Latest time that is believed, ms: a thousand years. */
const LATEST = 1000 * 366 * 24 * 3_600_000;

/**
 * The time of a queue, by which its spans are measured: what those lived who watched it, added up in its records over restarts
 * and takeovers (print queue, rule 6). Two runtimes agree on it by the records; no clock can be set so that it jumps.
 */
export class LivedTime {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #lived = 0;
  /** Monotonic, ms. */
  #at: number;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#at = clock.monotonic();
  }

  /** ms, from some moment on; it grows by no more than time passes. */
  get now(): number {
    const at = this.#clock.monotonic();
    this.#lived += Math.min(LONGEST_STEP, Math.max(0, at - this.#at));
    this.#at = at;
    return Math.round(this.#lived);
  }

  /** Call at least as often as something is watched. */
  tick(): void {
    void this.now;
  }

  /** Continues from a time that was written, unless this runtime has lived longer. */
  see(written: unknown): void {
    if (typeof written === 'number' && written > this.now) this.follow(written);
  }

  /** Continues from a time that the planner has written, although this runtime may have lived longer. */
  follow(written: unknown): void {
    if (typeof written !== 'number' || written < 0 || written >= LATEST) return;
    this.tick();
    this.#lived = written;
  }
}
