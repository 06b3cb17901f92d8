import type { Clock } from '../../lib/time/clock';

/** The real clock, `factor` times as fast: for tests that talk over real sockets and wait for minutes in between. */
export class FastClock implements Clock {
  readonly #began = performance.now();
  readonly #start = Date.now();

  constructor(readonly factor: number) {}

  monotonic = () => (performance.now() - this.#began) * this.factor;
  now = () => this.#start + this.monotonic();

  after = (ms: number, action: () => void) => {
    const timer = setTimeout(action, Math.max(0, ms) / this.factor);
    return () => clearTimeout(timer);
  };
}
