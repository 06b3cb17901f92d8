import { randomBytes } from 'node:crypto';
import { asPrintingError, PrintingError, withOutcome } from '../service/errors';
import type { Lock } from '../state/membership';
import type { StateStore } from '../state/store';
import { type Clock, isoTime, sleep } from '../time/clock';
import { Deadline, underDeadline } from '../time/deadline';
import { waitBefore } from '../time/retry';
import { phrase, type Sentence } from '../words/sentence';
import { refusedAnew } from './credentials';
import {
  type Grant,
  grantFor,
  grantKey,
  type Grants,
  isLater,
  serviceOf,
  type SignInSettings,
  withGrant,
} from './grant';
import { IncompleteAnswer, type TokenEndpoint } from './token-endpoint';

/**
 * Renewals under way in this process. They outlive the deployed instance that began them (ADR 13). A sign-out or a new
 * sign-in makes them pointless and must be able to cancel them; otherwise it would wait for their lock.
 */
export class Renewals {
  readonly #underWay = new Set<{ accountId: string; service: string; controller: AbortController }>();

  /** Registers a renewal that begins now. Call `end` when it has ended. */
  begin(accountId: string, settings: SignInSettings): { signal: AbortSignal; end: () => void } {
    const renewal = { accountId, service: serviceOf(settings), controller: new AbortController() };
    this.#underWay.add(renewal);
    return { signal: renewal.controller.signal, end: () => void this.#underWay.delete(renewal) };
  }

  /** Cancels the renewals of an account; with `settings`, only those at that service. */
  supersede(accountId: string, settings?: SignInSettings): void {
    for (const { controller, ...renewal } of [...this.#underWay])
      if (renewal.accountId === accountId && (!settings || renewal.service === serviceOf(settings)))
        controller.abort(superseded());
  }
}

const superseded = () =>
  new PrintingError('NOT_SIGNED_IN', phrase`The sign-in was ended or replaced in the meantime: try again.`, {
    outcome: 'unknown',
  });

export interface RefreshDeps {
  accountId: string;
  settings: SignInSettings;
  store: StateStore;
  clock: Clock;
  endpoint: TokenEndpoint;
  /** Missing: the account can't have another instance. */
  renewals?: Renewals | undefined;
}

interface RefreshRequest {
  /** The sign-in in memory. */
  own: Grant | undefined;
  /** The access token to replace. */
  refused: string;
  /** Limits the work before the request, never the request itself. */
  deadline: Deadline;
  /** Called when a request is about to leave. */
  onSend: () => void;
  /**
   * Called when the answer to a request was lost, here or at another runtime that ended or was cut off. The refresh
   * token must rest for `wait` ms. With `isLast`, callers should not wait for the end of that rest.
   */
  onDoubt: (error: PrintingError, wait: number, isLast: boolean) => void;
}

export interface Refreshed {
  /** The current sign-in. */
  grant: Grant | undefined;
  /** Monotonic time (ms) at which the new pair arrived, if the service gave one. */
  arrivedAt?: number | undefined;
  /** The new pair exists only in memory. */
  unsaved: boolean;
  /** The service refused the client application; the tokens stay unchanged. */
  refusal?: PrintingError | undefined;
  /** The answer had a new refresh token only. The next refresh uses it. */
  failure?: PrintingError | undefined;
}

/** Longest request to the token endpoint, ms: longer than any answer that was still worth waiting for (ADR 13). */
const LONGEST_REQUEST = 6 * 60_000;
/** How long the lock is secured for before the request, ms. After that its regular renewals hold it. */
const SECURED = 120_000;
/** Longest probe that the store is writable, ms. */
const LONGEST_PROBE = 30_000;
/**
 * How long a refresh token rests after each request whose answer was lost, ms. The service may still be processing that
 * request, and a second use of the token would end the sign-in. The first rest is shorter than the minute by which
 * renewals are early.
 */
const RESTS = [45_000, 120_000] as const;
/**
 * How long a refresh token rests if another runtime didn't release the locks of its renewal, ms. That runtime may have
 * a new pair that it hasn't written yet, even after the time for which it secured its lock.
 */
const INHERITED_REST = 120_000;
/** Errors of the token endpoint after which the refresh token is worthless (wire facts 3). */
const ENDS = ['invalid_grant', 'invalid_request'];

/**
 * Exchanges the refresh token for a new pair, under the lock of the account's sign-in. The request, the rest after a
 * lost answer and the late repeat are one piece of work, which no deploy interrupts (ADR 13). A second lock orders the
 * renewals while the sign-in's lock is free for the late write of a runtime that was cut off (ADR 14).
 * On failure the sign-in stays unchanged, and the cause is thrown.
 */
export async function refresh(
  deps: RefreshDeps,
  { own, refused, deadline, onSend, onDoubt }: RefreshRequest,
): Promise<Refreshed> {
  const { store, accountId, settings, clock, endpoint, renewals = new Renewals() } = deps;
  const renewal = renewals.begin(accountId, settings);
  /** The result of an answer; without `at`, it has a new refresh token only. */
  let arrived: { grant: Grant; at?: number } | undefined;
  let refusal: PrintingError | undefined;
  let failure: PrintingError | undefined;

  const send = async (current: Grant, lock: Lock) => {
    // If the request hasn't left by the deadline, leave it to the next instance.
    deadline.throwIfOver();
    onSend();
    const fence = await lock.secure(SECURED);
    const limit = { ms: LONGEST_REQUEST, parent: renewal.signal, cure: phrase`try again later` };
    const grant = await underDeadline(clock, limit, (limit) => endpoint.refresh(settings, current, limit, fence));
    arrived = { grant: { ...grant, refreshes: (current.refreshes ?? 0) + 1 }, at: clock.monotonic() };
    return arrived.grant;
  };

  /** @param mayBeLate whether another runtime's renewal may still be written */
  const change = async (stored: Grants | undefined, lock: Lock, mayBeLate: boolean): Promise<Grants | undefined> => {
    const found = grantFor(stored, settings);
    const current = isLater(own, found) ? own : found;
    // Another instance on the store may have renewed already.
    if (!current || current.ended || current.accessToken !== refused)
      return current === found ? stored : withGrant(stored, settings, current);
    const end = (reason: Sentence) => withGrant(stored, settings, { ...current, ...spent(reason) });
    if (!current.refreshToken) return end(phrase`The sign-in has expired and can’t be renewed: sign in again.`);
    if (mayBeLate) throw new Unfinished();
    await checkWritable(deps, stored, deadline);
    for (let turn = 0; ; turn++) {
      try {
        return withGrant(stored, settings, await send(current, lock));
      } catch (thrown) {
        const error = asPrintingError(thrown);
        if (error instanceof IncompleteAnswer) {
          failure = error;
          const { refreshToken } = error;
          arrived = { grant: { ...current, refreshToken, refreshes: (current.refreshes ?? 0) + 1 } };
          return withGrant(stored, settings, arrived.grant);
        }
        if (isRefusal(error)) {
          if (ENDS.includes(error.serviceCode ?? ''))
            return end(phrase`The service ended the sign-in: sign in again with the account.`);
          refusal = error;
          return current === found ? stored : withGrant(stored, settings, current);
        }
        if (!isInDoubt(error) || renewal.signal.aborted) throw error;
        const isLast = turn === RESTS.length - 1;
        const wait = RESTS[turn] ?? 0;
        onDoubt(error, wait, isLast);
        // The token rests after its last request too.
        await sleep(clock, wait, renewal.signal);
        if (isLast) throw error;
      }
    }
  };

  const renewed = (mayBeLate: (lock: Lock) => boolean) =>
    store.update<Grants>(grantKey(accountId), (stored, lock) => change(stored, lock, mayBeLate(lock)), {
      insist: true,
      notify: true,
      deadline,
    });

  const renewOnce = async (turn: Lock): Promise<Grants | undefined> => {
    try {
      return await renewed((lock) => turn.inherited === true || lock.inherited === true);
    } catch (error) {
      if (!(error instanceof Unfinished)) throw error;
      onDoubt(error, INHERITED_REST, true);
      // The sign-in's own lock is free during the rest, so that the late pair can be written under it.
      await sleep(clock, INHERITED_REST, renewal.signal);
      return renewed(() => false);
    }
  };

  try {
    const stored = await store.waitForLock(['renewal', accountId], renewOnce, deadline);
    return { grant: grantFor(stored, settings), arrivedAt: arrived?.at, unsaved: false, refusal, failure };
  } catch (error) {
    if (!arrived) throw error;
    // The old pair is already spent, so continue with the new one in memory. The store writes it as soon as it can.
    return { grant: arrived.grant, arrivedAt: arrived.at, unsaved: true, failure };
  } finally {
    renewal.end();
  }
}

/** Another runtime has begun a renewal, and has neither written its outcome nor released its locks. */
class Unfinished extends PrintingError {
  constructor() {
    const said = phrase`Another Node-RED began to renew the sign-in and has not finished: try again in two minutes.`;
    super('TIMEOUT', said, { outcome: 'not-sent' });
  }
}

/**
 * Checks that a new pair could be stored, with a probe of at least its size: the old pair must not be spent on a full
 * disk.
 */
async function checkWritable(
  { store, accountId, clock }: RefreshDeps,
  stored: Grants | undefined,
  deadline: Deadline,
): Promise<void> {
  const key = ['refresh', accountId] as const;
  // Random, because a database compresses other data.
  const room = randomBytes(2 * JSON.stringify(stored ?? null).length).toString('base64');
  const probe = { begunAt: isoTime(clock.now()), room };
  await underDeadline(clock, { ms: LONGEST_PROBE, parent: deadline, cure: phrase`try again later` }, (limit) =>
    store.put(key, probe, { deadline: limit }),
  );
  // A leftover probe is harmless.
  await store.delete(key).catch(() => undefined);
}

/** Remainder of a grant whose tokens are worthless. */
const spent = (reason: Sentence) => ({
  ended: reason.pattern,
  accessToken: '',
  refreshToken: null,
  expiresAt: 0,
  lifetime: 0,
});

/** Whether the token endpoint itself refused the request, as opposed to a transient fault on the way. */
export const isRefusal = ({ outcome, statusCode, serviceCode }: PrintingError): boolean =>
  outcome === 'refused' && serviceCode !== undefined && [400, 401, 403].includes(statusCode ?? 0);

/**
 * Whether the service may still be processing the request. An answer rules that out, unless it only reports a timeout.
 */
const isInDoubt = ({ outcome, statusCode }: PrintingError): boolean =>
  outcome === 'unknown' && (statusCode === undefined || statusCode === 408 || statusCode === 504);

/** Pause after a transient failure of a renewal, ms. All callers within it get the same error. */
export const PAUSE = 5_000;
/** Backoff of renewals for tokens that the service refuses right after their renewal, ms. */
const DISTRUST = { first: 30_000, longest: 15 * 60_000 };

/** The last failure of a renewal. During the pause after it, all callers get the same error. */
export class RenewalFailures {
  readonly #clock: Clock;
  #failure: { error: PrintingError; until: number } | undefined;
  /** The current token was issued after a refusal, and the service hasn't accepted it yet. */
  #unproven = false;
  /** Renewals in a row caused by the refusal of such a token. */
  #distrusted = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get error(): PrintingError | undefined {
    return this.#failure?.error;
  }

  /**
   * Whether a repeat may help: unless the endpoint itself refused, any answer may be transient, even a proxy's page. No
   * repeat helps against a fault of our own code, nor for a request whose answer was lost, which was repeated already.
   */
  isTransient(error: PrintingError): boolean {
    const isAnswer = error.code !== 'NOT_SIGNED_IN' && error.outcome !== undefined;
    return isAnswer && !isRefusal(error) && this.error !== error && (error.retryAfter ?? 0) <= PAUSE;
  }

  throwIfPaused(): void {
    if (this.#failure && this.#failure.until > this.#clock.monotonic()) throw this.#failure.error;
  }

  /** Shows an error without a pause. */
  show(error: PrintingError): void {
    this.#failure = { error, until: 0 };
  }

  /** Begins a pause, with the outcome `not-sent`: the call that needed the renewal was never made. */
  pause(error: PrintingError, ms: number): PrintingError {
    const until = Math.max(this.#failure?.until ?? 0, this.#clock.monotonic() + ms);
    this.#failure = { error: withOutcome(error, 'not-sent'), until };
    return this.#failure.error;
  }

  /** Call when the service has refused the current token: one that was just issued begins a pause. */
  tokenRefused(): void {
    if (!this.#unproven) return;
    this.#unproven = false;
    this.pause(refusedAnew(), waitBefore(this.#distrusted++, DISTRUST));
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

  /** Ends the pause after a change by another runtime. A mere renewal leaves the distrust of new tokens. */
  changedElsewhere(isRenewal: boolean): void {
    if (!isRenewal) this.reset();
    else if (this.error?.code !== 'NOT_SIGNED_IN') this.clear();
  }

  /** Resets everything for a new sign-in. */
  reset(): void {
    this.#failure = undefined;
    this.#unproven = false;
    this.#distrusted = 0;
  }
}

/** Counts the refreshes of one account in this runtime. */
export class RefreshCounters {
  /** @param ended called with each refresh that has ended; `isSaved`: with new tokens that are stored */
  constructor(private readonly ended: (isSaved: boolean) => void = () => undefined) {}

  #refreshes = 0;
  #failures = 0;
  /** Milliseconds from the arrival of a token answer to its write: the window in which a crash loses the sign-in. */
  #window = { last: 0, longest: 0 };

  countFailure(): void {
    this.#failures++;
    this.ended(false);
  }

  /** @param last time from the arrival of the pair to its write, ms */
  countSaved(last: number): void {
    this.#refreshes++;
    this.ended(true);
    this.#window = { last, longest: Math.max(last, this.#window.longest) };
  }

  /** @param inAll refreshes by any runtime */
  figures(inAll: number): Record<string, number> {
    return {
      refreshes: this.#refreshes,
      refreshesInAll: inAll,
      failedRefreshes: this.#failures,
      lastSaveMilliseconds: this.#window.last,
      longestSaveMilliseconds: this.#window.longest,
    };
  }
}
