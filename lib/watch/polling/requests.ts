import type { PrintingError } from '../../service/errors';
import { type Lock, LockLostError } from '../../state/membership';

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

/** The moment in which the request of one poll leaves. Before it, the request may wait for a token or a retry. */
export class Departure implements Pick<Lock, 'secure'> {
  /** The request has its token and has not left yet. */
  #isConnecting = false;

  constructor(
    private readonly isObsolete: () => boolean,
    private readonly onLeave: () => void,
  ) {}

  /** Resolves with the check of the moment of departure, which throws LockLostError for an obsolete poll. */
  secure(): Promise<() => void> {
    this.#isConnecting = true;
    return Promise.resolve(() => {
      if (this.isObsolete()) throw new LockLostError();
      this.#isConnecting = false;
      this.onLeave();
    });
  }

  /** Whether the poll failed because a refresh of the sign-in is slow or the store is unreachable. */
  lacksToken({ code, outcome }: PrintingError): boolean {
    if (this.#isConnecting) return false;
    return (
      code === 'FILE_NOT_READABLE' || code === 'FILE_NOT_WRITABLE' || (code === 'TIMEOUT' && outcome === 'not-sent')
    );
  }
}
