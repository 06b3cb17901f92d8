import { randomBytes } from 'node:crypto';
import { asPrintingError, PrintingError } from '../service/errors';
import type { Lock } from '../state/membership';
import { hold, type StateStore } from '../state/store';
import { isoTime, sleep, type Clock } from '../time/clock';
import { Deadline, underDeadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';
import { grantFor, grantKey, isLater, withGrant, type Grant, type Grants, type SignInSettings } from './grant';
import { Renewals } from './renewals';
import { IncompleteAnswer, type TokenEndpoint } from './token-endpoint';

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
    const stored = await hold(store, ['renewal', accountId], renewOnce, deadline);
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
