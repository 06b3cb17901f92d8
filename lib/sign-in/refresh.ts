import { randomBytes } from 'node:crypto';
import { asPrintingError, PrintingError } from '../service/errors';
import { hold, type Lock, type StateStore } from '../state/store';
import { isoTime, sleep, type Clock } from '../time/clock';
import { Deadline, underDeadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';
import { grantFor, grantKey, isLater, withGrant, type Grant, type Grants, type SignInSettings } from './grant';
import { Renewals } from './renewals';
import type { TokenEndpoint } from './token-endpoint';

export interface RefreshDeps {
  accountId: string;
  settings: SignInSettings;
  store: StateStore;
  clock: Clock;
  endpoint: TokenEndpoint;
  /** Missing: no other instance of the account can be there. */
  renewals?: Renewals | undefined;
}

interface Asked {
  /** The sign-in in hand. */
  own: Grant | undefined;
  /** The access token to be replaced. */
  refused: string;
  /** Ends what comes before the request, never the request. */
  deadline: Deadline;
  /** A request is about to leave. */
  onSend: () => void;
  /**
   * The answer was lost, here or where another runtime ended or was cut off: the refresh token rests for `wait` ms. With
   * `isLast` callers should not wait for the end of that.
   */
  onDoubt: (error: PrintingError, wait: number, isLast: boolean) => void;
}

export interface Refreshed {
  /** The sign-in as it stands now. */
  grant: Grant | undefined;
  /** Monotonic time (ms) at which the new pair arrived, where the service gave one. */
  arrivedAt?: number | undefined;
  /** The new pair is in memory alone. */
  unsaved: boolean;
  /** The service refused the client application; the tokens stay as they are. */
  refusal?: PrintingError | undefined;
}

/** One request to the token endpoint, ms: longer than any answer that was still worth waiting for (ADR 13). */
const LONGEST_REQUEST = 6 * 60_000;
/** For how long the lock is made sure of before the request, ms: beyond that its regular renewals hold it. */
const SECURED = 120_000;
/** The probe that the store can be written, ms. */
const LONGEST_PROBE = 30_000;
/**
 * How long a refresh token rests after each use whose answer was lost, ms: the service may still be working on that use,
 * and a second one would end the sign-in. The first rest is shorter than the minute by which renewals are early.
 */
const RESTS = [45_000, 120_000] as const;
/**
 * How long a refresh token rests where another runtime did not give back the locks of its renewal, ms: it may have a new
 * pair that it could not write yet, beyond the time for which its lock was secured.
 */
const INHERITED_REST = 120_000;
/** Answers of the token endpoint after which the refresh token is worth nothing (wire facts 3). */
const ENDS = ['invalid_grant', 'invalid_request'];

/**
 * Changes the refresh token for a new pair, under the lock of the account's sign-in: the request, the rest after a lost
 * answer and the late repeat are one piece of work, which no deploy breaks off (ADR 13). A lock of its own keeps the others
 * in turn while the sign-in's lock is free for the late write of a runtime that was cut off (ADR 14).
 * Throws what kept the pair from coming; the sign-in stands as before then.
 */
export async function refresh(
  deps: RefreshDeps,
  { own, refused, deadline, onSend, onDoubt }: Asked,
): Promise<Refreshed> {
  const { store, accountId, settings, clock, endpoint, renewals = new Renewals() } = deps;
  const renewal = renewals.begin(accountId, settings);
  let arrived: { grant: Grant; at: number } | undefined;
  let refusal: PrintingError | undefined;

  const send = async (current: Grant, lock: Lock) => {
    // A request that has not left is the next instance's.
    deadline.throwIfOver();
    onSend();
    const fence = await lock.secure(SECURED);
    const limit = { ms: LONGEST_REQUEST, parent: renewal.signal, cure: phrase`try again later` };
    const grant = await underDeadline(clock, limit, (limit) => endpoint.refresh(settings, current, limit, fence));
    arrived = { grant: { ...grant, refreshes: (current.refreshes ?? 0) + 1 }, at: clock.monotonic() };
    return arrived.grant;
  };

  /** @param mayBeLate a renewal of another runtime may still be written */
  const change = async (stored: Grants | undefined, lock: Lock, mayBeLate: boolean): Promise<Grants | undefined> => {
    const found = grantFor(stored, settings);
    const current = isLater(own, found) ? own : found;
    // Another instance that shares the store may have been faster.
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
        await sleep(clock, wait, renewal.signal);
        if (isLast) throw error;
      }
    }
  };

  const renewed = (mayBeLate: (lock: Lock) => boolean) =>
    store.update<Grants>(grantKey(accountId), (stored, lock) => change(stored, lock, mayBeLate(lock)), {
      insist: true,
      tell: true,
      deadline,
    });

  const inTurn = async (turn: Lock): Promise<Grants | undefined> => {
    try {
      return await renewed((lock) => turn.inherited === true || lock.inherited === true);
    } catch (error) {
      if (!(error instanceof Unfinished)) throw error;
      onDoubt(error, INHERITED_REST, true);
      // The sign-in's own lock is free meanwhile: the late pair is written under it.
      await sleep(clock, INHERITED_REST, renewal.signal);
      return renewed(() => false);
    }
  };

  try {
    const stored = await hold(store, ['renewal', accountId], inTurn, deadline);
    return { grant: grantFor(stored, settings), arrivedAt: arrived?.at, unsaved: false, refusal };
  } catch (error) {
    if (!arrived) throw error;
    // The old pair is spent already, so going on in memory is the best that is left; the store writes it when it can.
    return { grant: arrived.grant, arrivedAt: arrived.at, unsaved: true };
  } finally {
    renewal.over();
  }
}

/** Another runtime has begun a renewal, and has neither written its outcome nor given its locks back. */
class Unfinished extends PrintingError {
  constructor() {
    const said = phrase`Another Node-RED began to renew the sign-in and has not finished: try again in two minutes.`;
    super('TIMEOUT', said, { outcome: 'not-sent' });
  }
}

/** On a full disk the new pair would have nowhere to go, so the old one must not be spent: the probe is as large. */
async function checkWritable(
  { store, accountId, clock }: RefreshDeps,
  stored: Grants | undefined,
  deadline: Deadline,
): Promise<void> {
  const key = ['refresh', accountId] as const;
  // Random, since a database compresses what it can.
  const room = randomBytes(2 * JSON.stringify(stored ?? null).length).toString('base64');
  const probe = { begunAt: isoTime(clock.now()), room };
  await underDeadline(clock, { ms: LONGEST_PROBE, parent: deadline, cure: phrase`try again later` }, (limit) =>
    store.put(key, probe, { deadline: limit }),
  );
  // A leftover probe does no harm.
  await store.delete(key).catch(() => undefined);
}

/** The rest of a grant whose tokens are worthless. */
const spent = (reason: Sentence) => ({
  ended: reason.pattern,
  accessToken: '',
  refreshToken: null,
  expiresAt: 0,
  lifetime: 0,
});

/** An answer in the token endpoint's own words, as against a fault on the way that passes. */
export const isRefusal = ({ outcome, statusCode, serviceCode }: PrintingError): boolean =>
  outcome === 'refused' && serviceCode !== undefined && [400, 401, 403].includes(statusCode ?? 0);

/** The service may still be working on the request. An answer says that it is not, unless the answer is only about time. */
const isInDoubt = ({ outcome, statusCode }: PrintingError): boolean =>
  outcome === 'unknown' && (statusCode === undefined || statusCode === 408 || statusCode === 504);
