import { hash, randomBytes } from 'node:crypto';
import { asPrintingError, PrintingError, revised } from '../service/errors';
import { record } from '../service/json-readers';
import type { Lock } from '../state/membership';
import type { Key, StateStore } from '../state/store';
import { type Clock, isoTime, sleep } from '../time/clock';
import { type Deadline, underDeadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';
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
import { INHERITED_REST, type Repeats, type Rest } from './repeats';
import { IncompleteAnswer, type TokenEndpoint } from './token-endpoint';

export interface RefreshDeps {
  accountId: string;
  settings: SignInSettings;
  store: StateStore;
  clock: Clock;
  endpoint: TokenEndpoint;
  /** Missing: the account can't have another instance. */
  refreshesUnderWay?: RefreshesUnderWay | undefined;
}

export interface RefreshRequest {
  /** The sign-in in memory. */
  own: Grant | undefined;
  /** The access token to replace. */
  refused: string;
  /** Limits the work before the request, never the request itself. */
  deadline: Deadline;
  /** The schedule of the renewal that this exchange is a try of. */
  repeats: Repeats;
  /** Called when the refresh token begins to rest after `error`. */
  onRest: (rest: Rest, error: PrintingError) => void;
  /** Called after a rest for another runtime's sake, before the request. */
  onResume: () => void;
}

export interface Refreshed {
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
/** Errors of the token endpoint after which the refresh token is worthless (wire facts 3). */
const ENDS = ['invalid_grant', 'invalid_request'];

/**
 * One exchange of the refresh token for a new pair, from the lock to the durable pair. The request and the rest after a
 * lost answer are one piece of work under the lock, which no deploy interrupts (ADR 13).
 */
export class Refresh {
  readonly #deps: RefreshDeps;
  readonly #request: RefreshRequest;
  readonly #cancelled = new AbortController();
  /** Resolves when the refresh token rests: the process has no request under way. A new promise for each request. */
  resting!: Promise<void>;
  #rest!: () => void;
  /** The result of an answer; without `at`, it has a new refresh token only. */
  #arrived: { grant: Grant; at?: number } | undefined;
  #refusal: PrintingError | undefined;
  #failure: PrintingError | undefined;

  constructor(deps: RefreshDeps, request: RefreshRequest) {
    this.#deps = deps;
    this.#request = request;
    this.#beginWork();
  }

  #beginWork(): void {
    this.resting = new Promise((resolve) => (this.#rest = resolve));
  }

  /** Runs the exchange. On failure the sign-in stays unchanged, and the cause is thrown. */
  async run(): Promise<Refreshed> {
    const { accountId, settings, store, refreshesUnderWay } = this.#deps;
    const end = refreshesUnderWay?.begin(accountId, settings, this.#cancelled);
    try {
      const turn: Key = ['refresh-lock', accountId];
      const stored = await store.waitForLock(turn, (lock) => this.#inTurn(lock), this.#request.deadline);
      const [refusal, failure] = [this.#refusal, this.#failure];
      return { grant: grantFor(stored, settings), arrivedAt: this.#arrived?.at, unsaved: false, refusal, failure };
    } catch (error) {
      if (!this.#arrived) throw error;
      // The old pair is already spent, so continue with the new one in memory. The store writes it as soon as it can.
      return { grant: this.#arrived.grant, arrivedAt: this.#arrived.at, unsaved: true, failure: this.#failure };
    } finally {
      end?.();
    }
  }

  /**
   * The lock of the turn orders the refreshes while the sign-in's own lock is free for the late write of a runtime that was
   * cut off (ADR 14).
   */
  async #inTurn(turn: Lock): Promise<Grants | undefined> {
    try {
      return await this.#underLock((lock) => turn.inherited === true || lock.inherited === true);
    } catch (error) {
      if (!(error instanceof Unfinished)) throw error;
      await this.#restFor(INHERITED_REST, error);
      this.#request.onResume();
      return this.#underLock(() => false);
    }
  }

  /** @param mayBeLate whether another runtime's refresh may still be written */
  #underLock(mayBeLate: (lock: Lock) => boolean): Promise<Grants | undefined> {
    const { accountId, store } = this.#deps;
    const change = (stored: Grants | undefined, lock: Lock) => this.#change(stored, lock, mayBeLate(lock));
    const { deadline } = this.#request;
    // Resolves when the new pair is durable.
    return store.update<Grants>(grantKey(accountId), change, { insist: true, notify: true, deadline });
  }

  async #change(stored: Grants | undefined, lock: Lock, mayBeLate: boolean): Promise<Grants | undefined> {
    const { settings } = this.#deps;
    const { own, refused } = this.#request;
    const found = grantFor(stored, settings);
    const current = isLater(own, found) ? own : found;
    const unchanged = current && current !== found ? withGrant(stored, settings, current) : stored;
    // Another instance on the store may have refreshed already.
    if (!current || current.ended || current.accessToken !== refused) return unchanged;
    const end = (reason: Sentence) => withGrant(stored, settings, { ...current, ...spent(reason) });
    if (!current.refreshToken) return end(phrase`The sign-in has expired and can’t be renewed: sign in again.`);
    if (mayBeLate && (await this.#mayBeSent(current.refreshToken))) throw new Unfinished();
    await this.#prepare(stored, current.refreshToken, lock);
    try {
      this.#arrived = await this.#newPair(current, lock);
      return withGrant(stored, settings, this.#arrived.grant);
    } catch (thrown) {
      const error = asPrintingError(thrown);
      if (!isRefusal(error)) throw error;
      if (ENDS.includes(error.serviceCode ?? ''))
        return end(phrase`The service ended the sign-in: sign in again with the account.`);
      this.#refusal = error;
      return unchanged;
    }
  }

  /** Sends the refresh token. If the answer is lost, throws after the token has rested. */
  async #newPair(current: Grant, lock: Lock): Promise<{ grant: Grant; at?: number }> {
    const { clock, endpoint, settings } = this.#deps;
    const refreshes = (current.refreshes ?? 0) + 1;
    // If the request hasn't left by the deadline, leave it to the next instance.
    this.#request.deadline.throwIfOver();
    this.#beginWork();
    const secured = await lock.secure(SECURED);
    let writtenAt = clock.monotonic();
    const fence = () => {
      secured();
      writtenAt = clock.monotonic();
    };
    const limit = { ms: LONGEST_REQUEST, parent: this.#cancelled.signal, cure: phrase`try again later` };
    const sending = underDeadline(clock, limit, (deadline) => endpoint.refresh(settings, current, deadline, fence));
    try {
      return { grant: { ...(await sending), refreshes }, at: clock.monotonic() };
    } catch (thrown) {
      const error = asPrintingError(thrown);
      if (error instanceof IncompleteAnswer) {
        this.#failure = error;
        return { grant: { ...current, refreshToken: error.refreshToken, refreshes } };
      }
      this.#deps.refreshesUnderWay?.pause(this.#deps, error);
      const rest = this.#request.repeats.restAfter(error, clock.monotonic() - writtenAt);
      if (rest && !this.#cancelled.signal.aborted) await this.#restFor(rest, error);
      throw error;
    }
  }

  async #restFor(rest: Rest, error: PrintingError): Promise<void> {
    this.#rest();
    this.#request.onRest(rest, error);
    await sleep(this.#deps.clock, rest.ms, this.#cancelled.signal);
  }

  /** Whether another runtime has written that it is about to send this refresh token. Rejects while that is not known. */
  async #mayBeSent(refreshToken: string): Promise<boolean> {
    const begun = record(await this.#deps.store.get<unknown>(this.#begunKey));
    return begun?.token === nameOf(refreshToken);
  }

  /**
   * Checks that a new pair could be stored, with a probe of at least its size: the old pair must not be spent on a full
   * disk. Then writes which token is about to be sent, for a runtime that inherits the lock (ADR 35).
   */
  async #prepare(stored: Grants | undefined, refreshToken: string, lock: Lock): Promise<void> {
    const { store, clock } = this.#deps;
    const key = this.#begunKey;
    // Random, because a database compresses other data.
    const room = randomBytes(2 * JSON.stringify(stored ?? null).length).toString('base64');
    const probe = { begunAt: isoTime(clock.now()), room };
    const limit = { ms: LONGEST_PROBE, parent: this.#request.deadline, cure: phrase`try again later` };
    await underDeadline(clock, limit, async (deadline) => {
      await store.put(key, probe, { deadline });
      if (lock.number !== undefined) await store.put(key, { token: nameOf(refreshToken) }, { deadline, under: [lock] });
    });
    // A leftover probe is harmless.
    if (lock.number === undefined) await store.delete(key).catch(() => undefined);
  }

  get #begunKey(): Key {
    return ['refresh-begun', this.#deps.accountId];
  }
}

/** Names a token without giving it away. */
const nameOf = (token: string): string => hash('sha256', token, 'base64url').slice(0, 16);

/** Another runtime has begun a refresh, and has neither written its outcome nor released its locks. */
class Unfinished extends PrintingError {
  constructor() {
    const said = phrase`Another Node-RED began to renew the sign-in and has not finished: try again in two minutes.`;
    super('TIMEOUT', said, { outcome: 'not-sent' });
  }
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
const isRefusal = ({ outcome, statusCode, serviceCode }: PrintingError): boolean =>
  outcome === 'refused' && serviceCode !== undefined && [400, 401, 403].includes(statusCode ?? 0);

/** The last answer with a Retry-After, and the monotonic time that it names. */
interface Pause {
  error: PrintingError;
  until: number;
}

type Account = Pick<RefreshDeps, 'accountId' | 'settings' | 'clock'>;

/**
 * The refreshes under way in this process, and the pauses that the services asked for (ADR 28). Both outlive the deployed
 * instance that began them (ADR 13). A sign-out or a new sign-in makes them pointless and cancels them; otherwise it would
 * wait for their lock.
 */
export class RefreshesUnderWay {
  readonly #refreshes = new Set<{ accountId: string; service: string; cancelled: AbortController }>();
  /** By account and service. */
  readonly #pauses = new Map<string, Map<string, Pause>>();

  /** Registers a refresh that begins now. Call the returned function when it has ended. */
  begin(accountId: string, settings: SignInSettings, cancelled: AbortController): () => void {
    const refresh = { accountId, service: serviceOf(settings), cancelled };
    this.#refreshes.add(refresh);
    return () => this.#refreshes.delete(refresh);
  }

  /** Keeps the pause that an answer asks for, if it does. */
  pause({ accountId, settings, clock }: Account, error: PrintingError): void {
    if (!error.retryAfter) return;
    const pauses = this.#pauses.get(accountId) ?? new Map<string, Pause>();
    this.#pauses.set(accountId, pauses);
    pauses.set(serviceOf(settings), { error, until: clock.monotonic() + error.retryAfter });
  }

  /** The answer that asked for a pause which is not over, with the time that is left; undefined if there is none. */
  pauseOf({ accountId, settings, clock }: Account): PrintingError | undefined {
    const { error, until = 0 } = this.#pauses.get(accountId)?.get(serviceOf(settings)) ?? {};
    const retryAfter = until - clock.monotonic();
    return error && retryAfter > 0 ? revised(error, { retryAfter }) : undefined;
  }

  /** Cancels the refreshes and pauses of an account; with `settings`, only those at that service. */
  cancel(accountId: string, settings?: SignInSettings): void {
    if (settings) this.#pauses.get(accountId)?.delete(serviceOf(settings));
    else this.#pauses.delete(accountId);
    for (const refresh of [...this.#refreshes])
      if (refresh.accountId === accountId && (!settings || refresh.service === serviceOf(settings)))
        refresh.cancelled.abort(superseded());
  }
}

const superseded = () =>
  new PrintingError('NOT_SIGNED_IN', phrase`The sign-in was ended or replaced in the meantime: try again.`, {
    outcome: 'unknown',
  });
