import type { ApiClient } from '../../account/api-client';
import { asPrintingError, type ErrorCode, type PrintingError } from '../../service/errors';
import { waitBefore } from '../../time/backoff';
import { sleep, type Clock } from '../../time/clock';
import { underDeadline } from '../../time/deadline';
import { phrase } from '../../words/sentence';

/** Error codes of a call that did not reach the service, or got no answer. */
const UNREACHED: readonly ErrorCode[] = ['NETWORK', 'TIMEOUT', 'SERVICE_ERROR'];
/** One question whether the service can be reached, ms. */
const LONGEST = 10_000;
/** Between two questions, ms: while it is in doubt, and once it is known. */
const IN_DOUBT = 5_000;
const APART = 10_000;
/** Every poll and question fails for so long before others take over: where the service is away for all, they know by then. */
const GRACE = 20_000;
/** Every question is answered for so long before polls come back, ms; longer each time that it did not last. */
const BACK = { first: 30_000, longest: 10 * 60_000 };
/** It lasted, ms. */
const STABLE_AFTER = 10 * 60_000;

interface ServiceReachOptions {
  service: ApiClient;
  clock: Clock;
  /** Ends with the watching. */
  signal: AbortSignal;
  /** `isLost` is another. */
  changed: () => void;
}

/**
 * Whether this runtime reaches the service at all. One failing poll says nothing of that; it makes this ask a question of its
 * own. Others that do reach it poll for a runtime that does not (ADR 12).
 */
export class ServiceReach {
  readonly #parts: ServiceReachOptions;
  #isLost = false;
  #isLooking = false;
  /** Monotonic, ms. */
  #reachedAt = -Infinity;
  #backAt = -Infinity;
  #relapses = 0;

  constructor(parts: ServiceReachOptions) {
    this.#parts = parts;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Takes how a poll ended. */
  note(error: PrintingError | null): void {
    if (isReached(error)) this.#reachedAt = this.#parts.clock.monotonic();
    else if (!this.#isLooking) void this.#look();
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { clock, signal } = this.#parts;
    this.#isLooking = true;
    let since = clock.monotonic();
    while (!signal.aborted) {
      const asked = clock.monotonic();
      const isAnswered = await this.#ask();
      const now = clock.monotonic();
      if (this.#isLost) {
        if (!isAnswered) since = now;
        else if (now - since >= waitBefore(this.#relapses, BACK)) {
          this.#backAt = now;
          this.#become(false);
          break;
        }
      } else {
        // An answer to any poll meanwhile is as good.
        if (isAnswered || this.#reachedAt >= asked) break;
        if (now - since >= GRACE) {
          this.#relapses = now - this.#backAt < STABLE_AFTER ? this.#relapses + 1 : 0;
          since = now;
          this.#become(true);
        }
      }
      await sleep(clock, this.#isLost ? APART : IN_DOUBT, signal).catch(() => undefined);
    }
    this.#isLooking = false;
  }

  #become(isLost: boolean): void {
    this.#isLost = isLost;
    if (!this.#parts.signal.aborted) this.#parts.changed();
  }

  async #ask(): Promise<boolean> {
    const { service, clock, signal } = this.#parts;
    try {
      await underDeadline(clock, { ms: LONGEST, parent: signal }, (deadline) =>
        service.call('clusters', { query: { limit: '1' }, what: phrase`the list of printers`, deadline }),
      );
      return true;
    } catch (thrown) {
      return isReached(asPrintingError(thrown));
    }
  }
}

const isReached = (error: PrintingError | null): boolean => error === null || !UNREACHED.includes(error.code);
