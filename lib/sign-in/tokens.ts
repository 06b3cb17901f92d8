import { asPrintingError, PrintingError, withOutcome } from '../service/errors';
import { closed, type Deadline, underDeadline } from '../time/deadline';
import { RetryTimer } from '../time/retry';
import { phrase, type Sentence } from '../words/sentence';
import {
  clientRefused,
  type Credentials,
  nobodySignedIn,
  type RefreshOptions,
  signInEnded,
  signInInfo,
  type SignInInfo,
  notSaved,
} from './credentials';
import { type Grant, holderOf, isLater, readToken, SavedGrant, type TokenHolder, whyEnded } from './grant';
import { Refresh, type RefreshDeps, type Refreshed, type RefreshRequest } from './refresh';
import { PAUSE, RefreshPause } from './refresh-pause';
import { Repeats, type Rest } from './repeats';
import { Changes, type SignInState } from './sign-in-state';
import { lifetimeOf, remainingLifetime } from './token-endpoint';

export interface TokensOptions extends RefreshDeps {
  warn: (sentence: Sentence) => void;
  /** Called with each refresh that has ended; `isSaved`: with new tokens that are stored. */
  refreshEnded?: ((isSaved: boolean) => void) | undefined;
}

/** Refresh this long before expiry, or a tenth of a short lifetime before, ms. */
const EARLY = 60_000;
/** Longest wait of a call for an early refresh while the current token is valid, ms. */
const PATIENCE = 5_000;
/** Minimum time that a newly issued token is used, whatever its answer says, ms. */
const SHORTEST_USE = 1_000;
/** Longest wait for the sign-in's lock, ms: an earlier instance may be in the middle of a slow refresh. */
const LONGEST_WAIT = 15 * 60_000;
/** Waits between reads while the store can't be read, ms. */
const REREAD = { first: 1_000, longest: 30_000 };

/**
 * The tokens of one signed-in account. The refresh token changes at every use (interface, Authentication 7), and
 * reusing a spent one ends the whole sign-in. Therefore:
 * - one refresh at a time, under the store's lock for this account, across all runtimes;
 * - no refresh while the store isn't writable;
 * - a new pair is durable before its first use.
 */
export class Tokens implements Credentials {
  readonly #options: TokensOptions;
  readonly #changes = new Changes();
  readonly #closing = new AbortController();
  readonly #counts = { refreshes: 0, failures: 0 };
  /**
   * Milliseconds from the arrival of a token answer to its write: the window in which a crash loses the sign-in.
   */
  readonly #window = { last: 0, longest: 0 };
  readonly #saved: SavedGrant;
  readonly #pause: RefreshPause;
  readonly #rereads: RetryTimer;
  #grant: Grant | undefined;
  /** Monotonic time at which the current access token expires. */
  #endsAt = 0;
  /** The same if the service issued the token to this runtime; else 0, as its age is unknown. */
  #freshUntil = 0;
  #loading: Promise<void> | undefined;
  #loaded = false;
  /** The answer to callers of the current renewal: its result, or at once its last error if they wait no longer. */
  #answer: Promise<string> | undefined;
  #renewing: Promise<string> | undefined;
  #rejectAnswer: (error: PrintingError) => void = () => undefined;
  /** Monotonic time at which the current renewal began. */
  #begunAt = 0;
  /** Ends the wait between two tries of the current renewal. */
  #endWait: () => void = () => undefined;
  /** The current exchange of the refresh token, or the last one. */
  #exchange: Refresh | undefined;
  /** Resolves or rejects with the current exchange. */
  #exchanging: Promise<string> | undefined;
  /** The current pair couldn't be written yet. */
  #unsaved = false;
  /** The service refuses this client application or its scope, which only other settings (a new instance) can fix. */
  #blocked: PrintingError | undefined;
  readonly #endListening: () => void;

  constructor(options: TokensOptions) {
    this.#options = options;
    this.#saved = new SavedGrant(options);
    this.#pause = new RefreshPause(options.clock);
    this.#rereads = new RetryTimer(options.clock, REREAD);
    this.#endListening = this.#saved.onChange(() => void this.#catchUp());
  }

  get state(): SignInState {
    if (this.#blocked || this.#grant?.ended) return 'sign-in-needed';
    if (this.#signIn) return 'signed-in';
    return this.#loaded ? 'signed-out' : 'unread';
  }

  get usable(): boolean {
    return this.state === 'signed-in';
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  ready(): Promise<void> {
    return this.#load();
  }

  async bearer(deadline: Deadline): Promise<string> {
    await deadline.wait(this.#load());
    const grant = this.#usable();
    const now = this.#options.clock.monotonic();
    const left = this.#endsAt - now;
    if (left > Math.min(EARLY, grant.lifetime / 10)) return grant.accessToken;
    if (left <= 0) return this.#join(grant.accessToken, deadline);
    // An early refresh is optional: while the token is valid, a transient fault or a slow answer changes nothing.
    const waited = this.#answer ? now - this.#begunAt : 0;
    const shorter = deadline.within(Math.max(0, Math.min(PATIENCE - waited, left / 2)));
    try {
      return await this.#join(grant.accessToken, shorter);
    } catch (error) {
      const isValid = this.#endsAt - this.#options.clock.monotonic() > 0;
      if (isValid && this.#grant?.accessToken === grant.accessToken && !this.#blocked && !deadline.aborted)
        return grant.accessToken;
      // The token expired, or was replaced, before the shorter wait ended. The refresh continues within the caller's
      // time.
      if (shorter.aborted && !deadline.aborted) return await this.bearer(deadline);
      throw error;
    } finally {
      shorter.end();
    }
  }

  async refresh(refused: string, { deadline }: RefreshOptions): Promise<string> {
    await deadline.wait(this.#load());
    const grant = this.#usable();
    if (grant.accessToken !== refused) return grant.accessToken;
    if (this.#freshUntil > this.#options.clock.monotonic()) this.#pause.tokenRefused();
    const token = await this.#join(refused, deadline);
    this.#pause.tokenIssued();
    return token;
  }

  accepted(bearer: string): void {
    if (bearer === this.#grant?.accessToken) this.#pause.tokenAccepted();
  }

  info(): SignInInfo {
    return signInInfo(this.state, this.#signIn, this.#blocked ?? this.#pause.error);
  }

  get workspace(): string | null | undefined {
    return this.#grant && holderOf(this.#grant).organizationId;
  }

  counters(): Record<string, number> {
    return {
      refreshes: this.#counts.refreshes,
      refreshesInAll: this.#grant?.refreshes ?? 0,
      failedRefreshes: this.#counts.failures,
      lastSaveMilliseconds: this.#window.last,
      longestSaveMilliseconds: this.#window.longest,
    };
  }

  async signOut(): Promise<void> {
    const { accountId, settings, refreshesUnderWay } = this.#options;
    refreshesUnderWay?.cancel(accountId, settings);
    await this.#saved.signOut();
    await this.reload();
  }

  async reload(): Promise<void> {
    this.#loading = undefined;
    this.#blocked = undefined;
    this.#pause.reset();
    await this.#load();
  }

  async close(): Promise<void> {
    this.#closing.abort(closed());
    this.#rereads.stop();
    this.#endListening();
    this.#endWait();
    const work = this.#exchanging?.catch(() => undefined);
    // A resting token is not active work: the next instance waits for its lock.
    if (work) await Promise.race([work, this.#exchange?.resting ?? work]);
  }

  /** Reads the stored grant once. If it can't be read now, retries until it can. */
  #load(): Promise<void> {
    this.#loading ??= this.#saved.load(this.#closing.signal).then(
      (grant) => {
        this.#rereads.succeeded();
        this.#pause.clear('FILE_NOT_READABLE');
        this.#adopt(grant);
      },
      (thrown: unknown) => {
        this.#loading = undefined;
        // The next read or the next call of `bearer` reports the failure.
        if (!this.#closing.signal.aborted) this.#rereads.plan(() => void this.#load().catch(() => undefined));
        const error = asPrintingError(thrown);
        // For `info` only: the next call of `bearer` reads again.
        this.#pause.show(error);
        throw error;
      },
    );
    return this.#loading;
  }

  /**
   * Follows a change by another runtime, which has refreshed, ended or replaced the sign-in. Never rejects: the next
   * caller that needs a token reads again.
   */
  async #catchUp(): Promise<void> {
    try {
      await this.#load();
      let grant = await this.#saved.read(this.#unsaved);
      if (this.#closing.signal.aborted) return;
      // An exchange of this runtime may have read the stored grant before the change.
      const again = () => this.#catchUp();
      if (this.#exchanging) return await this.#exchanging.then(again, again);
      this.#unsaved = false;
      if (isLater(this.#grant, grant)) grant = await this.#saved.writeBack(this.#grant);
      if (grant?.accessToken === this.#grant?.accessToken && grant?.signedOut === this.#grant?.signedOut) return;
      this.#blocked = undefined;
      this.#pause.changedElsewhere(isLater(grant, this.#grant));
      this.#adopt(grant);
    } catch {
      // The next caller reads again.
    }
  }

  /** @param arrivedAt monotonic time at which the service issued it to this runtime */
  #adopt(grant: Grant | undefined, arrivedAt?: number): void {
    const before = this.state;
    const now = this.#options.clock.monotonic();
    if (arrivedAt !== undefined)
      this.#endsAt = this.#freshUntil = arrivedAt + Math.max(SHORTEST_USE, lifetimeOf(grant?.lifetime));
    else if (!grant || grant.accessToken !== this.#grant?.accessToken)
      [this.#endsAt, this.#freshUntil] = [now + remainingLifetime(grant, this.#options), 0];
    // A refresh continues the current sign-in. Only a different sign-in is a change.
    const isNew =
      grant?.redirectUri !== this.#grant?.redirectUri || (grant?.signedInAt ?? 0) !== (this.#grant?.signedInAt ?? 0);
    // A renewal of another token has become pointless.
    if (grant?.accessToken !== this.#grant?.accessToken) this.#endWait();
    this.#grant = grant;
    const changed = !this.#loaded || before !== this.state || isNew;
    this.#loaded = true;
    if (changed) this.#changes.notify();
  }

  /** The sign-in, valid or ended; undefined after a sign-out. */
  get #signIn(): Grant | undefined {
    return this.#grant?.signedOut ? undefined : this.#grant;
  }

  #usable(): Grant {
    if (this.#blocked) throw this.#blocked;
    const grant = this.#signIn;
    if (!grant) throw nobodySignedIn();
    const ended = whyEnded(grant);
    if (ended) throw signInEnded(ended);
    return grant;
  }

  /** Joins the current renewal or begins one. All callers share it, so no single deadline ends it. */
  async #join(refused: string, deadline: Deadline): Promise<string> {
    this.#pause.throwIfPaused();
    if (!this.#answer) {
      this.#begunAt = this.#options.clock.monotonic();
      this.#renewing = this.#renew(refused).finally(() => (this.#answer = undefined));
      this.#answer = this.#resultOf(this.#renewing);
    }
    return deadline.wait(this.#answer);
  }

  /** The result of the current renewal, or the error of `#failed` if that comes first. */
  #resultOf(renewing: Promise<string>): Promise<string> {
    const result = new Promise<string>((resolve, reject) => {
      this.#rejectAnswer = reject;
      renewing.then(resolve, reject);
    });
    // There may be no caller.
    result.catch(() => undefined);
    return result;
  }

  /**
   * Exchanges the refresh token, and repeats that until there is a new pair, the sign-in has ended or the account
   * closes. Callers get an error earlier; the repeats continue without them.
   */
  async #renew(refused: string): Promise<string> {
    const repeats = new Repeats(this.#options.clock);
    const paused = this.#options.refreshesUnderWay?.pauseOf(this.#options);
    if (paused) {
      const { wait, callersWait } = repeats.first(paused);
      // `#join` first sets the answer that this replaces.
      await Promise.resolve();
      this.#failed(paused, callersWait);
      await this.#wait(wait);
      if (this.#isSuperseded(refused)) return this.#usable().accessToken;
    }
    let rested = 0;
    const onRest = ({ ms, callersWait }: Rest, error: PrintingError) => {
      rested = ms;
      this.#failed(error, callersWait);
    };
    const onResume = () => {
      if (this.#renewing) this.#answer = this.#resultOf(this.#renewing);
    };
    for (;;) {
      let wait: number;
      try {
        this.#exchanging = this.#refresh({ refused, repeats, onRest, onResume });
        return await this.#exchanging.finally(() => (this.#exchanging = undefined));
      } catch (thrown) {
        const error = asPrintingError(thrown);
        // No repeat helps against a fault of the pack's own code.
        if (error.outcome === undefined) throw this.#pause.begin(error, PAUSE);
        if (this.#isFinal(error)) throw withOutcome(error, 'not-sent');
        const next = repeats.next(error, rested);
        this.#failed(error, next.callersWait);
        wait = next.wait;
      }
      await this.#wait(wait);
      if (this.#isSuperseded(refused)) return this.#usable().accessToken;
    }
  }

  /** Whether another token has been adopted during a wait. Throws if the account was closed. */
  #isSuperseded(refused: string): boolean {
    if (this.#closing.signal.aborted) throw withOutcome(closed(), 'not-sent');
    return this.#grant?.accessToken !== refused;
  }

  /** Shows an error of the current renewal. Unless callers wait, all get it at once until the renewal has ended. */
  #failed(thrown: PrintingError, callersWait: boolean): void {
    const error = withOutcome(thrown, 'not-sent');
    this.#pause.show(error);
    if (callersWait) return;
    this.#rejectAnswer(error);
    this.#answer = Promise.reject(error);
    // There may be no caller.
    this.#answer.catch(() => undefined);
  }

  /** Waits for `ms`, until another token is adopted, or for the close. */
  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        resolve();
      };
      const cancel = this.#options.clock.after(ms, end);
      this.#endWait = end;
    });
  }

  /** Whether the sign-in, or its use by this instance, has ended. Then no repeat helps. */
  #isFinal({ code, statusCode }: PrintingError): boolean {
    if (this.#closing.signal.aborted || this.#blocked) return true;
    // With a status, the answer had no code of the token endpoint: a proxy's page, for example.
    return code === 'NOT_SIGNED_IN' && statusCode === undefined;
  }

  #refresh(request: Omit<RefreshRequest, 'own' | 'deadline'>): Promise<string> {
    const { clock } = this.#options;
    const limit = { ms: LONGEST_WAIT, parent: this.#closing.signal, cure: phrase`try again later` };
    return underDeadline(clock, limit, async (deadline) => {
      this.#exchange = new Refresh(this.#options, { ...request, own: this.#grant, deadline });
      const refreshed = await this.#exchange.run().catch((error: unknown) => {
        this.#countFailure();
        throw error;
      });
      return this.#use(refreshed);
    });
  }

  #countFailure(): void {
    this.#counts.failures++;
    this.#options.refreshEnded?.(false);
  }

  /** @param ms time from the arrival of the pair to its write */
  #countSaved(ms: number): void {
    this.#counts.refreshes++;
    this.#window.last = ms;
    this.#window.longest = Math.max(ms, this.#window.longest);
    this.#options.refreshEnded?.(true);
  }

  #use({ grant, arrivedAt, unsaved, refusal, failure }: Refreshed): string {
    this.#unsaved = unsaved;
    if (unsaved) {
      this.#countFailure();
      this.#options.warn(notSaved);
    } else if (arrivedAt !== undefined) this.#countSaved(this.#options.clock.monotonic() - arrivedAt);
    this.#pause.clear();
    if (refusal) this.#blocked = clientRefused(refusal);
    this.#adopt(grant, arrivedAt);
    if (this.#blocked) this.#changes.notify();
    if (failure) {
      this.#countFailure();
      throw failure;
    }
    return this.#usable().accessToken;
  }
}

/**
 * An API token created by hand in the service's web interface (wire facts 3.1). It is never refreshed. After a refusal
 * the next call tries it again, because the service may have been wrong.
 */
export class StaticToken implements Credentials {
  readonly #token: string;
  readonly #holder: TokenHolder;
  readonly #changes = new Changes();
  #state: SignInState;

  constructor(token: string) {
    this.#token = token;
    this.#holder = readToken(token);
    this.#state = token ? 'unchecked' : 'signed-out';
  }

  get state(): SignInState {
    return this.#state;
  }

  get usable(): boolean {
    return this.#token !== '';
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  bearer(): Promise<string> {
    return this.#token ? Promise.resolve(this.#token) : Promise.reject(this.#refused());
  }

  refresh(_refused: string, { host }: RefreshOptions): Promise<string> {
    // The account host may not accept static tokens at all; only the API host's refusal counts.
    if (host === 'api') this.#setState('sign-in-needed');
    return Promise.reject(this.#refused());
  }

  accepted(): void {
    this.#setState('signed-in');
  }

  get workspace(): string | null | undefined {
    return this.#token ? this.#holder.organizationId : undefined;
  }

  info(): SignInInfo {
    const { user, organizationId } = this.#holder;
    const error = this.#state === 'sign-in-needed' ? this.#refused().sentence : null;
    return { state: this.#state, user, organizationId, expiresAt: null, error };
  }

  counters(): Record<string, number> {
    return {};
  }

  signOut(): Promise<void> {
    return Promise.resolve();
  }

  reload(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #setState(state: SignInState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#changes.notify();
  }

  #refused(): PrintingError {
    return this.#token
      ? new PrintingError(
          'NOT_SIGNED_IN',
          phrase`The service refused the API token: create a new one and enter it in the account.`,
          { statusCode: 401, outcome: 'refused' },
        )
      : new PrintingError('NOT_SIGNED_IN', phrase`The account has no API token: enter one.`, { outcome: 'not-sent' });
  }
}
