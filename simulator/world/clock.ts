/** Virtual time of the printers at a moment of real time; stored in world.json. */
export interface ClockState {
  /** Real time, ms since 1970. */
  real: number;
  /** Virtual time, ms. */
  virtual: number;
}

/** Real time for the wire and the tokens, and virtual time (`timeFactor` times as fast) for the printers. */
export class SimulatorClock {
  constructor(
    private readonly state: ClockState,
    readonly timeFactor: number,
    /** Real time, ms since 1970. */
    readonly now: () => number,
  ) {
    this.anchor();
  }

  /** Records the current virtual time before each save, so that another time factor applies only from then on. */
  anchor(): void {
    const virtual = this.virtual();
    this.state.real = this.now();
    this.state.virtual = virtual;
  }

  /** Virtual time, ms. It never runs backwards, even if the real clock does. */
  virtual(): number {
    return this.state.virtual + Math.max(0, this.now() - this.state.real) * this.timeFactor;
  }

  /** Virtual duration of a real one, ms. */
  scaled(ms: number): number {
    return ms * this.timeFactor;
  }

  /** Real time of a past virtual one, ms since 1970, assuming the current time factor throughout. */
  real(virtual: number): number {
    return Math.round(this.now() - (this.virtual() - virtual) / this.timeFactor);
  }

  /** Advances virtual time by so many seconds. */
  skip(seconds: number): void {
    this.state.virtual += seconds * 1000;
  }
}

/** Formats a time as ISO 8601 UTC with milliseconds. */
export const iso = (ms: number): string => new Date(ms).toISOString();
