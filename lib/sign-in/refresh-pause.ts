import { PrintingError, withOutcome } from '../service/errors';
import type { Clock } from '../time/clock';
import { waitBefore } from '../time/retry';
import { refusedAnew } from './credentials';

/** Pause after a fault of the pack's own code, ms. */
export const PAUSE = 5_000;
/** Backoff of refreshes for tokens that the service refuses right after their issue, ms. */
const DISTRUST = { first: 30_000, longest: 15 * 60_000 };

/** The last failure of a refresh. During the pause after it, all callers get the same error. */
export class RefreshPause {
  #failure: { error: PrintingError; until: number } | undefined;
  /** The current token was issued after a refusal, and the service hasn't accepted it yet. */
  #unproven = false;
  /** Refreshes in a row caused by the refusal of such a token. */
  #distrusted = 0;

  constructor(private readonly clock: Clock) {}

  get error(): PrintingError | undefined {
    return this.#failure?.error;
  }

  throwIfPaused(): void {
    if (this.#failure && this.#failure.until > this.clock.monotonic()) throw this.#failure.error;
  }

  /** Shows an error without a pause. */
  show(error: PrintingError): void {
    this.#failure = { error, until: 0 };
  }

  /** Begins a pause, with the outcome `not-sent`: the call that needed the refresh was never made. */
  begin(error: PrintingError, ms: number): PrintingError {
    const until = Math.max(this.#failure?.until ?? 0, this.clock.monotonic() + ms);
    this.#failure = { error: withOutcome(error, 'not-sent'), until };
    return this.#failure.error;
  }

  /** Call when the service has refused the current token: one that was just issued begins a pause. */
  tokenRefused(): void {
    if (!this.#unproven) return;
    this.#unproven = false;
    this.begin(refusedAnew(), waitBefore(this.#distrusted++, DISTRUST));
  }

  /** Call when a token was issued after a refusal. */
  tokenIssued(): void {
    this.#unproven = true;
  }

  tokenAccepted(): void {
    this.#unproven = false;
    this.#distrusted = 0;
    this.clear('NOT_SIGNED_IN');
  }

  /** Clears the failure, or only one with this code. */
  clear(code?: PrintingError['code']): void {
    if (code === undefined || this.#failure?.error.code === code) this.#failure = undefined;
  }

  /** Ends the pause after a change by another runtime. A mere refresh leaves the distrust of new tokens. */
  changedElsewhere(isRefresh: boolean): void {
    if (!isRefresh) this.reset();
    else if (this.error?.code !== 'NOT_SIGNED_IN') this.clear();
  }

  /** Resets everything for a new sign-in. */
  reset(): void {
    this.#failure = undefined;
    this.#unproven = false;
    this.#distrusted = 0;
  }
}
