import type { ApiClient } from '../../account/api-client';
import { asPrintingError, type ErrorCode, type PrintingError } from '../../service/errors';
import { waitBefore } from '../../time/backoff';
import { sleep, type Clock } from '../../time/clock';
import { underDeadline } from '../../time/deadline';
import { phrase } from '../../words/sentence';

/** Error codes of a call that did not reach the service, or got no answer. */
const UNREACHED: readonly ErrorCode[] = ['NETWORK', 'TIMEOUT', 'SERVICE_ERROR'];
/** Timeout of one probe, ms. */
const LONGEST = 10_000;
/** Time between two probes, ms: while reachability is in doubt, and while the service is known to be unreachable. */
const IN_DOUBT = 5_000;
const APART = 10_000;
/** Period of failing polls and probes before others take over, ms. In a general outage, all know of it by then. */
const GRACE = 20_000;
/** Period of answered probes before polls return, ms; longer after each relapse. */
const BACK = { first: 30_000, longest: 10 * 60_000 };
/** Time after which a loss is no relapse, ms. */
const STABLE_AFTER = 10 * 60_000;

interface ServiceReachOptions {
  service: ApiClient;
  clock: Clock;
  /** Aborts when the watcher closes. */
  signal: AbortSignal;
  /** Called after `isLost` has changed. */
  changed: () => void;
}

/**
 * Reachability of the service from this runtime. A failed poll proves nothing, but starts probes. Runtimes that reach
 * the service poll for those without a connection (ADR 12).
 */
export class ServiceReach {
  readonly #parts: ServiceReachOptions;
  #isLost = false;
  #isProbing = false;
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

  /** Records the outcome of a poll. */
  recordPoll(error: PrintingError | null): void {
    if (isReached(error)) this.#reachedAt = this.#parts.clock.monotonic();
    else if (!this.#isProbing) void this.#probe();
  }

  /** Probes until the reachability is settled. Never rejects. */
  async #probe(): Promise<void> {
    const { clock, signal } = this.#parts;
    this.#isProbing = true;
    let since = clock.monotonic();
    while (!signal.aborted) {
      const sentAt = clock.monotonic();
      const isAnswered = await this.#sendProbe();
      const now = clock.monotonic();
      if (this.#isLost) {
        if (!isAnswered) since = now;
        else if (now - since >= waitBefore(this.#relapses, BACK)) {
          this.#backAt = now;
          this.#setLost(false);
          break;
        }
      } else {
        // An answered poll counts as an answered probe.
        if (isAnswered || this.#reachedAt >= sentAt) break;
        if (now - since >= GRACE) {
          this.#relapses = now - this.#backAt < STABLE_AFTER ? this.#relapses + 1 : 0;
          since = now;
          this.#setLost(true);
        }
      }
      await sleep(clock, this.#isLost ? APART : IN_DOUBT, signal).catch(() => undefined);
    }
    this.#isProbing = false;
  }

  #setLost(isLost: boolean): void {
    this.#isLost = isLost;
    if (!this.#parts.signal.aborted) this.#parts.changed();
  }

  async #sendProbe(): Promise<boolean> {
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
