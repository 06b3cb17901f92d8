/** State of polling: requests for a poll, and the poll in flight. */
export class PollRequests<Result> {
  isInFlight = false;
  #requests: ((result: Result) => void)[] = [];
  #settledWaiters: (() => void)[] = [];

  get isRequested(): boolean {
    return this.#requests.length > 0;
  }

  /** Whether nothing is requested or in flight. */
  get isIdle(): boolean {
    return !this.isInFlight && !this.isRequested;
  }

  /** Adds a request; calls `start` where no poll is in flight. */
  add(start: () => void): Promise<Result> {
    return new Promise((resolve) => {
      this.#requests.push(resolve);
      if (!this.isInFlight) start();
    });
  }

  /** Removes and returns the requests that a poll answers. */
  take(): ((result: Result) => void)[] {
    return this.#requests.splice(0);
  }

  /** Resolves when no poll is in flight. */
  settled(): Promise<void> {
    return this.isInFlight ? new Promise((resolve) => this.#settledWaiters.push(resolve)) : Promise.resolve();
  }

  /** Resolves the waits for the poll in flight. */
  resolveSettled(): void {
    for (const resolve of this.#settledWaiters.splice(0)) resolve();
  }
}
