import { guard } from './guard';

type Work<Result, Progress> = (signal: AbortSignal, report: (progress: Progress) => void) => Promise<Result>;

interface Flight<Result, Progress> {
  result: Promise<Result>;
  listeners: Set<(progress: Progress) => void>;
  last: Progress | undefined;
  controller: AbortController;
}

/** Runs work once for all concurrent callers with the same key, and aborts it when the last of them stops waiting. */
export class SingleFlight<Result, Progress = never> {
  readonly #flights = new Map<string, Flight<Result, Progress>>();

  /**
   * Joins the work in progress for `key`, or begins it. `signal` ends only this wait and throws its reason. A late
   * caller first gets the last progress.
   */
  async join(
    key: string,
    work: Work<Result, Progress>,
    { signal, onProgress }: { signal: AbortSignal; onProgress?: (progress: Progress) => void },
  ): Promise<Result> {
    signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#begin(key, work);
    // A separate function per caller: the same `onProgress` may be passed twice.
    const listener = (progress: Progress) => onProgress?.(progress);
    flight.listeners.add(listener);
    if (flight.last !== undefined) guard(listener)(flight.last);
    const ended = new AbortController();
    try {
      return await new Promise<Result>((resolve, reject) => {
        const abort = () => reject(signal.reason as Error);
        signal.addEventListener('abort', abort, { signal: ended.signal });
        flight.result.then(resolve, reject);
      });
    } finally {
      ended.abort();
      flight.listeners.delete(listener);
      if (flight.listeners.size === 0) {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
        flight.controller.abort(signal.reason);
      }
    }
  }

  #begin(key: string, work: Work<Result, Progress>): Flight<Result, Progress> {
    const controller = new AbortController();
    const listeners: Flight<Result, Progress>['listeners'] = new Set();
    const report = (progress: Progress) => {
      flight.last = progress;
      for (const listener of listeners) guard(listener)(progress);
    };
    const result = Promise.resolve().then(() => work(controller.signal, report));
    const flight: Flight<Result, Progress> = { result, listeners, last: undefined, controller };
    this.#flights.set(key, flight);
    return flight;
  }
}
