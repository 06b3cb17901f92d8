import { guard } from './guard';

type Work<Result, Progress> = (signal: AbortSignal, tell: (progress: Progress) => void) => Promise<Result>;

interface Flight<Result, Progress> {
  result: Promise<Result>;
  listeners: Set<(progress: Progress) => void>;
  last: Progress | undefined;
  calledOff: AbortController;
}

/** Work that several want at the same time is done once for all, and called off when nobody waits for it any more. */
export class SingleFlight<Result, Progress = never> {
  readonly #flights = new Map<string, Flight<Result, Progress>>();

  /**
   * Joins the work under way for `key`, else begins it. `signal` ends this wait alone: its reason is thrown.
   * Who joins late is told the last progress first.
   */
  async join(
    key: string,
    work: Work<Result, Progress>,
    { signal, onProgress }: { signal: AbortSignal; onProgress?: (progress: Progress) => void },
  ): Promise<Result> {
    signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#begin(key, work);
    // A listener of one's own, for the same function may wait twice.
    const listener = (progress: Progress) => onProgress?.(progress);
    flight.listeners.add(listener);
    if (flight.last !== undefined) guard(listener)(flight.last);
    const over = new AbortController();
    try {
      return await new Promise<Result>((resolve, reject) => {
        const abort = () => reject(signal.reason as Error);
        signal.addEventListener('abort', abort, { signal: over.signal });
        flight.result.then(resolve, reject);
      });
    } finally {
      over.abort();
      flight.listeners.delete(listener);
      if (flight.listeners.size === 0) {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
        flight.calledOff.abort(signal.reason);
      }
    }
  }

  #begin(key: string, work: Work<Result, Progress>): Flight<Result, Progress> {
    const calledOff = new AbortController();
    const listeners: Flight<Result, Progress>['listeners'] = new Set();
    const tell = (progress: Progress) => {
      flight.last = progress;
      for (const listener of listeners) guard(listener)(progress);
    };
    const result = Promise.resolve().then(() => work(calledOff.signal, tell));
    const flight: Flight<Result, Progress> = { result, listeners, last: undefined, calledOff };
    this.#flights.set(key, flight);
    return flight;
  }
}
