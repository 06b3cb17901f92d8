import { asPrintingError, type ErrorCode, type PrintingError } from '../../service/errors';
import { AGAIN, type Backoff, pollUntil, waitBefore } from '../../time/retry';
import { underDeadline, type Deadline } from '../../time/deadline';
import { Departure } from '../polling/departure';
import type { PollingAccount } from '../polling/types';
import { phrase } from '../../words/sentence';

/** Error codes of a call that did not reach the service, or got no answer. */
const UNREACHED: readonly ErrorCode[] = ['NETWORK', 'TIMEOUT', 'SERVICE_ERROR'];
/** Timeout of one probe, ms. */
const LONGEST = 10_000;
/** Constant waits between two probes: while reachability is in doubt, and while the service is known to be unreachable. */
const IN_DOUBT: Backoff = { first: 5_000, longest: 5_000 };
const LOST: Backoff = { first: 10_000, longest: 10_000 };
/** Period of unanswered polls and probes before others take over, ms. In a general outage, all know of it by then. */
const GRACE = 20_000;
/** Period of answered probes before polls return, ms; longer after each relapse. */
const BACK = { first: 30_000, longest: 10 * 60_000 };
/** Time after which a loss is no relapse, ms. */
const STABLE_AFTER = 10 * 60_000;

/**
 * Reachability of the service from this runtime. A failed poll proves nothing, but starts probes. Runtimes that reach
 * the service poll for those without a connection (ADR 12). Polls and probes without a token prove nothing either: all
 * runtimes lack the same token.
 */
export class ServiceReach {
  #isLost = false;
  #isProbing = false;
  /** Monotonic, ms. */
  #reachedAt = -Infinity;
  #backAt = -Infinity;
  #relapses = 0;

  /** @param changed called after `isLost` has changed */
  constructor(
    private readonly account: Pick<PollingAccount, 'service' | 'clock' | 'signal'>,
    private readonly changed: () => void,
  ) {}

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Records the outcome of a poll that left. */
  recordPoll(error: PrintingError | null): void {
    if (isReached(error)) this.#reachedAt = this.account.clock.monotonic();
    else if (!this.#isProbing) void this.#probe();
  }

  /** Probes until the reachability is settled. Never rejects. */
  async #probe(): Promise<void> {
    const { clock, signal } = this.account;
    this.#isProbing = true;
    const settle = async (deadline: Deadline) => {
      if (await this.#isReachedInTime(deadline)) return;
      const now = clock.monotonic();
      this.#relapses = now - this.#backAt < STABLE_AFTER ? this.#relapses + 1 : 0;
      this.#setLost(true);
      await deadline.sleep(LOST.first);
      await this.#untilBack(deadline, now);
      this.#backAt = clock.monotonic();
      this.#setLost(false);
    };
    await underDeadline(clock, { parent: signal }, settle).catch(() => undefined);
    this.#isProbing = false;
  }

  /** Resolves at the first answered probe or poll, with false if there is none within the grace period. */
  #isReachedInTime(deadline: Deadline): Promise<boolean> {
    const { clock } = this.account;
    let since = clock.monotonic();
    return pollUntil(deadline, IN_DOUBT, async () => {
      const sentAt = clock.monotonic();
      const answer = await this.#sendProbe();
      if (answer === 'reached' || this.#reachedAt >= sentAt) return true;
      if (answer === 'unsent') since = clock.monotonic();
      return clock.monotonic() - since >= GRACE ? false : AGAIN;
    });
  }

  /** Resolves when all probes of a period were answered. @param since monotonic time of the last unanswered one, ms */
  #untilBack(deadline: Deadline, since: number): Promise<void> {
    const { clock } = this.account;
    const period = waitBefore(this.#relapses, BACK);
    return pollUntil(deadline, LOST, async () => {
      const answer = await this.#sendProbe();
      const now = clock.monotonic();
      if (answer !== 'reached') since = now;
      return now - since >= period ? undefined : AGAIN;
    });
  }

  #setLost(isLost: boolean): void {
    this.#isLost = isLost;
    if (!this.account.signal.aborted) this.changed();
  }

  async #sendProbe(): Promise<'reached' | 'unreached' | 'unsent'> {
    const { service, clock, signal } = this.account;
    const departure = new Departure();
    const what = phrase`the list of printers`;
    try {
      await underDeadline(clock, { ms: LONGEST, parent: signal }, (deadline) =>
        service.call('clusters', { query: { limit: '1' }, what, deadline, lock: departure }),
      );
      return 'reached';
    } catch (thrown) {
      const error = asPrintingError(thrown);
      if (departure.lacksToken(error)) return 'unsent';
      return isReached(error) ? 'reached' : 'unreached';
    }
  }
}

const isReached = (error: PrintingError | null): boolean => error === null || !UNREACHED.includes(error.code);
