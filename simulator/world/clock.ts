/** Where the virtual time of the printers stood at some moment of real time; kept in world.json. */
export interface ClockState {
  /** ms since 1970 */
  real: number;
  /** virtual ms */
  virtual: number;
}

/** Real time for the wire and the tokens, virtual time (`timeFactor` times as fast) for the printers. */
export class SimulatorClock {
  constructor(
    private readonly state: ClockState,
    readonly timeFactor: number,
    /** Real time, ms since 1970. */
    readonly now: () => number,
  ) {
    this.anchor();
  }

  /** Notes where virtual time stands, so that from here on it can run at another pace: before each save. */
  anchor(): void {
    const virtual = this.virtual();
    this.state.real = this.now();
    this.state.virtual = virtual;
  }

  /** Virtual ms. Never runs backwards, whatever the real clock does. */
  virtual(): number {
    return this.state.virtual + Math.max(0, this.now() - this.state.real) * this.timeFactor;
  }

  /** Virtual ms that pass in so many real ones. */
  scaled(ms: number): number {
    return ms * this.timeFactor;
  }

  /** Real ms since 1970 of a virtual moment of the past, as if the pace had always been what it is now. */
  real(virtual: number): number {
    return Math.round(this.now() - (this.virtual() - virtual) / this.timeFactor);
  }

  /** Skips virtual seconds. */
  skip(seconds: number): void {
    this.state.virtual += seconds * 1000;
  }
}

/** ISO 8601 UTC with milliseconds, as everywhere on the wire. */
export const iso = (ms: number): string => new Date(ms).toISOString();
